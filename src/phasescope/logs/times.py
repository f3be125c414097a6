"""The times of a log: which of its columns has them, and whether they rise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import LogError, nearest

TIME = "time"
# What a column of times is called, by those who write logs.
CALLED = (TIME, "step", "steps", "_step", "Step", "global_step", "iteration", "iter", "epoch")


def time_name(time: str | None, known: Sequence[str], rename: Mapping[str, str], where: str) -> str:
    """The column that counts time."""
    renamed = next((old for old, new in rename.items() if new == TIME), None)
    wanted = time or renamed
    if wanted is not None:
        if wanted not in known:
            raise LogError(f'{where} has no column "{wanted}" of times. {nearest(wanted, known)}')
        return wanted
    found = next((name for name in CALLED if name in known), None)
    if found is None:
        listed = ", ".join(dict.fromkeys(known)) or "none"
        raise LogError(
            f'{where}: no column of numbers is called step or time ({listed}). Name it: time="...".'
        )
    return found


def warn_of_clock(column: str, known: Sequence[str], where: str) -> None:
    """Say that a column called time was taken for the times where another counts steps: it may be a clock."""
    steps = next((name for name in CALLED if name != TIME and name in known), None)
    if column == TIME and steps is not None:
        warnings.warn(
            f'{where} has "{TIME}" and "{steps}": "{TIME}" was taken for its times. If that is a clock: time="{steps}", '
            f'rename={{"{TIME}": "clock"}}.',
            stacklevel=2,
        )


def check_times(times: np.ndarray, where: str) -> None:
    """Times are numbers that rise."""
    if not times.size:
        raise LogError(f"{where} has no records.")
    if times.dtype.kind not in "iuf":
        raise LogError(f"{where}: its times are not numbers.")
    unknown = np.flatnonzero(~np.isfinite(times))
    if unknown.size:
        raise LogError(
            f"{where}: record {unknown[0] + 1} has no finite time ({times[unknown[0]]})."
        )
    falls = np.flatnonzero(np.diff(times) <= 0)
    if falls.size:
        row = int(falls[0])
        advice = "What was measured at one step is one record."
        if times[row + 1] < times[row]:
            advice = "A run that was begun twice is two logs."
        raise LogError(
            f"{where}: times do not rise: record {row + 2} is at {times[row + 1]:g}, after one at {times[row]:g}. {advice}"
        )
