"""Numbers with a source: where a bound or a tolerance comes from.

They are floats, and count as floats everywhere. A check notes the source of the bounds that it was
given; a bare number counts as chosen, without a reason.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterable
from typing import Any


class SourceKind(enum.StrEnum):
    """Who says the number: the paper, its authors' code or log, a derivation, or ourselves."""

    STATED = "stated"
    RELEASED = "released"
    DERIVED = "derived"
    CHOSEN = "chosen"


@dataclasses.dataclass(frozen=True)
class Source:
    """A number that a check asked for, who says it, and where or why."""

    number: float
    kind: SourceKind
    text: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"number": self.number, "kind": self.kind.value, "text": self.text}


class Bound(float):
    """A number with its source. Arithmetic with it gives a plain number.

    >>> bound = ps.stated(0.01, "Lemma D.8")
    >>> bound < 0.02, bound.source.kind.value
    (True, 'stated')
    """

    source: Source
    sd: float | None
    n: int | None

    def __new__(
        cls,
        number: float,
        kind: SourceKind,
        text: str,
        sd: float | None = None,
        n: int | None = None,
    ) -> Bound:
        if not text.strip():
            raise ValueError(
                f"the number {number:g} is {kind.value} without a word: say where or why."
            )
        bound = super().__new__(cls, number)
        bound.source = Source(float(number), kind, text)
        bound.sd = sd
        bound.n = n
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        return Bound, (float(self), self.source.kind, self.source.text, self.sd, self.n)


def stated(number: float, where: str) -> Bound:
    """A number that the paper states.

        >>> ps.at_most([0.002], ps.stated(0.01, "Lemma D.8")).sources[0].kind.value
        'stated'

    **Arguments:** `number`. `where`: the place in the paper.

    **Returns:** a float that remembers its source.

    **Raises:** `ValueError` without a place.
    """
    return Bound(number, SourceKind.STATED, where)


def derived(number: float, how: str) -> Bound:
    """A number that follows from a derivation: a closed form, the error of a step.

        >>> ps.agree([0.25], ps.derived(0.25, "closed_forms.early_token_scores")).outcome.value
        'holds'

    **Arguments:** `number`. `how`: the function or the argument that it comes from.

    **Returns:** a float that remembers its source.

    **Raises:** `ValueError` without a derivation.
    """
    return Bound(number, SourceKind.DERIVED, how)


def released(number: float, where: str, *, sd: float | None = None, n: int | None = None) -> Bound:
    """A number in the authors' code, log or table.

        >>> ps.released(1.920, "the authors' log of 2024", sd=0.018, n=10).sd
        0.018

    **Arguments:** `number`. `where`: the file or table. `sd`, `n`: its standard deviation, over how
    many seeds.

    **Returns:** a float that remembers its source.

    **Raises:** `ValueError` without a place.
    """
    return Bound(number, SourceKind.RELEASED, where, sd, n)


def chosen(number: float, why: str) -> Bound:
    """A number that we chose, with the reason.

        >>> ps.chosen(0.05, "five times the error of the step").source.text
        'five times the error of the step'

    **Arguments:** `number`. `why`: the reason.

    **Returns:** a float that remembers its source.

    **Raises:** `ValueError` without a reason.
    """
    return Bound(number, SourceKind.CHOSEN, why)


def sources_of(numbers: Iterable[Any]) -> tuple[Source, ...]:
    """The sources of the scalar numbers among these; what is infinite or 0 asks for no number."""
    found = []
    for number in numbers:
        if isinstance(number, Bound):
            found.append(number.source)
        elif _asks_for_something(number):
            found.append(Source(float(number), SourceKind.CHOSEN))
    return tuple(dict.fromkeys(found))


def _asks_for_something(number: Any) -> bool:
    is_number = isinstance(number, float | int) and not isinstance(number, bool)
    return is_number and number != 0 and math.isfinite(number)
