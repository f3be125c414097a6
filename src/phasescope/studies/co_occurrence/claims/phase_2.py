"""Theorem 3.2: attention and values move, and samples are right."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..phases import (
    OVERLAPS,
    SCORES,
    at_time,
    first_phase_end,
    signed,
    trained,
)
from . import evidence
from .parts import by_width, in_phase_2, scanned, told, where_it_learns
from .premises import condition_1


def always(runs, condition, what: str) -> ps.Verdict:
    """Something is positive at all records from T_1 on, in every run, for C_T1 large enough."""

    def judge(c):
        found = []
        for run in map(trained, runs):
            found.append(ps.positive(condition(run), what, where=in_phase_2(run, c)))
        return ps.all_of(found)

    return scanned(judge)


@ps.claim(
    "Theorem 3.2 (1), Lemma 4.7",
    ps.on("training", *evidence.theory_runs),
    ps.on("training", evidence.figure_1_descent),
    id="thm3.2-i-scores",
    aliases=("T3.2-i",),
    kind="sign",
    tex=r"\dot S_{21}, \dot S_{12} > 0 > \dot S_{31}, \dot S_{32} \text{ on } (T_1, T_2)",
    page="Section 3, Theorem 3.2, item 1; Lemma 4.7",
    assumes=condition_1,
)
@where_it_learns
def attention_moves_as_predicted(*runs):
    """At all times after T_1 the scores of mu_1 and mu_2 for each other rise, and those of mu_3 as their key
    fall, for C_T1 large enough."""
    return always(runs, lambda run: signed(run.Sdot, SCORES) / run.loss, "signed rate of a score")


@ps.claim(
    "Theorem 3.2 (2), Corollary 4.6, Corollary F.13",
    ps.on("training", *evidence.theory_runs),
    ps.on("training", evidence.figure_1_descent),
    id="thm3.2-ii-overlaps",
    aliases=("T3.2-ii",),
    kind="sign",
    tex=r"\dot A_{12}, \dot A_{11}, \dot A_{22} > 0 > \dot A_{13}, \dot A_{23} \text{ on } (T_1, T_2)",
    page="Section 3, Theorem 3.2, item 2; Corollary 4.6; Corollary F.13",
    assumes=condition_1,
)
@where_it_learns
def value_overlaps_move_as_predicted(*runs):
    """At all times after T_1 the overlaps A_12, A_11 and A_22 of the targets' values rise, A_13 and A_23 fall,
    for C_T1 large enough."""
    directions = OVERLAPS | {(1, 1): 1.0, (2, 2): 1.0}
    return always(
        runs, lambda run: signed(run.Adot, directions) / run.loss, "signed rate of an overlap"
    )


def stays_large(runs, values, what: str) -> ps.Verdict:
    """Some values from T_1 on are at least a constant, at every width, for C_T1 large enough."""

    def judge(c):
        found = by_width(runs, lambda run: told(values(run), in_phase_2(run, c)))
        return ps.big_omega(found, along="m", what=what)

    return scanned(judge)


def word(run: xr.Dataset, number: int) -> xr.DataArray:
    """The value of a word."""
    return run.G.sel(word=number, drop=True)


@ps.claim(
    "Theorem 3.2 (3), target words",
    ps.on("training", *evidence.theory_runs),
    id="thm3.2-iii-targets",
    aliases=("T3.2-iii",),
    kind="lower",
    tex=r"G^{(t)}(\mu_1), G^{(t)}(\mu_2) \ge \Omega(1)",
    page="Section 3, Theorem 3.2, item 3",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def values_of_the_targets_stay_large(*runs):
    """From T_1 on G(mu_1) and G(mu_2) are at least a constant that does not fall with m."""
    return stays_large(runs, lambda run: run.G.sel(word=[1, 2]), "G(mu_1), G(mu_2)")


@ps.claim(
    "Theorem 3.2 (3), common word, with >= (E1)",
    ps.on("training", *evidence.theory_runs),
    id="thm3.2-iii-common",
    kind="lower",
    whose="corrected",
    erratum="E1",
    tex=r"-G^{(t)}(\mu_3) \ge \Omega(1)",
    page="Section 3, Theorem 3.2, item 3",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_value_of_the_common_word_stays_large(*runs):
    """From T_1 on -G(mu_3) is at least a constant that does not fall with m; the paper prints at most."""
    return stays_large(runs, lambda run: -word(run, 3), "-G(mu_3)")


@ps.claim(
    "Theorem 3.2 (4), first part",
    ps.on("training", *evidence.theory_runs),
    id="thm3.2-iv-both",
    kind="lower",
    tex=r"G^{(t)}(\mu_1) + G^{(t)}(\mu_2) + G^{(t)}(\mu_3) \ge \Omega(1)",
    page="Section 3, Theorem 3.2, item 4",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def two_target_words_are_enough(*runs):
    """From T_1 on G(mu_1) + G(mu_2) + G(mu_3) is at least a constant that does not fall with m."""
    return stays_large(
        runs, lambda run: word(run, 1) + word(run, 2) + word(run, 3), "G_1 + G_2 + G_3"
    )


@ps.claim(
    "Theorem 3.2 (4), second part",
    ps.on("training", *evidence.theory_runs),
    id="thm3.2-iv-one",
    aliases=("T3.2-iv", "T3.2-iv-late"),
    kind="lower",
    tex=r"G^{(t)}(\mu_1) + G^{(t)}(\mu_3),\ G^{(t)}(\mu_2) + G^{(t)}(\mu_3) \le -\Omega(1)",
    page="Section 3, Theorem 3.2, item 4; Definition E.2 and Theorem E.26 for T_1",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def one_target_word_is_not_enough(*runs):
    """From T_1 on G(mu_1) + G(mu_3) and G(mu_2) + G(mu_3) are negative by a constant that does not fall with m,
    for C_T1 large enough."""
    return stays_large(runs, lambda run: -(run.G.sel(word=[1, 2]) + word(run, 3)), "-(G_1 + G_3)")


@ps.claim(
    "Theorem 3.2 (4), when samples are first right (ours)",
    ps.on("training", *evidence.theory_runs),
    id="ours-first-right",
    kind="sign",
    whose="ours",
    tex=r"G(\mu_1) + G(\mu_3) > 0 \text{ when } \min_i y_iF_i \text{ becomes positive}",
    page="Section 3, Theorem 3.2, item 4",
    assumes=condition_1,
)
@where_it_learns
def samples_are_first_right_by_their_irrelevant_words(*runs):
    """When all samples become right for good, G(mu_1) + G(mu_3) or G(mu_2) + G(mu_3) is still positive: a
    sample with one target word is told by its irrelevant words."""
    found = []
    for run in map(trained, runs):
        pair = (run.G.sel(word=[1, 2]) + word(run, 3)).max("word", skipna=False)
        then = at_time(pair, run, first_phase_end(run))
        found.append(ps.positive(then, "G_1 + G_3 when all samples become right"))
    return ps.all_of(found)


claims = (
    attention_moves_as_predicted,
    value_overlaps_move_as_predicted,
    values_of_the_targets_stay_large,
    the_value_of_the_common_word_stays_large,
    two_target_words_are_enough,
    one_target_word_is_not_enough,
    samples_are_first_right_by_their_irrelevant_words,
)
