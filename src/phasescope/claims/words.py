"""The word of a row: what an outcome means, given the kind of the statement and its assumptions."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from ..analysis.verdict import Outcome, Verdict
from .assumptions import Met
from .protocol import Protocol
from .statement import ASYMPTOTIC, Kind, Statement


class Word(enum.StrEnum):
    """What a ledger says of a row.

    >>> ps.Word.NOT_YET.said, ps.Word("false").meaning
    ('not yet', 'a counter-example inside the assumptions, or a derivation')
    """

    HOLDS = "holds"
    FALSE = "false"
    AGAINST = "against"
    NOT_YET = "not_yet"
    OUTSIDE = "outside"
    VACUOUS = "vacuous"
    TRIVIAL = "trivial"
    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not_reproduced"
    AS_BEFORE = "as_before"
    CHANGED = "changed"
    UNDECIDED = "undecided"
    ERROR = "error"

    @property
    def said(self) -> str:
        """In plain English."""
        return self.value.replace("_", " ")

    @property
    def meaning(self) -> str:
        """What it says, in one sentence."""
        return MEANINGS[self]


MEANINGS = {
    Word.HOLDS: "the check passes",
    Word.FALSE: "a counter-example inside the assumptions, or a derivation",
    Word.AGAINST: "the evidence goes the other way, up to the largest size looked at",
    Word.NOT_YET: "it does not hold at these sizes and is approached",
    Word.OUTSIDE: "it does not hold where an assumption is broken: the statement does not speak here",
    Word.VACUOUS: "the premises cannot hold together",
    Word.TRIVIAL: "the bound is weaker than what always holds",
    Word.REPRODUCED: "the figure or the released number comes out",
    Word.NOT_REPRODUCED: "it does not come out, with nothing in the protocol guessed",
    Word.AS_BEFORE: "equal to an earlier run of ours",
    Word.CHANGED: "not equal to an earlier run of ours",
    Word.UNDECIDED: "the evidence does not reach",
    Word.ERROR: "the check could not be carried out",
}


@dataclasses.dataclass(frozen=True)
class Said:
    """A word, and what is missing if it is undecided though the check is not.

    An untyped claim has no word.
    """

    word: Word | None
    missing: str = ""


def word_of(
    statement: Statement,
    verdict: Verdict,
    assumptions: Sequence[Met] = (),
    protocols: Sequence[Protocol] = (),
    reduced: bool = False,
) -> Said:
    """The word for a verdict on a typed statement, in the order of precedence.

    `reduced`: the evidence is a smaller form of an experiment of the paper.
    """
    if verdict.outcome == Outcome.UNDECIDED:
        return Said(Word.UNDECIDED)
    holds = verdict.outcome == Outcome.HOLDS
    if holds and verdict.empty:
        return Said(Word(verdict.empty))
    if statement.kind == Kind.REGRESSION:
        return Said(Word.AS_BEFORE if holds else Word.CHANGED)
    if statement.kind in (Kind.FIGURE, Kind.RELEASED):
        return _figure_word(holds, protocols, assumptions, reduced)
    if holds:
        return Said(Word.HOLDS)
    if any(not found.met for found in assumptions):
        return Said(Word.OUTSIDE)
    return _failing_word(statement, verdict, assumptions)


def _figure_word(
    holds: bool, protocols: Sequence[Protocol], assumptions: Sequence[Met], reduced: bool
) -> Said:
    if holds:
        return Said(Word.REPRODUCED)
    if any(not found.met for found in assumptions):
        return Said(Word.OUTSIDE)
    guessed = dict.fromkeys(item for protocol in protocols for item in protocol.open_guesses)
    if guessed:
        return Said(Word.UNDECIDED, f"the paper does not state {', '.join(guessed)}")
    if reduced:
        return Said(Word.UNDECIDED, "the paper's own size: this is a reduced one (--full)")
    return Said(Word.NOT_REPRODUCED)


def _failing_word(statement: Statement, verdict: Verdict, assumptions: Sequence[Met]) -> Said:
    """The word where all assumptions are met and the check fails."""
    if verdict.is_derived:
        return Said(Word.FALSE)
    asymptotic = statement.kind in ASYMPTOTIC and not verdict.against_stated
    if not asymptotic:
        scanned = {name for name, values in verdict.sizes.items() if _is_decade(values)}
        protecting = [
            found.name
            for found in assumptions
            if found.free and not found.is_scanned and found.name not in scanned
        ]
        if protecting:
            names = ", ".join(protecting)
            return Said(Word.UNDECIDED, f"the constant of {names} is free and was not scanned")
        return Said(Word.FALSE)
    if verdict.trend == "towards":
        return Said(Word.NOT_YET)
    if verdict.trend == "away":
        return Said(Word.AGAINST)
    return Said(Word.UNDECIDED, "no trend over sizes: finite sizes cannot refute it")


def _is_decade(values: Sequence[float]) -> bool:
    return len(values) > 1 and min(values) > 0 and max(values) >= 10 * min(values)
