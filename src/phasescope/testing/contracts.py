"""What the claims and figures of every study must do; a study's tests subclass these and name their material."""

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr

from phasescope.analysis.align import exact_joins, would_lose_records
from phasescope.analysis.verdict import Outcome
from phasescope.claims.claim import Claim, Regime
from phasescope.claims.requests import Request, Runs
from phasescope.figures.figure import Figure
from phasescope.study import Study
from phasescope.testing import constant_like, noise_like
from phasescope.verbs.check import chosen_claims, judge
from phasescope.verbs.context import Context, default_context
from phasescope.verbs.evidence import Evidence

from .spoiling import Change, cut_short

HOLDS = Outcome.HOLDS


def kept() -> Context:
    """A context whose store all files of tests share, so that none runs again what another has run.

    It lasts as long as the session, or longer if PHASESCOPE_STORE names a place.
    """
    return default_context(
        os.environ.get("PHASESCOPE_STORE") or Path(os.environ["XDG_CACHE_HOME"]) / "store", progress=False
    )


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


class ClaimContract:
    """A check that cannot fail proves nothing: every claim is shown evidence on which it must not hold."""

    study: ClassVar[Study]
    counter_examples: ClassVar[Mapping[str, Sequence[Change]]]
    # Where no regime of a claim is expected to hold: made-up evidence on which it does.
    repaired: ClassVar[Mapping[str, Change]] = {}
    # Claims whose statement is that something does not change.
    about_no_change: ClassVar[Sequence[str]] = ()

    @staticmethod
    def stand_in(request: Request, evidence: Evidence) -> xr.Dataset:
        """The evidence asked for, or something cheaper of the same kind."""
        return evidence.get(request)[0]

    @pytest.fixture(scope="class")
    @classmethod
    def gathered(cls):
        """The evidence of a regime, made once."""
        evidence, known = Evidence(cls.study, kept()), {}

        def get(regime: Regime) -> list[xr.Dataset]:
            for asked in regime.evidence:
                if asked not in known:
                    known[asked] = cls.stand_in(asked, evidence)
            return [known[asked] for asked in regime.evidence]

        return get

    @classmethod
    def rows(cls) -> list[tuple[Claim, Regime]]:
        return [(claim, regime) for claim in cls.study.claims for regime in claim.regimes]

    @classmethod
    def spoiled(cls) -> Iterator[Any]:
        """A claim, a regime in which it holds (as it is, or repaired), and a way to spoil the evidence."""
        for claim in cls.study.claims:
            for regime in [r for r in claim.regimes if r.expect is HOLDS] or claim.regimes[:1]:
                for change in cls.counter_examples.get(claim.id, ()):
                    yield pytest.param(claim, regime, change, id=f"{claim.id}-{regime.name}-{change.__name__}")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """`change`: every spoiled row; `trained`: rows that hold on a run; `hopeless`: claims that hold nowhere."""
        wanted = metafunc.fixturenames
        named = lambda rows: [pytest.param(claim, regime, id=f"{claim.id}-{regime.name}") for claim, regime in rows]
        if "change" in wanted:
            metafunc.parametrize(("claim", "regime", "change"), list(self.spoiled()))
        elif "hopeless" in wanted:
            lost = [claim for claim in self.study.claims if claim.id in self.repaired]
            metafunc.parametrize("hopeless", lost, ids=lambda claim: claim.id)
        elif "trained" in wanted:
            rows = [
                pytest.param((claim, regime), id=f"{claim.id}-{regime.name}")
                for claim, regime in self.rows()
                if regime.expect is HOLDS and isinstance(regime.evidence[-1], Runs)
            ]
            metafunc.parametrize("trained", rows)
        elif "regime" in wanted:
            metafunc.parametrize(("claim", "regime"), named(self.rows()))

    def test_every_claim_has_counter_examples(self):
        assert set(self.counter_examples) == {claim.id for claim in self.study.claims}
        assert all(self.counter_examples.values())

    def test_every_claim_that_holds_nowhere_could_hold(self):
        nowhere = {c.id for c in self.study.claims if all(r.expect is not HOLDS for r in c.regimes)}
        assert set(self.repaired) == nowhere

    def test_the_evidence_of_these_tests_gives_the_established_outcome(self, claim, regime, gathered):
        assert outcome(claim, gathered(regime)) is regime.expect

    def test_a_failing_claim_holds_on_evidence_that_satisfies_it(self, hopeless, gathered):
        assert outcome(hopeless, self.repaired[hopeless.id](gathered(hopeless.regimes[0]))) is HOLDS

    def test_the_claim_does_not_hold_on_spoiled_evidence(self, claim, regime, change, gathered):
        sound = gathered(regime) if regime.expect is HOLDS else self.repaired[claim.id](gathered(regime))
        assert outcome_on_bad(claim, change(sound)) is not HOLDS

    @pytest.mark.parametrize("seed", [0, 100])
    def test_no_claim_holds_on_noise(self, claim, regime, seed, gathered):
        noise = [noise_like(ds, seed + i) for i, ds in enumerate(gathered(regime))]
        assert outcome(claim, noise) is not HOLDS

    @pytest.mark.parametrize("value", [1.0, 0.7])
    def test_no_claim_about_change_holds_on_a_constant(self, claim, regime, value, gathered):
        flat = [constant_like(ds, value) for ds in gathered(regime)]
        assert (outcome(claim, flat) is HOLDS) == (claim.id in self.about_no_change)

    def test_no_claim_holds_on_numbers_that_were_lost(self, claim, regime, gathered):
        lost = [constant_like(ds, np.nan) for ds in gathered(regime)]
        assert outcome(claim, lost) is not HOLDS

    def test_no_claim_holds_on_a_run_that_broke_off(self, trained, gathered):
        claim, regime = trained
        short = cut_short(gathered(regime))
        try:
            found = outcome_on_bad(claim, short)
        except (KeyError, IndexError):  # a record that the claim asks for is missing: the ledger calls it undecided
            found = Outcome.UNDECIDED
        assert found is not HOLDS


class VerdictContract:
    """Every claim, on the evidence it asks for: the outcome is the one established."""

    study: ClassVar[Study]

    @pytest.fixture(scope="class")
    @classmethod
    def evidence(cls):
        """What the claims look at, gathered once."""
        return Evidence(cls.study, kept())

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        rows = chosen_claims(self.study, None, None)
        metafunc.parametrize(("claim", "regime"), [pytest.param(c, r, id=f"{c.id}-{r.name}") for c, r in rows])

    def test_verdict_is_the_expected_one(self, claim, regime, evidence):
        row = judge(claim, regime, evidence)
        assert not row.surprising, f"{row.outcome} where {row.expected} is established: {row.measured}; {row.where}"


class FigureContract:
    """Every figure says what it shows and draws it, labelled, at the width of a page.

    A subclass has a class-scoped fixture `drawn`: from a figure's id to the matplotlib figure.
    """

    study: ClassVar[Study]
    # Figures with panels in rows that share one label of the y axis.
    shared_labels: ClassVar[Sequence[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "figure" in metafunc.fixturenames:
            metafunc.parametrize("figure", self.study.figures, ids=lambda figure: figure.id)

    def test_a_drawing_takes_the_evidence_that_its_figure_asks_for(self, figure: Figure):
        inspect.signature(figure.draw).bind(*figure.evidence, "axes")

    def test_a_caption_says_what_to_see_and_gives_numbers(self, figure: Figure):
        assert len(figure.caption) > 100
        assert any(sign.isdigit() for sign in figure.caption)

    def test_every_panel_is_labelled(self, figure: Figure, drawn):
        panels = [axes for axes in drawn(figure.id).axes if axes.get_label() != "<colorbar>"]
        assert all(axes.get_xlabel() for axes in panels)
        assert all(axes.get_ylabel() for axes in panels if figure.id not in self.shared_labels or axes is panels[0])

    def test_it_fits_the_width_of_a_page(self, figure: Figure, drawn):
        assert drawn(figure.id).get_size_inches()[0] <= 8.5
