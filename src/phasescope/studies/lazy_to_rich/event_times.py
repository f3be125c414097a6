"""When something happens between two records.

A flow is smooth, so that eight records around a time carry its value then to about ten digits
(polynomial of degree seven in log time); descent on samples is not, and is read by straight lines
between records. A time that is NaN never came within the records, or lies where records of a flow
are too far apart: there six of them say something else.

`ps.crossing` is another reading: straight lines in closed form, and no time `after` which to look. A
line's root found by bisection differs from that in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import root_scalar

Curve = Callable[[float], float]
Times = np.ndarray  # of one lane, over its records
SMOOTH = 8  # records that carry a value of a flow: a polynomial of degree seven
CHECK = 6  # records that it is checked by
ROUGH = 2  # records that carry a value of descent: a straight line
SAME = 1e-6  # relative, of the times that eight and six records give


def value_at(da: xr.DataArray, time: Any, points: int = SMOOTH) -> xr.DataArray:
    """`da` at a time of its own for every lane; NaN outside the records."""

    def read(t: Times, x: Times, at: float) -> float:
        t, x = _known(t, x, points)
        if not (t.size >= points and t[0] <= at <= t[-1]):
            return np.nan
        return _curve(t, x, int(np.searchsorted(t, at)), points)(at)

    return _by_lane(read, da, time)


def first_time(
    da: xr.DataArray,
    level: Any,
    direction: Literal["up", "down"],
    after: Any = 0.0,
    points: int = SMOOTH,
) -> xr.DataArray:
    """First time later than `after` at which `da` comes to `level`, from below ("up") or from above ("down").

    A run that is beyond the level at `after` already has not come to it.
    """
    sign = 1.0 if direction == "up" else -1.0

    def find(t: Times, x: Times, level: float, after: float) -> float:
        t, x = _known(t, sign * (x - level), points)
        if not (t.size >= points and after <= t[-1]):
            return np.nan
        start = max(after, t[0])
        here = int(np.searchsorted(t, start, side="right"))
        if here == t.size or _curve(t, x, here, points)(start) >= 0:
            return np.nan
        beyond = np.flatnonzero(x[here:] >= 0)
        if not beyond.size:
            return np.nan
        end = here + int(beyond[0])
        low = max(t[end - 1], start)
        time = _root(_curve(t, x, end, points), low, t[end])
        if points == SMOOTH:
            check = _root(_curve(t, x, end, CHECK), low, t[end])
            if not abs(check - time) <= SAME * time:
                return np.nan
        return time

    return _by_lane(find, da, level, after)


def _curve(t: Times, x: Times, index: int, points: int) -> Curve:
    """The polynomial through the records around t[index - 1] and t[index], in log time; or the straight line."""
    first = min(max(index - points // 2, 0), t.size - points)
    around = slice(first, first + points)
    t = t[around]
    x = x[around]
    if points == ROUGH:
        return lambda at: float(np.interp(at, t, x))
    through = BarycentricInterpolator(np.log(t), x)
    return lambda at: float(through(np.log(at)))


def _root(curve: Curve, low: float, high: float) -> float:
    """Where the curve comes to zero; NaN if it does not change its sign, which it does on records close enough."""
    if curve(high) == 0:
        return high
    if not curve(low) < 0 < curve(high):
        return np.nan
    return float(
        root_scalar(curve, bracket=(low, high), method="brentq", xtol=1e-12, rtol=1e-12).root
    )


def _known(t: Times, x: Times, points: int) -> tuple[Times, Times]:
    """The records that are numbers; log time has no place for the one at 0."""
    good = np.isfinite(x) & ((t > 0) | (points == ROUGH))
    return t[good], x[good]


def _by_lane(kernel: Callable[..., float], da: xr.DataArray, *levels: Any) -> xr.DataArray:
    """`kernel(times, values, *levels)` for every lane by itself."""
    return xr.apply_ufunc(
        kernel,
        da["time"].astype(float),
        da.astype(float),
        *levels,
        input_core_dims=[["time"], ["time"], *([] for _ in levels)],
        vectorize=True,
        output_dtypes=[float],
    )
