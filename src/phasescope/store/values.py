"""The values of an identity: numbers and words as they come from callers and from documents, made plain and comparable."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import Document, to_json

if TYPE_CHECKING:
    import numpy as np

WRITTEN_OUT = 1024  # lanes of a block up to which its identity has every number of every lane
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class LongColumn:
    """One field of a wide block: how many lanes there are, and a digest of its numbers. They are in the records.

    - `first`, `last`: of its numbers.
    - `settles`: the lane from which on all are the last number; lanes that fill up a block repeat it.
    - `sha256`: of its numbers as little-endian float64.
    """

    count: int
    first: float
    last: float
    settles: int
    sha256: str

    def __len__(self) -> int:
        return self.count

    @classmethod
    def of(cls, what: str, values: np.ndarray) -> LongColumn:
        """The column of these numbers."""
        import numpy as np

        numbers = np.ascontiguousarray(values, "<f8")
        if np.isnan(numbers).any():
            raise StoreError(f"{what} holds numbers, got NaN.")
        differ = np.flatnonzero(numbers != numbers[-1])
        return cls(
            count=len(numbers),
            first=float(numbers[0]),
            last=float(numbers[-1]),
            settles=int(differ[-1]) + 1 if differ.size else 0,
            sha256=hashlib.sha256(numbers.tobytes()).hexdigest(),
        )

    @classmethod
    def from_json(cls, what: str, document: Mapping[str, Any]) -> LongColumn:
        """The column that was written down."""
        names = [f.name for f in dataclasses.fields(cls)]
        found = document.get("sha256")
        if (
            sorted(document) != sorted(names)
            or type(found) is not str
            or not _HASH.fullmatch(found)
        ):
            raise StoreError(f"{what} is no column of numbers: {document!r}.")
        count = whole(what, document["count"])
        settles = whole(what, document["settles"])
        if not WRITTEN_OUT < count < 2**40 or not 0 <= settles < count:
            raise StoreError(f"{what} is no column of numbers: {document!r}.")
        ends = [float(number(what, document[name])) for name in ("first", "last")]
        return cls(count, ends[0], ends[1], settles, found)


Column = tuple[int | float, ...] | LongColumn


def lanes_of(lanes: Any) -> dict[str, Column]:
    """The columns of a block of lanes, each with all its numbers or, if there are many, with a digest of them."""
    if not isinstance(lanes, Mapping):
        raise StoreError(f"lanes is a mapping from fields to their values, got {lanes!r}.")
    return {
        str(field): _column(f"the lane field {field}", values) for field, values in lanes.items()
    }


def _column(what: str, values: Any) -> Column:
    if isinstance(values, LongColumn):
        return values
    if isinstance(values, Mapping):
        return LongColumn.from_json(what, values)
    if hasattr(values, "__len__") and len(values) > WRITTEN_OUT:
        import numpy as np

        try:
            return LongColumn.of(what, np.asarray(values, float))
        except (TypeError, ValueError):
            raise StoreError(f"{what} holds numbers, got something else among them.") from None
    return numbers(what, values)


def ends(column: Column) -> list[int | float]:
    """The first and the last number of a column."""
    if isinstance(column, LongColumn):
        return [column.first, column.last]
    return [column[0], column[-1]]


def run_count(columns: Sequence[Column]) -> int:
    """How many runs a block holds, without the copies of the last one that fill it up."""
    settled = 0
    for column in columns:
        if isinstance(column, LongColumn):
            settled = max(settled, column.settles)
        else:
            differ = [lane for lane, x in enumerate(column) if x != column[-1]]
            settled = max(settled, differ[-1] + 1 if differ else 0)
    return settled + 1


def whole(what: str, value: Any) -> int:
    """A whole number, also as numpy or a float have it."""
    found = value.item() if hasattr(value, "item") else value
    if type(found) is float and found.is_integer():
        found = int(found)
    if type(found) is not int:
        raise StoreError(f"the {what} of a run is a whole number, got {what}={value!r}.")
    return found


def numbers(what: str, values: Any) -> tuple[int | float, ...]:
    """Python numbers, also from numpy or from the words that JSON has for infinities; NaN is none."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise StoreError(f"{what} holds numbers, got {values!r}.")
    found = tuple(values)
    if set(map(type, found)) <= {int, float} and not any(x != x for x in found):
        return found
    return tuple(number(what, value) for value in found)


def number(what: str, value: Any) -> int | float:
    found = value.item() if hasattr(value, "item") else value
    if found in ("inf", "-inf"):
        found = float(found)
    if (
        type(found) not in (int, float) or found != found
    ):  # not isnan, for which an integer may be too large
        raise StoreError(f"{what} holds numbers, got {value!r}.")
    return found


def words(what: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise StoreError(f"{what} holds words, got {values!r}.")
    found = tuple(values)
    if not all(type(value) is str for value in found):
        raise StoreError(f"{what} holds words, got {values!r}.")
    return found


def reductions(given: Any) -> dict[str, Document]:
    if not isinstance(given, Mapping) or not all(isinstance(x, Mapping) for x in given.values()):
        raise StoreError(f"reduce is a mapping from names to what is reduced, got {given!r}.")
    return {str(name): to_json(x) for name, x in given.items()}


def canonical(value: Any) -> Any:
    """Numbers by value: 1 is 1.0, 0.1 is 1e-1; but -0.0 is not 0, and true is not 1."""
    if isinstance(value, float):
        negative_zero = value == 0 and math.copysign(1, value) < 0
        if value.is_integer() and not negative_zero:
            return int(value)
        return ["float", value.hex()]
    if isinstance(value, LongColumn):
        return canonical(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(v) for v in value]
    return value
