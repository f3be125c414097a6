"""Section 4, phase 2 of even pairs: Theorems 4.4 and 4.5, what they add up to, and the rate of the abstract."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..phases import becomes_right, phase_1, phase_2, ran_to_the_end, spec_of
from . import evidence

TO_1E4 = (evidence.even_pairs_to_1e4, evidence.figure_4, evidence.figure_5)


def margin_norm(run):
    """|u*| at t_0: from the solver where it could be certified, else by its closed form for weak separation."""
    norm = float(run.margin_norm) if "margin_norm" in run else np.nan
    if np.isfinite(norm):
        return norm
    spec = spec_of(run)
    end = phase_1(run).isel(time=-1).sel(length=spec.size)
    return closed_forms.weak_margin_norm(
        float(end.score_match), float(end.score_differ), spec.lam, spec.size
    )


VACUOUS = "vacuous: the bound says nothing at any time of the run"


@ps.claim(
    "Theorem 4.4, norm",
    ps.published(
        evidence.even_pairs_long,
        expect=ps.Outcome.UNDECIDED,
        because=f"{VACUOUS} before t = 14 |u*|^2 / eta = 3.2e6",
    ),
    ps.theory(evidence.theorem_64, expect=ps.Outcome.UNDECIDED, because=VACUOUS),
    id="4.4-norm",
)
def read_out_grows_at_least_logarithmically(run):
    """|u_t| >= (3/5) |u*| log(eta (t - t_0 - 1) / 14 |u*|^2)."""
    spec = spec_of(run)
    after = phase_2(run).isel(time=slice(2, None))
    values = closed_forms.norm_bound(after.time.values, spec.switch, spec.eta, margin_norm(run))
    bound = after.u_norm.copy(data=values)
    if not (bound > 0).any():
        found = f"vacuous: the bound is negative at all {after.sizes['time']} records"
        return ps.undecided(found, "a positive bound")
    return ps.at_least(after.u_norm, bound, "|u_t|", where=bound > 0)


@ps.claim("Theorem 4.4, norm: the law", ps.beyond(evidence.even_pairs_frozen), id="4.4-norm-law")
def read_out_grows_by_its_margin_norm(run):
    """Under frozen attention d|u| / d log t tends to |u*|: within 0.1% over the last ten e-folds."""
    late = run.sel(time=slice(float(run.time[-1]) * np.exp(-10), None)).u_norm
    rate = late.assign_coords(time=np.log(late.time)).differentiate("time")
    law = ps.within(rate / run.margin_norm, 0.999, 1.001, "d|u| / d log t / |u*|")
    return law & ran_to_the_end(run)


def direction_bound(*runs):
    """cos(u_t, u*) against the printed bound, wherever the bound is above -1. No |u*| is below 2."""

    def judge(run):
        after = phase_2(run).isel(time=slice(1, None))
        norm = margin_norm(run)
        bound = after.u_norm.copy(data=closed_forms.cosine_bound(after.u_norm.values, norm))
        if not (bound > -1).any():
            return ps.undecided("vacuous: the bound is below -1 at all times", "a bound above -1")
        if after.margin_cosine.isnull().all():
            found = f"|u*| = {norm:.3g} is too large for a certified direction"
            return ps.undecided(found, "a certified direction")
        what = f"cos (lam = {spec_of(run).lam:g})"
        holds = ps.within(after.margin_cosine, bound, 1 + 1e-12, what, where=bound > -1)
        return holds & ps.at_least(norm, 2.0, "|u*|")

    return ps.all_of(map(judge, runs))


def drift_bound(*runs):
    """|W_t - W_t0| leaves 0 at t_0, and stays below 1."""

    def judge(run):
        spec = spec_of(run)
        drift = phase_2(run).W_drift
        what = f"|W_t - W_t0| (N = {spec.size}, lam = {spec.lam:g})"
        starts = ps.agree(drift.isel(time=0), 0.0, what=f"{what} at t_0")
        moves = ps.positive(drift.isel(time=-1), f"{what} at the end")
        return ps.at_most(drift, 1.0, what) & (starts & moves)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 4.4, direction",
    ps.published(
        *TO_1E4,
        expect=ps.Outcome.FAILS,
        because="the attention is not frozen: at lam = 2 the cosine peaks at 0.979 (t = 365) and "
        "falls, violated from t = 284 on",
    ),
    ps.theory(
        evidence.theorem_16,
        evidence.theorem_64,
        expect=ps.Outcome.UNDECIDED,
        because="vacuous: the bound stays below -1 at N = 16; at N = 64, |u*| = 1.2e13 has no certified direction",
    ),
    id="4.4-cos",
)
def read_out_turns_to_the_max_margin_direction(*runs):
    """cos(u_t, u*) >= 1 - (1/6|u*| - 1/|u_t|)^2 / 2 after phase 1, with u* for the attention at t_0."""
    return direction_bound(*runs)


@ps.claim(
    "Theorem 4.4, attention",
    ps.published(
        *TO_1E4,
        expect=ps.Outcome.FAILS,
        because="on the horizon of the paper's plots the attention moves by 18, 35 and 39 and keeps growing",
    ),
    ps.theory(*evidence.theorem_sizes),
    id="4.4-dW",
)
def attention_is_frozen_in_phase_2(*runs):
    """|W_t - W_t0| = O(1): at most 1 from t_0, where it is 0, to the end of the run."""
    return drift_bound(*runs)


EMPTY = (
    "tau_0 <= 1/N makes |u*| >= 128 lam N^4, and 14 |u*|^2 <= eta T is then impossible at every N"
)


@ps.claim(
    "Theorem 4.4, window",
    ps.theory(*evidence.theorem_sizes, expect=ps.Outcome.FAILS, because=EMPTY),
    ps.published(
        evidence.figure_2,
        evidence.figure_4,
        evidence.figure_5,
        expect=ps.Outcome.FAILS,
        because="T of the theorem is 1.7, 4.9 and 7.2 steps here, long before phase 1 ends",
    ),
    id="4.4-window",
)
def the_theorem_speaks_about_some_time(*runs):
    """The window [t_2, T] of the theorem is not empty: 14 |u*|^2 / eta < T = (lam/2)^(2/3) / (eta N).

    |u*| is at least 2, the norm for saturated attention.
    """

    def judge(run):
        spec = spec_of(run)
        norm = margin_norm(run)
        last = closed_forms.horizon(spec.lam, spec.eta, spec.size)
        ratio = closed_forms.window_ratio(spec.eta, last, norm)
        opens = ps.at_most(ratio, 1.0, f"14 |u*|^2 / (eta T), N = {spec.size}")
        return opens & ps.at_least(norm, 2.0, "|u*|")

    return ps.all_of(map(judge, runs))


@ps.claim(
    "Theorems 4.1 to 4.5 together",
    ps.theory(
        *evidence.theorem_sizes,
        evidence.theorem_1024,
        expect=ps.Outcome.FAILS,
        because="phase 1 ends at tau = 1/N, long before the attention tells the classes apart",
    ),
    ps.published(*TO_1E4),
    id="4.x-theorem",
)
def the_model_learns_by_T(*runs):
    """All strings are classified correctly at the end of the run, and were not at its start."""

    def judge(run):
        return becomes_right(run.accuracy, f"accuracy, N = {run.sizes['length']},")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorems 4.1 to 4.5 together (ours)",
    ps.theory(*evidence.theorem_sizes, evidence.theorem_1024),
    id="4.x-nothing",
)
def nothing_is_learned_by_T(*runs):
    """At T only length 1 and one class are right: accuracy is 1/2 + 1/2N exactly, and the loss is above (N - 1) log 2. So
    is its floor, whatever the common level of the two classes' outputs, for they hardly differ. (Within 20% above.)"""

    def judge(run):
        end = run.isel(time=-1)
        N = run.sizes["length"]
        chance = (N - 1) * np.log(2)
        return (
            ps.agree(end.accuracy, 0.5 + 0.5 / N, atol=1e-12, what=f"accuracy, N = {N}")
            & ps.within(end.loss / chance, 1.0, 1.2, "loss / (N-1) log 2")
            & ps.within(end.loss_floor / chance, 1.0, 1.2, "floor / (N-1) log 2")
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


def loss_bound(run):
    """The printed bound on the loss, where it is below what the loss starts from."""
    spec = spec_of(run)
    after = phase_2(run).isel(time=slice(1, None))
    values = closed_forms.loss_bound(after.time.values, spec.eta, spec.size, margin_norm(run))
    bound = after.loss.copy(data=values)
    start = float(run.loss.isel(time=0))
    if not (bound < start).any():
        ends = f"vacuous: the bound ends at {float(bound[-1]):.3g}"
        return ps.undecided(f"{ends}, the loss starts at {start:.3g}", "a bound below the start")
    return ps.at_most(after.loss, bound, "loss", where=bound < start)


@ps.claim(
    "Theorem 4.5",
    ps.published(evidence.even_pairs_to_1e4, expect=ps.Outcome.UNDECIDED, because=VACUOUS),
    ps.theory(evidence.theorem_64, expect=ps.Outcome.UNDECIDED, because=VACUOUS),
    id="4.5",
)
def loss_falls_below_the_printed_bound(run):
    """L_t <= C N |u*|^2 / (eta sqrt t), with the proof's C = 14."""
    return loss_bound(run)


def last_decade(run):
    """The exponent of the loss in time over the last decade of the run, as the abstract states it: -1."""
    late = run.sel(time=slice(float(run.time[-1]) / 10, None))
    slope = ps.local_slope(late.loss).isel(time=slice(1, -1))
    return ps.within(slope, -1.15, -0.95, "d log loss / d log t") & ran_to_the_end(run)


@ps.claim(
    "Abstract, rate",
    ps.published(
        evidence.even_pairs_to_1e4,
        expect=ps.Outcome.FAILS,
        because="the slope is -2.2 at 10^3 and still -1.23 at 10^4 steps: 1/t is approached from steeper",
    ),
    ps.theory(evidence.even_pairs_flow),
    ps.beyond(evidence.even_pairs_frozen),
    id="abs-rate",
)
def loss_falls_like_one_over_t(run):
    """The loss decays as 1/t: the local exponent lies in [-1.15, -0.95] over the last decade of the run."""
    return last_decade(run)


claims = (
    read_out_grows_at_least_logarithmically,
    read_out_grows_by_its_margin_norm,
    read_out_turns_to_the_max_margin_direction,
    attention_is_frozen_in_phase_2,
    the_theorem_speaks_about_some_time,
    the_model_learns_by_T,
    nothing_is_learned_by_T,
    loss_falls_below_the_printed_bound,
    loss_falls_like_one_over_t,
)
