"""Lemmas B.1 and C.1: by the symmetry of data and start, scores depend on positions, and two strings a length suffice."""

from __future__ import annotations

import phasescope as ps

from ..phases import ran_to_the_end
from ..training import exhaustive, symmetric
from . import evidence
from .assumptions import even_pairs, parity
from .parts import EXACT

REDUCED = (
    "loss",
    "token_score",
    "score_match",
    "score_differ",
    "score_other",
    "score_self",
    "W_norm",
    "attention_match",
)
FULL = (evidence.full_even_pairs, evidence.full_even_pairs_8)
PAIRS = (
    evidence.full_even_pairs,
    evidence.reduced_even_pairs,
    evidence.full_even_pairs_8,
    evidence.reduced_even_pairs_8,
)


def full_and_reduced(**numbers) -> tuple[ps.Request, ps.Request]:
    """The same 400 steps on all strings, and in the coordinates of the reduction."""
    steps = {"task": "parity", "steps": 400, "at": evidence.every_step(400), **numbers}
    return ps.runs(exhaustive, **steps), ps.runs(symmetric, **steps)


# Lengths up to 2 L_0 - 2 at two sizes, and the printed range up to 2 L_0 - 1.
PARITY_PAIRS = (
    *full_and_reduced(),
    *full_and_reduced(base_length=5),
    *full_and_reduced(max_length=7),
)
PARITY_FULL = PARITY_PAIRS[::2]


def trains(run) -> ps.Verdict:
    """u and W move, and the loss falls."""
    return (
        ps.guard(ps.positive(run.u_norm.isel(time=slice(1, None)), "|u|"))
        & ps.guard(ps.positive(run.W_norm.isel(time=slice(2, None)), "|W|"))
        & ps.guard(ps.decreasing(run.loss, "loss"))
    )


def vanish(names, runs) -> ps.Verdict:
    """These asymmetries are 0 to rounding at all records of runs that train."""

    def judge(run):
        return ps.all_of(ps.agree(run[name], 0.0, atol=EXACT) for name in names) & trains(run)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


def same_as_reduced(names, asymmetries, runs) -> ps.Verdict:
    """Full and reduced runs, in turn: no asymmetry, and the scores that the reduction has one of are those of both tokens."""
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    same = ps.all_of(
        ps.agree(full[name], reduced[name], atol=EXACT) for full, reduced in pairs for name in names
    )
    return vanish(asymmetries, runs[::2]) & same & ran_to_the_end(*runs)


def two_strings(*runs) -> ps.Verdict:
    """Full and reduced runs, in turn, agree."""
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    same = ps.all_of(
        ps.agree(full[name], reduced[name], atol=EXACT)
        for full, reduced in pairs
        for name in REDUCED
    )
    return same & ps.all_of(trains(full) for full, _ in pairs) & ran_to_the_end(*runs)


@ps.claim(
    "Lemma B.1, token scores",
    ps.on("training", *PAIRS),
    id="lemB.1-u",
    aliases=("B.1a",),
    kind="identity",
    tex=r"\langle u_t, E_\ell^w\rangle = \langle u_t, E_\ell^{-w}\rangle, \quad \ell \ge 1",
    page="Appendix B, Lemma B.1",
    assumes=even_pairs,
)
def token_scores_depend_on_position_only(*runs):
    """<u, E_l^w> does not depend on the token w."""
    return same_as_reduced(["token_score"], ["token_asymmetry"], runs)


@ps.claim(
    "Lemma B.1, attention scores of the first key",
    ps.on("training", *PAIRS),
    id="lemB.1-W-first",
    kind="identity",
    tex=r"\langle E_1^w, W_t E_L^w\rangle = \langle E_1^{-w}, W_t E_L^{-w}\rangle",
    page="Appendix B, Lemma B.1",
    assumes=even_pairs,
)
def first_key_sees_only_whether_tokens_match(*runs):
    """<E_1^w, W E_L^w> does not change when both tokens are flipped, nor does <E_1^-w, W E_L^w>."""
    return same_as_reduced(["score_match", "score_differ"], ["pivot_asymmetry"], runs)


SELF_KEY = (
    "at l = L the other token is a key that never occurs, so its score stays at zero while that of "
    "the last token grows: they differ by {value:.3g}"
)


@ps.claim(
    "Lemma B.1, attention scores of the other keys",
    ps.on("training", *FULL, expect="false", because=SELF_KEY),
    id="lemB.1-W",
    aliases=("B.1b",),
    kind="identity",
    tex=r"\langle E_\ell^w, W_t E_L^w\rangle = \langle E_\ell^{-w}, W_t E_L^w\rangle, \quad \ell \ge 2",
    page="Appendix B, Lemma B.1",
    assumes=even_pairs,
)
def no_score_but_the_pivots_depends_on_the_key_token(*runs):
    """For every l >= 2, l = L included, <E_l^w', W E_L^w> does not depend on the token w'."""
    return vanish(["score_asymmetry", "self_asymmetry"], runs)


@ps.claim(
    "Lemma B.1, attention scores, corrected to l < L",
    ps.on("training", *PAIRS),
    id="lemB.1-W-corrected",
    aliases=("B.1b-corrected",),
    kind="identity",
    whose="corrected",
    erratum="E6",
    tex=r"\langle E_\ell^w, W_t E_L^w\rangle = \langle E_\ell^{-w}, W_t E_L^w\rangle, \quad 2 \le \ell < L",
    page="Appendix B, Lemma B.1",
    assumes=even_pairs,
)
def scores_before_the_last_token_depend_on_position_only(*runs):
    """For 2 <= l < L, <E_l^w', W E_L^w> does not depend on the token w'."""
    return same_as_reduced(["score_other"], ["score_asymmetry"], runs)


@ps.claim(
    "Lemma B.1, two strings per length",
    ps.on("training", *PAIRS),
    id="lemB.1-two-strings",
    aliases=("B.1c",),
    kind="identity",
    tex=r"\varphi^{(n,t)},\ \mathsf{T}_t(X^{(n)}) \text{ depend on } L \text{ and } y_n \text{ only}",
    page="Appendix B, after Lemma B.1",
    assumes=even_pairs,
)
def two_strings_per_length_suffice(*runs):
    """Training on all strings is training on one matching and one differing string of each length: the reduction."""
    return two_strings(*runs)


@ps.claim(
    "Lemma C.1, token scores and scores of the pivot",
    ps.on("training", *PARITY_PAIRS),
    id="lemC.1-u",
    kind="identity",
    tex=(
        r"\langle u_t, E_\ell^w\rangle = \langle u_t, E_\ell^{-w}\rangle, \quad "
        r"\langle E_{\ell_0}^w, W_t E_L^w\rangle = \langle E_{\ell_0}^{-w}, W_t E_L^{-w}\rangle"
    ),
    page="Appendix C, Lemma C.1",
    assumes=parity,
)
def parity_is_symmetric_like_even_pairs(*runs):
    """With the pivot at l_0 = L - L_0 + 1: token scores depend on the position only, and the pivot's score only on whether
    it equals the last token."""
    names = ["token_score", "score_match", "score_differ"]
    return same_as_reduced(names, ["token_asymmetry", "pivot_asymmetry"], runs)


@ps.claim(
    "Lemma C.1, attention scores of the other keys",
    ps.on("training", *PARITY_FULL, expect="false", because=SELF_KEY),
    id="lemC.1-W",
    kind="identity",
    tex=r"\langle E_\ell^w, W_t E_L^w\rangle = \langle E_\ell^{-w}, W_t E_L^w\rangle, \quad \ell \ne \ell_0",
    page="Appendix C, Lemma C.1",
    assumes=parity,
)
def no_score_but_the_pivots_depends_on_the_key_token_in_parity(*runs):
    """For every l other than the pivot, l = L included, <E_l^w', W E_L^w> does not depend on the token w'."""
    return vanish(["score_asymmetry", "self_asymmetry"], runs)


@ps.claim(
    "Lemma C.1, corrected to l < L",
    ps.on("training", *PARITY_PAIRS),
    id="lemC.1-corrected",
    aliases=("C.1",),
    kind="identity",
    whose="corrected",
    erratum="E6",
    tex=(
        r"\langle E_\ell^w, W_t E_L^w\rangle = \langle E_\ell^{-w}, W_t E_L^w\rangle, "
        r"\quad \ell \ne \ell_0,\ \ell < L"
    ),
    page="Appendix C, Lemma C.1",
    assumes=parity,
)
def parity_reduces_like_even_pairs(*runs):
    """For l < L other than the pivot the score depends on the position only, and two strings per length suffice."""
    return vanish(["score_asymmetry"], runs[::2]) & two_strings(*runs)


claims = (
    token_scores_depend_on_position_only,
    first_key_sees_only_whether_tokens_match,
    no_score_but_the_pivots_depends_on_the_key_token,
    scores_before_the_last_token_depend_on_position_only,
    two_strings_per_length_suffice,
    parity_is_symmetric_like_even_pairs,
    no_score_but_the_pivots_depends_on_the_key_token_in_parity,
    parity_reduces_like_even_pairs,
)
