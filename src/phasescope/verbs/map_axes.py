"""The axes of a map: numbers, or a range as it is written on a command line."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..errors import SpecError, nearest
from ..spec import Spec, field_types

POINTS = 256  # on an axis of floats, if nobody says how many
REFINED_POINTS = 25  # the same where the zero line is refined
WHOLE_POINTS = 8  # on an axis of whole numbers
EVEN = 1e-6  # by which the logarithms of an axis may be uneven, of a step


@dataclasses.dataclass(frozen=True)
class MapAxis:
    """A field with the values that a map looks at, in rising order."""

    field: str
    values: np.ndarray
    log: bool
    whole: bool


def map_axis(spec: Spec, name: str, given: Any, refined: bool = False) -> MapAxis:
    """The axis of a field, from numbers or from a text such as "0.1:10:64:log".

    The number of points and `log` may be left out. Raises `SpecError` for anything else, or if the field is no number.
    """
    kinds = field_types(type(spec))
    if name not in kinds:
        raise SpecError(f'there is no field "{name}". {nearest(name, kinds)}')
    if str in kinds[name] or bool in kinds[name]:
        raise SpecError(f"a map varies numbers, and {name} is none: give one value of it.")
    whole = float not in kinds[name]
    if isinstance(given, str):
        values, log = _range(name, given, whole, refined)
    else:
        values = np.asarray([_number(name, x) for x in given], float)
        log = _is_log(values)
    if whole:
        values = _whole(name, values, is_range=isinstance(given, str))
    if values.size < 2 or not (np.diff(values) > 0).all():
        raise SpecError(
            f"an axis of a map has two or more numbers in rising order, got {name}={given}."
        )
    return MapAxis(name, values, log, whole)


def _range(name: str, text: str, whole: bool, refined: bool) -> tuple[np.ndarray, bool]:
    low, _, rest = text.partition(":")
    high, *options = rest.split(":")
    log = options[-1:] == ["log"]
    counts = options[:-1] if log else options
    try:
        ends = float(low), float(high)
        if whole:
            default = WHOLE_POINTS
        else:
            default = REFINED_POINTS if refined else POINTS
        (count,) = map(int, counts) if counts else (default,)
        if count < 2 or (log and min(ends) <= 0) or not np.isfinite(ends).all():
            raise ValueError(text)
    except ValueError:
        raise SpecError(
            f"{name}={text} is not a range lo:hi, lo:hi:n or lo:hi:n:log of two or more numbers "
            "(above 0 if log)."
        ) from None
    spaced = np.geomspace if log else np.linspace
    return spaced(*ends, count), log


def _number(name: str, x: Any) -> float:
    try:
        return float(x)
    except (TypeError, ValueError):
        raise SpecError(f"a map varies numbers, got {name}={x!r}.") from None


def _whole(name: str, values: np.ndarray, is_range: bool) -> np.ndarray:
    """Whole numbers; of a range, those nearest to its points."""
    rounded = np.round(values)
    if not is_range and not np.array_equal(rounded, values):
        raise SpecError(f"{name} is a whole number, got {values.tolist()}.")
    return np.unique(rounded).astype(int) if is_range else rounded.astype(int)


def _is_log(values: np.ndarray) -> bool:
    """Whether the values are spaced evenly in their logarithms, and not evenly."""
    if values.size < 3 or not (values > 0).all():
        return False
    steps = np.diff(np.log(values))
    return bool(np.ptp(steps) <= EVEN * abs(steps[0])) and not np.allclose(np.diff(values, 2), 0)
