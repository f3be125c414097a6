"""Verdict: what a check found. An outcome, the number measured, the number required, and where the worst case was."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections.abc import Iterable


class Outcome(enum.StrEnum):
    """Undecided: the evidence does not reach (a phase never began, a fit had three points). It is no success."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`measured`, `required` and `where` are sentences for the ledger; `value` is the deciding number, if there is one.

    `a & b` holds when both hold, fails when one fails, and is undecided otherwise.
    """

    outcome: Outcome
    measured: str
    required: str
    where: str = ""
    value: float | None = None

    def __and__(self, other: Verdict) -> Verdict:
        outcomes = (self.outcome, other.outcome)
        worst = next(o for o in (Outcome.FAILS, Outcome.UNDECIDED, Outcome.HOLDS) if o in outcomes)
        decisive = self if self.outcome == worst else other
        join = lambda a, b: "; ".join(dict.fromkeys(filter(None, (a, b))))
        return Verdict(
            worst,
            join(self.measured, other.measured),
            join(self.required, other.required),
            decisive.where,
            decisive.value,
        )

    def __bool__(self) -> bool:
        raise TypeError("a Verdict is not a truth value: compare its outcome with Outcome.HOLDS, or join with &.")


def undecided(why: str, required: str = "evidence that reaches") -> Verdict:
    """The evidence does not reach."""
    return Verdict(Outcome.UNDECIDED, why, required)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdicts joined; about nothing at all it is undecided."""
    found = list(verdicts)
    return functools.reduce(operator.and_, found) if found else undecided("there was nothing to check")
