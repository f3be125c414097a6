"""Appendices F to F.2: the gradients of phase 2, and how fast the loss falls."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import log_slope, spec_of, trained
from . import evidence
from .bookkeeping import types_of
from .parts import (
    EXACT,
    at_T1,
    by_width,
    end_of_phase_1,
    in_phase_2,
    numbers,
    scanned,
    settled,
    told,
    where_it_learns,
)
from .phase_2 import always
from .premises import any_flow, condition_1


@ps.claim(
    "Corollary F.2",
    ps.on("training", *evidence.theory_runs),
    id="corF.2-within-types",
    kind="upper",
    tex=r"\max_{i,j\in I} g_i^{(t)}/g_j^{(t)} \le O(1), \quad I\in\{I_1,\ldots,I_4\}",
    page="Appendix F, Corollary F.2",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def samples_of_a_type_stay_together(*runs):
    """From T_1 on the gradients of any two samples of one type have a ratio that does not grow with m."""

    def ratios(run):
        g = 1 / (1 + np.exp(run.margin))
        found: list[xr.DataArray] = []
        for kind in range(4):
            of_type = g.isel(sample=np.flatnonzero(types_of(run) == kind))
            found.append(of_type.max("sample", skipna=False) / of_type.min("sample", skipna=False))
        return xr.concat(found, xr.Variable("type", [1, 2, 3, 4]))

    def judge(c):
        found = by_width(runs, lambda run: told(ratios(run), in_phase_2(run, c)))
        return ps.big_o(found, along="m", what="ratio of two gradients")

    return scanned(judge)


@ps.claim(
    "Lemma F.3, Definition F.1: order of the gradients",
    ps.on("training", *evidence.theory_runs),
    id="lemF.3-order",
    kind="order",
    tex=r"\textstyle\sum_{I_4}g_i \le \min(\sum_{I_2}g_i, \sum_{I_3}g_i) \le \max(\cdot) \le \sum_{I_1}g_i "
    r"\le \sum_{I_2\cup I_3\cup I_4}g_i",
    page="Appendix F, Definition F.1, Lemma F.3",
    assumes=condition_1,
)
@where_it_learns
def gradients_of_the_types_keep_their_order(*runs):
    """From T_1 on the sums of gradients are ordered as Definition F.1 asks, for C_T1 large enough: phase 2 is
    well defined."""

    def condition(run):
        one, two, three, four = (run.gsum.sel(type=k, drop=True) for k in (1, 2, 3, 4))
        total = one + two + three + four
        gaps = [
            np.minimum(two, three) - four,
            one - np.maximum(two, three),
            two + three + four - one,
        ]
        return xr.concat(
            [gap / total for gap in gaps], xr.Variable("gap", ["4<23", "23<1", "1<234"])
        )

    return always(runs, condition, "gap between two sums")


@ps.claim(
    "Definition F.1: ratio of the gradients",
    ps.on("training", *evidence.theory_runs),
    id="defF.1-ratio",
    kind="upper",
    tex=r"\tfrac12 \le \textstyle\sum_{I_2}g_i / \sum_{I_3}g_i \le 2",
    page="Appendix F, Definition F.1",
    assumes=condition_1,
)
@where_it_learns
def one_target_types_differ_by_less_than_two(*runs):
    """From T_1 on the sums of gradients of the two types with one target word have a ratio between 1/2 and 2."""
    two = ps.stated(2.0, "Definition F.1")

    def judge(c):
        def measure(run):
            ratio = run.gsum.sel(type=2, drop=True) / run.gsum.sel(type=3, drop=True)
            return told(np.exp(abs(np.log(ratio))), in_phase_2(run, c))

        found = by_width(runs, measure)
        return ps.at_most(np.concatenate(list(found.values())), two, "ratio, or its inverse")

    return scanned(judge)


@ps.claim(
    "Definition F.1: size of the values",
    ps.on("population", *evidence.ladder),
    id="defF.1-values",
    kind="upper",
    tex=r"|G^{(t)}(\mu)| \le O(\log m), \quad t \le T_2 = \mathrm{poly}(m)",
    page="Appendix F, Definition F.1",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def values_grow_like_the_logarithm(*runs):
    """Up to t = m^p the values of the special words, over log m, do not grow with m, for p = 1, 2, 3."""
    found = []
    for power in evidence.POWERS:

        def measure(run, power=power):
            spec = spec_of(run)
            end = spec.kappa * float(spec.width) ** power
            return told(run.G.sel(word=[1, 2, 3]) / np.log(spec.width), run.tau <= end)

        found.append(
            ps.big_o(by_width(runs, measure), along="m", what=f"values over log m, p = {power}")
        )
    return ps.all_of(found)


@ps.claim(
    "Equation (5), Lemma F.4",
    ps.on("training", *evidence.theory_runs, evidence.figure_1),
    id="lemF.4-identity",
    aliases=("Eq.5",),
    kind="identity",
    tex=r"\partial_t\textstyle\sum_{j_1,j_2}\langle a_{j_1}w_{j_1}, a_{j_2}w_{j_2}\rangle = "
    r"\tfrac{2m_1}n\sum_i g_iy_iF_i",
    page="Section 4.2, Equation (5); Appendix F, Lemma F.4",
    assumes=any_flow,
)
@where_it_learns
def the_read_out_grows_by_the_margins(*runs):
    """The rate of beta = |W^T a|^2 is (2 |a|^2 / n) sum_i g_i y_i F_i at all times, in the theorems' regime and
    in the experiment."""
    found = []
    for run in map(trained, runs):
        largest = abs(run.betadot).max("time", skipna=False)
        rate = run.betadot / largest
        found.append(ps.agree(rate, run.betadot_outputs / largest, EXACT, EXACT, "rate of beta"))
    return ps.all_of(found)


@ps.claim(
    "Lemma F.4",
    ps.on("training", *evidence.theory_runs),
    id="lemF.4-grows",
    kind="sign",
    tex=r"\partial_t\beta > 0 \text{ on } [T_1, T_2]",
    page="Appendix F, Lemma F.4",
    assumes=condition_1,
)
@where_it_learns
def the_read_out_grows(*runs):
    """From T_1 on beta grows, for C_T1 large enough."""
    return always(runs, lambda run: run.betadot / run.beta / run.loss, "rate of beta")


@ps.claim(
    "Corollary F.7",
    ps.on("training", *evidence.theory_runs),
    id="corF.7-ratios",
    kind="theta",
    tex=r"\tfrac{G(\mu_1)}{G(\mu_2)},\ \tfrac{G(\mu_1)}{-G(\mu_3)},\ \tfrac{G(\mu_2)}{-G(\mu_3)} = \Theta(1)",
    page="Appendix F.1, Corollary F.7",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def values_keep_their_ratios(*runs):
    """From T_1 on the ratios of the values of the special words are of order 1 at every width."""

    def ratios(run):
        one, two, three = (run.G.sel(word=k, drop=True) for k in (1, 2, 3))
        pairs: list[xr.DataArray] = [one / two, -one / three, -two / three]
        return xr.concat(pairs, "pair")

    def judge(c):
        found = by_width(runs, lambda run: told(ratios(run), in_phase_2(run, c)))
        return ps.big_theta(found, along="m", what="ratio of two values")

    return scanned(judge)


@ps.claim(
    "Theorem F.8",
    ps.on(
        "training",
        *evidence.theory_runs,
        expect="undecided",
        because="the ratio falls with m, since beta grows in narrow networks, and has not settled: {measured}",
    ),
    ps.on("population", *evidence.ladder),
    id="thmF.8-loss",
    aliases=("F.8",),
    kind="theta",
    tex=r"\hat L^{(t)} = \frac1{\Theta(\sigma_1^2mm_1)(t-T_1) + 1/\hat L^{(T_1)}}",
    page="Appendix F.2, Theorem F.8",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_loss_falls_like_one_over_t(*runs):
    """From T_1 on (1/L(t) - 1/L(T_1)) / (sigma_1^2 m m1 (t - T_1)) stays between two constants at every width
    (without noise: from m = 4096 on), from twice T_1 to the end, for C_T1 large enough."""

    def judge(c):
        def measure(run):
            begin = at_T1(run, "loss", c)
            first = end_of_phase_1(run, c)
            spec = spec_of(run)
            passed = numbers(spec)[1] / spec.kappa * (run.tau - first)
            ratio = (1 / run.loss - 1 / begin) / passed
            return told(ratio, run.tau >= 2 * first)

        ratios = by_width(settled(runs), measure)
        return ps.big_theta(ratios, along="m", what="growth of 1/L over that of t")

    return scanned(judge)


@ps.claim(
    "Theorem F.8, the exponent (ours)",
    ps.on("training", *evidence.theory_runs),
    id="ours-loss-exponent",
    kind="limit",
    whose="ours",
    tex=r"d\log\hat L/d\log t \to -1",
    page="Appendix F.2, Theorem F.8",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_exponent_of_the_loss_tends_to_one(*runs):
    """The exponent of the loss in t, from log time 8 to 18, tends to -1 as m grows: smaller widths are faster,
    since their beta grows. From which width on it is within 2% is printed."""

    def measure(run):
        return told(log_slope(run.loss, run), (run.s >= 8.0) & (run.s <= 18.0))

    near = ps.chosen(0.02, "what the end of phase 1 leaves at log time 8")
    slopes = by_width(runs, measure)
    return ps.tends_to(slopes, -1.0, "m", within=near, what="exponent")


claims = (
    samples_of_a_type_stay_together,
    gradients_of_the_types_keep_their_order,
    one_target_types_differ_by_less_than_two,
    values_grow_like_the_logarithm,
    the_read_out_grows_by_the_margins,
    the_read_out_grows,
    values_keep_their_ratios,
    the_loss_falls_like_one_over_t,
    the_exponent_of_the_loss_tends_to_one,
)
