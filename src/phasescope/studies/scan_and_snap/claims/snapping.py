"""Section 6: how sparse the attention becomes, and when it snaps (Theorem 4)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from .. import closed_forms
from ..phases import (
    after_start,
    classes_of,
    drop,
    linear_end,
    outputs_of,
    snap_time,
)
from ..phases import on as at_times
from ..spec import Spec
from . import evidence
from .bounds import SOLVED, last_digit

ALONE = evidence.theorem_4_alone


def is_solved(table: xr.Dataset) -> ps.Verdict:
    """The logit falls all the time."""
    return ps.guard(ps.decreasing(table.z, "z of the common token"))


@claim(
    "Theorem 4, (122)",
    on(
        "closed form",
        ALONE,
        expect="false",
        because="the lower limit of the integral is dropped, so that B_n(0) is not 0: {measured}",
    ),
    id="thm4-eq122-printed",
    kind="identity",
    tex=r"B_n(t) = \tfrac14\ln(\rho_0^4/K + 4\Gamma(t))",
    page="Appendix D, Theorem 4, (122); it is (14) before its two branches",
)
def the_printed_integral_solves_its_equation(table):
    """If z_l and xi_n obey the equations that Theorem 4 assumes, the integral B_n = eta_Z int xi_n is
    1/4 ln(rho_0^4 / K + 4 Gamma)."""
    return ps.agree(table.B, table.printed, atol=SOLVED, what="B_n") & is_solved(table)


@claim(
    "Theorem 4, (122) with its lower limit (E5)",
    on("closed form", ALONE),
    id="thm4-eq122",
    kind="identity",
    whose="corrected",
    erratum="E5",
    tex=r"B_n(t) = -z_l(t) = \tfrac14\ln(1 + 4K\rho_0^{-4}\Gamma(t))",
    page="Appendix D, Theorem 4, (116) to (126)",
)
def the_integral_solves_its_equation(table):
    """If z_l and xi_n obey the equations that Theorem 4 assumes, B_n = -z_l is 1/4 ln(1 + 4 K
    rho_0^-4 Gamma), with Gamma = (eta_Z / eta_Y) K (M-1)^2 h^2 / 2."""
    return (
        ps.agree(table.B, table.closed, atol=SOLVED, what="B_n")
        & ps.agree(-table.z, table.closed, atol=SOLVED, what="-z_l")
        & is_solved(table)
    )


@claim(
    "Theorem 4 against (10) (E11)",
    on("printed equations", evidence.theorem_4),
    id="eq13-equation",
    aliases=("C22",),
    kind="approx",
    whose="corrected",
    erratum="E11",
    tex=r"-z_{CT}(t) \simeq \tfrac14\ln(1 + 4(K-1)\rho_0^2\Gamma(t))",
    page="Section 6, (13) and Theorem 4",
)
def the_closed_form_solves_the_theory(run):
    """For one common token in weak correlation (overlap 0.01, K = 10, M = 1000) the logit of (10) is
    that of Theorem 4, with K - 1 for K, within 2% from t_0' on and 12% from a tenth of it on."""
    spec = Spec.of(run)
    K = classes_of(run)
    M = outputs_of(run)
    start = linear_end(run)
    strength = at_times(run.time, closed_forms.Gamma, K, M, spec.eta_Y, spec.eta_Z)
    closed = np.log1p(4 * (K - 1) * float(run.rho[0]) ** 2 * strength) / 4
    early = ps.chosen(0.12, "1 / (M rho) = 0.1, which the approximation neglects")
    late = ps.chosen(0.02, "2 (K-1) rho^2 and the part of order 1 / (M rho), when they compensate")
    return (
        ps.agree(drop(run), closed, rtol=early, what="-z_CT", where=run.time > start / 10)
        & ps.agree(drop(run), closed, rtol=late, what="-z_CT from t_0' on", where=run.time > start)
        & ps.guard(ps.positive(drop(run).isel(time=-1), "-z_CT at the end"))
        & ps.reached(run)
    )


@claim(
    "Theorem 4 against (10): numbers (ours)",
    on("printed equations", evidence.theorem_4),
    id="ours-eq13-numbers",
    kind="regression",
    whose="ours",
    tex=r"-z_{CT}(1000) = 0.2797",
    page="Section 6, (13)",
)
def the_drop_at_a_thousand(run):
    """-z_CT of (10) is 0.2797 at t = 1000 (K = 10, M = 1000, overlap 0.01, both rates 0.5)."""
    digit = last_digit(1e-4)
    return ps.agree(
        drop(run).sel(time=1000.0), 0.2797, atol=digit, what="-z_CT at 1000"
    ) & ps.reached(run)


@claim(
    "Theorem 4, (14), with its lower limit (E5)",
    on("closed form", evidence.speed),
    id="thm4-eq14",
    aliases=("C22-branches",),
    kind="limit",
    whose="corrected",
    erratum="E5",
    tex=r"B_n = \tfrac14\ln(1 + 4K\rho_0^{-4}\Gamma),\ Mh \le \eta_Y t/K\ (t \le t_0'),\ "
    r"Mh \to \ln(M\eta_Y t/K)\ (t \ge t_0)",
    page="Section 6, Theorem 4, (14): h is replaced by eta_Y t / (K M) up to t_0', and by ln(M eta_Y t / K) / M from t_0 on",
    as_=("time", "inf"),
)
def the_two_branches_are_close_to_the_closed_form(run):
    """From t_0 on B_n tends to the second branch as t grows, which is never off by more than 3%; up to t_0' the
    first branch is above B_n, from t = 20 on (K = 10, M = 1000, rates 0.5)."""
    spec = Spec.of(run)
    K = classes_of(run)
    M = outputs_of(run)

    def branch(x):
        """B_n with Mh replaced by x."""
        return np.log1p(4 * K * spec.eta_Z / spec.eta_Y * K * ((M - 1) / M * x) ** 2 / 2) / 4

    clock = spec.eta_Y * run.time / K
    first = branch(clock)
    second = branch(np.log(M * clock.where(run.time > 0, 1.0)))
    before = (run.time <= linear_end(run)) & (run.time >= 20)
    late = run.time >= snap_time(run)
    little = ps.chosen(0.03, "where the two branches meet h is bent")
    ratio = (second / run.B_n).where(late, drop=True)
    return (
        ps.tends_to(ratio, 1.0, along="time", within=little, what="second branch / B_n")
        & ps.positive(first - run.B_n, "first branch less B_n", where=before)
        & ps.at_most(ratio, 1 + float(little), "second branch / B_n")
        & ps.guard(ps.increasing(run.B_n, "B_n"))
        & ps.reached(run)
    )


@claim(
    "Section 6, attention scanning",
    on("closed form", evidence.speed),
    id="thm4-scanning",
    kind="upper",
    tex=r"B_n(t) = O(\ln t),\quad t \le t_0'",
    page="Section 6, Theorem 4, attention scanning",
    as_=("time", "inf"),
)
def growth_is_logarithmic_at_first(run):
    """From a fifth of t_0' up to it the integral B_n is at most a constant times ln t (K = 10, M = 1000,
    rates 0.5)."""
    early = run.B_n.sel(time=slice(float(linear_end(run)) / 5, float(linear_end(run))))
    return (
        ps.big_o(early, np.log(early.time), along="time", what="B_n / ln t")
        & ps.guard(ps.increasing(run.B_n, "B_n"))
        & ps.reached(run)
    )


@claim(
    "Section 6, attention snapping",
    on("closed form", evidence.speed),
    id="thm4-snapping",
    kind="upper",
    tex=r"B_n(t) = O(\ln\ln t),\ \chi_{l_0}(t) = O(\ln t),\quad t \ge t_0",
    page="Section 6, Theorem 4, attention snapping",
    as_=("time", "inf"),
)
def growth_is_doubly_logarithmic_in_the_end(run):
    """From t_0 on B_n is at most a constant times ln ln t, and the growth factor exp(2 B_n) a
    constant times ln t (K = 10, M = 1000, rates 0.5)."""
    later = run.sel(time=slice(float(snap_time(run)), None))
    doubly = np.log(np.log(later.time))
    return (
        ps.big_o(later.B_n, doubly, along="time", what="B_n / ln ln t")
        & ps.big_o(later.chi_closed, np.log(later.time), along="time", what="chi / ln t")
        & ps.guard(ps.increasing(run.B_n, "B_n"))
        & ps.reached(run)
    )


@claim(
    "Section 6: the slope of the growth (ours)",
    on("closed form", evidence.speed),
    id="ours-growth-slopes",
    aliases=("C26",),
    kind="approx",
    whose="ours",
    tex=r"\frac{dB}{d\ln\ln(M\eta_Y t/K)} \to \tfrac12",
    page="Section 6, Theorem 4; Appendix D, (130)",
)
def growth_goes_like_half_of_a_double_logarithm(run):
    """After the transition B_n grows like ln ln t / 2: its slope against ln ln(M eta_Y t / K) falls to
    1/2."""
    spec = Spec.of(run)
    B = after_start(run.B_n)
    doubly = np.log(np.log(outputs_of(run) * spec.eta_Y * B.time / classes_of(run)))
    after = derivative(B, doubly).sel(time=slice(3e3, None))
    half = ps.derived(0.5, "(130)")
    little = ps.chosen(1e-3, "the correction falls like 1 / ln^2 t")
    return (
        ps.decreasing(after, "d B / d ln ln t, late")
        & ps.agree(after.isel(time=-1), half, atol=little, what="d B / d ln ln t at the end")
        & ps.reached(run)
    )


def derivative(x: xr.DataArray, clock: xr.DataArray) -> xr.DataArray:
    """By central differences, at all records but the first and the last."""
    return x.copy(data=np.gradient(x.values, clock.values)).isel(time=slice(1, -1))


@claim(
    "Section 6 (a)",
    on("closed form", evidence.speeds),
    on("population", evidence.rescaled),
    id="sec6-a",
    aliases=("C23",),
    kind="rate",
    tex=r"t_0 \simeq 2K\ln M/\eta_Y",
    page="Section 6 (a): larger eta_Y leads to shorter phase transition time",
)
def the_transition_comes_at_one_over_the_decoders_rate(sweep):
    """The speed of the attention peaks at a time proportional to 1 / eta_Y: gamma in closed form
    (K = 10, M = 1000), and the velocity of the common tokens' logits in the flow of Syn-Small at
    eta_Z = eta_Y."""
    grid = ps.chosen(0.05, "records are some per cent apart")
    if "gamma" in sweep:
        peak = sweep.gamma.idxmax("time")
        return ps.scales_like(peak, sweep.eta_Y, -1.0, grid, "time of the largest gamma")
    curve = -sweep.z_ct.isel(last=0, common_token=0)
    steepest = ps.knee(curve, refine=True)
    return ps.scales_like(steepest, sweep.eta_Z, -1.0, grid, "time of the steepest fall")


@claim(
    "Section 6: the clock (ours)",
    on("population", evidence.rescaled),
    id="ours-clock",
    aliases=("6.4",),
    kind="identity",
    whose="ours",
    tex=r"z(t; a\eta_Y, a\eta_Z) = z(at; \eta_Y, \eta_Z)",
    page="Section 6",
)
def only_the_ratio_and_the_product_matter(sweep):
    """In flow (eta_Y, eta_Z, t) -> (2 eta_Y, 2 eta_Z, t / 2) is exact: logits and loss at equal
    eta t agree."""
    slow = sweep.sel(eta_Z=0.25)
    found = []
    for eta in (0.5, 1.0, 2.0):
        fast = sweep.sel(eta_Z=eta)
        fast = fast.assign_coords(time=fast.time * (eta / 0.25))
        common = slow.time[(slow.time >= fast.time[0]) & (slow.time <= fast.time[-1])].values
        a = slow.sel(time=common)
        b = fast.sel(time=common)
        found += [
            ps.agree(a[name], b[name], atol=SOLVED, what=name) for name in ("z_dt", "z_ct", "loss")
        ]
    # What was compared are logits of the attention: f is P exp(z) up to a factor, and P is tenfold at the top.
    ends = {"distinct_token": [0, -1]}
    rare, top = np.moveaxis(sweep.f_dt.isel(ends).values, -1, 0)
    z_rare, z_top = np.moveaxis(sweep.z_dt.isel(ends).values, -1, 0)
    weights = ps.agree(top / rare, 10 * np.exp(z_top - z_rare), rtol=SOLVED, what="f_top / f_rare")
    falls = ps.guard(ps.decreasing(slow.loss, "loss"))
    return ps.all_of(found) & weights & falls & ps.reached(sweep)


claims = (
    the_printed_integral_solves_its_equation,
    the_integral_solves_its_equation,
    the_closed_form_solves_the_theory,
    the_drop_at_a_thousand,
    the_two_branches_are_close_to_the_closed_form,
    growth_is_logarithmic_at_first,
    growth_is_doubly_logarithmic_in_the_end,
    growth_goes_like_half_of_a_double_logarithm,
    the_transition_comes_at_one_over_the_decoders_rate,
    only_the_ratio_and_the_product_matter,
)
