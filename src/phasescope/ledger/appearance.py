"""How a row reads: a symbol and a colour for each word, and its facts in a few words.

A word is never told by its colour alone: the word itself always stands beside the symbol.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..analysis.verdict import Verdict

if TYPE_CHECKING:
    from .ledger import Row

# One for each word; `fails` is an outcome of untyped rows.
SYMBOLS = {
    "holds": "✓",
    "false": "✗",
    "against": "←",
    "not_yet": "→",
    "outside": "◇",
    "vacuous": "∅",
    "trivial": "⊤",
    "reproduced": "●",
    "not_reproduced": "○",
    "as_before": "=",
    "changed": "≠",
    "undecided": "?",
    "error": "!",
    "fails": "✗",
}
# Okabe and Ito's palette.
GREEN = "#009E73"
VERMILLION = "#D55E00"
ORANGE = "#E69F00"
BLUE = "#0072B2"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
COLOURS = {
    "holds": GREEN,
    "false": VERMILLION,
    "against": ORANGE,
    "not_yet": BLUE,
    "outside": SKY,
    "vacuous": ORANGE,
    "trivial": ORANGE,
    "reproduced": GREEN,
    "not_reproduced": VERMILLION,
    "as_before": GREEN,
    "changed": VERMILLION,
    "undecided": SKY,
    "error": PURPLE,
    "fails": VERMILLION,
}
SURPRISE = PURPLE
# A row of more checks than this shows the one that decides; one claim in full shows them all.
MANY = 3

REDUCED = "judged on reduced-size evidence; --full asks for the full size"
OUTDATED = "recorded with other code of this study than today's: the numbers are those of that code"
LOGGED = "judged on a log that phasescope did not make: "
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
    if row.logs:
        found.append(Caveat("§", "logged", LOGGED + "; ".join(row.logs)))
    return found


def footnotes(ledger: Iterable[Row]) -> list[Caveat]:
    """The caveats that occur, once each."""
    return list(dict.fromkeys(caveat for row in ledger for caveat in caveats(row)))


def key(row: Row) -> str:
    """The word of a row, under which its symbol and colour are found; of an untyped row its outcome."""
    return str(row.word or row.outcome)


def symbol(row: Row) -> str:
    """The symbol of its word."""
    return SYMBOLS[key(row)]


def said(row: Row) -> str:
    """The word with how far it reaches; an outcome of an untyped row is marked as such."""
    return row.said if row.is_typed else f"{row.said} (untyped)"


def margin(row: Row) -> str:
    """The margin in two digits, with its sign; nothing if there is none."""
    return number(row.margin)


def number(margin: float | None) -> str:
    """A margin in two digits, with its sign."""
    return "" if margin is None else f"{margin:+.2g}"


def measured(row: Row) -> str:
    """What was measured; of a row of many checks, by the one that decides."""
    deciding = _deciding(row)
    if deciding is None or row.verdict is None:
        return row.measured
    others = len(row.verdict.elementary) - 1
    return f"{deciding.measured}; and {others} more checks"


def required(row: Row) -> str:
    """What was required; of a row of many checks, by the one that decides."""
    deciding = _deciding(row)
    return row.required if deciding is None else deciding.required


def _deciding(row: Row) -> Verdict | None:
    """Of a row of many checks the one with its outcome that is nearest to the limit, or furthest
    outside; None if there are few.
    """
    if row.verdict is None or len(row.verdict.elementary) <= MANY:
        return None
    alike = [part for part in row.verdict.elementary if part.outcome == row.outcome]
    return min(alike, key=_nearness, default=None)


def _nearness(part: Verdict) -> float:
    return math.inf if part.margin is None else part.margin


def place(row: Row) -> str:
    """What the statement was held against, and the regime of that: `training, theory`."""
    return f"{row.on}, {row.regime}" if row.on else str(row.regime)


def reason(row: Row) -> str:
    """Why the row has its word: what the study says, what is missing, or what the word means."""
    stated = "; ".join(filter(None, (row.because, row.missing)))
    if stated or row.word is None:
        return stated
    return row.word.meaning


def surprise(row: Row) -> str:
    """In what way the row is not what was established; nothing if it is."""
    if row.error:
        return "could not be checked"
    return f"expected {expected(row)}" if row.surprising else ""


def expected(row: Row) -> str:
    """The word that was established, in plain English."""
    return str(row.expected).replace("_", " ")
