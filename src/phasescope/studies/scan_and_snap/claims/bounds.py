"""Tolerances that several claims share, each with its source."""

from __future__ import annotations

import phasescope as ps

EXACT = ps.derived(1e-12, "rounding of 64-bit numbers of order 1")
MANY_STEPS = ps.derived(1e-10, "rounding of 64-bit numbers, added up over thousands of steps")
SOLVED = ps.derived(1e-6, "the tolerance of the differential equation's solver")
MOVED = ps.chosen(1e-10, "far above rounding: the logits have moved")


def last_digit(unit: float) -> float:
    """How far a number may be from that of an earlier run, which was kept to this unit."""
    return ps.derived(0.5 * 1.001 * unit, "half a unit of the last digit that was kept")


def kept(number: float) -> float:
    """The end of a range, or a relative accuracy, in which an earlier run kept its numbers."""
    return ps.derived(number, "as an earlier run kept it")
