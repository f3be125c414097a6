"""What the paper could not measure: how parity's steps are learned, reductions, scaling laws, a long phase 1."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..phases import (
    half_time,
    learned,
    learned_by_length,
    phase_2,
    ran_to_the_end,
    spec_of,
)
from ..training import symmetric
from . import evidence
from .assumptions import theorem_4_4, theorem_5_2

ROUNDING = ps.chosen(1e-12, "rounding over 2000 updates")


def same_reduction(run: xr.Dataset, other: xr.Dataset) -> ps.Verdict:
    """Two runs that should be one."""
    return ps.all_of(
        ps.agree(run[name], other[name], atol=ROUNDING)
        for name in ("loss", "token_score", "output_match", "output_differ")
    )


@ps.claim(
    "Reduction R3 (ours)",
    ps.on(
        "training",
        ps.runs(symmetric, schedule="vanilla", lam=3.0, steps=2000, at=range(0, 2001, 10)),
        ps.runs(symmetric, lam=9.0, switch=2000, steps=2000, at=range(0, 2001, 10)),
    ),
    id="ours-R3",
    aliases=("R3",),
    kind="identity",
    whose="ours",
    tex=r"\text{plain descent at } \lambda \equiv \text{phase 1 at } \lambda^2",
    page="Section 3",
)
def lam_is_a_ratio_of_learning_rates(vanilla, phase_1):
    """Plain gradient descent at lam is phase-1 descent at lam^2: lam enters only through the ratio of the two rates."""
    same = same_reduction(vanilla, phase_1)
    falls = ps.guard(ps.decreasing(vanilla.loss, "loss"))
    return same & falls & ran_to_the_end(vanilla, phase_1)


@ps.claim(
    "Reduction R8 (ours)",
    ps.on(
        "training",
        ps.sweeps(
            symmetric,
            max_length=6,
            lam=[36.0, 72.0, 144.0, 288.0],
            eta=0.01,
            switch=50,
            steps=50,
            at=[0, 50],
        ),
    ),
    id="ours-R8",
    assumes=theorem_4_4,
    aliases=("R8",),
    kind="approx",
    whose="ours",
    tex=r"\|u^*\| \simeq \tfrac{4\lambda N}{p_N - q_N} \simeq \tfrac{128 \lambda N^3}{\tau_0^2 (N - 1)}",
    page="Section 4.2, definition of u*",
    as_=("tau_0", "0"),
)
def weak_margins_follow_the_closed_form(runs):
    """For weakly separated attention |u*| = 4 lam N / (p_N - q_N) within 1e-4, and 128 lam N^3 / (tau_0^2 (N - 1)) within
    4% at tau_0 = 1/2, with eta^2 t_0 (t_0 - 1) for tau_0^2."""
    N = runs.sizes["length"]
    end = runs.isel(time=-1)
    gap = (end.score_match - end.score_differ).sel(length=N)
    spec = spec_of(runs)
    tau_0 = np.sqrt(closed_forms.step_clock(spec.eta, spec.switch).second)
    early = closed_forms.early_margin_norm(tau_0, 1.0, N) * runs.lam
    weak = runs.margin_norm / (4 * runs.lam * N / gap)
    tight = ps.chosen(1e-4, "the weights differ from uniform by 1e-4 of themselves")
    loose = ps.chosen(0.04, "the next order in tau_0 = 1/2")
    weak_form = ps.agree(weak, 1.0, atol=tight, what="|u*| / (4 lam N / (p_N - q_N))")
    return weak_form & ps.agree(runs.margin_norm / early, 1.0, atol=loose, what="|u*| / early form")


SLOW = {"steps": 40_000, "switch": 40_000, "at": [0, *evidence.log_steps(10, 40_000, 200)]}


@ps.claim(
    "Learning time in lam (ours)",
    ps.on(
        "training",
        ps.sweeps(symmetric, lam=[4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0], **SLOW),
        ps.sweeps(symmetric, lam=[2.0, 4.0, 8.0, 16.0, 32.0, 64.0], schedule="vanilla", **SLOW),
    ),
    id="ours-learning-time-lam",
    assumes=theorem_4_4,
    aliases=("scale-lam",),
    kind="rate",
    whose="ours",
    tex=r"\tau_{1/2} \propto \sqrt{\lambda} \text{ (phase 1)}, \quad \tau_{1/2} \propto \lambda \text{ (plain)}",
    page="Section 3",
    as_=("lam", "inf"),
    up_to_logs=True,
)
def learning_time_grows_like_the_square_root_of_lam(fast, vanilla):
    """At the rates of phase 1 throughout, the time to half the loss grows like sqrt(lam) up to a logarithm: an exponent
    within 0.1 of 1/2. Plain descent is the same law in lam^2 (R3): within 0.2 of 1."""
    logarithm = "a logarithm adds 1 / log lam to an exponent, up to 0.1 here"
    narrow = ps.chosen(0.1, logarithm)
    wide = ps.chosen(0.2, f"{logarithm}, twice that in lam^2")
    square_root = ps.scales_like(half_time(fast), fast.lam, 0.5, narrow, "tau_1/2, phase-1 rates")
    return square_root & ps.scales_like(
        half_time(vanilla), vanilla.lam, 1.0, wide, "tau_1/2, plain descent"
    )


def sizes_and_times(runs, time) -> tuple[np.ndarray, np.ndarray]:
    """N and tau of some phase time, over runs of different size."""
    sizes = np.array([float(spec_of(run).size) for run in runs])
    times = np.array([float(time(run)) * spec_of(run).eta for run in runs])
    return sizes, times


@ps.claim(
    "Learning time in N (ours)",
    ps.on("training", *evidence.until_right),
    id="ours-learning-time-N",
    assumes=theorem_4_4,
    aliases=("scale-N",),
    kind="rate",
    whose="ours",
    tex=r"\tau_{\mathrm{right}} \propto N^{0.8}",
    page="Theorem 4.1, t_0",
    as_=("N", "inf"),
)
def how_long_phase_1_must_last(*runs):
    """At lam = N^2 and the rates of phase 1 throughout, all 2^(N+1) - 2 strings are right from tau ~ N^0.8 on, for N from 6
    to 384. The theorems stop phase 1 at tau = c_0 / N: a c_0 that grows like N^1.8 would be needed."""
    N, all_right = sizes_and_times(runs, learned)
    near = ps.chosen(0.1, "the local exponent falls from 0.85 to 0.76 and rises to 0.78 again")
    law = ps.scales_like(all_right, N, 0.8, near, "tau when all strings are right")
    return law & ran_to_the_end(*runs)


@ps.claim(
    "Loss in N (ours)",
    ps.on("training", *evidence.to_half_the_loss),
    id="ours-half-time-N",
    assumes=theorem_4_4,
    kind="rate",
    whose="ours",
    tex=r"\tau_{1/2} \propto N^{1.46}",
    page="Theorem 4.1, t_0",
    as_=("N", "inf"),
)
def how_long_until_the_loss_is_halved(*runs):
    """At lam = N^2 and the rates of phase 1 throughout the loss is halved at tau ~ N^1.46, for N from 6 to 96."""
    N, half = sizes_and_times(runs, half_time)
    near = ps.chosen(0.1, "local exponents scatter by 0.05")
    return ps.scales_like(half, N, 1.46, near, "tau_1/2") & ran_to_the_end(*runs)


@ps.claim(
    "Order of the steps (ours)",
    ps.on("training", evidence.parity_stairs),
    id="ours-stairs",
    assumes=theorem_5_2,
    aliases=("par-stair",),
    kind="monotone",
    whose="ours",
    tex=r"t_{17} \le t_{18} \le \dots \le t_{26} \ge \dots \ge t_{30}",
    page="Section 5.2",
)
def steps_of_thought_are_learned_one_after_another(run):
    """At L_0 = 16 the lengths 17, 18, ... are learned in order up to the slowest, 26, and those beyond it in the opposite
    order: sustained times rise to one peak, three times the smallest or more, and fall."""
    times = learned_by_length(run).sel(length=slice(17, None))
    if times.isnull().any():
        return ps.undecided("some length is never learned", "all lengths learned")
    peak = int(times.length[int(times.argmax("length"))])
    up = times.sel(length=slice(None, peak))
    down = times.sel(length=slice(peak, None))
    return (
        ps.increasing(up, "up to the slowest length", along="length", strictly=False)
        & ps.decreasing(down, "beyond it", along="length", strictly=False)
        & ps.guard(ps.at_least(times.max() / times.min(), 3.0, "slowest / fastest"))
        & ps.agree(float(peak), ps.chosen(26.0, "seen"), what="slowest length")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Signs of the pivots (ours)",
    ps.on("training", *evidence.parity_signs),
    id="ours-pivot-signs",
    assumes=theorem_5_2,
    aliases=("par-bif",),
    kind="sign",
    whose="ours",
    tex=r"(p_L - q_L)\, v_{c_L} > 0, \quad L > L_0",
    page="Section 5.2",
)
def pivots_split_into_two_groups(*runs):
    """For L_0 >= 8 early pivots end with negative and late ones with positive token scores, in two unbroken groups (2-6
    and 7 at L_0 = 8, 2-10 and 11-15 at 16), and the attention agrees: p_L - q_L has the sign of v_c."""

    def judge(run):
        spec = spec_of(run)
        end = run.isel(time=-1)
        lengths = np.arange(spec.base_length + 1, spec.size + 1)
        score = end.token_score.sel(position=lengths - spec.base_length + 1).values
        bias = (end.score_match - end.score_differ).sel(length=lengths).values
        negative = float((score < 0).sum())
        expected = {8: 5.0, 16: 9.0}[spec.base_length]
        return (
            ps.agree(
                negative,
                ps.chosen(expected, "seen"),
                what=f"negative pivots, L_0 = {spec.base_length}",
            )
            & ps.increasing(np.sign(score), "sign of v_c along the pivots", strictly=False)
            & ps.positive(bias * score, "(p_L - q_L) v_c")
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 4.4, norm: the law (ours)",
    ps.on("population", evidence.even_pairs_frozen),
    id="ours-norm-law",
    assumes=theorem_4_4,
    aliases=("4.4-norm-law",),
    kind="approx",
    whose="ours",
    tex=r"d\|u\| / d\log t \to \|u^*\|",
    page="Section 4.2, Theorem 4.4",
    as_=("tau", "inf"),
)
def read_out_grows_by_its_margin_norm(run):
    """Under frozen attention d|u| / d log t is |u*| over the last ten e-folds."""
    late = run.sel(time=slice(float(run.time[-1]) * np.exp(-10), None)).u_norm
    rate = late.assign_coords(time=np.log(late.time)).differentiate("time")
    near = ps.chosen(1e-3, "what is left of an approach like 1 / log tau squared")
    law = ps.agree(rate / run.margin_norm, 1.0, atol=near, what="d|u| / d log t / |u*|")
    return law & ran_to_the_end(run)


@ps.claim(
    "Theorem 4.4, with a long phase 1 (ours)",
    ps.on("training", ps.runs(symmetric, preset="extended")),
    id="ours-long-phase-1",
    assumes=theorem_4_4,
    aliases=("ext-1",),
    kind="limit",
    whose="ours",
    tex=r"\tfrac{d\log\mathcal{L}}{d\log(t - t_0)} \to -1, \quad \cos(u_t, u^*) \approx 1, \quad \|W_t - W_{t_0}\| \ll \lambda",
    page="Section 4.2, Theorem 4.4",
    as_=("t", "inf"),
)
def a_long_phase_1_gives_phase_2_what_it_needs(run):
    """If phase 1 lasts until the attention really tells the classes apart (N = 6, lam = 10^4, tau_0 = 7000), the loss tends
    to 1/t in the time since, cos(u_t, u*) stays above 0.998, and the attention moves by less than lam / 1000."""
    after = phase_2(run)
    late = after.sel(time=slice(float(after.time[-1]) / 30, None))
    elapsed = late.assign_coords(time=late.time - spec_of(run).switch)
    slope = ps.local_slope(elapsed.loss).isel(time=slice(1, -1))
    if slope.size == 0:
        return ps.undecided("no record late in phase 2", "a phase 2")
    high = ps.chosen(0.998, "an angle of 3.6 degrees; it starts at 3.4")
    small = ps.chosen(1e-3, "one in a thousand of what changes a score by 1")
    return (
        ps.tends_to(slope, -1.0, along="time", what="d log loss / d log (t - t_0)")
        & ps.at_least(after.margin_cosine, high, "cos(u_t, u*)")
        & ps.at_most(after.W_drift / spec_of(run).lam, small, "|W_t - W_t0| / lam")
        & ps.decreasing(slope, "d log loss / d log (t - t_0)")
        & ran_to_the_end(run)
    )


claims = (
    steps_of_thought_are_learned_one_after_another,
    pivots_split_into_two_groups,
    lam_is_a_ratio_of_learning_rates,
    weak_margins_follow_the_closed_form,
    learning_time_grows_like_the_square_root_of_lam,
    how_long_phase_1_must_last,
    how_long_until_the_loss_is_halved,
    read_out_grows_by_its_margin_norm,
    a_long_phase_1_gives_phase_2_what_it_needs,
)
