"""How a statement about many entries becomes one verdict: the worst entry decides, and says where
it stands.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from . import fits
from .align import Misaligned, aligned, axis, chosen, coordinates_of, in_order, in_words, numbers_in
from .types import ArrayLike, Axis, Condition, Index
from .verdict import Outcome, Verdict, undecided

# (measured, value) of the entry at an index
Report = Callable[[tuple[int, ...]], tuple[str, float]]


def name_of(what: str, x: xr.DataArray) -> str:
    """What a verdict calls x."""
    return what or str(x.name or "the value")


def first(mask: xr.DataArray) -> Index:
    """Where a mask is true for the first time, as index by axis."""
    return dict(zip(mask.dims, map(int, np.argwhere(mask.values)[0]), strict=True))


def verdict_at(
    outcome: Outcome,
    measured: str,
    required: str,
    x: xr.DataArray,
    index: Index,
    value: float | None = None,
) -> Verdict:
    """A verdict decided by one entry of x, which stands at `index`."""
    coordinates = coordinates_of(x, index)
    return Verdict(
        outcome=outcome,
        measured=measured,
        required=required,
        where=in_words(coordinates),
        value=value,
        at=numbers_in(coordinates),
    )


def decide(
    x: xr.DataArray, ok: np.ndarray, violation: np.ndarray, required: str, report: Report
) -> Verdict:
    """Verdict over all entries of x; a violation that is NaN is an unknown entry.

    The worst of the broken entries decides if there are any, else the worst of all that are known.
    """
    known = ~np.isnan(violation)
    if x.size == 0:
        return undecided("there are no entries", required)
    if not known.any():
        return undecided(f"none of {x.size} entries is a number", required)
    broken = known & ~ok
    candidates = np.flatnonzero(broken if broken.any() else known)
    largest = candidates[np.argmax(violation.ravel()[candidates])]
    worst = tuple(int(i) for i in np.unravel_index(largest, violation.shape))
    index = dict(zip(x.dims, worst, strict=True))
    measured, value = report(worst)
    if not ok[worst]:
        return verdict_at(Outcome.FAILS, measured, required, x, index, float(value))
    if np.isneginf(violation[worst]):
        return undecided("the bound is infinite, so nothing is asked", required)
    if not known.all():
        lost = int((~known).sum())
        are_none = "is no number" if lost == 1 else "are no numbers"
        why = f"{measured}, but {lost} of {x.size} entries {are_none}"
        return verdict_at(
            Outcome.UNDECIDED, why, required, x, first(x.copy(data=~known)), float(value)
        )
    return verdict_at(Outcome.HOLDS, measured, required, x, index, float(value))


def among(where: Condition | None, *arrays: ArrayLike) -> list[xr.DataArray]:
    """The arrays over common axes; if `where` is given, only the entries it marks, in a row."""
    if where is None:
        return aligned(*arrays)
    *found, marks = aligned(*arrays, where)
    return [chosen(x, marks) for x in found]


def near(
    x: xr.DataArray, y: xr.DataArray, tolerance: tuple[float, float], required: str, says: str
) -> Verdict:
    """|x - y| <= atol + rtol |y|, worst in units of what is allowed."""
    atol, rtol = tolerance
    a = x.values
    b = y.values
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(a - b)
        allowed = atol + rtol * np.abs(b)
        violation = np.where(off == 0, 0.0, off / allowed) if atol or rtol else off
    finite = np.isfinite(a) & np.isfinite(b)
    unknown = np.isnan(a) | np.isnan(b)
    violation = np.where(unknown, np.nan, np.where(finite, violation, np.inf))
    off = np.where(finite, off, np.inf)

    def report(i: tuple[int, ...]) -> tuple[str, float]:
        return f"{says} {off[i]:.4g} ({a[i]:.4g} against {b[i]:.4g})", off[i]

    return decide(x, finite & (off <= allowed), violation, required, report)


def bounded(
    x: ArrayLike,
    lo: ArrayLike,
    hi: ArrayLike,
    what: str,
    where: Condition | None,
    strictly: str = "",
) -> Verdict:
    """lo <= x <= hi (`strictly` names the sign asked for and forbids equality), worst by slack."""
    required = strictly or _limits(lo, hi)
    fixed = np.ndim(lo) == np.ndim(hi) == 0
    try:
        numbers, lower, upper = among(where, x, lo, hi)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    a = numbers.values
    low = lower.values
    high = upper.values
    with np.errstate(invalid="ignore"):
        below = a - low
        above = high - a
    slack = np.where(np.isfinite(a), np.fmin(below, above), np.where(np.isnan(a), np.nan, -np.inf))
    open_end = (np.isnan(below) | np.isnan(above)) & ~(slack < 0)
    violation = np.where(open_end | np.isnan(a), np.nan, -slack)
    ok = slack > 0 if strictly else slack >= 0

    def report(i: tuple[int, ...]) -> tuple[str, float]:
        limit = low[i] if below[i] <= above[i] else high[i]
        against = "" if fixed else f" against {limit:.4g}"
        rest = "" if numbers.size == 1 else f" (worst of {numbers.size}, slack {slack[i]:.4g})"
        return f"{name_of(what, numbers)} = {a[i]:.4g}{against}{rest}", a[i]

    return decide(numbers, ok, violation, required, report)


def monotone(x: xr.DataArray, sign: int, what: str, along: Axis, strictly: bool) -> Verdict:
    """Every entry against the largest before it, so that NaN in between hides no step back."""
    asked, opposite = ("increasing", "decreasing")[::sign]
    required = asked if strictly else f"never {opposite}"
    dim = axis(x, along)
    if x.sizes[dim] < 2:
        return undecided(
            f"{name_of(what, x)} has {x.sizes[dim]} entries along {dim}: no order to see", required
        )
    x = in_order(x, dim).transpose(dim, ...)
    v = sign * x.values
    with np.errstate(invalid="ignore"):
        peak = np.fmax.accumulate(v, axis=0)[:-1]
        rise = np.where(np.isinf(v[1:]) | np.isinf(peak), -np.inf, v[1:] - peak)
    rise = np.where(np.isnan(v[1:]) | np.isnan(peak), np.nan, rise)

    def report(i: tuple[int, ...]) -> tuple[str, float]:
        word = "rise" if sign == 1 else "fall"
        peak_at = int(np.nanargmax(v[(slice(i[0] + 1), *i[1:])]))
        start = f"{sign * peak[i]:.4g} (at {in_words(coordinates_of(x, {dim: peak_at}))})"
        end = f"{x.values[1:][i]:.4g}"
        return f"{name_of(what, x)}: smallest {word} {rise[i]:.4g}, from {start} to {end}", rise[i]

    ok = rise > 0 if strictly else rise >= 0
    return decide(x.isel({dim: slice(1, None)}), ok, -rise, required, report)


def power_law(
    y: xr.DataArray, x: xr.DataArray, law: tuple[float, float, float], what: str, required: str
) -> Verdict:
    """One fit of ln y on ln x against exponent ± tol, if the points allow one."""
    exponent, tol, span = law
    u = x.values
    v = y.values
    lost = ~(v > 0) & ~np.isnan(v) | np.isinf(v)
    if lost.any():
        index = first(y.copy(data=lost))
        bad = float(y.isel(index))
        return verdict_at(
            Outcome.FAILS, f"{what} = {bad:.4g}, which no power law takes", required, y, index, bad
        )
    missing = int((np.isnan(v) | ~(np.isfinite(u) & (u > 0))).sum())
    if missing:
        return undecided(
            f"{missing} of {v.size} points have no place on logarithmic axes", required
        )
    if np.unique(u).size < 4:
        return undecided(f"{np.unique(u).size} different points, a fit needs 4", required)
    if u.max() < span * u.min():
        return undecided(
            f"the points span a factor {u.max() / u.min():.4g} only, asked for {span:.4g}", required
        )
    fit = fits.exponent(x, y)
    return Verdict(
        _interval_outcome(fit, exponent, tol), f"{what}: exponent {fit}", required, "", fit.value
    )


def _interval_outcome(fit: fits.Exponent, exponent: float, tol: float) -> Outcome:
    """Holds if the whole interval lies within exponent ± tol, fails if all of it lies outside."""
    if exponent - tol <= fit.low and fit.high <= exponent + tol:
        return Outcome.HOLDS
    if fit.high < exponent - tol or fit.low > exponent + tol:
        return Outcome.FAILS
    return Outcome.UNDECIDED


def _limits(lo: ArrayLike, hi: ArrayLike) -> str:
    """The requirement in words; a limit that is one infinite number is no limit."""
    low = _limit(lo)
    high = _limit(hi)
    if low == "-inf":
        return f"at most {high}"
    if high == "inf":
        return f"at least {low}"
    return f"{low} to {high}"


def _limit(bound: ArrayLike) -> str:
    if np.ndim(bound) == 0:
        return f"{float(np.asarray(bound)):.4g}"
    return "the bound"
