"""Lemmas 4.4 and 4.5 (F.5, F.6): the gradients of the samples stay balanced, and both targets rise alike."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import (
    at_the_end,
    spec_of,
    trained,
)
from . import evidence
from .parts import by_width, in_phase_2, scanned, told, where_it_learns
from .phase_1 import C
from .phase_2 import always
from .premises import condition_1

FEW = "n is below 3 (L + 1), far below L^2: samples are told apart by their own irrelevant words ({measured})"


@ps.claim(
    "Lemma 4.4 (F.5)",
    ps.on("training", *evidence.theory_runs, *evidence.start_runs),
    ps.on(
        "training",
        evidence.figure_1_descent,
        expect="outside",
        because="irrelevant words are shared by samples: {parts[1].measured}",
    ),
    id="lem4.4-balance",
    aliases=("L4.4",),
    kind="upper",
    tex=r"|\textstyle\sum_{I_2}g_i - \sum_{I_3}g_i| / \min(\sum_{I_2}g_i, \sum_{I_3}g_i) \le C, \quad C \ll 1",
    page="Section 4.2, Lemma 4.4; Appendix F.1, Lemma F.5",
    as_=("1/zeta", "inf"),
    assumes=condition_1,
)
@where_it_learns
def one_target_types_are_balanced(*runs):
    """Automatic balancing: from T_1 on the gradients of the two types with one target word differ by at most a
    tenth where zeta is at most 0.1, at every width, and the difference does not grow as the start gets smaller."""
    tenth = ps.chosen(0.1, "much smaller than 1, a constant that the paper does not name")

    def judge(c):
        found: dict[float, list[np.ndarray]] = {}
        for run in map(trained, runs):
            inverse = 1 / float(spec_of(run).zeta)
            found.setdefault(inverse, []).append(told(run.balance, in_phase_2(run, c)))
        by_start = {inverse: np.concatenate(parts) for inverse, parts in found.items()}
        small = np.concatenate([x for inverse, x in by_start.items() if inverse >= 9.99])
        return ps.big_o(by_start, along="1/zeta", what="imbalance") & ps.at_most(
            small, tenth, "imbalance"
        )

    return scanned(judge)


@ps.claim(
    "Lemma 4.4, in the limit (ours)",
    ps.on("training", *evidence.theory_runs),
    ps.on(
        "training",
        evidence.figure_1_descent,
        expect="outside",
        because="a residual of {value:.2g} stays: irrelevant words are shared by samples",
    ),
    id="ours-balance-end",
    aliases=("L4.4-end",),
    kind="upper",
    whose="ours",
    tex=r"\textstyle\sum_{I_2}g_i / \sum_{I_3}g_i \to 1",
    page="Section 4.2, Lemma 4.4",
    assumes=condition_1,
)
@where_it_learns
def the_imbalance_vanishes(*runs):
    """With distinct words the difference of the two types' gradients ends below 0.1%, at kappa t = 1e8."""
    small = ps.chosen(
        1e-3, "what outputs of size zeta at the start leave after eighteen units of log time"
    )
    ends = [at_the_end(trained(run).balance) for run in runs]
    found = [ps.at_most(end, small, "imbalance at the end") for end in ends]
    return ps.all_of(found)


@ps.claim(
    "Lemma 4.5 (F.6)",
    ps.on("training", *evidence.theory_runs),
    ps.on(
        "training",
        evidence.figure_1_descent,
        expect="outside",
        because="irrelevant words are shared by samples, and m is below m1: {measured}",
    ),
    ps.on("training", evidence.few_large_start, expect="outside", because=FEW),
    id="lem4.5-ratio",
    aliases=("L4.5",),
    kind="order",
    tex=r"(1+C)\max(\dot G(\mu_1),\dot G(\mu_2)) \le -\dot G(\mu_3) \le (1-C)(\dot G(\mu_1)+\dot G(\mu_2))",
    page="Section 4.2, Lemma 4.5; Appendix F.1, Lemma F.6",
    assumes=condition_1,
)
@where_it_learns
def gradients_keep_their_ratios(*runs):
    """From T_1 on the value of mu_3 falls faster than 1 + C times those of mu_1 and mu_2 rise, and slower than
    1 - C times their sum, with C = 0.1, for C_T1 large enough."""

    def condition(run):
        above = run.R - (1 + C)
        below = (1 - C) - run.R2
        return xr.concat([above, below], xr.Variable("side", ["above", "below"]))

    return always(runs, condition, "-Gdot_3 between its bounds")


@ps.claim(
    "Lemma F.6, sums of gradients",
    ps.on("training", *evidence.theory_runs),
    id="lem4.5-sums",
    kind="upper",
    tex=r"\tfrac{\sum_i g_i}{\sum_{I_2\cup I_3\cup I_4}g_i - \sum_{I_1}g_i},\ \tfrac{\sum_i "
    r"g_i}{\sum_{I_1}g_i - \sum_{I_2}g_i},\ \tfrac{\sum_i g_i}{\sum_{I_1}g_i - \sum_{I_3}g_i} = O(1)",
    page="Section 4.2, Lemma 4.5; Appendix F.1, Lemma F.6",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def sums_of_gradients_stay_comparable(*runs):
    """From T_1 on the sum of all gradients over the differences of those of the types is positive and does not
    grow with m, for C_T1 large enough."""

    def shares(run):
        one, two, three, four = (run.gsum.sel(type=k, drop=True) for k in (1, 2, 3, 4))
        total = one + two + three + four
        parts: list[xr.DataArray] = [
            (two + three + four - one) / total,
            (one - two) / total,
            (one - three) / total,
        ]
        return xr.concat(parts, xr.Variable("difference", ["234-1", "1-2", "1-3"]))

    def judge(c):
        inverse = by_width(runs, lambda run: 1 / told(shares(run), in_phase_2(run, c)))
        least = np.concatenate(list(inverse.values()))
        return ps.big_o(inverse, along="m", what="sum over difference") & ps.positive(
            least, "sum over difference"
        )

    return scanned(judge)


@ps.claim(
    "Lemma F.6, last ratio",
    ps.on("training", *evidence.theory_runs),
    id="lemF.6-targets",
    kind="theta",
    tex=r"\dot G(\mu_1) / \dot G(\mu_2) = \Theta(1)",
    page="Appendix F.1, Lemma F.6",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def both_targets_rise_alike(*runs):
    """From T_1 on the rates of G(mu_1) and G(mu_2) have a ratio of order 1 at every width."""

    def judge(c):
        def measure(run):
            ratio = run.Gdot.sel(word=1, drop=True) / run.Gdot.sel(word=2, drop=True)
            return told(ratio, in_phase_2(run, c))

        return ps.big_theta(by_width(runs, measure), along="m", what="Gdot_1 / Gdot_2")

    return scanned(judge)


claims = (
    one_target_types_are_balanced,
    the_imbalance_vanishes,
    gradients_keep_their_ratios,
    sums_of_gradients_stay_comparable,
    both_targets_rise_alike,
)
