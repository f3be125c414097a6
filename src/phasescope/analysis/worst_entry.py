"""How a statement about many entries becomes one verdict: the worst entry decides, and says where
it stands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .align import Misaligned, aligned, axis, coordinates_of, in_order, in_words, numbers_in
from .lanes import judge_lanes, swept_axes
from .sources import Source, SourceKind, sources_of
from .trace import Line, Trace, trace_through
from .types import ArrayLike, Axis, Condition, Index
from .verdict import Outcome, Verdict, undecided

# Margins are given from here to there: beyond, it is only said that it is far.
MARGINS = (-1000.0, 1.0)

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


@dataclasses.dataclass(frozen=True)
class Entries:
    """What a check says of every entry of x; all arrays have its shape.

    - `ok`: whether the entry satisfies the statement.
    - `violation`: how bad it is, for finding the worst; NaN where the entry is unknown.
    - `margin`: slack in units of what is allowed.
    - `asked`: whether the statement is about the entry.
    - `flips`: the factor on the tolerance at which the entry sits on the limit, if there is one.
    """

    x: xr.DataArray
    ok: np.ndarray
    violation: np.ndarray
    margin: np.ndarray
    asked: np.ndarray
    flips: np.ndarray | None = None

    @property
    def known(self) -> np.ndarray:
        return np.asarray(~np.isnan(self.violation))

    @property
    def count(self) -> int:
        return int(self.asked.sum())

    def worst(self) -> tuple[int, ...]:
        """The worst of the broken entries if there are any, else the worst of all that are known."""
        known = self.asked & self.known
        broken = known & ~self.ok
        candidates = np.flatnonzero(broken if broken.any() else known)
        largest = candidates[np.argmax(self.violation.ravel()[candidates])]
        return tuple(int(i) for i in np.unravel_index(largest, self.violation.shape))


def entries_of(x: xr.DataArray, **arrays: np.ndarray | np.generic | None) -> Entries:
    """Entries; NumPy makes scalars of arrays without axes, which become arrays again."""
    made: dict[str, Any] = {k: None if v is None else np.asarray(v) for k, v in arrays.items()}
    return Entries(x, **made)


def decide(
    entries: Entries, required: str, report: Report, check: str, sources: tuple[Source, ...] = ()
) -> Verdict:
    """Verdict over all entries, with its margin; and over the lanes of a sweep, if x has some."""
    found = _worst_case(entries, required, report)
    known = entries.asked & entries.known
    margin = None
    flips_at = None
    if found.outcome != Outcome.UNDECIDED:
        margin = float(np.clip(entries.margin[known].min(), *MARGINS))
        if entries.flips is not None and np.isfinite(entries.flips[known]).all():
            flips_at = float(entries.flips[known].max())
    margins = np.asarray(np.clip(entries.margin, *MARGINS))
    lanes = judge_lanes(entries.x, entries.ok, entries.known, entries.asked, margins)
    return dataclasses.replace(
        found, margin=margin, flips_at=flips_at, check=check, sources=sources, lanes=lanes
    )


def traced(found: Verdict, entries: Entries, name: str, against: Mapping[str, Line]) -> Verdict:
    """The verdict with what it compared, along a line through the worst entry; as it is if nothing is known.

    `against` holds `lower`, `upper` and `reference`, in the shape of x.
    """
    if not (entries.asked & entries.known).any():
        return found
    trace = trace_through(entries.x, entries.worst(), name, against, asked=entries.asked)
    return dataclasses.replace(found, trace=trace)


def _worst_case(entries: Entries, required: str, report: Report) -> Verdict:
    x = entries.x
    known = entries.asked & entries.known
    if entries.count == 0:
        return undecided("there are no entries", required)
    if not known.any():
        return undecided(f"none of {entries.count} entries is a number", required)
    worst = entries.worst()
    index = dict(zip(x.dims, worst, strict=True))
    measured, value = report(worst)
    if not entries.ok[worst]:
        return verdict_at(Outcome.FAILS, measured, required, x, index, float(value))
    if np.isneginf(entries.violation[worst]):
        return undecided("the bound is infinite, so nothing is asked", required)
    lost = entries.asked & ~entries.known
    if lost.any():
        are_none = "is no number" if lost.sum() == 1 else "are no numbers"
        why = f"{measured}, but {lost.sum()} of {entries.count} entries {are_none}"
        return verdict_at(
            Outcome.UNDECIDED, why, required, x, first(x.copy(data=lost)), float(value)
        )
    return verdict_at(Outcome.HOLDS, measured, required, x, index, float(value))


def among(where: Condition | None, *arrays: ArrayLike) -> tuple[list[xr.DataArray], np.ndarray]:
    """The arrays over common axes, and which of their entries the statement is about."""
    if where is None:
        found = aligned(*arrays)
        return found, np.ones(found[0].shape, bool)
    *found, marks = aligned(*arrays, where)
    if not found[0].ndim:
        found = [x.expand_dims(index=1) for x in found]
        marks = marks.expand_dims(index=1)
    return found, np.asarray(marks.values == 1)


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
        off = np.abs(a - b)
        allowed = atol + rtol * np.abs(b)
        band = (b - allowed, b + allowed)
        violation = np.where(off == 0, 0.0, off / allowed) if atol or rtol else off
    finite = np.isfinite(a) & np.isfinite(b)
    unknown = np.isnan(a) | np.isnan(b)
    violation = np.where(unknown, np.nan, np.where(finite, violation, np.inf))
    off = np.where(finite, off, np.inf)
    within_it = finite & (off <= allowed)

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


def is_tolerance(sources: tuple[Source, ...]) -> bool:
    """Whether what is asked was chosen by us, and could have been chosen otherwise."""
    return any(source.kind == SourceKind.CHOSEN for source in sources)


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


def _allowed(x: xr.DataArray, low: np.ndarray, high: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """What one unit of margin is: half of an interval, the size of a bound, or of x where the bound is 0."""
    with np.errstate(invalid="ignore"):
        half = (high - low) / 2
        bound = np.where(np.isfinite(low), np.abs(low), np.abs(high))
    unit = np.where(np.isfinite(half), half, bound)
    largest = largest_in_lane(x, asked)
    unit = np.where(np.isfinite(unit) & (unit > 0), unit, largest)
    return np.where(unit > 0, unit, 1.0)


def largest_in_lane(x: xr.DataArray, asked: np.ndarray) -> np.ndarray:
    """The largest finite |x| among the entries asked for, in each lane of a sweep, in the shape of x."""
    axes = swept_axes(x)
    rest = tuple(i for i, d in enumerate(x.dims) if d not in axes)
    size = np.where(asked & np.isfinite(x.values), np.abs(x.values), 0.0)
    return np.broadcast_to(size.max(axis=rest, keepdims=True, initial=0.0), x.shape)


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
