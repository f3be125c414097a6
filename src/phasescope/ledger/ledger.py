"""Row and Ledger: what a check of claims found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ..analysis.verdict import Outcome
from ..claims.claim import RegimeName


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the ledger: a claim in a regime.

        >>> ledger = ps.check("linear_modes", claim="waiting_time_is_logarithmic", store=False)
        >>> row = ledger.rows[0]
        >>> str(row.outcome), str(row.expected), row.surprising
        ('holds', 'holds', False)

    `measured`, `required` and `where` are sentences; `value`, `at` and `vacuous` are the facts in
    them. `runs` names the runs it rests on, `seconds` is what the judgement took. `reduced`,
    `recorded` and `outdated` say what to know of the evidence, `error` that the check did not run.
    """

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
    at: Mapping[str, float] = dataclasses.field(
        default_factory=dict, hash=False
    )  # of the worst case, by coordinate
    vacuous: bool = False  # it holds, but says nothing here

    @property
    def surprising(self) -> bool:
        """The outcome is not the one established, or the check could not be carried out."""
        return self.error or self.outcome != self.expected


@dataclasses.dataclass(frozen=True)
class Ledger:
    """What a check of claims found: rows in the order of the paper. Printed, it is a table.

        >>> ledger = ps.check("linear_modes", claim="waiting_time_is_logarithmic", store=False)
        >>> len(ledger), ledger.surprises
        (1, [])

    **Arguments:** `rows`: of all claims, regime by regime.
    """

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
    words = {
        "regime": row.regime.value,
        "outcome": row.outcome.value,
        "expected": row.expected.value,
    }
    return dataclasses.asdict(row) | words
