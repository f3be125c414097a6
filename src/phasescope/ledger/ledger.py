"""Row and Ledger: what a check of claims found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ..analysis.verdict import Outcome
from ..claims.claim import RegimeName


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the ledger: a claim in a regime."""

    study: str
    claim: str
    cites: str
    statement: str
    regime: RegimeName
    outcome: Outcome
    expected: Outcome
    because: str
    measured: str
    required: str
    where: str
    value: float | None
    runs: tuple[str, ...]
    reduced: bool
    seconds: float
    error: bool = False
    recorded: bool = False
    outdated: bool = False  # it rests on recorded evidence that other code of the study made
    at: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)  # of the worst case, by coordinate
    vacuous: bool = False  # it holds, but says nothing here

    @property
    def surprising(self) -> bool:
        """The outcome is not the one established, or the check could not be carried out."""
        return self.error or self.outcome != self.expected


@dataclasses.dataclass(frozen=True)
class Ledger:
    """Rows, in the order of the paper."""

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def surprises(self) -> list[Row]:
        """Rows whose outcome changed."""
        return [row for row in self.rows if row.surprising]

    def to_json(self) -> dict[str, Any]:
        """The rows as plain values."""
        return {"rows": [_plain(row) for row in self.rows]}

    def _repr_html_(self) -> str:
        from .html import ledger_html

        return ledger_html(self)

    def __repr__(self) -> str:
        from .text import ledger_text

        return ledger_text(self)


def _plain(row: Row) -> dict[str, Any]:
    """The fields of a row, with plain words for the names of outcomes and regimes."""
    words = {"regime": row.regime.value, "outcome": row.outcome.value, "expected": row.expected.value}
    return dataclasses.asdict(row) | words
