"""Theorems 4.4 and 5.2, phase 2: the norm of the read-out, its direction, and how far the attention moves."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..phases import margin_norm, phase_2, ran_to_the_end, spec_of
from . import evidence
from .assumptions import theorem_4_4, theorem_5_2
from .parts import by_size, told

FIGURES = (evidence.figure_2, evidence.figure_4, evidence.figure_5)
# The bound on the cosine says something where it is above -1: from N = 64 on.
LARGE = (evidence.theorem_64, evidence.theorem_128, evidence.theorem_256)


def last_octave(run):
    """The second half of the theorem's window: t_2 is not named, and must be below T."""
    after = phase_2(run)
    return after.sel(time=slice(float(run.time[-1]) / 2, None))


def grows_logarithmically(*runs):
    """|u_t| / log t on the last octave before T does not fall with N."""

    def ratio(run):
        late = last_octave(run)
        return told(late.u_norm / np.log(late.time))

    moved = ps.all_of(
        ps.guard(ps.increasing(phase_2(run).u_norm, f"|u_t|, N = {spec_of(run).size}"))
        for run in runs
    )
    return ps.big_omega(by_size(runs, ratio), what="|u_t| / log t") & moved & ran_to_the_end(*runs)


def weak_cosine(run):
    """cos(u_t, u*): from the solver where it could certify u*, else with the direction of `weak_margin_norm`."""
    known = run.margin_cosine if "margin_cosine" in run else None
    if known is not None and bool(known.isel(time=-1).notnull()):
        return known
    v = run.token_score
    norm = np.sqrt(2 * (v**2).sum("position", skipna=False))
    lead = v.sel(position=1, drop=True) - v.sel(position=2, drop=True)
    return lead / norm.where(norm > 0)


def turns_to_the_margin(*runs):
    """cos(u_t, u*) is above the printed bound on the last octave before the end; no |u*| is below 2."""

    def judge(run):
        late = last_octave(run)
        norm = margin_norm(run)
        bound = late.u_norm.copy(data=closed_forms.cosine_bound(late.u_norm.values, norm))
        spec = spec_of(run)
        what = f"cos(u_t, u*), N = {spec.size}, lam = {spec.lam:g}"
        says = ps.guard(ps.at_least(bound.isel(time=-1), -1.0, "the bound at the end"))
        real = ps.guard(ps.at_least(norm, 2.0, "|u*|"))
        proper = ps.guard(ps.at_most(abs(weak_cosine(late)), 1 + 1e-9, "|cos|"))
        slack = weak_cosine(late) - np.maximum(bound, -1.0)
        return ps.at_least(slack, ps.stated(0.0, "Theorem 4.4"), what) & says & real & proper

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


def hardly_moves(*runs):
    """|W_t - W_t0| = O(1): its largest value up to T, over N."""

    def judge(run):
        drift = phase_2(run).W_drift
        starts = ps.guard(ps.agree(drift.isel(time=0), 0.0, what="|W_t - W_t0| at t_0"))
        moves = ps.guard(ps.increasing(drift, "|W_t - W_t0|"))
        return starts & moves

    drifts = by_size(runs, lambda run: told(phase_2(run).W_drift))
    found = ps.big_o(drifts, what="|W_t - W_t0|")
    return found & ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 4.4, norm",
    ps.on("training", *evidence.theorem_family[1:]),
    id="thm4.4-norm",
    kind="lower",
    tex=r"\|u_t\| \ge \Omega(\log t), \quad t_2 \le t \le T",
    page="Section 4.2, Theorem 4.4",
    as_=("N", "inf"),
    assumes=theorem_4_4,
)
def read_out_grows_at_least_logarithmically(*runs):
    """|u_t| = Omega(log t) up to T: on its last octave, since t_2 is not named, with a constant that does not depend on N
    (from N = 32 on: before, T is less than a hundred updates)."""
    return grows_logarithmically(*runs)


@ps.claim(
    "Theorem 4.4, direction",
    ps.on("training", *LARGE),
    ps.on(
        "training",
        *FIGURES,
        expect="outside",
        because=(
            "with lam below N^2 the attention moves on after t_0, and the read-out follows it: the cosine is "
            "below the bound by {value:.2g} at {where}"
        ),
    ),
    id="thm4.4-direction",
    aliases=("4.4-cos",),
    kind="lower",
    tex=(
        r"\left\langle \tfrac{u_t}{\|u_t\|}, \tfrac{u^*_{EP}}{\|u^*_{EP}\|}\right\rangle \ge "
        r"1 - \tfrac12 \left(\tfrac{1}{6\|u^*_{EP}\|} - \tfrac{1}{\|u_t\|}\right)^2, \quad t_2 \le t \le T"
    ),
    page="Section 4.2, Theorem 4.4",
    assumes=theorem_4_4,
)
def read_out_turns_to_the_max_margin_direction(*runs):
    """cos(u_t, u*) >= 1 - (1/6|u*| - 1/|u_t|)^2 / 2 with u* for the attention at t_0: on the last octave before T, since
    t_2 is not named, at sizes where the bound is above -1. With |u_t| far below |u*| it allows an angle of 1/|u_t|."""
    return turns_to_the_margin(*runs)


@ps.claim(
    "Theorem 4.4, attention",
    ps.on("training", *evidence.theorem_family),
    id="thm4.4-drift",
    aliases=("4.4-dW",),
    kind="upper",
    tex=r"\|W_t - W_{t_0}\| \le O(1), \quad t \le T",
    page="Section 4.2, Theorem 4.4",
    as_=("N", "inf"),
    assumes=theorem_4_4,
)
def attention_is_frozen_in_phase_2(*runs):
    """|W_t - W_t0| = O(1) up to T, with a constant that does not depend on N."""
    return hardly_moves(*runs)


@ps.claim(
    "Section 6, attention in phase 2 (ours)",
    ps.on("training", *FIGURES),
    id="ours-not-frozen",
    assumes=theorem_4_4,
    kind="monotone",
    whose="ours",
    tex=r"\tfrac{d}{d \log t} \|W_t - W_{t_0}\| > 0",
    page="Section 6; Theorem 4.4",
)
def attention_is_not_frozen_in_the_plots(*runs):
    """On the horizon of the paper's plots, far beyond its T, the attention moves on: |W_t - W_t0| grows at every record, and
    in the last octave still by more than 1 per e-fold."""

    def judge(run):
        drift = phase_2(run).W_drift
        late = drift.sel(time=slice(float(run.time[-1]) / 2, None))
        rate = ps.slope(np.log(late.time), late)
        lam = f"lam = {spec_of(run).lam:g}"
        least = ps.chosen(1.0, "what the theorem calls O(1)")
        return (
            ps.increasing(drift, f"|W_t - W_t0|, {lam}")
            & ps.at_least(rate, least, f"d|W_t - W_t0| / d log t, {lam}")
            & ps.guard(ps.agree(drift.isel(time=0), 0.0, what="|W_t - W_t0| at t_0"))
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Section 6, direction in phase 2 (ours)",
    ps.on("training", evidence.even_pairs_to_1e4, evidence.figure_4, evidence.figure_5),
    id="ours-cosine-falls",
    assumes=theorem_4_4,
    kind="order",
    whose="ours",
    tex=r"\cos(u_t, u^*) \text{ peaks and falls}",
    page="Section 6; Theorem 4.4",
)
def read_out_turns_away_again(*runs):
    """The cosine with the max-margin direction of t_0 peaks well before 10^4 updates, and falls from there to the end."""

    def judge(run):
        cosine = phase_2(run).margin_cosine
        peak = cosine.time[int(np.argmax(cosine.values))]
        after = cosine.sel(time=slice(float(peak), None))
        lam = f"lam = {spec_of(run).lam:g}"
        return ps.ordered(
            float(spec_of(run).switch), float(peak), float(run.time[-1]) / 2, what=f"peak, {lam}"
        ) & ps.decreasing(after, f"cos(u_t, u*) after its peak, {lam}")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 5.2, norm",
    ps.on("training", *evidence.theorem_parity[1:]),
    id="thm5.2-norm",
    kind="lower",
    tex=r"\|u_t\| \ge \Omega(\log t), \quad t_2 \le t \le T",
    page="Section 5.3, Theorem 5.2",
    as_=("N", "inf"),
    assumes=theorem_5_2,
)
def read_out_of_parity_grows_logarithmically(*runs):
    """|u_t| = Omega(log t) up to T, on its last octave, with a constant that does not depend on N (from N = 32 on)."""
    return grows_logarithmically(*runs)


@ps.claim(
    "Theorem 5.2, direction",
    ps.on("training", *evidence.theorem_parity[2:]),
    ps.on(
        "training",
        evidence.figure_3,
        expect="outside",
        because=(
            "with lam below the square of N the attention moves on in phase 2: the cosine is below the bound by "
            "{value:.2g} at {where}"
        ),
    ),
    id="thm5.2-direction",
    aliases=("5.2",),
    kind="lower",
    tex=(
        r"\left\langle \tfrac{u_t}{\|u_t\|}, \tfrac{u^*_{CoT}}{\|u^*_{CoT}\|}\right\rangle \ge "
        r"1 - \tfrac12 \left(\tfrac{1}{6\|u^*_{CoT}\|} - \tfrac{1}{\|u_t\|}\right)^2, \quad t_2 \le t \le T"
    ),
    page="Section 5.3, Theorem 5.2",
    assumes=theorem_5_2,
)
def parity_turns_to_the_max_margin_direction(*runs):
    """The printed bound on cos(u_t, u*) holds on the last octave before T, at sizes where it is above -1."""
    return turns_to_the_margin(*runs)


@ps.claim(
    "Theorem 5.2, attention",
    ps.on("training", *evidence.theorem_parity),
    id="thm5.2-drift",
    kind="upper",
    tex=r"\|W_t - W_{t_0}\| \le O(1), \quad t \le T",
    page="Section 5.3, Theorem 5.2",
    as_=("N", "inf"),
    assumes=theorem_5_2,
)
def attention_of_parity_is_frozen_in_phase_2(*runs):
    """|W_t - W_t0| = O(1) up to T, with a constant that does not depend on N."""
    return hardly_moves(*runs)


claims = (
    read_out_grows_at_least_logarithmically,
    read_out_turns_to_the_max_margin_direction,
    attention_is_frozen_in_phase_2,
    attention_is_not_frozen_in_the_plots,
    read_out_turns_away_again,
    read_out_of_parity_grows_logarithmically,
    parity_turns_to_the_max_margin_direction,
    attention_of_parity_is_frozen_in_phase_2,
)
