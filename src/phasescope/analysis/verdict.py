"""Verdict: what a check found.

An outcome, the number measured, the number required, and where the worst case was.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections.abc import Iterable, Mapping


class Outcome(enum.StrEnum):
    """What a check can find: `HOLDS`, `FAILS` or `UNDECIDED`.

    Undecided: the evidence does not reach (a phase never began, a fit had three points). It is no
    success.

        >>> ps.positive([1.0, 2.0]).outcome is ps.Outcome.HOLDS
        True
        >>> [outcome.value for outcome in ps.Outcome]
        ['holds', 'fails', 'undecided']
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a check found.

    `a & b` holds when both hold, fails when one fails, and is undecided otherwise.

        >>> verdict = ps.at_most([0.1, 0.7, 0.3], 0.5, "loss") & ps.positive([1.0])
        >>> verdict.outcome.value, verdict.where, verdict.at, verdict.value
        ('fails', 'index=1', {'index': 1.0}, 0.7)

    **Arguments:**

    - `outcome`: holds, fails or undecided.
    - `measured`, `required`: sentences for the ledger.
    - `where`: the worst case in words, `time=284, length=3`.
    - `value`: the deciding number, if there is one.
    - `at`: the coordinates of the worst case that are numbers, by name; the report marks them in
      its plots.
    - `vacuous`: the statement holds, but says nothing here (a bound that nothing could exceed).

    **Raises:** `TypeError` if it is used as a truth value: compare the outcome instead.
    """

    outcome: Outcome
    measured: str
    required: str
    where: str = ""
    value: float | None = None
    at: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    vacuous: bool = False

    def __and__(self, other: Verdict) -> Verdict:
        outcomes = (self.outcome, other.outcome)
        worst = next(o for o in (Outcome.FAILS, Outcome.UNDECIDED, Outcome.HOLDS) if o in outcomes)
        decisive = self if self.outcome == worst else other
        return Verdict(
            outcome=worst,
            measured=_joined(self.measured, other.measured),
            required=_joined(self.required, other.required),
            where=decisive.where,
            value=decisive.value,
            at=decisive.at,
            vacuous=self.vacuous or other.vacuous,
        )

    def __bool__(self) -> bool:
        raise TypeError(
            "a Verdict is not a truth value: compare its outcome with Outcome.HOLDS, or join with &."
        )


def undecided(why: str, required: str = "evidence that reaches") -> Verdict:
    """The verdict of a check whose evidence does not reach.

        >>> ps.undecided("the second phase never began").outcome.value
        'undecided'

    **Arguments:** `why`: what is missing, for the ledger. `required`: what would have decided.

    **Returns:** a `Verdict`.
    """
    return Verdict(Outcome.UNDECIDED, why, required)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Several verdicts joined by `&`: the worst outcome decides.

        >>> ps.all_of(ps.positive([x]) for x in (1.0, -2.0)).outcome.value
        'fails'

    **Arguments:** `verdicts`: any number of them.

    **Returns:** a `Verdict`; about nothing at all it is undecided.
    """
    found = list(verdicts)
    if not found:
        return undecided("there was nothing to check")
    return functools.reduce(operator.and_, found)


def _joined(first: str, second: str) -> str:
    """Two sentences side by side; one if they are the same, or if the other is empty."""
    return "; ".join(dict.fromkeys(filter(None, (first, second))))
