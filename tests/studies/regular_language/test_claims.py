"""A check that cannot fail proves nothing: every claim is shown evidence on which it must not hold."""

import os

import numpy as np
import pytest
from counter_examples import COUNTER_EXAMPLES, REPAIRED
from stand_ins import cut_short, stand_in

from phasescope.evidence import Runs
from phasescope.gathering import Evidence
from phasescope.running import lab
from phasescope.studies.regular_language import study
from phasescope.testing import constant_like, noise_like
from phasescope.verdict import Outcome

ROWS = [(claim, regime) for claim in study.claims for regime in claim.regimes]
IDS = [f"{claim.id}-{regime.name}" for claim, regime in ROWS]
HOLDS = Outcome.HOLDS


@pytest.fixture(scope="module")
def gathered():
    """The evidence of a regime, made once."""
    evidence, known = Evidence(study, lab(os.environ.get("PHASESCOPE_STORE") or False, progress=False)), {}

    def get(regime):
        for request in regime.evidence:
            if request not in known:
                known[request] = stand_in(request, evidence)
        return [known[request] for request in regime.evidence]

    return get


def outcome(claim, evidence):
    with np.errstate(all="ignore"):
        return claim(*evidence).outcome


def spoiled():
    """A claim, a regime in which it holds (as it is, or repaired), and a way to spoil the evidence."""
    for claim in study.claims:
        good = [r for r in claim.regimes if r.expect is HOLDS] or claim.regimes[:1]
        for regime in good:
            for change in COUNTER_EXAMPLES.get(claim.id, []):
                yield pytest.param(claim, regime, change, id=f"{claim.id}-{regime.name}-{change.__name__}")


def sound(claim, regime, gathered):
    evidence = gathered(regime)
    return evidence if regime.expect is HOLDS else REPAIRED[claim.id](evidence)


def test_every_claim_has_counter_examples():
    assert set(COUNTER_EXAMPLES) == {claim.id for claim in study.claims}
    assert all(COUNTER_EXAMPLES.values())


def test_every_claim_that_holds_nowhere_could_hold():
    assert set(REPAIRED) == {c.id for c in study.claims if all(r.expect is not HOLDS for r in c.regimes)}


@pytest.mark.parametrize(("claim", "regime"), ROWS, ids=IDS)
def test_the_evidence_of_these_tests_gives_the_established_outcome(claim, regime, gathered):
    assert outcome(claim, gathered(regime)) is regime.expect


@pytest.mark.parametrize("claim", [c for c in study.claims if c.id in REPAIRED], ids=lambda c: c.id)
def test_a_failing_claim_holds_on_evidence_that_satisfies_it(claim, gathered):
    assert outcome(claim, REPAIRED[claim.id](gathered(claim.regimes[0]))) is HOLDS


@pytest.mark.parametrize(("claim", "regime", "change"), list(spoiled()))
def test_the_claim_does_not_hold_on_spoiled_evidence(claim, regime, change, gathered):
    assert outcome(claim, change(sound(claim, regime, gathered))) is not HOLDS


@pytest.mark.parametrize("seed", [0, 100])
@pytest.mark.parametrize(("claim", "regime"), ROWS, ids=IDS)
def test_no_claim_holds_on_noise(claim, regime, seed, gathered):
    noise = [noise_like(ds, seed + i) for i, ds in enumerate(gathered(regime))]
    assert outcome(claim, noise) is not HOLDS


# Its statement is that a loss stays where it is.
ABOUT_NO_CHANGE = ("C-noise",)


@pytest.mark.parametrize("value", [1.0, 0.7])
@pytest.mark.parametrize(("claim", "regime"), ROWS, ids=IDS)
def test_no_claim_about_change_holds_on_a_constant(claim, regime, value, gathered):
    flat = [constant_like(ds, value) for ds in gathered(regime)]
    assert (outcome(claim, flat) is HOLDS) == (claim.id in ABOUT_NO_CHANGE)


@pytest.mark.parametrize(("claim", "regime"), ROWS, ids=IDS)
def test_no_claim_holds_on_numbers_that_were_lost(claim, regime, gathered):
    lost = [constant_like(ds, np.nan) for ds in gathered(regime)]
    assert outcome(claim, lost) is not HOLDS


TRAINED = [row for row in ROWS if row[1].expect is HOLDS and isinstance(row[1].evidence[-1], Runs)]


@pytest.mark.parametrize(("claim", "regime"), TRAINED, ids=[f"{c.id}-{r.name}" for c, r in TRAINED])
def test_no_claim_holds_on_a_run_that_broke_off(claim, regime, gathered):
    short = cut_short(gathered(regime))
    try:
        found = outcome(claim, short)
    except (KeyError, IndexError):  # a record that the claim asks for is missing: the ledger calls it undecided
        found = Outcome.UNDECIDED
    assert found is not HOLDS
