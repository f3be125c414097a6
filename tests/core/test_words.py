"""The word of a row: kind, outcome and assumptions, in the order of precedence of the design."""

import numpy as np
import pytest

import phasescope as ps
from phasescope.analysis.verdict import Outcome, Verdict
from phasescope.claims.assumptions import Met, Scope
from phasescope.claims.protocol import Protocol
from phasescope.claims.statement import Kind, Statement, Whose, unfit
from phasescope.claims.words import MEANINGS, Word, word_of

HOLDS = Verdict(Outcome.HOLDS, "", "")
FAILS = Verdict(Outcome.FAILS, "", "")
UNDECIDED = Verdict(Outcome.UNDECIDED, "", "")
MET = (Met("large", Scope.LANE, met=True),)
BROKEN = (Met("large", Scope.LANE, met=False),)
FREE = (Met("large", Scope.LANE, met=True, free=True, low=1.0, high=1.0),)
SCANNED = (Met("large", Scope.LANE, met=True, free=True, low=1.0, high=1000.0),)
REFUTABLE = (Kind.IDENTITY, Kind.SIGN, Kind.ORDER, Kind.MONOTONE)
ASYMPTOTIC = (Kind.UPPER, Kind.LOWER, Kind.THETA, Kind.RATE, Kind.LIMIT, Kind.APPROX)


def word(kind, verdict, assumptions=MET, protocols=()):
    return word_of(Statement(kind), verdict, assumptions, protocols).word


def failing(**facts):
    return Verdict(Outcome.FAILS, "", "", **facts)


@pytest.mark.parametrize("kind", REFUTABLE)
def test_a_counter_example_inside_the_assumptions_is_false(kind):
    assert word(kind, FAILS) == "false"


@pytest.mark.parametrize("kind", ASYMPTOTIC)
@pytest.mark.parametrize(("trend", "expected"), [("towards", "not_yet"), ("away", "against")])
def test_finite_sizes_cannot_refute_an_asymptotic_statement(kind, trend, expected):
    assert word(kind, failing(trend=trend)) == expected


@pytest.mark.parametrize("kind", ASYMPTOTIC)
def test_an_asymptotic_statement_without_a_trend_is_undecided(kind):
    assert word(kind, FAILS) == "undecided"


@pytest.mark.parametrize("kind", ASYMPTOTIC)
def test_a_derivation_makes_it_false(kind):
    assert word(kind, failing(is_derived=True)) == "false"


@pytest.mark.parametrize("kind", [*REFUTABLE, *ASYMPTOTIC])
def test_where_an_assumption_is_broken_a_failure_is_outside(kind):
    assert word(kind, failing(trend="away"), BROKEN) == "outside"


@pytest.mark.parametrize("kind", [*REFUTABLE, *ASYMPTOTIC])
@pytest.mark.parametrize("assumptions", [MET, BROKEN])
def test_what_holds_holds_inside_and_beyond(kind, assumptions):
    assert word(kind, HOLDS, assumptions) == "holds"


def test_a_bound_that_the_paper_states_can_be_refuted_at_one_size():
    found = ps.at_most([0.2], ps.stated(0.01, "Lemma D.8"))
    assert word(Kind.UPPER, found) == "false"


def test_a_free_constant_that_was_not_scanned_protects_a_statement():
    assert word(Kind.SIGN, FAILS, FREE) == "undecided"
    assert word(Kind.SIGN, FAILS, SCANNED) == "false"
    assert word(Kind.SIGN, failing(sizes={"large": (1.0, 100.0)}), FREE) == "false"
    assert word(Kind.SIGN, failing(is_derived=True), FREE) == "false"


def test_the_missing_part_is_named():
    said = word_of(Statement(Kind.SIGN), FAILS, FREE)
    assert "large" in said.missing


@pytest.mark.parametrize("kind", list(Kind))
def test_undecided_comes_before_all_others(kind):
    assert word(kind, UNDECIDED, BROKEN) == "undecided"


@pytest.mark.parametrize("empty", ["vacuous", "trivial"])
def test_a_statement_without_content_says_so_wherever_it_holds(empty):
    assert word(Kind.UPPER, Verdict(Outcome.HOLDS, "", "", empty=empty), BROKEN) == empty


def test_a_regression_is_as_before_or_changed():
    assert word(Kind.REGRESSION, HOLDS) == "as_before"
    assert word(Kind.REGRESSION, FAILS, BROKEN) == "changed"


@pytest.mark.parametrize("kind", [Kind.FIGURE, Kind.RELEASED])
def test_a_figure_is_reproduced_or_not_if_nothing_was_guessed(kind):
    stated = Protocol("Figure 1", ("sgd",), stated=("eta",))
    guessed = Protocol("Figure 1", ("sgd",), guessed=("steps",))
    scanned = Protocol("Figure 1", ("sgd",), guessed=("steps",), scanned=("steps",))
    assert word(kind, HOLDS, protocols=(guessed,)) == "reproduced"
    assert word(kind, FAILS, protocols=(stated,)) == "not_reproduced"
    assert word(kind, FAILS, protocols=(guessed,)) == "undecided"
    assert word(kind, FAILS, protocols=(scanned,)) == "not_reproduced"


def test_every_word_has_a_meaning():
    assert set(MEANINGS) == set(Word)


def test_words_and_kinds_are_those_of_the_contract():
    words = "holds false against not_yet outside vacuous trivial reproduced not_reproduced"
    words += " as_before changed undecided error"
    kinds = "identity approx sign order monotone upper lower theta rate limit figure released"
    assert {w.value for w in Word} == set(words.split())
    assert {k.value for k in Kind} == {*kinds.split(), "regression"}


# --- the kind fixes the check -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "verdict", "fits"),
    [
        (Kind.IDENTITY, ps.agree([1.0], [1.0]), True),
        (Kind.IDENTITY, ps.positive([1.0]), False),
        (Kind.SIGN, ps.positive([1.0]), True),
        (Kind.THETA, ps.within([1.0], 0.9, 1.1), False),
        (Kind.THETA, ps.big_theta({8: [1.0]}), True),
        (Kind.UPPER, ps.at_most([1.0], ps.chosen(2.0, "it looks fine")), False),
        (Kind.UPPER, ps.at_most([1.0], ps.stated(2.0, "Lemma 1")), True),
        (Kind.UPPER, ps.at_most([1.0, 0.5], np.full(2, 2.0)), False),
        (Kind.UPPER, ps.at_most([1.0, 0.5], np.array([2.0, 3.0])), True),
        (Kind.FIGURE, ps.positive([1.0]), True),
    ],
)
def test_the_kind_fixes_the_check(kind, verdict, fits):
    assert (unfit(kind, verdict) == "") is fits


@pytest.mark.parametrize(
    ("bound", "fits"), [(ps.chosen(2.0, "twice the error of a step"), True), (2.0, False)]
)
def test_a_statement_of_ours_may_have_a_constant_of_ours_with_its_reason(bound, fits):
    verdict = ps.at_most([1.0], bound)
    assert (unfit(Kind.UPPER, verdict, Whose.OURS) == "") is fits
