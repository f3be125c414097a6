"""Theorem 3.3 (2) and Lemma F.16: the scores that the attention has learned."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import late_time
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
from .premises import condition_1, lazy

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


@ps.claim(
    "Theorem 3.3 (2), Lemma F.16: irrelevant words",
    ps.on("training", *evidence.theory_runs, expect="undecided", because=GROWS),
    ps.on("population", *evidence.ladder),
    id="thm3.3-ii-irrelevant",
    aliases=("T3.3-ii-random",),
    kind="upper",
    tex=r"C_{i_1,i_2} \le \tilde O\big(\tfrac{\sigma_0^2m}{n\sqrt mL\sigma_1^2mm_1} + \tfrac{\sigma_0^2\sqrt "
    r"m}{\sqrt m\sigma_1^2mm_1}\big), \quad i_1 \text{ or } i_2 > 3",
    page="Section 3, Theorem 3.3, item 2; Appendix F.6, Lemma F.16",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def irrelevant_words_hardly_enter_the_attention(*runs):
    """At kappa t = 1e8 the largest coefficient of a pair with an irrelevant word, over its bound and log^2 m
    (without noise: from m = (n L)^2 on, where the first term of the bound leads), does not grow with m."""

    def has_led(run):
        spec = spec_of(run)
        is_limit = run.attrs.get("arm") == "orthogonal"
        return not is_limit or spec.width >= (spec.samples * spec.length) ** 2

    def measure(run):
        spec = spec_of(run)
        values, read_out, root = numbers(spec)
        bound = (
            values / (spec.samples * root * spec.length * read_out) + values / root**2 / read_out
        )
        largest = at_time(run.C_random, run, at_fixed_time(run))
        return told(largest / (bound * np.log(spec.width) ** 2))

    leading = [run for run in settled(runs) if has_led(run)]
    return ps.big_o(by_width(leading, measure), along="m", what="C over its bound")


@ps.claim(
    "Theorem 3.3, after (3): order-level smaller",
    ps.on("training", *evidence.theory_runs),
    id="thm3.3-ii-smaller",
    kind="monotone",
    tex=r"\max_{i_1\text{ or }i_2>3}|C_{i_1,i_2}| / C_{1,2} \text{ falls with } m",
    page="Section 3, after Theorem 3.3",
    assumes=condition_1,
)
@where_it_learns
def irrelevant_words_matter_less_in_wider_networks(*runs):
    """The largest coefficient of a pair with an irrelevant word over C_12, a mean over seeds at the end, falls
    as m grows."""

    def measure(run):
        return at_the_end(run.C_random / run.C.sel(key=1, query=2, drop=True))

    share = mean_by_width(runs, measure)
    return ps.decreasing(share, "share", "m") & ps.guard(ps.positive(share, "share"))


@ps.claim(
    "Theorem 3.3 (2): common word against target words (ours)",
    ps.on("training", *evidence.theory_runs),
    id="ours-scores-ratio",
    aliases=("T3.3-ii-ratio",),
    kind="order",
    whose="ours",
    tex=r"0.8(C_{12} + C_{21}) < |C_{31}| + |C_{32}| < C_{12} + C_{21}",
    page="Section 3, Theorem 3.3, item 2",
    assumes=condition_1,
)
@where_it_learns
def the_common_word_is_shunned_as_much_as_targets_attract(*runs):
    """|C_31| + |C_32| is above 0.8 of C_12 + C_21 and below it, each a mean over seeds, at n = 48 and every width;
    the hard-margin solution gives 0.957."""
    found = []
    for run in map(trained, runs):
        C = at_the_end(run.C).mean("seed", skipna=False)
        attracted = C.sel(key=1, query=2) + C.sel(key=2, query=1)
        shunned = -(C.sel(key=3, query=1) + C.sel(key=3, query=2))
        found.append(ps.positive(attracted - shunned, "attracted less shunned"))
        found.append(ps.positive(shunned - 0.8 * attracted, "shunned less 0.8 attracted"))
        found.append(ps.guard(ps.positive(attracted, "C_12 + C_21")))
    return ps.all_of(found)


@ps.claim(
    "Theorem 3.3 (2): what it is silent about (ours)",
    ps.on("population", evidence.many),
    id="ours-scores-silent",
    aliases=("T3.3-ii-silent",),
    kind="approx",
    whose="ours",
    tex=r"C_{12}:C_{11}:C_{31}:C_{13}:C_{33} = 14-\tfrac7L : 4-\tfrac{12}L : -(6+\tfrac{12}L) : 4-\tfrac{12}L "
    r": 9-\tfrac{17}L",
    page="Section 3, Theorem 3.3, item 2",
    assumes=lazy,
)
@where_it_learns
def the_common_word_attends_to_itself(run):
    """For many samples C_12 : C_11 : C_31 : C_13 : C_33 = 14 - 7/L : 4 - 12/L : -(6 + 12/L) : 4 - 12/L : 9 -
    17/L, within 3% of C_12 at kappa t = 1e8: C_33, which the theorem leaves out, is 0.44 of C_12 at L = 5."""
    near = ps.chosen(0.03, "what is left of the start at log time 18")
    C = at_the_end(run.C)
    spec = spec_of(run)
    order = numbers(spec)[0] / (spec.width**0.5 * spec.length * spec.kappa)
    slow = "(1 - 3 / log tau)^2 is 0.7 at log time 18"
    law = late_time(np.inf, spec.length).scores[0, 1] * order * at_the_end(run.s) ** 2
    prefactor = C.sel(key=1, query=2, drop=True) / law
    limit = C.copy(data=late_time(np.inf, spec_of(run).length).scores)
    ratio = C / C.sel(key=1, query=2, drop=True)
    expected = limit / limit.sel(key=1, query=2, drop=True)
    return ps.agree(ratio, expected, atol=near, what="C / C_12") & ps.within(
        prefactor, ps.chosen(0.6, slow), ps.chosen(0.8, slow), "C_12 over its limit"
    )


@ps.claim(
    "Theorem 3.3 (2): C_33 at finite n (ours)",
    ps.on("population", *evidence.coefficient_runs),
    id="ours-C33-sign",
    aliases=("T3.3-ii-n",),
    kind="sign",
    whose="ours",
    tex=r"C_{33} < 0 \text{ at } n = 24,\quad C_{33} > 0 \text{ at } n = 60, 90",
    page="Section 3, Theorem 3.3, item 2",
    assumes=lazy,
)
@where_it_learns
def the_sign_of_C33_depends_on_the_number_of_samples(*runs):
    """At L = 5 and kappa t = 1e8 C_33 is negative at n = 24 and positive at n = 60 and 90."""
    found = []
    for run, sign in zip(runs, (-1.0, 1.0, 1.0), strict=True):
        ratio = at_the_end(run.C.sel(key=3, query=3) / run.C.sel(key=1, query=2))
        found.append(ps.positive(sign * ratio, "signed C_33 / C_12"))
    return ps.all_of(found)


claims = (
    attention_has_learned_four_coefficients,
    learned_scores_fall_like_m_to_minus_three_halves,
    the_power_of_m_tends_to_minus_three_halves,
    scores_at_a_power_of_m_have_the_printed_order,
    scores_at_a_power_of_m_grow_like_log_squared,
    scores_move_with_the_loss,
    irrelevant_words_hardly_enter_the_attention,
    irrelevant_words_matter_less_in_wider_networks,
    the_common_word_is_shunned_as_much_as_targets_attract,
    the_common_word_attends_to_itself,
    the_sign_of_C33_depends_on_the_number_of_samples,
)
