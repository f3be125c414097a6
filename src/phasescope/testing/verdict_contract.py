"""The tests of a study's verdicts: every claim, on the evidence it asks for. They need pytest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from ..ledger.appearance import place
from ..ledger.ledger import Ledger, Row
from ..study import Study
from ..verbs.context import Context, default_context
from ..verbs.evidence import Evidence
from ..verbs.judge import judge
from ..verbs.rows import chosen_claims
from .row_names import named_rows

# Half and twice of every chosen tolerance leave this share of the words.
STEADY = 0.95
# Of fewer rows than this a single one is more than the others are allowed.
ENOUGH = 20


class VerdictContract:
    """Every claim, on the evidence it asks for: the outcome is the one established."""

    study: ClassVar[Study]

    @staticmethod
    def context() -> Context:
        """How the evidence is run, and where it is kept."""
        return default_context(progress=False)

    @classmethod
    def begin_evidence(cls) -> Evidence:
        """What finds the evidence of the study, with none found yet."""
        return Evidence(cls.study, cls.context())

    @pytest.fixture(scope="class")
    @classmethod
    def evidence(cls) -> Evidence:
        """What the claims are judged on, gathered once."""
        return cls.begin_evidence()

    @pytest.fixture(scope="class")
    @classmethod
    def judged(cls) -> list[Row]:
        """The rows that were judged so far."""
        return []

    # Rows that are marked, by their names: what takes longest may be left to a longer round of tests.
    marked: ClassVar[Mapping[str, pytest.MarkDecorator]] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "regime" in metafunc.fixturenames:
            rows = named_rows(chosen_claims(self.study), self.marked)
            metafunc.parametrize(("claim", "regime"), rows)

    def test_verdict_is_the_expected_one(self, claim, regime, evidence, judged):
        row = judge(claim, regime, evidence)
        judged.append(row)
        assert not row.unfit, row.unfit
        assert not row.surprising, (
            f"{row.said} where {row.expected} is established: {row.measured}; {row.where}"
        )

    def test_half_and_twice_of_every_chosen_tolerance_leave_the_words(self, judged):
        """Of the rows that were judged before this test; untyped ones have no word."""
        typed = [row for row in judged if row.is_typed]
        if len(typed) < ENOUGH:
            pytest.skip(f"{len(typed)} rows were judged: of so few, one is more than 5%")
        turned = [f"{row.claim} ({place(row)})" for row in Ledger(tuple(typed)).turned_by()]
        assert len(turned) <= (1 - STEADY) * len(typed), (
            f"{len(turned)} of {len(typed)} words turn: {', '.join(turned)}"
        )
