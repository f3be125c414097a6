"""Margins, the factor that turns an outcome, and the sources of numbers."""

import itertools

import numpy as np
import pytest

import phasescope as ps

WHY = "a reason"


@pytest.mark.parametrize(
    ("verdict", "margin"),
    [
        (ps.agree([1.0], [1.0], atol=0.1), 1.0),
        (ps.agree([1.1], [1.0], atol=0.1), 0.0),
        (ps.agree([1.2], [1.0], atol=0.1), -1.0),
        (ps.within([0.5], 0.0, 1.0), 1.0),
        (ps.within([1.0], 0.0, 1.0), 0.0),
        (ps.within([1.5], 0.0, 1.0), -1.0),
        (ps.at_most([0.0], 2.0), 1.0),
        (ps.at_most([2.0], 2.0), 0.0),
        (ps.at_most([4.0], 2.0), -1.0),
        (ps.at_least([2.0], 2.0), 0.0),
        (ps.positive([0.1, 1.0]), 0.1),
        (ps.negative([-1.0, 0.5]), -0.5),
        (ps.increasing([0.0, 0.5, 1.0]), 0.5),
        (ps.decreasing([1.0, 0.9, 0.0]), 0.1),
        (ps.ordered(1.0, np.e), 1.0),
        (ps.positive([1.0]) & ps.within([0.25], 0.0, 1.0), 0.5),
    ],
)
def test_a_margin_is_slack_in_units_of_what_is_allowed(verdict, margin):
    assert verdict.margin == pytest.approx(margin, abs=1e-9)


def test_what_is_undecided_has_no_margin():
    assert ps.positive([np.nan]).margin is None
    assert (ps.positive([1.0]) & ps.undecided("why")).margin is None


def test_a_guard_is_not_part_of_the_margin():
    assert (ps.at_most([1.0], 2.0) & ps.guard(ps.positive([1e-9, 1.0]))).margin == 0.5


def test_without_its_guards_a_verdict_is_that_of_the_other_checks():
    found = ps.at_most([1.0], 2.0, "loss") & ps.guard(ps.positive([-1.0], "movement"))
    assert found.outcome == ps.Outcome.UNDECIDED
    assert found.unguarded.outcome == ps.Outcome.HOLDS
    assert found.unguarded.measured == "loss = 1"
    assert ps.guard(ps.positive([1.0])).unguarded.outcome == ps.Outcome.UNDECIDED


def test_a_guard_that_is_not_met_is_undecided_and_never_fails():
    found = ps.at_most([1.0], 2.0) & ps.guard(ps.positive([-1.0]))
    assert found.outcome.value == "undecided"


def test_dead_evidence_refutes_nothing():
    """A check that fails beside a guard that is not met is undecided, in whichever order they are joined."""
    fails, flat = ps.at_most([3.0], 2.0), ps.guard(ps.positive([0.0], "movement"))
    alive = ps.guard(ps.positive([1.0], "movement"))
    for parts in itertools.permutations((fails, flat, alive, ps.positive([1.0]))):
        found = ps.all_of(parts)
        assert (found.outcome.value, found.margin, found.flips_at) == ("undecided", None, None)
        assert found.unguarded.outcome.value == "fails"
    assert (fails & alive).outcome.value == "fails"


@pytest.mark.parametrize(
    ("verdict", "factor"),
    [
        (ps.agree([1.05], [1.0], atol=0.1), 0.5),
        (ps.agree([1.3], [1.0], atol=0.1), 3.0),
        (ps.within([0.75], 0.0, 1.0), 0.5),
        (ps.at_most([1.0], 2.0), 0.5),
        (ps.at_least([4.0], 2.0), 0.5),
        (ps.at_most([1.0], 2.0) & ps.agree([1.08], [1.0], atol=0.1), 0.8),
        (ps.positive([1.0]), None),
        (ps.at_most([1.0], ps.stated(2.0, "Lemma 1")), None),
        (ps.positive([-1.0]) & ps.at_most([3.0], 2.0), None),
    ],
)
def test_the_factor_that_turns_an_outcome_is_said_where_there_is_a_tolerance(verdict, factor):
    assert verdict.flips_at == (None if factor is None else pytest.approx(factor))


@pytest.mark.parametrize("factor", [0.4, 0.9, 1.1, 3.0])
@pytest.mark.parametrize("value", [0.3, 0.7, 1.6])
def test_the_outcome_turns_where_it_says(factor, value):
    first = ps.agree([value], [0.0], atol=1.0)
    again = ps.agree([value], [0.0], atol=factor)
    assert first.flips_at is not None
    assert (again.outcome.value == "holds") is (factor >= first.flips_at)


@pytest.mark.parametrize(
    ("bound", "kind"),
    [
        (ps.stated(0.5, "Lemma D.8"), "stated"),
        (ps.derived(0.5, "closed_forms.f"), "derived"),
        (ps.released(0.5, "the log", sd=0.1, n=10), "released"),
        (ps.chosen(0.5, WHY), "chosen"),
        (0.5, "chosen"),
    ],
)
def test_a_check_notes_where_its_numbers_come_from(bound, kind):
    (source,) = ps.at_most([0.1], bound).sources
    assert (source.number, source.kind.value) == (0.5, kind)


def test_a_bare_number_is_chosen_without_a_reason():
    assert ps.agree([1.0], [1.0], atol=0.1).sources[0].text == ""


@pytest.mark.parametrize("make", [ps.stated, ps.derived, ps.released, ps.chosen])
def test_a_source_without_a_word_is_refused(make):
    with pytest.raises(ValueError, match="say where or why"):
        make(0.5, " ")


def test_a_number_with_a_source_is_a_number():
    assert ps.stated(0.5, WHY) * 2 == 1.0
    assert np.asarray([ps.stated(0.5, WHY)]).dtype == float


def test_the_sources_of_joined_checks_are_listed_once():
    tolerance = ps.chosen(0.1, WHY)
    found = ps.agree([1.0], [1.0], atol=tolerance) & ps.agree([2.0], [2.0], atol=tolerance)
    assert len(found.sources) == 1


def test_a_vacuous_statement_needs_a_certificate_that_holds():
    assert ps.vacuous(ps.at_least([5.0], 1.0, "t_2 / T"), "t_2 is after T").empty == "vacuous"
    assert ps.vacuous(ps.at_least([0.5], 1.0), "t_2 is after T").outcome.value == "undecided"


def test_only_what_fails_can_be_refuted():
    assert not ps.refuted(ps.positive([1.0]), by="f").is_derived
    assert ps.refuted(ps.positive([-1.0]) & ps.positive([1.0]), by="f").is_derived


# --- the width of a block -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["flow", "descent", "logistic"])
def test_word_and_margin_of_a_claim_are_the_same_at_every_width(arm):
    """The last digits of a lane may differ between widths; what a claim says of them may not."""
    study = ps.find("linear_modes")
    (claim,) = [c for c in study.claims if c.name == "stronger_modes_are_learnt_first"]
    numbers = {"epsilon": np.geomspace(1e-4, 1e-2, 7), "store": False, "progress": False}
    verdicts = {}
    for block in (1, 4, 16):
        swept = ps.sweep(study, arm, block=block, **numbers)
        verdicts[block] = claim(swept)
    first = verdicts[1]
    for found in verdicts.values():
        assert found.outcome is first.outcome
        assert found.margin == pytest.approx(first.margin, rel=1e-9)


def test_word_and_margin_of_a_claim_of_a_theorem_are_the_same_at_every_width():
    study = ps.find("regular_language")
    claim = study.claim("lemB.2-first-update")
    (arm,) = {request.arm for regime in claim.regimes[:1] for request in regime.evidence}
    runs = [
        ps.sweep(study, arm, eta=np.geomspace(0.01, 1, 9), steps=20, block=block, store=False)
        for block in (1, 3, 9)
    ]
    verdicts = [claim(ds) for ds in runs]
    assert len({verdict.outcome for verdict in verdicts}) == 1
    for verdict in verdicts[1:]:
        assert verdict.margin == pytest.approx(verdicts[0].margin, rel=1e-9)
