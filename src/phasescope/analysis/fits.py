"""Straight lines through points: slopes, and exponents with the interval that the points allow."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.special import stdtrit

from .align import aligned
from .types import ArrayLike

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Exponent:
    """`y ~ x ** value`, with its 95% interval; `residual` is the root mean square misfit of ln y."""

    value: float
    low: float
    high: float
    points: int
    residual: float

    def __str__(self) -> str:
        return f"{self.value:.4g} (95% interval {self.low:.4g} to {self.high:.4g}, {self.points} points)"


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Slope of the least-squares line of y on x, over all entries.

        >>> ps.slope([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
        2.0

    **Arguments:** `x`, `y`: arrays with the same points; entries that belong together are found by
    coordinates.

    **Returns:** the slope; NaN if an entry is no number or x does not vary.
    """
    u, v = (a.values.ravel() for a in aligned(x, y))
    return _line(u, v)[0]


def exponent(x: ArrayLike, y: ArrayLike) -> Exponent:
    """Exponent of a power law y ~ x ** value: the slope of ln y on ln x, with its 95% interval.

        >>> fit = ps.exponent([1.0, 2.0, 4.0, 8.0], [3.0, 12.0, 48.0, 192.0])
        >>> round(fit.value, 6), fit.points
        (2.0, 4)

    The interval is Student's. Records of one run are not independent: where the misfit is a curve
    and not noise, its autocorrelation lowers the number of points that count (not below four), so
    that a thousand records of a bent curve are no proof of a power law.

    **Arguments:** `x`, `y`: arrays with the same points; entries that belong together are found by
    coordinates.

    **Returns:** an `Exponent` with `value`, `low`, `high`, `points` and `residual`; all NaN if an
    entry is not a positive number, for a point left out is a point hidden.
    """
    u, v = (a.values.ravel() for a in aligned(x, y))
    if u.size < 2 or not (np.all(np.isfinite(u) & (u > 0)) and np.all(np.isfinite(v) & (v > 0))):
        return Exponent(np.nan, np.nan, np.nan, int(u.size), np.nan)
    order = np.argsort(u, kind="stable")
    u = np.log(u[order])
    v = np.log(v[order])
    value, misfit = _line(u, v)
    squares = float(np.sum(misfit**2))
    freedom = _points_that_count(misfit) - 2
    spread = float(np.sum((u - u.mean()) ** 2))
    if freedom > 0 and spread > 0:
        half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * np.sqrt(squares / freedom / spread)
    else:
        half = np.inf
    return Exponent(
        value, value - half, value + half, int(u.size), float(np.sqrt(squares / u.size))
    )


def exponents(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`exponent` for many rows of points at once, along the last axis: value, low, high.

    A row with an entry that is not a positive number is NaN.
    """
    fit = np.isfinite(u) & (u > 0) & np.isfinite(v) & (v > 0)
    fit = np.broadcast_to(fit.all(-1, keepdims=True), u.shape)
    order = np.argsort(u, axis=-1, kind="stable")
    logs_u = np.log(np.where(fit, np.take_along_axis(u, order, -1), np.nan))
    logs_v = np.log(np.where(fit, np.take_along_axis(v, order, -1), np.nan))
    n = u.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        du = logs_u - logs_u.mean(-1, keepdims=True)
        dv = logs_v - logs_v.mean(-1, keepdims=True)
        spread = (du**2).sum(-1)
        value = np.where(spread > 0, (du * dv).sum(-1) / spread, np.nan)
        misfit = dv - value[..., None] * du
        squares = (misfit**2).sum(-1)
        r = (misfit[..., 1:] * misfit[..., :-1]).sum(-1) / squares
        r = np.where(squares > 0, np.maximum(r, 0.0), 0.0)
        freedom = np.maximum(n * (1 - r) / (1 + r), min(n, 4)) - 2
        half = stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(squares / freedom / spread)
        half = np.where((freedom > 0) & (spread > 0), half, np.inf)
        return np.asarray(value), np.asarray(value - half), np.asarray(value + half)


def power_law(x: np.ndarray, y: np.ndarray, value: float) -> np.ndarray | None:
    """The power law of this exponent through the middle of the points, at x; None if it has no place there."""
    u = np.asarray(x, float)
    v = np.asarray(y, float)
    fit = np.isfinite(u) & (u > 0) & np.isfinite(v) & (v > 0)
    if not fit.all() or not np.isfinite(value) or not u.size:
        return None
    logs = np.log(u)
    with np.errstate(over="ignore"):
        return np.exp(np.log(v).mean() + value * (logs - logs.mean()))


def _line(u: np.ndarray, v: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope and misfit."""
    if u.size < 2 or not (np.all(np.isfinite(u)) and np.all(np.isfinite(v))) or np.ptp(u) == 0:
        return float("nan"), np.full(u.size, np.nan)
    du = u - u.mean()
    dv = v - v.mean()
    b = float(du @ dv / (du @ du))
    return b, dv - b * du


def _points_that_count(misfit: np.ndarray) -> float:
    """n (1 - r) / (1 + r) with r the lag-one autocorrelation, as for trends in time series.

    Never below min(n, 4).
    """
    n = misfit.size
    squares = float(misfit @ misfit)
    r = 0.0
    if squares > 0:
        r = max(float(misfit[1:] @ misfit[:-1]) / squares, 0.0)
    return max(n * (1 - r) / (1 + r), min(n, 4))
