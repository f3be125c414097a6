"""Axes of small plots: where a number lies, and a few ticks."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Numbers that span more than this are shown on a logarithmic axis.
SPAN = 1000.0
TICKS = 5
NEAR = 16.0  # pixels between two labels at least


@dataclasses.dataclass(frozen=True)
class Axis:
    """From `low` to `high` (of a logarithmic axis, their exponents) onto the pixels from `start` to `end`.

    Zero has no place on a logarithmic axis; it is drawn at `zero`, left of the smallest number.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    zero: float | None = None
    words: tuple[str, ...] = ()

    def place(self, values: np.ndarray) -> np.ndarray:
        """Where numbers lie; NaN for those that have no place."""
        numbers = np.asarray(values, float)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                numbers = np.where(numbers > 0, np.log10(numbers), np.nan)
            if self.zero is not None:
                numbers = np.where(np.asarray(values) == 0, self.zero, numbers)
        share = (numbers - self.low) / (self.high - self.low)
        placed = self.start + share * (self.end - self.start)
        return np.where(np.isfinite(placed), placed, np.nan)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels."""
        if self.words:
            few = np.unique(np.linspace(0, len(self.words) - 1, min(len(self.words), 6)).round())
            return [(self._at(i), self.words[int(i)][:12]) for i in few]
        if self.log:
            found = [(self._at(power), label) for power, label in self._powers()]
            if self.zero is not None:
                zero = self._at(self.zero)
                found = [(zero, "0"), *(one for one in found if abs(one[0] - zero) > NEAR)]
            return found
        values = _round_numbers(self.low, self.high)
        return list(zip(map(self._at, values), _told_apart(values), strict=True))

    def _at(self, value: float) -> float:
        share = (float(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def _powers(self) -> list[tuple[float, str]]:
        """Powers of ten; over less than two decades also twice and five times of them."""
        low = math.ceil(self.low - 1e-9)
        high = math.floor(self.high + 1e-9)
        if high - low >= 2:
            step = max(1, -(-(high - low) // (TICKS - 1)))
            return [(float(power), _power(power)) for power in range(low, high + 1, step)]
        numbers = [
            part * 10.0**power for power in range(low - 1, high + 1) for part in (1.0, 2.0, 5.0)
        ]
        inside = [n for n in numbers if self.low <= math.log10(n) <= self.high]
        if len(inside) < 2:
            inside = [10.0**self.low, 10.0**self.high]
        return [(math.log10(n), short(n)) for n in inside]


def linear(values: np.ndarray, start: float, end: float) -> Axis:
    """An axis that holds all finite numbers, with some room."""
    known = values[np.isfinite(values)]
    low = float(known.min()) if known.size else 0.0
    high = float(known.max()) if known.size else 1.0
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Axis(low - room, high + room, start, end)


def logarithmic(
    values: np.ndarray, start: float, end: float, zero: bool = False, least: float = 0.0
) -> Axis:
    """An axis of powers of ten that holds all positive numbers; with a place for zero if asked for.

    It spans `least` decades or more, so that what hardly changes looks so.
    """
    known = values[np.isfinite(values) & (values > 0)]
    low = float(np.log10(known.min()))
    high = float(np.log10(known.max()))
    short_of = max(least - (high - low), 0.0)
    low -= short_of / 2
    high += short_of / 2
    room = 0.05 * (high - low) or 0.2
    if not zero:
        return Axis(low - room, high + room, start, end, log=True)
    left = low - max(0.12 * (high - low), 0.2)
    return Axis(left - room, high + room, start, end, log=True, zero=left)


def is_wide(values: np.ndarray, span: float = SPAN) -> bool:
    """All numbers are positive, and the largest is many times the smallest."""
    known = values[np.isfinite(values)]
    return bool(known.size > 1 and known.min() > 0 and known.max() > span * known.min())


def _told_apart(values: list[float]) -> list[str]:
    """Numbers in as many digits as it takes to tell them apart, four or more."""
    for digits in range(4, 16):
        labels = [short(value, digits) for value in values]
        if len(set(labels)) == len(labels):
            return labels
    return [short(value) for value in values]


def short(value: float, digits: int = 4) -> str:
    """A number in four digits: `0.25`, `10⁴`, `2·10⁻⁷`."""
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    if not power:
        return mantissa.replace("-", "−")
    ten = f"10{str(int(power)).translate(_SUPERSCRIPT)}"
    if mantissa in ("1", "-1"):
        return ten if mantissa == "1" else f"−{ten}"
    return f"{mantissa}·{ten}".replace("-", "−")


def _power(power: int) -> str:
    """`10⁴`, `100`, `0.1`."""
    if -2 <= power <= 3:
        return f"{10.0**power:g}"
    return f"10{str(power).translate(_SUPERSCRIPT)}"


def _round_numbers(low: float, high: float) -> list[float]:
    """A few round numbers between two."""
    width = (high - low) / (TICKS - 1)
    size = 10.0 ** math.floor(math.log10(width))
    step = next(step * size for step in (1, 2, 5, 10) if step * size >= width * 0.999)
    first = math.ceil(low / step)
    last = math.floor(high / step)
    return [0.0 if k == 0 else k * step for k in range(first, last + 1)]
