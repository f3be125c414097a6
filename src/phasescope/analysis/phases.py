"""When phases begin and end.

Every function takes the time axis away, of one run or of all lanes of a sweep at once.

Records that are not finite are left out, as if they had not been made. A time that is NaN is a time
that never came within the records; the checks call it undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import xarray as xr

from .change_points import ChangePoints as ChangePoints
from .change_points import change_points as change_points
from .types import ArrayLike

# (times, values, levels) of one lane to one number
Kernel = Callable[..., Any]


def crossing(
    da: xr.DataArray,
    level: ArrayLike,
    direction: Literal["up", "down"] = "up",
    log_time: bool = False,
    along: str = "time",
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

    **Returns:** one time for each lane; NaN if it never came. A run that starts beyond the level
    has not crossed it.

    **Raises:** `ValueError` for another direction, or if there is no such axis.
    """
    if direction not in ("up", "down"):
        raise ValueError(f'direction must be "up" or "down", got {direction!r}.')
    sign = 1.0 if direction == "up" else -1.0

    def first(t: np.ndarray, x: np.ndarray, at: float) -> float:
        t, x = _known(t, sign * (x - at))
        here = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
        if not here.size:
            return np.nan
        i = here[0]
        part = -x[i] / (x[i + 1] - x[i])
        if part >= 1:
            return float(t[i + 1])
        if log_time and t[i] > 0:
            return float(t[i] * (t[i + 1] / t[i]) ** part)
        return float(t[i] + part * (t[i + 1] - t[i]))

    said = f"{float(np.asarray(level)):.6g}" if np.ndim(level) == 0 else "its level"
    return _times(
        first, da, along, ("crossing", f"{_name(da)} goes {direction} through {said}"), level
    )


def sustained(condition: xr.DataArray, along: str = "time") -> xr.DataArray:
    """First record time from which a condition stays true to the end.

        >>> loss = xr.DataArray([0.4, 0.6, 0.2, 0.1], {"time": [0.0, 1.0, 2.0, 3.0]}, "time")
        >>> float(ps.sustained(loss < 0.5))
        2.0

    **Arguments:** `condition`: true or false at every record. `along`: the axis of time.

    **Returns:** one time for each lane; NaN if the condition is not true at the end.

    **Raises:** `ValueError` if there is no such axis.
    """

    def first(t: np.ndarray, c: np.ndarray) -> float:
        held = np.logical_and.accumulate(c[::-1] == 1)[::-1]
        return float(t[np.argmax(held)]) if held.any() else np.nan

    return _times(first, condition, along, ("sustained", f"{_name(condition)} from here on"))


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
    multiple of it.

    **Raises:** `ValueError` if the factor is not above 1, or if there is no such axis.
    """
    if not factor > 1:
        raise ValueError(f"factor must be above 1, got {factor}.")
    start = _first_record(da, along) if start_value is None else start_value
    ratio = da / xr.where(np.not_equal(start, 0), start, np.nan)
    above = crossing(ratio, factor, "up", log_time, along)
    below = crossing(ratio, 1 / factor, "down", log_time, along)
    said = f"{_name(da)} leaves its start by a factor {factor:.6g}"
    return xr.apply_ufunc(np.fmin, above, below).rename("escape").assign_attrs(long_name=said)


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
    maximum at all (a straight line in log time, a constant).

    **Raises:** `ValueError` if there is no such axis.
    """

    def steepest(t: np.ndarray, x: np.ndarray) -> float:
        t, x = _known(t, x, t > 0)
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

    return _times(steepest, da, along, ("knee", f"steepest growth of {_name(da)} in log time"))


def plateau(
    da: xr.DataArray, flatness: float = 0.1, decades: float = 0.3, along: str = "time"
) -> xr.Dataset:
    """Start, end and level of the longest flat stretch in log time.

        >>> t = np.geomspace(1.0, 1000.0, 31)
        >>> loss = xr.DataArray(np.where(t < 10, 5.0, 0.5), {"time": t}, "time")
        >>> found = ps.plateau(loss)
        >>> round(float(found.start), 6), round(float(found.end), 6), float(found.level)
        (10.0, 1000.0, 0.5)

    **Arguments:** `da`: one run, or the lanes of a sweep. `flatness`: over the stretch, da varies
    by at most this fraction of its largest size there. `decades`: a shorter stretch is none.
    `along`: the axis of time.

    **Returns:** a dataset with `start`, `end` and `level` for each lane; NaN where there is no
    plateau.

    **Raises:** `ValueError` if `flatness` is not between 0 and 1, or if there is no such axis.
    """
    if not 0 < flatness < 1:
        raise ValueError(f"flatness must lie between 0 and 1, got {flatness}.")

    def longest(t: np.ndarray, x: np.ndarray) -> tuple[float, float, float]:
        t, x = _known(t, x, t > 0)
        s = np.log10(t)
        best = (0, 0)
        i = 0
        for j in range(t.size):
            # Every part of a flat stretch is flat (flatness < 1), so its start never moves back.
            while np.ptp(x[i : j + 1]) > flatness * np.abs(x[i : j + 1]).max():
                i += 1
            if s[j] - s[i] > s[best[1]] - s[best[0]]:
                best = (i, j)
        i, j = best
        if t.size < 2 or s[j] - s[i] < decades:
            return np.nan, np.nan, np.nan
        return float(t[i]), float(t[j]), float(np.median(x[i : j + 1]))

    _needs(da, along)
    found = xr.apply_ufunc(
        longest,
        da[along].astype(float),
        da.astype(float),
        input_core_dims=[[along], [along]],
        output_core_dims=[[], [], []],
        vectorize=True,
        output_dtypes=[float] * 3,
    )
    says = f"longest stretch of {_name(da)} flat within {100 * flatness:.4g}%, {decades:.4g} decades at least"
    return xr.Dataset(
        dict(zip(("start", "end", "level"), found, strict=True)), attrs={"long_name": says}
    )


def local_slope(da: xr.DataArray, along: str = "time") -> xr.DataArray:
    """d ln da / d ln t at every record: the exponent of the moment.

        >>> t = np.geomspace(1.0, 100.0, 50)
        >>> loss = xr.DataArray(t**-0.5, {"time": t}, "time")
        >>> bool(np.allclose(ps.local_slope(loss), -0.5))
        True

    **Arguments:** `da`: one run, or the lanes of a sweep. `along`: the axis of time.

    **Returns:** an array like `da`; NaN where da or t is not positive.

    **Raises:** `ValueError` if there is no such axis.
    """

    def slopes(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        good = np.isfinite(x) & (t > 0)
        good[good] = x[good] > 0
        out = np.full(x.shape, np.nan)
        if good.sum() > 1:
            out[good] = np.gradient(np.log(x[good]), np.log(t[good]))
        return out

    _needs(da, along)
    found = xr.apply_ufunc(
        slopes,
        da[along].astype(float),
        da.astype(float),
        input_core_dims=[[along], [along]],
        output_core_dims=[[along]],
        vectorize=True,
        output_dtypes=[float],
    )
    return (
        found.transpose(*da.dims)
        .rename("local_slope")
        .assign_attrs(long_name=f"d ln {_name(da)} / d ln {along}")
    )


def _first_record(da: xr.DataArray, along: str) -> xr.DataArray:
    """The first finite record of every lane; 0 where there is none."""
    return _times(lambda t, x: _known(t, x)[1][:1].sum(), da, along, ("start", ""))


def _known(
    t: np.ndarray, x: np.ndarray, among: np.ndarray | bool = True
) -> tuple[np.ndarray, np.ndarray]:
    good = np.isfinite(x) & among
    return t[good], x[good]


def _name(da: xr.DataArray) -> str:
    return str(da.name or "it")


def _needs(da: xr.DataArray, along: str) -> None:
    if along not in da.dims or along not in da.coords:
        raise ValueError(
            f"needs an axis {along!r} with coordinates, got axes {', '.join(map(str, da.dims)) or '(none)'}."
        )


def _times(
    kernel: Kernel, da: xr.DataArray, along: str, names: tuple[str, str], *levels: ArrayLike
) -> xr.DataArray:
    """One number per lane from (times, values, levels), with a name and a caption."""
    _needs(da, along)
    found = xr.apply_ufunc(
        kernel,
        da[along].astype(float),
        da.astype(float),
        *levels,
        input_core_dims=[[along], [along], *([] for _ in levels)],
        vectorize=True,
        output_dtypes=[float],
    )
    return found.rename(names[0]).assign_attrs(long_name=names[1])
