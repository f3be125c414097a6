"""What a reader of a ledger should look at first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..analysis.sources import Source, SourceKind
from ..analysis.verdict import Outcome, Verdict
from .appearance import key, margin

if TYPE_CHECKING:
    from .ledger import Row

# A margin is thin if it is smaller than this.
THIN = 0.05
# Chosen tolerances are halved and doubled to see which rows turn.
HALF = 0.5
DOUBLE = 2.0


@dataclasses.dataclass(frozen=True)
class Findings:
    """Rows by what a reader should look at first.

    The lists by word have the rows whose word is the established one; the others are surprises.
    `regime_bound` has all rows of each claim that it names. `thin`, `unexplained` and `turning` are
    about bounds that were chosen.
    """

    surprises: tuple[Row, ...] = ()
    false: tuple[Row, ...] = ()
    fails: tuple[Row, ...] = ()
    against: tuple[Row, ...] = ()
    not_yet: tuple[Row, ...] = ()
    empty: tuple[Row, ...] = ()
    not_reproduced: tuple[Row, ...] = ()
    outside: tuple[Row, ...] = ()
    undecided: tuple[Row, ...] = ()
    regime_bound: tuple[tuple[Row, ...], ...] = ()
    thin: tuple[Row, ...] = ()
    turning: tuple[Row, ...] = ()
    unexplained: tuple[Row, ...] = ()


# The lists that are shown with the reason of each row, in this order.
BY_WORD = {
    "false": "False",
    "fails": "Fails, of untyped rows",
    "against": "Against, up to the sizes looked at",
    "not_yet": "Not yet",
    "empty": "Vacuous or trivial",
    "not_reproduced": "Not reproduced, or changed",
    "outside": "Outside of the assumptions",
    "undecided": "Undecided",
}
# The lists that are shown with a number of each row.
BY_NUMBER = {
    "thin": f"Thin margins: below {THIN:g} on a bound that was chosen",
    "turning": "What halving or doubling every chosen tolerance would turn",
    "unexplained": "Bounds chosen without a reason",
}
CALM = "None: every word is the established one."


def findings(ledger: Iterable[Row]) -> Findings:
    """What changed, what does not hold and why, and what hangs on a number that was chosen."""
    rows = list(ledger)
    settled = [row for row in rows if not row.surprising]
    claims: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        claims.setdefault((row.study, row.claim), []).append(row)
    return Findings(
        surprises=tuple(row for row in rows if row.surprising),
        false=_having(settled, "false"),
        fails=_having(settled, "fails"),
        against=_having(settled, "against"),
        not_yet=_having(settled, "not_yet"),
        empty=tuple(row for row in settled if is_empty(row)),
        not_reproduced=_having(settled, "not_reproduced", "changed"),
        outside=_having(settled, "outside"),
        undecided=_having(settled, "undecided"),
        regime_bound=tuple(tuple(group) for group in claims.values() if _is_mixed(group)),
        thin=tuple(row for row in rows if is_thin(row)),
        turning=turned_rows(rows),
        unexplained=tuple(row for row in rows if row.is_typed and unexplained(row)),
    )


def is_empty(row: Row) -> bool:
    """The statement says nothing here: its premises exclude each other, or its bound is too weak."""
    return key(row) in ("vacuous", "trivial") or (row.vacuous and row.outcome == Outcome.HOLDS)


def is_thin(row: Row) -> bool:
    """The margin is small, and that of a bound that was chosen."""
    if row.margin is None or abs(row.margin) >= THIN:
        return False
    deciding = [part for part in _parts(row) if part.margin == row.margin]
    sources = [source for part in deciding for source in part.sources]
    return any(map(_is_chosen, sources if deciding else row.sources))


def turned_rows(
    ledger: Iterable[Row], factors: Iterable[float] = (HALF, DOUBLE)
) -> tuple[Row, ...]:
    """The rows with a word that one of these factors on every chosen tolerance would turn."""
    by = tuple(factors)
    typed = [row for row in ledger if row.is_typed]
    return tuple(row for row in typed if any(is_turned(row, factor) for factor in by))


def is_turned(row: Row, factor: float) -> bool:
    """This factor on every chosen tolerance would turn the outcome.

    Less tolerance turns what holds by one check, more what fails if every failing check was chosen.
    """
    if row.flips_at is None:
        return False
    if row.outcome == Outcome.HOLDS:
        return any(flip > factor for flip in _flips(row, Outcome.HOLDS))
    flips = list(_flips(row, Outcome.FAILS))
    failing = [part for part in _parts(row) if part.outcome == Outcome.FAILS]
    every_one_is_chosen = len(flips) == max(len(failing), 1)
    return every_one_is_chosen and all(flip < factor for flip in flips)


def steadiness(ledger: Iterable[Row]) -> str:
    """How many words half and twice of every chosen tolerance leave, as a sentence; empty without words."""
    rows = [row for row in ledger if row.is_typed]
    if not rows:
        return ""
    turned = turned_rows(rows)
    words = "1 word" if len(rows) == 1 else f"{len(rows)} words"
    left = f"{len(rows) - len(turned)} of {words}"
    return f"half and twice of every chosen tolerance leave {left} as they are"


def unexplained(row: Row) -> tuple[Source, ...]:
    """The bounds that were chosen without a reason."""
    return tuple(source for source in row.sources if _is_chosen(source) and not source.text)


def about_number(name: str, row: Row) -> str:
    """The number for which a row is listed."""
    if name == "thin":
        return f"margin {margin(row)}"
    if name == "turning":
        return f"{row.outcome}, turned by a factor of {row.flips_at:.3g}"
    return ", ".join(f"{source.number:g}" for source in unexplained(row))


def _flips(row: Row, outcome: Outcome) -> Iterator[float]:
    """The factors on chosen tolerances that turn the checks with this outcome."""
    parts = _parts(row)
    if not parts and row.flips_at is not None and any(map(_is_chosen, row.sources)):
        yield row.flips_at
    for part in parts:
        chosen = any(map(_is_chosen, part.sources))
        if part.outcome == outcome and part.flips_at is not None and chosen:
            yield part.flips_at


def _parts(row: Row) -> tuple[Verdict, ...]:
    return () if row.verdict is None else row.verdict.elementary


def _is_chosen(source: Source) -> bool:
    return source.kind == SourceKind.CHOSEN


def _having(rows: Iterable[Row], *words: str) -> tuple[Row, ...]:
    return tuple(row for row in rows if key(row) in words)


def _is_mixed(rows: Iterable[Row]) -> bool:
    """One of the rows holds, and another does not."""
    words = {key(row) for row in rows if not row.error}
    return "holds" in words and words != {"holds"}
