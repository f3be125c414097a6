"""How a statement about many entries becomes one verdict: the worst entry decides, and says where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from . import fits
from .align import Misaligned, aligned, axis, chosen, in_order, place
from .verdict import Outcome, Verdict, undecided

# (measured, value) of the entry at an index
Say = Callable[[tuple[int, ...]], tuple[str, float]]


def name_of(what: str, x: xr.DataArray) -> str:
    """What a verdict calls x."""
    return what or str(x.name or "the value")


def first(mask: xr.DataArray) -> dict:
    """Where a mask is true for the first time, as index by axis."""
    return dict(zip(mask.dims, map(int, np.argwhere(mask.values)[0]), strict=True))


def decide(x: xr.DataArray, ok: np.ndarray, badness: np.ndarray, required: str, say: Say) -> Verdict:
    """Verdict over all entries of x; NaN badness is an unknown entry.

    The worst of the broken entries decides if there are any, else the worst of all that are known.
    """
    known = ~np.isnan(badness)
    if not known.any():
        return undecided(f"none of {x.size} entries is a number" if x.size else "there are no entries", required)
    candidates = np.flatnonzero(known & ~ok) if (known & ~ok).any() else np.flatnonzero(known)
    worst = np.unravel_index(candidates[np.argmax(badness.ravel()[candidates])], badness.shape)
    measured, value = say(tuple(map(int, worst)))
    at = place(x, dict(zip(x.dims, map(int, worst), strict=True)))
    if not ok[worst]:
        return Verdict(Outcome.FAILS, measured, required, at, float(value))
    if np.isneginf(badness[worst]):
        return undecided("the bound is infinite, so nothing is asked", required)
    if not known.all():
        lost = int((~known).sum())
        at = place(x, first(x.copy(data=~known)))
        why = f"{measured}, but {lost} of {x.size} entries {'is no number' if lost == 1 else 'are no numbers'}"
        return Verdict(Outcome.UNDECIDED, why, required, at, float(value))
    return Verdict(Outcome.HOLDS, measured, required, at, float(value))


def among(where: Any, *arrays: Any) -> list[xr.DataArray]:
    """The arrays over common axes; if `where` is given, only the entries it marks, in a row."""
    if where is None:
        return aligned(*arrays)
    *found, marks = aligned(*arrays, where)
    return [chosen(x, marks) for x in found]


def near(x: xr.DataArray, y: xr.DataArray, tolerance: tuple[float, float], required: str, says: str) -> Verdict:
    """|x - y| <= atol + rtol |y|, worst in units of what is allowed."""
    (atol, rtol), a, b = tolerance, x.values, y.values
    with np.errstate(invalid="ignore", divide="ignore"):
        off, allowed = np.abs(a - b), atol + rtol * np.abs(b)
        badness = np.where(off == 0, 0.0, off / allowed) if atol or rtol else off
    finite, unknown = np.isfinite(a) & np.isfinite(b), np.isnan(a) | np.isnan(b)
    badness = np.where(unknown, np.nan, np.where(finite, badness, np.inf))
    off = np.where(finite, off, np.inf)
    text = lambda i: f"{says} {off[i]:.4g} ({a[i]:.4g} against {b[i]:.4g})"
    return decide(x, finite & (off <= allowed), badness, required, lambda i: (text(i), off[i]))


def bounded(x: Any, lo: Any, hi: Any, what: str, where: Any, strictly: str = "") -> Verdict:
    """lo <= x <= hi (`strictly` names the sign asked for and forbids equality), worst by slack."""
    required, fixed = strictly or _limits(lo, hi), np.ndim(lo) == np.ndim(hi) == 0
    try:
        x, lo, hi = among(where, x, lo, hi)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    a, low, high = x.values, lo.values, hi.values
    with np.errstate(invalid="ignore"):
        below, above = a - low, high - a
    slack = np.where(np.isfinite(a), np.fmin(below, above), np.where(np.isnan(a), np.nan, -np.inf))
    open_end = (np.isnan(below) | np.isnan(above)) & ~(slack < 0)
    badness = np.where(open_end | np.isnan(a), np.nan, -slack)
    ok = slack > 0 if strictly else slack >= 0

    def say(i: tuple[int, ...]) -> tuple[str, float]:
        limit = low[i] if below[i] <= above[i] else high[i]
        against = "" if fixed else f" against {limit:.4g}"
        rest = "" if x.size == 1 else f" (worst of {x.size}, slack {slack[i]:.4g})"
        return f"{name_of(what, x)} = {a[i]:.4g}{against}{rest}", a[i]

    return decide(x, ok, badness, required, say)


def monotone(x: xr.DataArray, sign: int, what: str, along: str | int | None, strictly: bool) -> Verdict:
    """Every entry against the largest before it, so that NaN in between hides no step back."""
    words = ("increasing", "decreasing")[::sign]
    required = words[0] if strictly else f"never {words[1]}"
    dim = axis(x, along)
    if x.sizes[dim] < 2:
        return undecided(f"{name_of(what, x)} has {x.sizes[dim]} entries along {dim}: no order to see", required)
    x = in_order(x, dim).transpose(dim, ...)
    v = sign * x.values
    with np.errstate(invalid="ignore"):
        peak = np.fmax.accumulate(v, axis=0)[:-1]
        rise = np.where(np.isinf(v[1:]) | np.isinf(peak), -np.inf, v[1:] - peak)
    rise = np.where(np.isnan(v[1:]) | np.isnan(peak), np.nan, rise)

    def say(i: tuple[int, ...]) -> tuple[str, float]:
        word, after = "rise" if sign == 1 else "fall", place(x, {dim: before(i)})
        start, end = sign * peak[i], x.values[1:][i]
        return f"{name_of(what, x)}: smallest {word} {rise[i]:.4g}, from {start:.4g} (at {after}) to {end:.4g}", rise[i]

    def before(i: tuple[int, ...]) -> int:
        return int(np.nanargmax(v[(slice(i[0] + 1), *i[1:])]))

    return decide(x.isel({dim: slice(1, None)}), rise > 0 if strictly else rise >= 0, -rise, required, say)


def power_law(y: xr.DataArray, x: xr.DataArray, law: tuple[float, float, float], what: str, required: str) -> Verdict:
    """One fit of ln y on ln x against exponent ± tol, if the points allow one."""
    exponent, tol, span = law
    u, v = x.values, y.values
    lost = ~(v > 0) & ~np.isnan(v) | np.isinf(v)
    if lost.any():
        at = first(y.copy(data=lost))
        bad = float(y.isel(at))
        return Verdict(Outcome.FAILS, f"{what} = {bad:.4g}, which no power law takes", required, place(y, at), bad)
    if np.isnan(v).any() or not np.all(np.isfinite(u) & (u > 0)):
        missing = int((np.isnan(v) | ~(np.isfinite(u) & (u > 0))).sum())
        return undecided(f"{missing} of {v.size} points have no place on logarithmic axes", required)
    if np.unique(u).size < 4:
        return undecided(f"{np.unique(u).size} different points, a fit needs 4", required)
    if u.max() < span * u.min():
        return undecided(f"the points span a factor {u.max() / u.min():.4g} only, asked for {span:.4g}", required)
    fit = fits.exponent(x, y)
    inside = exponent - tol <= fit.low and fit.high <= exponent + tol
    outside = fit.high < exponent - tol or fit.low > exponent + tol
    outcome = Outcome.HOLDS if inside else Outcome.FAILS if outside else Outcome.UNDECIDED
    return Verdict(outcome, f"{what}: exponent {fit}", required, "", fit.value)


def _limits(lo: Any, hi: Any) -> str:
    """The requirement in words; a limit that is one infinite number is no limit."""
    low, high = (f"{float(np.asarray(b)):.4g}" if np.ndim(b) == 0 else "the bound" for b in (lo, hi))
    if low == "-inf":
        return f"at most {high}"
    if high == "inf":
        return f"at least {low}"
    return f"{low} to {high}"
