"""The lemmas of Appendices A and B on the start: elementary inequalities, symmetry, first steps."""

from __future__ import annotations

import phasescope as ps

from .. import closed_forms
from ..phases import ran_to_the_end, spec_of
from ..training import symmetric
from . import evidence, tables

EXACT = 1e-12  # float64 sums of a hundred terms, over some hundred steps
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


@ps.claim(
    "Lemma A.1",
    ps.theory(ps.tables(tables.softmax_table, lam=[1.0, 2.0, 36.0], samples=2000)),
    id="A.1",
)
def softmax_is_lipschitz(table):
    """softmax(x / lam) is 1/lam-Lipschitz, and even 1/(2 lam): lam |S(x) - S(y)| <= |x - y| / 2."""
    what = "lam |S(x) - S(y)| / |x - y|"
    return ps.at_most(table.ratio, 0.5, what) & ps.positive(table.ratio, what)


@ps.claim("Equation (2)", ps.theory(ps.tables(tables.sigmoid_table, points=400)), id="eq.2")
def sigmoid_is_nearly_linear(table):
    """|sigma(-x) - (1/2 - x/4)| <= |x|^3, and even |x|^3 / 48."""
    what = "remainder / |x|^3"
    return ps.at_most(table.ratio, 1 / 48, what) & ps.positive(table.ratio, what)


@ps.claim(
    "Lemma B.1, token scores",
    ps.published(evidence.full_even_pairs),
    ps.theory(evidence.full_even_pairs_8),
    id="B.1a",
)
def token_scores_depend_on_position_only(run):
    """<u, E_l^w> does not depend on the token w."""
    moved = ps.positive(run.u_norm.isel(time=slice(1, None)), "|u|")
    return ps.within(run.token_asymmetry, 0.0, EXACT, "|u_a - u_b|") & moved & ran_to_the_end(run)


_SELF_KEY = "the last token's own key is never seen with the other token, so its score there stays 0 while s_L grows"


@ps.claim(
    "Lemma B.1, attention scores",
    ps.published(evidence.full_even_pairs, expect=ps.Outcome.FAILS, because=_SELF_KEY),
    ps.theory(evidence.full_even_pairs_8, expect=ps.Outcome.FAILS, because=_SELF_KEY),
    id="B.1b",
)
def no_score_but_the_pivots_depends_on_the_key_token(run):
    """For every l >= 2, <E_l^w', W E_L^w> does not depend on the token w'."""
    before = ps.within(run.score_asymmetry, 0.0, EXACT, "at l < L")
    at_the_last = ps.within(run.self_asymmetry, 0.0, EXACT, "at l = L")
    return before & at_the_last


@ps.claim(
    "Lemma B.1, corrected to l < L",
    ps.published(evidence.full_even_pairs),
    ps.theory(evidence.full_even_pairs_8),
    id="B.1b-corrected",
)
def scores_before_the_last_token_depend_on_position_only(run):
    """For 2 <= l < L, <E_l^w', W E_L^w> does not depend on the token w'."""
    moved = ps.positive(run.W_norm.isel(time=slice(2, None)), "|W|")
    return ps.within(run.score_asymmetry, 0.0, EXACT, "at l < L") & moved & ran_to_the_end(run)


@ps.claim(
    "Lemma B.1, two strings per length",
    ps.published(evidence.full_even_pairs, evidence.reduced_even_pairs),
    ps.theory(evidence.full_even_pairs_8, evidence.reduced_even_pairs_8),
    id="B.1c",
)
def two_strings_per_length_suffice(full, reduced):
    """Training on all strings is training on one matching and one differing string of each length: the reduction.

    Both fall from the start, so that what agrees is training.
    """
    same = ps.all_of(ps.agree(full[name], reduced[name], atol=EXACT) for name in REDUCED)
    return same & ps.decreasing(full.loss, "loss") & ran_to_the_end(full, reduced)


@ps.claim("Lemma B.2", ps.published(ps.runs(symmetric, steps=3, at=[0, 1, 2, 3])), id="B.2")
def first_steps(run):
    """One update moves v_1 alone, to eta/4; then v_l < 0 < p_L and q_L < 0 for all l, L >= 2, and W moves second.

    v_l(2) = -(eta^2/32) sum_{L >= l} L^-2 up to O(eta^4); the paper prints a constant eight times as large.
    """
    spec = spec_of(run)
    one = run.sel(time=1)
    later = run.sel(time=[2, 3])
    tail = slice(2, None)
    two_steps = closed_forms.step_clock(spec.eta, 2)
    forecast = closed_forms.early_token_scores(spec.size, two_steps)[1:]
    ratio = run.token_score.sel(time=2, position=tail) / forecast
    return (
        ps.agree(one.token_score.sel(position=1), spec.eta / 4, what="v_1(1)")
        & ps.agree(one.token_score.sel(position=tail), 0.0, what="v_l(1)")
        & ps.agree(one.W_norm, 0.0, what="|W_1|")
        & ps.positive(later.token_score.sel(position=1), "v_1")
        & ps.negative(later.token_score.sel(position=tail), "v_l")
        & ps.positive(later.score_match.sel(length=tail), "p_L")
        & ps.negative(later.score_differ.sel(length=tail), "q_L")
        & ps.within(ratio, 1 - spec.eta**2, 1 + spec.eta**2, "v_l(2) / closed form")
    )


claims = (
    softmax_is_lipschitz,
    sigmoid_is_nearly_linear,
    token_scores_depend_on_position_only,
    no_score_but_the_pivots_depends_on_the_key_token,
    scores_before_the_last_token_depend_on_position_only,
    two_strings_per_length_suffice,
    first_steps,
)
