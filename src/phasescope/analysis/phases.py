"""When phases begin and end.

Every function takes the time axis away, of one run or of all lanes of a sweep at once.

Records that are not finite are left out, as if they had not been made. A time that is NaN is a time
that never came within the records; the checks call it undecided.

A time says of itself, in its attributes, what happens at it (`long_name`), in which unit it is
counted (`units`), between which records it lies (`resolution`), and, where it never came, why
(`not_found`). The words are made in `phase_words`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import xarray as xr

from .change_points import ChangePoints as ChangePoints
from .change_points import change_points as change_points
from .log_time import local_slope as local_slope
from .log_time import plateau as plateau
from .phase_words import known, name_of, needs, told, told_crossing, told_sustained
from .types import ArrayLike

# (times, values, levels) of one lane to one number
Kernel = Callable[..., Any]


def crossing(
    da: xr.DataArray,
    level: ArrayLike,
    direction: Literal["up", "down"] = "up",
    log_time: bool = False,
    along: str = "time",
    last: bool = False,
) -> xr.DataArray:
    """First time at which da comes to a level, between two records.

        >>> loss = xr.DataArray([1.0, 0.6, 0.2], {"time": [0.0, 1.0, 2.0]}, "time")
        >>> round(float(ps.crossing(loss, 0.5, "down")), 6)
        1.25

    **Arguments:**

    - `da`: one run, or the lanes of a sweep.
    - `level`: a number, or an array with one for each lane.
    - `direction`: "up" comes to the level from below, "down" from above.
    - `log_time`: the straight line between two records is one in log time.
    - `along`: the axis of time.
    - `last`: the last time at which it comes to the level, in place of the first.

    **Returns:** one time for each lane; NaN if it never came. A run that starts beyond the level
    has not crossed it. The attribute `resolution` says between which records it lies.

    **Raises:** `ValueError` for another direction, or if there is no such axis.
    """
    if direction not in ("up", "down"):
        raise ValueError(f'direction must be "up" or "down", got {direction!r}.')
    sign = 1.0 if direction == "up" else -1.0

    def first(t: np.ndarray, x: np.ndarray, at: float) -> float:
        t, x = known(t, sign * (x - at))
        here = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
        if not here.size:
            return np.nan
        i = here[-1] if last else here[0]
        part = -x[i] / (x[i + 1] - x[i])
        if part >= 1:
            return float(t[i + 1])
        if log_time and t[i] > 0:
            return float(t[i] * (t[i + 1] / t[i]) ** part)
        return float(t[i] + part * (t[i + 1] - t[i]))

    found = _times(first, da, along, level).rename("crossing")
    return told_crossing(found, name_of(da), da[along], level, direction, last)


def sustained(condition: xr.DataArray, along: str = "time") -> xr.DataArray:
    """First record time from which a condition stays true to the end.

        >>> loss = xr.DataArray([0.4, 0.6, 0.2, 0.1], {"time": [0.0, 1.0, 2.0, 3.0]}, "time")
        >>> float(ps.sustained(loss < 0.5))
        2.0

    **Arguments:** `condition`: true or false at every record. `along`: the axis of time.

    **Returns:** one time for each lane; NaN if the condition is not true at the end. What is true or
    false cannot be placed between two records: the attribute `resolution` says how far the record
    before lies. Record more closely (`at=`) where that is too coarse.

    **Raises:** `ValueError` if there is no such axis.
    """

    def first(t: np.ndarray, c: np.ndarray) -> float:
        held = np.logical_and.accumulate(c[::-1] == 1)[::-1]
        return float(t[np.argmax(held)]) if held.any() else np.nan

    found = _times(first, condition, along).rename("sustained")
    return told_sustained(found, name_of(condition), condition[along])


def escape(
    da: xr.DataArray,
    start_value: ArrayLike | None = None,
    factor: float = 2.0,
    log_time: bool = False,
    along: str = "time",
) -> xr.DataArray:
    """First time at which da leaves [start / factor, start * factor], between two records.

        >>> weight = xr.DataArray([1.0, 1.5, 2.5], {"time": [0.0, 1.0, 2.0]}, "time")
        >>> float(ps.escape(weight, factor=2.0))
        1.5

    **Arguments:** `da`: one run, or the lanes of a sweep. `start_value`: the start; the first
    record if not given. `factor`: above 1. `log_time`: lines between records are straight in log
    time. `along`: the axis of time.

    **Returns:** one time for each lane; NaN if it never came, and from a start at 0: nothing is a
    multiple of it (the attribute `not_found` says so). Of a falling loss and a factor of 2, it is the
    time at which the loss is halved.

    **Raises:** `ValueError` if the factor is not above 1, or if there is no such axis.
    """
    if not factor > 1:
        raise ValueError(f"factor must be above 1, got {factor}.")
    start = _first_record(da, along) if start_value is None else start_value
    ratio = da / xr.where(np.not_equal(start, 0), start, np.nan)
    above = crossing(ratio, factor, "up", log_time, along)
    below = crossing(ratio, 1 / factor, "down", log_time, along)
    found = xr.apply_ufunc(np.fmin, above, below).rename("escape")
    return told(
        found,
        da[along],
        event=f"time at which {name_of(da)} has left its start by a factor {factor:.6g}",
        without=f"it stays within a factor {factor:.6g} of its start, or starts at 0",
    )


def knee(da: xr.DataArray, refine: bool = False, along: str = "time") -> xr.DataArray:
    """The record time at which d da / d ln t is largest: where growth in log time is steepest.

        >>> t = np.geomspace(0.1, 1000.0, 201)
        >>> grown = xr.DataArray(t / (t + 10), {"time": t}, "time")  # steepest in log time at t = 10
        >>> round(float(ps.knee(grown)), 6)
        10.0

    **Arguments:** `da`: one run, or the lanes of a sweep. `refine`: the top of the parabola through
    the three records around the steepest, in log time, in place of its record time. `along`: the
    axis of time.

    **Returns:** one time for each lane; NaN if the maximum is at an end of the records, or no
    maximum at all (a straight line in log time, a constant, a curve that falls: of a loss, take
    `ps.knee(-loss)`). The attribute `not_found` says so.

    **Raises:** `ValueError` if there is no such axis.
    """

    def steepest(t: np.ndarray, x: np.ndarray) -> float:
        t, x = known(t, x, t > 0)
        if t.size < 3:
            return np.nan
        s = np.log(t)
        rate = np.gradient(x, s)
        i = int(np.argmax(rate))
        if i in (0, t.size - 1):
            return np.nan
        stands_out = rate[i] - max(rate[:i].min(), rate[i + 1 :].min())
        rounding = 1e-14 * np.abs(x).max() / np.diff(s[i - 1 : i + 2]).min()
        if stands_out <= max(1e-6 * abs(rate[i]), rounding):
            return np.nan
        if not refine:
            return float(t[i])
        a, b, _ = np.polyfit(s[i - 1 : i + 2] - s[i], rate[i - 1 : i + 2], 2)
        if a >= 0:
            return float(t[i])
        return float(np.exp(s[i] - b / (2 * a)))

    found = _times(steepest, da, along).rename("knee")
    return told(
        found,
        da[along],
        event=f"time of the steepest growth of {name_of(da)} in log time",
        without=_no_knee(da, along),
        interpolated=refine,
        both_sides=True,
    )


def _first_record(da: xr.DataArray, along: str) -> xr.DataArray:
    """The first finite record of every lane; 0 where there is none."""
    return _times(lambda t, x: known(t, x)[1][:1].sum(), da, along)


def _no_knee(da: xr.DataArray, along: str) -> str:
    """Why there may be no knee: it is the growth of a curve that is looked at."""
    ends = da.astype(float).isel({along: [0, -1]})
    falls = ends.isel({along: 1}) < ends.isel({along: 0})
    if falls.any():
        return "a knee is of growth; of what falls, take ps.knee(-x)"
    return "growth is steepest at an end of the records, or nowhere"


def _times(kernel: Kernel, da: xr.DataArray, along: str, *levels: ArrayLike) -> xr.DataArray:
    """One number per lane from (times, values, levels)."""
    needs(da, along)
    return xr.apply_ufunc(
        kernel,
        da[along].astype(float),
        da.astype(float),
        *levels,
        input_core_dims=[[along], [along], *([] for _ in levels)],
        vectorize=True,
        output_dtypes=[float],
    )
