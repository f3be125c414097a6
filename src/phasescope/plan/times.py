"""When a stage is recorded: times spaced evenly, or evenly in their logarithm."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .numbers import Number

SAME_TIME = 1e-12  # times that differ by less, relative to their size, differ by rounding only


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Record times of one stage, written down but not yet laid out.

    The compiled program builds the plan too, with traced numbers in it; there the times are never
    laid out.

    - `last`: the last time; if it is a whole number, all times are.
    - `count`: how many times there are; None means every step.
    - `first`: the first time, where times are spaced in log time.
    - `log`: whether they are spaced evenly in log time.
    """

    last: Number
    count: int | None = None
    first: Number = 1
    log: bool = False

    def lay_out(self) -> np.ndarray:
        """The times themselves, rising, without the 0 at which the stage starts."""
        last: Any = self.last  # a plain number: nobody lays out times inside a program
        whole = isinstance(last, int | np.integer)
        if last <= 0:
            return np.zeros(0, int if whole else float)
        if self.count is None:
            return np.arange(1, int(last) + 1)
        times = self._spaced(last, self.count)
        times[-1] = last
        if whole:
            times = np.maximum(np.round(times), 1).astype(int)
        return np.unique(times)

    def _spaced(self, last: Any, count: int) -> np.ndarray:
        if self.log:
            return np.geomspace(min(self.first, last), last, count)
        return np.linspace(last / count, last, count)


def log_times(last: Number, count: int = 100, first: Number = 1) -> Schedule:
    """About `count` record times from `first` to `last`, evenly spaced in log time (whole if `last` is).

    >>> import phasescope as ps
    >>> ps.log_times(1000, 4).lay_out().tolist()
    [1, 10, 100, 1000]
    """
    return Schedule(last, count, first, log=True)


def linear_times(last: Number, count: int | None = None) -> Schedule:
    """`count` evenly spaced record times up to `last`; without `count`, every step.

    >>> import phasescope as ps
    >>> ps.linear_times(1.0, 4).lay_out().tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    return Schedule(last, count)
