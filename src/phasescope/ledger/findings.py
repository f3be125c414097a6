"""What a ledger says when it is read as a whole: how many of what, and what deserves attention
first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ledger import Row

SYMBOLS = {"holds": "✓", "fails": "✗", "undecided": "?"}
REDUCED = "judged on reduced-size evidence; --full asks for the full size"
OUTDATED = "recorded with other code of this study than today's: the numbers are those of that code"
RECORDED = "judged on evidence recorded on another machine; --recompute runs it again"


@dataclasses.dataclass(frozen=True)
class Caveat:
    """What to know of the evidence of some rows: a mark for a table, a word, a sentence."""

    mark: str
    word: str
    sentence: str


def caveats(row: Row) -> list[Caveat]:
    """What to know of the evidence of this row."""
    found = []
    if row.reduced:
        found.append(Caveat("*", "reduced size", REDUCED))
    if row.recorded:
        found.append(Caveat("†", "recorded", RECORDED))
    if row.outdated:
        found.append(Caveat("‡", "recorded with other code", OUTDATED))
    return found


def footnotes(ledger: Iterable[Row]) -> list[Caveat]:
    """The caveats that occur, once each."""
    return list(dict.fromkeys(caveat for row in ledger for caveat in caveats(row)))


@dataclasses.dataclass(frozen=True)
class Tally:
    """Every row is counted once: a surprise is only a surprise, whatever its outcome."""

    holds: int = 0
    fails: int = 0
    undecided: int = 0
    surprises: int = 0

    @property
    def total(self) -> int:
        return self.holds + self.fails + self.undecided + self.surprises

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            holds=self.holds + other.holds,
            fails=self.fails + other.fails,
            undecided=self.undecided + other.undecided,
            surprises=self.surprises + other.surprises,
        )

    def __str__(self) -> str:
        surprises = "1 surprise" if self.surprises == 1 else f"{self.surprises} surprises"
        return f"{self.holds} hold, {self.fails} fail as expected, {self.undecided} undecided as expected, {surprises}"


@dataclasses.dataclass(frozen=True)
class Findings:
    """Rows by what a reader should look at first.

    `regime_bound` has all rows of each claim that it names.
    """

    surprises: tuple[Row, ...]
    failures: tuple[Row, ...]
    regime_bound: tuple[tuple[Row, ...], ...]
    undecided: tuple[Row, ...]


def counts(ledger: Iterable[Row]) -> dict[str, Tally]:
    """The tally of every study in the ledger."""
    found: dict[str, Tally] = {}
    for row in ledger:
        kind = "surprises" if row.surprising else row.outcome
        found[row.study] = found.get(row.study, Tally()) + Tally(**{kind: 1})
    return found


def findings(ledger: Iterable[Row]) -> Findings:
    """What changed, what fails, what holds in some regimes only, and what nobody can tell."""
    rows = list(ledger)
    settled = [row for row in rows if not row.surprising]
    claims: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        claims.setdefault((row.study, row.claim), []).append(row)
    return Findings(
        surprises=tuple(row for row in rows if row.surprising),
        failures=tuple(row for row in settled if row.outcome == "fails"),
        regime_bound=tuple(
            tuple(group) for group in claims.values() if "holds" in _outcomes(group) != {"holds"}
        ),
        undecided=tuple(row for row in settled if row.outcome == "undecided" or is_vacuous(row)),
    )


def is_vacuous(row: Row) -> bool:
    """The statement holds but says nothing here."""
    return row.vacuous and row.outcome == "holds"


def surprise(row: Row) -> str:
    """In what way the row is not what was established; nothing if it is."""
    if row.error:
        return "could not be checked"
    return f"expected {row.expected}" if row.surprising else ""


def _outcomes(rows: list[Row]) -> set[str]:
    return {row.outcome for row in rows if not row.error}
