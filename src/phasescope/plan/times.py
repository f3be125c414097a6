"""When a stage is recorded: times spaced evenly, or evenly in their logarithm."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .numbers import Number

SAME_TIME = 1e-12  # times that differ by less, relative to their size, differ by rounding only


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Record times of one stage, written down but not yet laid out; made by `log_times`, `linear_times`.

        >>> ps.Schedule(100, 3, log=True).lay_out().tolist()
        [1, 10, 100]

    The compiled program builds the plan too, with traced numbers in it; there the times are never
    laid out.

    **Arguments:** `last`: the last time; whole if the dynamics counts steps. `count`: how many; every
    step if not given. `first`: the first one of those that are spaced in log time. `log`: whether they
    are.
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


# What may be asked for as the times of a run.
Times = Iterable[float] | Schedule


def asked_times(at: Times) -> Iterable[float]:
    """The times that were asked for; a `Schedule` begins at the start of the run, as a stage does."""
    if isinstance(at, Schedule):
        return [0, *at.lay_out().tolist()]
    return at


def log_times(
    last: Number, count: int = 100, first: Number = 1, per_decade: float | None = None
) -> Schedule:
    """Record times that are evenly spaced in log time.

        >>> ps.log_times(1000, 4).lay_out().tolist()
        [1, 10, 100, 1000]
        >>> ps.log_times(100.0, first=1.0, per_decade=2).lay_out().round(2).tolist()
        [1.0, 3.16, 10.0, 31.62, 100.0]

    **Arguments:**

    - `last`: the last time.
    - `count`: about how many.
    - `first`: the first one.
    - `per_decade`: how many in a factor of ten, in place of `count`; `first` and `last` are then plain
      numbers, none of a Spec inside a program.

    **Returns:** a `Schedule`; its times are whole if `last` is.
    """
    if per_decade is not None:
        count = round(per_decade * math.log10(float(last) / float(first))) + 1
    return Schedule(last, count, first, log=True)


def linear_times(last: Number, count: int | None = None) -> Schedule:
    """Record times that are evenly spaced.

        >>> ps.linear_times(1.0, 4).lay_out().tolist()
        [0.25, 0.5, 0.75, 1.0]

    A whole `last` counts steps, and between two steps there is nothing to record: the times are whole
    numbers, as even as these can be, and no more of them than steps. For time that flows, give a float.

        >>> ps.linear_times(3, 6).lay_out().tolist(), ps.linear_times(3.0, 6).lay_out().tolist()
        ([1, 2, 3], [0.5, 1.0, 1.5, 2.0, 2.5, 3.0])

    **Arguments:** `last`: the last time. `count`: how many, at most; every step if not given.

    **Returns:** a `Schedule`; its times are whole if `last` is. A run in which a whole `last` gives fewer
    times than `count` to a dynamics that does not count steps is refused.
    """
    return Schedule(last, count)
