"""Entry by entry: close to another array, between two bounds, in order along an axis."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from .align import Misaligned, axis, coordinates_of, in_order, in_words
from .sources import Source, sources_of
from .trace import Trace, trace_through
from .types import ArrayLike, Axis, Condition
from .verdict import Verdict, undecided
from .worst_entry import (
    Entries,
    among,
    decide,
    entries_of,
    is_tolerance,
    largest_in_lane,
    name_of,
    traced,
)


def near(
    x: xr.DataArray,
    y: xr.DataArray,
    tolerance: tuple[float, float],
    required: str,
    what: str,
    does: str,
    *,
    check: str,
    asked: np.ndarray | None = None,
    sources: tuple[Source, ...] = (),
) -> Verdict:
    """|x - y| <= atol + rtol |y|, worst in units of what is allowed.

    `does` is the verb of the sentence about `what`: it differs, it drifts.
    """
    atol, rtol = tolerance
    a = x.values
    b = y.values
    with np.errstate(invalid="ignore", divide="ignore"):
        allowed = atol + rtol * np.abs(b)
        band = (b - allowed, b + allowed)
    off, violation = _distance(a, b, allowed if atol or rtol else None)
    within_it = np.isfinite(a) & np.isfinite(b) & (off <= allowed)

    def report(i: tuple[int, ...]) -> tuple[str, float]:
        return f"{what} {does} {off[i]:.4g} ({a[i]:.4g} against {b[i]:.4g})", off[i]

    if atol or rtol:
        margin = 1 - violation
    else:
        margin = np.where(within_it, 1.0, -1.0)
    entries = entries_of(
        x=x,
        ok=within_it,
        violation=violation,
        margin=margin,
        asked=np.ones(a.shape, bool) if asked is None else asked,
        flips=np.asarray(violation) if (atol or rtol) and is_tolerance(sources) else None,
    )
    found = decide(entries, required, report, check, sources)
    return traced(found, entries, what, {"lower": band[0], "upper": band[1], "reference": b})


def _distance(
    a: np.ndarray, b: np.ndarray, allowed: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """How far apart two entries are, and that in units of what is allowed; NaN where it is not known."""
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(a - b)
        violation = off if allowed is None else np.where(off == 0, 0.0, off / allowed)
    finite = np.isfinite(a) & np.isfinite(b)
    unknown = np.isnan(a) | np.isnan(b)
    violation = np.where(unknown, np.nan, np.where(finite, violation, np.inf))
    return np.where(finite, off, np.inf), violation


def bounded(
    x: ArrayLike,
    lo: ArrayLike,
    hi: ArrayLike,
    what: str,
    where: Condition | None,
    strictly: str = "",
    *,
    check: str,
) -> Verdict:
    """lo <= x <= hi (`strictly` names the sign asked for and forbids equality), worst by slack."""
    required = strictly or _limits(lo, hi)
    fixed = np.ndim(lo) == np.ndim(hi) == 0
    sources = sources_of((lo, hi))
    try:
        (numbers, lower, upper), asked = among(where, x, lo, hi)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    a = numbers.values
    low = lower.values
    high = upper.values
    slack, violation, limit = _slack(a, low, high)
    ok = slack > 0 if strictly else slack >= 0

    def report(i: tuple[int, ...]) -> tuple[str, float]:
        against = "" if fixed else f" against {limit[i]:.4g}"
        count = int(asked.sum())
        rest = "" if count == 1 else f" (worst of {count}, slack {slack[i]:.4g})"
        return f"{name_of(what, numbers)} = {a[i]:.4g}{against}{rest}", a[i]

    margin = _ratio(slack, _allowed(numbers, low, high, asked))
    entries = entries_of(
        x=numbers,
        ok=ok,
        violation=violation,
        margin=margin,
        asked=asked,
        flips=_flips(a, low, high) if fixed and not strictly and is_tolerance(sources) else None,
    )
    found = decide(entries, required, report, check, sources)
    return traced(found, entries, name_of(what, numbers), {"lower": low, "upper": high})


def _slack(
    a: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each entry is inside its bounds, how bad that is (NaN: not known), and the nearer bound."""
    with np.errstate(invalid="ignore"):
        below = a - low
        above = high - a
    slack = np.where(np.isfinite(a), np.fmin(below, above), np.where(np.isnan(a), np.nan, -np.inf))
    open_end = (np.isnan(below) | np.isnan(above)) & ~(slack < 0)
    violation = np.where(open_end | np.isnan(a), np.nan, -slack)
    return slack, violation, np.where(below <= above, low, high)


def _allowed(x: xr.DataArray, low: np.ndarray, high: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """What one unit of margin is: half of an interval, the size of a bound, or of x where the bound is 0."""
    with np.errstate(invalid="ignore"):
        half = (high - low) / 2
        bound = np.where(np.isfinite(low), np.abs(low), np.abs(high))
    unit = np.where(np.isfinite(half), half, bound)
    largest = largest_in_lane(x, asked)
    unit = np.where(np.isfinite(unit) & (unit > 0), unit, largest)
    return np.where(unit > 0, unit, 1.0)


def _flips(a: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The factor on the tolerance at which an entry sits on the limit."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        two_sided = np.abs(a - (high + low) / 2) / ((high - low) / 2)
        from_above = np.where(high > 0, np.maximum(a, 0) / high, np.nan)
        from_below = np.where((low > 0) & (a > 0), low / a, np.nan)
    one_sided = np.where(np.isfinite(high), from_above, from_below)
    return np.where(np.isfinite(low) & np.isfinite(high), two_sided, one_sided)


def monotone(
    x: xr.DataArray, sign: int, what: str, along: Axis, strictly: bool, *, check: str
) -> Verdict:
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

    entries = entries_of(
        x=x.isel({dim: slice(1, None)}),
        ok=rise > 0 if strictly else rise >= 0,
        violation=-rise,
        margin=_ratio(rise, _range(x, dim)),
        asked=np.ones(rise.shape, bool),
    )
    found = decide(entries, required, report, check)
    trace = _climb(x, dim, sign, sign * peak, entries, name_of(what, x))
    return dataclasses.replace(found, trace=trace)


def _climb(
    x: xr.DataArray, dim: str, sign: int, peak: np.ndarray, entries: Entries, name: str
) -> Trace | None:
    """x along its axis, which comes first, and the largest (or smallest) entry before each."""
    if not entries.known.any():
        return None
    worst = entries.worst()
    before = np.concatenate([np.full((1, *x.shape[1:]), np.nan), peak])
    bound = {"lower" if sign == 1 else "upper": before}
    return trace_through(x, (worst[0] + 1, *worst[1:]), name, bound, along=dim)


def _ratio(a: np.ndarray | np.generic, b: np.ndarray) -> np.ndarray | np.generic:
    with np.errstate(invalid="ignore", over="ignore"):
        return a / b


def _range(x: xr.DataArray, dim: str) -> np.ndarray:
    """From the smallest to the largest entry along an axis, in the shape of all but its first."""
    with np.errstate(invalid="ignore"):
        finite = np.where(np.isfinite(x.values), x.values, np.nan)
        low = np.fmin.reduce(finite, axis=0, keepdims=True)
        high = np.fmax.reduce(finite, axis=0, keepdims=True)
        width = high - low
    width = np.where(width > 0, width, 1.0)
    return np.broadcast_to(width, (x.sizes[dim] - 1, *x.shape[1:]))


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
