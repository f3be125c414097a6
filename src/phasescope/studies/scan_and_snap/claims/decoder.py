"""The decoder's clock: how fast one class is learned, and the speed that it lends to the
attention (Lemmas 6 to 12)."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..phases import classes_of, linear_end, outputs_of, snap_time
from ..spec import Spec
from . import evidence, tables


@ps.claim(
    "Lemma 6", ps.theory(ps.tables(tables.decoder.decoder_flow, outputs=1000, eta_Y=1.0)), id="C7"
)
def the_decoder_solves_its_implicit_equation(table):
    """exp(Mh) + (M-1) Mh = M eta_Y s + 1, and h is the solution of its differential equation: M
    h within 1e-6."""
    return (
        ps.agree(table.closed, table.solved, atol=1e-6, what="M h")
        & ps.agree(table.left / table.right, 1.0, atol=1e-10, what="left / right side")
        & ps.increasing(table.solved, "M h", along="s")
    )


def _gap(eta_Y: float) -> ps.Request:
    """Steps against the flow, at one step size."""
    return ps.tables(tables.decoder.discrete_gap, outputs=1000, eta_Y=eta_Y)


@ps.claim(
    "Lemma 7, Remark 2",
    ps.published(_gap(0.5), _gap(1.0), _gap(2.0)),
    ps.theory(_gap(5.0)),
    id="C8",
)
def steps_stay_close_to_the_flow(*gaps):
    """0 <= h* - h <= 2 eta_Y / M, and the gap closes like 1/s: s M (h* - h) changes by less than
    15% when s doubles."""

    def judge(table):
        end = float(table.s[-1])
        fading = (table.s * table.gap).sel(s=[end / 2, end], method="nearest")
        return (
            ps.within(table.gap / table.eta_Y, 0.0, 2.0, "M (h* - h) / eta_Y")
            & ps.within(
                float(fading[1] / fading[0]), 0.85, 1.15, "s M (h* - h) at the end over half-way"
            )
            & ps.at_most(
                float(table.gap[-1] / table.gap.max()), 0.05, "gap at the end / largest gap"
            )
        )

    return ps.all_of(map(judge, gaps))


@ps.claim("Lemma 7 (ours)", ps.published(_gap(0.5), _gap(1.0), _gap(2.0)), id="C8-loose")
def the_bound_on_the_gap_is_ten_times_too_wide(*gaps):
    """The largest gap is 0.189, 0.195, 0.203 of eta_Y / M for eta_Y = 0.5, 1, 2, a tenth of the
    bound, reached at 1.3 to 1.5 times ln M / eta_Y."""

    def judge(table, expected):
        top = table.gap.idxmax("s") * table.eta_Y / np.log(table.outputs)
        height = table.gap.max() / table.eta_Y
        largest = ps.agree(height, expected, atol=6e-4, what="largest M (h* - h) / eta_Y")
        return largest & ps.within(top, 1.3, 1.5, "where, in ln M / eta_Y")

    return ps.all_of(map(judge, gaps, (0.189, 0.195, 0.203)))


@ps.claim("Figure 8", ps.published(evidence.figure_8), id="fig8")
def figure_8_is_reproduced(table):
    """M h*(10) = 4.9007, 7.9216, 9.4982 and M h(10) = 4.8749, 7.7310, 9.2808 for eta_Y = 0.5, 1,
    2 at M = 1000."""
    at = table.sel(s=10)
    in_steps = ps.agree(at.steps, np.array([4.9007, 7.9216, 9.4982]), atol=6e-5, what="M h*(10)")
    in_flow = ps.agree(at.flow, np.array([4.8749, 7.7310, 9.2808]), atol=6e-5, what="M h(10)")
    return in_steps & in_flow


@ps.claim(
    "Lemma 8",
    ps.theory(ps.tables(tables.decoder.later_root, outputs=[1e2, 1e3, 1e4, 1e6])),
    id="C9",
)
def the_later_root_is_close_to_log_M(table):
    """The later root of exp(x) = (M-1) x is (1 + omega_1) ln M, with omega_1 ln M / ln ln M in
    [1, 1.25] and omega_1 falling with M: 0.4030, 0.3198, 0.2667, 0.2035 for M = 10^2, 10^3,
    10^4, 10^6."""
    ratio = table.omega_1 * np.log(table.outputs) / np.log(np.log(table.outputs))
    return (
        ps.within(ratio, 1.0, 1.25, "omega_1 ln M / ln ln M")
        & ps.decreasing(table.omega_1, along="outputs")
        & ps.agree(
            table.omega_1, np.array([0.4030, 0.3198, 0.2667, 0.2035]), atol=6e-5, what="omega_1"
        )
        & ps.agree(table.left / table.right, 1.0, atol=1e-9, what="exp(x) / (M-1) x")
    )


@ps.claim("Lemma 9, Theorem 1 (b)", ps.theory(evidence.speed), id="C10")
def the_speed_rises_and_then_decays(run):
    """gamma K / (eta_Y t) is in [0.95, 1] up to t_0'/2, and gamma eta_Y t / (K ln(M eta_Y t /
    K)) in [0.95, 2] after t_0, 1.00 at the end. In between it peaks, at a time in closed form."""
    spec = Spec.of(run)
    K = classes_of(run)
    M = outputs_of(run)
    ended = ps.reached(run)
    run = run.isel(time=slice(1, None))
    clock = spec.eta_Y * run.time / K
    early = run.gamma / clock
    late = run.gamma * clock / np.log(M * clock)
    linear = run.time <= linear_end(run) / 2
    frozen = run.time >= snap_time(run)
    peak_time, _ = closed_forms.gamma_peak(K, M, spec.eta_Y)
    top = float(run.gamma.idxmax("time")) / peak_time
    return (
        ps.within(early, 0.95, 1.0, "gamma K / (eta_Y t)", where=linear)
        & ps.within(late, 0.95, 2.0, "gamma eta_Y t / (K ln(M eta_Y t / K))", where=frozen)
        & ps.agree(late.isel(time=-1), 1.0, atol=0.005, what="the same at the end")
        & ps.agree(top, 1.0, atol=0.02, what="time of the peak / closed form")
        & ps.agree(run.gamma.max(), 4.416, atol=1e-3, what="peak")
        & ended
    )


@ps.claim(
    "Lemma 9, as a rate",
    ps.theory(
        evidence.speed,
        expect=ps.Outcome.FAILS,
        because="gamma peaks at 0.82 t_0' and falls with slope -0.90 at t_0'",
    ),
    id="C10-linear",
)
def the_speed_is_linear_up_to_the_end_of_the_linear_regime(run):
    """d ln gamma / d ln t stays above 0.85 up to t_0' = K ln M / eta_Y. (As an upper bound, the
    linear law does hold.)"""
    slope = ps.local_slope(run.gamma)
    inside = (run.time > 0) & (run.time <= linear_end(run))
    return ps.within(slope, 0.85, 1.01, "d ln gamma / d ln t", where=inside) & ps.reached(run)


def _draws(N: int) -> ps.Request:
    """4000 random orders of N visits."""
    return ps.tables(
        tables.decoder.class_counts, classes=10, outputs=1000, eta_Y=0.5, steps=N, draws=4000
    )


@ps.claim("Lemmas 10 to 12, Theorem 5", ps.theory(_draws(1000), _draws(20_000)), id="C11")
def class_counts_concentrate(*draws):
    """In 95% of 4000 draws of the class order, max_n |h*(N_n) / h(N/K) - 1| is below K sqrt(ln(K
    / 0.05) / N)."""

    def judge(table):
        quantile = table.spread.quantile(0.95, skipna=False)
        return (
            ps.at_most(quantile, table.bound, "95% quantile of max |theta_n|")
            & ps.positive(table.spread, "max |theta_n|")
            & ps.agree(table.counts.sum("class"), table.steps, what="counts, summed")
        )

    return ps.all_of(map(judge, draws))


@ps.claim("Lemmas 10 to 12 (ours)", ps.theory(_draws(1000), _draws(20_000)), id="C11-loose")
def the_bound_on_the_counts_is_wide(few, many):
    """The spread of N_n is sqrt(K/N), not K/sqrt(N): the 95% quantile is 0.032 for N = 1000 and
    0.0043 for N = 20,000, 23 and 37 times below the bounds."""

    def judge(table, N, forecast):
        quantile = table.spread.quantile(0.95, skipna=False)
        spread = table.counts.std() / table.counts.mean() * np.sqrt(table.steps / table.classes)
        as_found = ps.agree(quantile, forecast, rtol=0.04, what=f"95% quantile, N = {N}")
        return as_found & ps.within(spread, 0.9, 1.0, "spread of N_n in sqrt(K/N)")

    return ps.all_of([judge(few, 1000, 0.032), judge(many, 20_000, 0.0043)])


@ps.claim(
    "Corollary 1",
    ps.theory(ps.tables(tables.decoder.time_to_residual, outputs=1000, epsilon=[0.1, 0.01, 0.001])),
    id="C12",
)
def residuals_vanish_in_time(table):
    """|r_n| = epsilon after (K / epsilon eta_Y) times at most ln(M / epsilon) steps; the factor is 1.81, 1.10, 1.012
    for epsilon = 0.1, 0.01, 0.001 at M = 1000, so that the logarithm is not needed."""
    factor = table.epsilon * table.clock
    return (
        ps.at_most(factor, np.log(table.outputs / table.epsilon), "epsilon eta_Y N / K")
        & ps.agree(factor, np.array([1.81, 1.10, 1.012]), rtol=0.005, what="epsilon eta_Y N / K")
        & ps.agree(table.residual / table.epsilon, 1.0, atol=1e-6, what="|r_n| then / epsilon")
    )


claims = (
    the_decoder_solves_its_implicit_equation,
    steps_stay_close_to_the_flow,
    the_bound_on_the_gap_is_ten_times_too_wide,
    figure_8_is_reproduced,
    the_later_root_is_close_to_log_M,
    the_speed_rises_and_then_decays,
    the_speed_is_linear_up_to_the_end_of_the_linear_regime,
    class_counts_concentrate,
    the_bound_on_the_counts_is_wide,
    residuals_vanish_in_time,
)
