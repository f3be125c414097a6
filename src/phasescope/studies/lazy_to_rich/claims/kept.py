"""Numbers of earlier runs, as they were kept: equal today to half a unit of their last digit."""

from __future__ import annotations

from collections.abc import Iterable

import phasescope as ps

# Two numbers that differ by half a unit, but for rounding.
HALF_A_UNIT = 0.5 * 1.001


def as_kept(values: Iterable[float], texts: str, what: str) -> ps.Verdict:
    """Every number agrees with its text, `as_kept([1.2514, 37.7], "1.25 38", "T")`."""
    pairs = zip(values, texts.split(), strict=True)
    return ps.all_of(
        ps.agree(float(value), float(text), atol=last_digit(text), what=what)
        for value, text in pairs
    )


def last_digit(text: str) -> float:
    """Half a unit of the last digit of a kept number: 0.005 for "1.25", 0.5 for "38"."""
    decimals = len(text.partition(".")[2])
    unit = 10.0**-decimals
    return ps.derived(HALF_A_UNIT * unit, "half a unit of the last digit that was kept")
