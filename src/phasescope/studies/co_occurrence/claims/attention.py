"""Theorem 3.3 (2) and Lemma F.16: how large the scores are that the attention has learned."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import SCORES, at_the_end, at_time, signed, spec_of, trained
from . import evidence
from .parts import (
    by_log_width,
    by_width,
    in_phase_2,
    mean_by_width,
    numbers,
    order_of_scores,
    scanned,
    settled,
    told,
    where_it_learns,
)
from .premises import condition_1

GROWS = "the growth of beta slows small widths, and the ratio has not settled: {measured}"


@ps.claim(
    "Theorem 3.3 (2), signs",
    ps.on("training", *evidence.theory_runs),
    ps.on("training", evidence.figure_1_descent),
    id="thm3.3-ii-signs",
    aliases=("T3.3-ii-signs",),
    kind="sign",
    tex=r"C_{1,2}, C_{2,1}, -C_{3,1}, -C_{3,2} > 0",
    page="Section 3, Theorem 3.3, item 2",
    assumes=condition_1,
)
@where_it_learns
def attention_has_learned_four_coefficients(*runs):
    """At the end C_12 and C_21 are positive, C_31 and C_32 negative."""
    found = []
    for run in map(trained, runs):
        found.append(ps.positive(at_the_end(signed(run.C, SCORES)), "signed coefficient"))
    return ps.all_of(found)


def at_fixed_time(run: xr.Dataset) -> float:
    """log tau = 18.4, where the runs with noise end."""
    return 1e8 if spec_of(run).clock == "natural" else float(run.tau.isel(time=-1).max())


def scores_then(run: xr.Dataset) -> xr.DataArray:
    """The four signed coefficients at kappa t = 1e8."""
    return at_time(signed(run.C, SCORES), run, at_fixed_time(run))


@ps.claim(
    "Theorem 3.3 (2), Lemma F.16: order in m",
    ps.on("training", *evidence.theory_runs, expect="undecided", because=GROWS),
    ps.on("population", *evidence.ladder),
    id="thm3.3-ii-order",
    aliases=("T3.3-ii-order",),
    kind="theta",
    tex=r"C_{1,2}, C_{2,1}, -C_{3,1}, -C_{3,2} = \Theta\big(\tfrac{\sigma_0^2m}{\sqrt mL\sigma_1^2mm_1} + "
    r"\tfrac{\sigma_0^2\sqrt m}{\sqrt m\sigma_1^2mm_1}\big)",
    page="Section 3, Theorem 3.3, item 2; Appendix F.6, Lemma F.16",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def learned_scores_fall_like_m_to_minus_three_halves(*runs):
    """At kappa t = 1e8 the four coefficients over the printed order, which is m^-3/2 for large m, stay between
    two constants. Without noise it is looked at from m = 4096 on."""

    def measure(run):
        return told(scores_then(run) / order_of_scores(spec_of(run)))

    return ps.big_theta(by_width(settled(runs), measure), along="m", what="C over its order")


@ps.claim(
    "Theorem 3.3 (2): the power of m",
    ps.on("training", *evidence.theory_runs),
    ps.on("population", *evidence.ladder),
    id="thm3.3-ii-power",
    aliases=("T3.3-ii-m",),
    kind="limit",
    tex=r"d\log C_{1,2}/d\log m \to -\tfrac32",
    page="Section 3, Theorem 3.3, item 2",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_power_of_m_tends_to_minus_three_halves(*runs):
    """At kappa t = 1e8 the exponent of C_12, a mean over seeds, between neighbouring widths tends to that of the
    printed order as m grows, which is -3/2 in the end; from which width on it is within 0.1 is printed."""

    def measure(run):
        C_12 = at_time(run.C.sel(key=1, query=2, drop=True), run, at_fixed_time(run))
        return C_12 / order_of_scores(spec_of(run))

    ratio = mean_by_width(runs, measure)
    steps = np.diff(np.log(ratio.values)) / np.diff(np.log(ratio.m.values))
    excess = xr.DataArray(steps, {"m": ratio.m.values[1:]}, ["m"])
    near = ps.chosen(0.1, "a tenth of the exponent's distance from that of S(0), which is -1/2")
    arrived = ps.agree(excess.isel(m=-1), 0.0, atol=near, what="excess at the largest m")
    return ps.tends_to(excess, 0.0, "m", within=near, what="excess of the exponent") & ps.guard(
        arrived
    )


@ps.claim(
    "Theorem 3.3 (2) at T* = poly(m)",
    ps.on(
        "population",
        *evidence.ladder,
        expect="false",
        because="the coefficients grow like log^2 t, which Theta without a tilde does not allow at T* = poly(m): {measured}",
    ),
    id="thm3.3-ii-Tstar",
    kind="theta",
    tex=r"C^{(T^\star)}_{1,2} = \Theta\big(\tfrac{\sigma_0^2m}{\sqrt mL\sigma_1^2mm_1} + "
    r"\tfrac{\sigma_0^2\sqrt m}{\sqrt m\sigma_1^2mm_1}\big), \quad T^\star = \Theta(\mathrm{poly}(m))",
    page="Section 3, Theorem 3.3, item 2",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def scores_at_a_power_of_m_have_the_printed_order(*runs):
    """At T* = m^p, for p = 1, 2, 3, C_12 over the printed order stays between two constants as m grows."""
    found = []
    for power in evidence.POWERS:
        ratios = by_log_width(settled(runs), lambda run, power=power: at_power(run, power, 0))
        what = f"C_12 over its order, p = {power}"
        found.append(ps.big_theta(ratios, along="log m", what=what))
    by = "closed_forms.late_time: scores multiply log^2 tau (E11)"
    return ps.refuted(ps.all_of(found), by)


def at_power(run: xr.Dataset, power: int, logs: int) -> np.ndarray:
    """C_12 at t = m^power over the printed order and a power of log tau."""
    spec = spec_of(run)
    tau = spec.kappa * float(spec.width) ** power
    C_12 = at_time(run.C.sel(key=1, query=2, drop=True), run, tau)
    return told(C_12 / order_of_scores(spec) / np.log(tau) ** logs)


@ps.claim(
    "Theorem 3.3 (2) with log^2 (E11)",
    ps.on("population", *evidence.ladder),
    id="thm3.3-ii-logs",
    kind="theta",
    whose="corrected",
    erratum="E11",
    tex=r"C^{(T^\star)}_{1,2} = \Theta\big(\tfrac{\sigma_0^2m}{\sqrt mL\sigma_1^2mm_1}\log^2(\kappa T^\star)\big)",
    page="Section 3, Theorem 3.3, item 2",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def scores_at_a_power_of_m_grow_like_log_squared(*runs):
    """At T* = m^p, for p = 1, 2, 3, C_12 over the printed order and log^2 of kappa T* stays between two
    constants as m grows."""
    found = []
    for power in evidence.POWERS:
        ratios = by_width(settled(runs), lambda run, power=power: at_power(run, power, 2))
        found.append(
            ps.big_theta(ratios, along="m", what=f"C_12 over its order and log^2, p = {power}")
        )
    return ps.all_of(found)


@ps.claim(
    "Lemma F.16, rates",
    ps.on("training", *evidence.theory_runs),
    id="lemF.16-rates",
    kind="theta",
    tex=r"\dot S_{21}, -\dot S_{31} = \tfrac1{\sqrt m}\tilde\Theta(\hat L^{(t)}\sigma_0^2m)\tfrac1L",
    page="Appendix F.6, Lemma F.16",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def scores_move_with_the_loss(*runs):
    """From T_1 on the rates of the four scores, over the loss times sigma_0^2 m / (sqrt(m) L) and log tau, stay
    between two constants at every width, for C_T1 large enough."""

    def judge(c):
        def measure(run):
            spec = spec_of(run)
            values, _, root = numbers(spec)
            unit = run.loss * values / (root * spec.length) * run.s
            return told(signed(run.Sdot, SCORES) / unit, in_phase_2(run, c))

        return ps.big_theta(by_width(runs, measure), along="m", what="rate over its order")

    return scanned(judge)


claims = (
    attention_has_learned_four_coefficients,
    learned_scores_fall_like_m_to_minus_three_halves,
    the_power_of_m_tends_to_minus_three_halves,
    scores_at_a_power_of_m_have_the_printed_order,
    scores_at_a_power_of_m_grow_like_log_squared,
    scores_move_with_the_loss,
)
