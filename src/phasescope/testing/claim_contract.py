"""The tests of a study's claims: each is shown evidence on which it must not hold. They need pytest.

A study of one's own gives its counter-examples, made with the words of `phasescope.testing.spoiling`:

    class TestClaims(phasescope.testing.ClaimContract):
        study = study
        counter_examples = {"loss_falls": (flipped("loss"), shuffled)}
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr

from ..analysis.align import exact_joins, would_lose_records
from ..analysis.verdict import Outcome
from ..claims.claim import Claim
from ..claims.regime import PLAIN, Regime
from ..claims.requests import Request, Runs
from ..claims.statement import Kind
from ..study import Study
from ..verbs.context import Context, default_context
from ..verbs.evidence import Evidence
from ..verbs.judge import judge_datasets
from ..verbs.regimes import standing
from ..verbs.rows import ClaimInRegime, chosen_claims
from .mutations import SMALL, clock_changed, mutated
from .row_names import named_rows, row_name
from .spoiling import Change, cut_short
from .structureless import (
    CONSTANTS,
    FEW_NOISES,
    MANY_NOISES,
    NOISES,
    constant_name,
    ends_of,
    noises,
    structureless,
)

HOLDS = Outcome.HOLDS


def outcome(claim: Claim, evidence: Sequence[xr.Dataset]) -> Outcome:
    """What the claim says, judged as in a ledger, with no word about divisions by zero in spoiled evidence."""
    with np.errstate(all="ignore"), exact_joins():
        return claim(*evidence).outcome


def outcome_on_bad(claim: Claim, evidence: Sequence[xr.Dataset]) -> Outcome:
    """The same on evidence whose coordinates may have been spoiled: where they do not match, a ledger is undecided."""
    try:
        return outcome(claim, evidence)
    except ValueError as problem:
        if would_lose_records(problem):
            return Outcome.UNDECIDED
        raise


def outcome_on_little(claim: Claim, evidence: Sequence[xr.Dataset]) -> Outcome:
    """The same on evidence that may lack a record that the claim asks for: a ledger is undecided then."""
    try:
        return outcome_on_bad(claim, evidence)
    except (KeyError, IndexError, ValueError):
        return Outcome.UNDECIDED


def _scaled_in(ds: xr.Dataset, name: str) -> xr.Dataset:
    return ds.assign({name: SMALL * ds[name]}) if name in ds else ds


def _text(claim: Claim) -> str:
    """The text of a check, nothing if it has none."""
    try:
        return inspect.getsource(inspect.unwrap(claim.check))
    except (OSError, TypeError):
        return ""


class ClaimContract:
    """A check that cannot fail proves nothing: every claim is shown evidence on which it must not hold."""

    study: ClassVar[Study]
    counter_examples: ClassVar[Mapping[str, Sequence[Change]]]
    # Where no regime of a claim is expected to hold: made-up evidence on which it does.
    repaired: ClassVar[Mapping[str, Change]] = {}
    # Claims whose statement is that something does not change.
    about_no_change: ClassVar[Sequence[str]] = ()
    # Observables that no identity holds to 2%, each with the reason.
    not_held: ClassVar[Mapping[str, str]] = {}

    @staticmethod
    def context() -> Context:
        """How the evidence is run, and where it is kept."""
        return default_context(progress=False)

    @classmethod
    def begin_evidence(cls) -> Evidence:
        """What finds the evidence of the study, with none found yet."""
        return Evidence(cls.study, cls.context())

    @staticmethod
    def stand_in(request: Request, evidence: Evidence) -> xr.Dataset:
        """The evidence asked for, or something cheaper of the same kind."""
        return evidence.get(request)[0]

    @pytest.fixture(scope="class")
    @classmethod
    def gathered(cls) -> Callable[[Regime], list[xr.Dataset]]:
        """The evidence of a regime, made once."""
        evidence = cls.begin_evidence()
        known: dict[Request, xr.Dataset] = {}

        def get(regime: Regime) -> list[xr.Dataset]:
            for asked in regime.evidence:
                if asked not in known:
                    known[asked] = cls.stand_in(asked, evidence)
            return [known[asked] for asked in regime.evidence]

        return get

    @classmethod
    def claims_that_hold_nowhere(cls) -> list[Claim]:
        """Claims that no regime is expected to satisfy."""
        return [
            claim
            for claim in cls.study.claims
            if not any(regime.expects_to_hold for regime in claim.regimes)
        ]

    @classmethod
    def rows_that_hold_on_a_run(cls) -> list[ClaimInRegime]:
        rows = chosen_claims(cls.study)
        return [
            row
            for row in rows
            if row.regime.expects_to_hold and isinstance(row.regime.evidence[-1], Runs)
        ]

    @classmethod
    def typed_rows_that_hold(cls) -> list[ClaimInRegime]:
        """Rows of typed claims whose check passes and says something."""
        return [
            row
            for row in chosen_claims(cls.study)
            if row.claim.typed is not None and row.regime.expect in PLAIN
        ]

    @classmethod
    def identities(cls) -> list[ClaimInRegime]:
        """Rows that notice small changes: identities, and numbers of earlier runs."""
        kinds = (Kind.IDENTITY, Kind.REGRESSION)
        rows = cls.typed_rows_that_hold()
        return [row for row in rows if row.claim.typed and row.claim.typed.kind in kinds]

    @classmethod
    def spoiled(cls) -> Iterator[Any]:
        """A claim, a regime in which it holds (as it is, or repaired), and a way to spoil the evidence."""
        for claim in cls.study.claims:
            rows = chosen_claims(cls.study, claim.id)
            for row in [r for r in rows if r.regime.expects_to_hold] or rows[:1]:
                for change in cls.counter_examples.get(claim.id, ()):
                    name = f"{row_name(row)}-{change.__name__}"
                    yield pytest.param(claim, row.regime, change, id=name)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Arguments of tests.

        `change` is every spoiled row, `trained` the rows that hold on a run, `regime` all rows.
        """
        wanted = metafunc.fixturenames
        if "change" in wanted:
            metafunc.parametrize(("claim", "regime", "change"), list(self.spoiled()))
        elif "claim_that_holds_nowhere" in wanted:
            repaired = [
                claim for claim in self.claims_that_hold_nowhere() if claim.id in self.repaired
            ]
            metafunc.parametrize("claim_that_holds_nowhere", repaired, ids=lambda claim: claim.id)
        elif "trained" in wanted:
            rows = [pytest.param(row, id=row_name(row)) for row in self.rows_that_hold_on_a_run()]
            metafunc.parametrize("trained", rows)
        elif "typed" in wanted:
            rows = [pytest.param(row, id=row_name(row)) for row in self.typed_rows_that_hold()]
            metafunc.parametrize("typed", rows)
        elif "regime" in wanted:
            metafunc.parametrize(("claim", "regime"), named_rows(chosen_claims(self.study)))

    def test_every_claim_has_counter_examples(self):
        known = {claim.id for claim in self.study.claims}
        given = set(self.counter_examples)
        without = [id for id, changes in self.counter_examples.items() if not changes]
        assert given == known, (
            f"claims without counter-examples, or counter-examples of no claim: {given ^ known}"
        )
        assert not without, f"claims without counter-examples: {without}"

    def test_every_claim_that_holds_nowhere_could_hold(self):
        nowhere = {claim.id for claim in self.claims_that_hold_nowhere()}
        given = set(self.repaired)
        assert given == nowhere, (
            f"`repaired` is for claims that hold nowhere, and for all of them: {given ^ nowhere}"
        )

    def test_the_evidence_of_these_tests_gives_the_established_outcome(
        self, claim, regime, gathered
    ):
        row = judge_datasets(
            self.study, claim, regime, standing(self.study, claim, regime), gathered(regime)
        )
        assert not row.surprising, f"{row.said} where {regime.expect} is established"

    def test_a_failing_claim_holds_on_evidence_that_satisfies_it(
        self, claim_that_holds_nowhere, gathered
    ):
        claim = claim_that_holds_nowhere
        found = outcome(claim, self.repaired[claim.id](gathered(claim.regimes[0])))
        assert found is HOLDS, f"{found} on repaired evidence"

    def test_the_claim_does_not_hold_on_spoiled_evidence(self, claim, regime, change, gathered):
        sound = gathered(regime)
        if not regime.expects_to_hold:
            sound = self.repaired[claim.id](sound)
        assert outcome_on_bad(claim, change(sound)) is not HOLDS, (
            f"it holds on evidence with {change.__name__}"
        )

    def test_structureless_evidence_does_not_pass(self, claim, regime, gathered):
        """Noise, constants and lost numbers; a claim that nothing changes holds on constants, and only there."""
        count = NOISES if claim.typed else FEW_NOISES
        held = [
            name
            for name, evidence in structureless(gathered(regime), count)
            if outcome(claim, evidence) is HOLDS
        ]
        may_hold = [constant_name(value) for value in CONSTANTS]
        excess = [
            name for name in held if claim.id not in self.about_no_change or name not in may_hold
        ]
        assert not excess, f"it holds on {', '.join(excess)}"

    @pytest.mark.full
    def test_no_noise_of_two_hundred_passes(self, claim, regime, gathered):
        held = [
            name
            for name, evidence in noises(gathered(regime), MANY_NOISES)
            if outcome(claim, evidence) is HOLDS
        ]
        assert not held, f"it holds on {len(held)} of {MANY_NOISES}: {', '.join(held[:5])}"

    def test_first_and_last_record_alone_do_not_pass(self, trained, gathered):
        claim, regime = trained
        evidence = gathered(regime)
        ends = [ends_of(ds) for ds in evidence]
        if all(a is b for a, b in zip(ends, evidence, strict=True)):
            pytest.skip("the evidence has few records")
        assert outcome_on_little(claim, ends) is not HOLDS, "it holds on first and last record"

    def test_a_row_notices_what_its_kind_must(self, typed, gathered):
        """An identity two per cent, a sign its reversal, a rate another power: in some observable."""
        claim, regime = typed
        noticed = any(
            outcome_on_little(claim, evidence) is not HOLDS
            for _, evidence in mutated(claim.typed.kind, gathered(regime), _text(claim))
        )
        assert noticed, f"a row of kind {claim.typed.kind} that notices nothing it should"

    def test_every_observable_and_clock_is_held_by_an_identity(self, gathered):
        """A change of two per cent in any observable is noticed by a row of kind identity or regression."""
        rows = self.identities()
        if not rows:
            pytest.skip("no identity among the claims")
        unnoticed: set[str] = set()
        noticed: set[str] = set()
        for claim, regime in rows:
            evidence = gathered(regime)
            found = {n for ds in evidence for n in ds.data_vars if ds[n].dtype.kind == "f"}
            unnoticed |= {str(name) for name in found}
            for name in sorted(unnoticed - noticed):
                changed = [_scaled_in(ds, name) for ds in evidence]
                if outcome_on_little(claim, changed) is not HOLDS:
                    noticed.add(name)
            if "time" not in noticed and any("time" in ds.dims for ds in evidence):
                unnoticed.add("time")
                if outcome_on_little(claim, clock_changed(evidence)) is not HOLDS:
                    noticed.add("time")
        left = unnoticed - noticed - set(self.not_held)
        assert not left, f"no identity notices 2% in {', '.join(sorted(left))}"

    def test_no_claim_holds_on_a_run_that_broke_off(self, trained, gathered):
        claim, regime = trained
        short = cut_short(gathered(regime))
        assert outcome_on_little(claim, short) is not HOLDS, "it holds on a run that broke off"
