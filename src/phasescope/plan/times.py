"""When a stage is recorded: times spaced evenly, or evenly in their logarithm."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Record times of one stage, written down but not yet laid out.

    The compiled program builds the plan too, with traced numbers in it; there the times are never laid out.
    """

    last: Any
    count: int | None = None
    first: Any = 1
    log: bool = False

    def lay_out(self) -> np.ndarray:
        """The times themselves, rising, without the 0 at which the stage starts."""
        whole = isinstance(self.last, int | np.integer)
        if self.last <= 0:
            return np.zeros(0, int if whole else float)
        if self.count is None:
            return np.arange(1, int(self.last) + 1)
        first = min(self.first, self.last) if self.log else self.last / self.count
        times = np.geomspace(first, self.last, self.count) if self.log else np.linspace(first, self.last, self.count)
        times[-1] = self.last
        return np.unique(np.maximum(np.round(times), 1).astype(int)) if whole else np.unique(times)


def log_times(last: Any, count: int = 100, first: Any = 1) -> Schedule:
    """About `count` record times from `first` to `last`, evenly spaced in log time (whole if `last` is)."""
    return Schedule(last, count, first, log=True)


def linear_times(last: Any, count: int | None = None) -> Schedule:
    """`count` evenly spaced record times up to `last`; without `count`, every step."""
    return Schedule(last, count)
