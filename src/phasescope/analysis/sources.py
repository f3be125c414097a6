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

import numpy as np


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
    """The sources of the numbers among these; what is infinite or 0 asks for no number.

    An array that holds one number throughout is that number, and one without a source.
    """
    found = []
    for number in numbers:
        if isinstance(number, Bound):
            found.append(number.source)
            continue
        bare = _one_number(number)
        if bare is not None:
            found.append(Source(bare, SourceKind.CHOSEN))
    return tuple(dict.fromkeys(found))


def _one_number(value: Any) -> float | None:
    """The finite number other than 0 that a value is, or that an array holds throughout."""
    if isinstance(value, bool):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.size == 0:
        return None
    number = float(array.flat[0])
    if number == 0 or not math.isfinite(number) or (array != array.flat[0]).any():
        return None
    return number
