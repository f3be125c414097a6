"""The word for constants that a paper leaves open: a scan over decades."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from .over_sizes import band
from .trace import Trace, trace_of_line
from .verdict import Outcome, Verdict, all_of, undecided


def scan(
    name: str,
    values: Iterable[float],
    judge: Callable[[float], Verdict],
    settles: Literal["large", "small"] = "large",
) -> Verdict:
    """A constant that the paper leaves open, over decades.

        >>> found = ps.scan("c", [1.0, 10.0, 100.0, 1000.0], lambda c: ps.at_least([c], 50.0))
        >>> found.outcome.value, found.reach
        ('holds', 'from c = 100')

    **Arguments:** `name`: of the constant. `values`: those to look at. `judge`: from a value to a
    `Verdict`. `settles`: the end at which the paper promises the statement: for a constant that is
    large enough, or small enough.

    **Returns:** a `Verdict`. It holds if it does at the two values nearest to that end, and says from
    where on; if it holds at the last one only, or not there, it fails: with the trend "towards" if
    the margin improves. With fewer than three values it is undecided.
    """
    order = sorted(values, reverse=settles == "small")
    if len(order) < 3:
        return undecided(f"{len(order)} values of {name}; a scan needs 3", "a scan")
    found = [judge(value) for value in order]
    holds = [verdict.outcome == Outcome.HOLDS for verdict in found]
    judged = _settled if all(holds[-2:]) else _unsettled
    verdict = judged(name, order, found, "from" if settles == "large" else "up to")
    return dataclasses.replace(
        verdict, sizes={**verdict.sizes, name: tuple(sorted(map(float, order)))}
    )


def _settled(name: str, order: list[float], found: list[Verdict], word: str) -> Verdict:
    """It holds at the last two values: from where on?"""
    start = len(found)
    while start > 0 and found[start - 1].outcome == Outcome.HOLDS:
        start -= 1
    last = found[-1]
    reach = f"{word} {name} = {order[start]:.4g}"
    return dataclasses.replace(
        all_of(found[start:]),
        measured=f"{last.measured} at {name} = {order[-1]:.4g}; it holds {reach}",
        required=last.required,
        value=last.value,
        at=dict(last.at) | {name: float(order[-1])},
        reach=reach,
        sizes=last.sizes,
        trace=_margins(name, order, found),
    )


def _unsettled(name: str, order: list[float], found: list[Verdict], _: str) -> Verdict:
    """It does not hold at the last two values: is it known, and does it improve?"""
    last = found[-1]
    if last.outcome == Outcome.UNDECIDED:
        return last
    # Where it holds at the last value and is not known before it, nothing has settled.
    open_ones = (v for v in reversed(found) if v.outcome == Outcome.UNDECIDED)
    failing = next((v for v in reversed(found) if v.outcome == Outcome.FAILS), None)
    if failing is None:
        return last & next(open_ones)
    return dataclasses.replace(
        failing,
        measured=f"{failing.measured}; looked at {name} = {band(np.array(order))}",
        trend="towards" if _improves(found) else "away",
        trace=_margins(name, order, found),
    )


def _margins(name: str, order: list[float], found: list[Verdict]) -> Trace | None:
    """The margin at every value of the constant: where it crosses 0 the statement begins to hold."""
    margins = np.array([np.nan if v.margin is None else v.margin for v in found])
    known = np.isfinite(margins)
    if known.sum() < 2:
        return None
    curves = {"measured": margins[known], "lower": np.zeros(int(known.sum()))}
    line = trace_of_line(np.array(order, float)[known], curves, None)
    return dataclasses.replace(line, name="margin", along=name)


def _improves(found: list[Verdict]) -> bool:
    margins = [v.margin for v in found if v.margin is not None]
    return found[-1].outcome == Outcome.HOLDS or (len(margins) > 1 and margins[-1] > margins[0])
