"""The rate of the abstract, O(1/t), and how the loss comes to it."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..phases import onset, ran_to_the_end, spec_of
from . import evidence
from .assumptions import theorem_4_4, theorem_5_2

FIGURES = (evidence.figure_2, evidence.figure_4, evidence.figure_5, evidence.figure_6)


def late_records(run):
    """From t_2 on, where the read-out bends, and of a long run the last two decades; of a flow, the last four."""
    end = float(run.time[-1])
    if run.attrs["arm"] == "symmetric":
        return run.sel(time=slice(max(float(onset(run)), end / 100), None))
    return run.sel(time=slice(end / 1e4, None))


def by_quarter(x):
    """The entries in four equal parts of log time, by the time at which a part begins."""
    edges = np.geomspace(float(x.time[0]), float(x.time[-1]), 5)
    part = np.clip(np.searchsorted(edges, x.time.values, side="right") - 1, 0, 3)
    return {edges[i]: x.values[part == i] for i in range(4)}


def bounded_by_one_over_t(*runs):
    """t L_t does not grow: its largest value in each quarter of the late records."""

    def judge(run):
        late = late_records(run)
        if late.sizes["time"] < 4:
            return ps.undecided("the read-out does not bend, or too late", "a phase 2")
        spec = spec_of(run)
        what = f"t L_t, {spec.task}, lam = {spec.lam:g}"
        falls = ps.guard(ps.decreasing(late.loss, "loss"))
        return ps.big_o(by_quarter(late.loss * late.time), along="t", what=what) & falls

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Abstract and Appendix B.2, rate",
    ps.on("training", *FIGURES),
    ps.on("training", evidence.even_pairs_long),
    ps.on("population", evidence.even_pairs_flow, evidence.even_pairs_frozen),
    id="abstract-rate",
    aliases=("abs-rate",),
    kind="upper",
    tex=r"\mathcal{L}_t = O(1/t), \quad t \ge t_2",
    page="Abstract; Appendix B.2",
    as_=("t", "inf"),
    hides=("N", "lam", "eta"),
    assumes=theorem_4_4,
)
def loss_falls_at_least_like_one_over_t(*runs):
    """The loss decreases at a rate of O(1/t) in the second phase: t L_t is bounded from t_2 on."""
    return bounded_by_one_over_t(*runs)


@ps.claim(
    "Abstract, rate, for parity",
    ps.on(
        "training",
        evidence.figure_3,
        expect="undecided",
        because="the curve is bent and its horizon, which the paper does not state, too short for a trend: {measured}",
    ),
    ps.on("training", evidence.parity_long),
    ps.on("population", evidence.parity_flow),
    id="abstract-rate-parity",
    aliases=("5.3-rate",),
    kind="upper",
    tex=r"\mathcal{L}_{Parity,t} = O(1/t), \quad t \ge t_2",
    page="Abstract; Section 5.3",
    as_=("t", "inf"),
    hides=("N", "lam", "eta"),
    assumes=theorem_5_2,
)
def parity_loss_falls_at_least_like_one_over_t(*runs):
    """For both problems the loss decreases at a rate of O(1/t): t L_t is bounded from t_2 on."""
    return bounded_by_one_over_t(*runs)


NEAR = ps.chosen(0.05, "the exponent is told from -1.1, where it stands at 10^5 updates")


@ps.claim(
    "Abstract, rate: the exponent (ours)",
    ps.on("population", evidence.even_pairs_flow, evidence.even_pairs_frozen, evidence.parity_flow),
    id="ours-rate",
    kind="rate",
    whose="ours",
    tex=r"\mathcal{L} \propto \tau^{-1}, \quad \tau \to \infty",
    page="Abstract",
    as_=("tau", "inf"),
    assumes=theorem_4_4,
)
def loss_falls_like_one_over_tau_in_the_end(*runs):
    """Under the flow the exponent of the loss is -1 over the last four decades, for even pairs, frozen attention and
    parity."""

    def judge(run):
        late = run.sel(time=slice(float(run.time[-1]) / 1e4, None))
        return ps.scales_like(late.loss, late.time, -1.0, NEAR, f"loss, {spec_of(run).task}")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Abstract, rate: how it is approached (ours)",
    ps.on("training", evidence.even_pairs_long, evidence.parity_long),
    id="ours-rate-from-steeper",
    assumes=theorem_4_4,
    kind="sign",
    whose="ours",
    tex=r"\tfrac{d \log \mathcal{L}}{d \log t} < -1, \quad 10^3 \le t \le 10^6",
    page="Abstract",
)
def one_over_t_is_approached_from_steeper(*runs):
    """From 10^3 to 10^6 updates the loss falls faster than 1/t throughout: the local exponent is below -1."""

    def judge(run):
        late = run.sel(time=slice(1e3, 1e6))
        slope = ps.local_slope(late.loss).isel(time=slice(1, -1))
        return ps.negative(slope + 1, f"d log loss / d log t + 1, {spec_of(run).task}")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


claims = (
    loss_falls_at_least_like_one_over_t,
    parity_loss_falls_at_least_like_one_over_t,
    loss_falls_like_one_over_tau_in_the_end,
    one_over_t_is_approached_from_steeper,
)
