"""How a statement about many entries becomes one verdict: the worst entry decides, and says where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .align import aligned, coordinates_of, in_words, numbers_in
from .lanes import judge_lanes, swept_axes
from .sources import Source, SourceKind
from .trace import Line, trace_through
from .types import ArrayLike, Condition, Index
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


def is_tolerance(sources: tuple[Source, ...]) -> bool:
    """Whether what is asked was chosen by us, and could have been chosen otherwise."""
    return any(source.kind == SourceKind.CHOSEN for source in sources)


def largest_in_lane(x: xr.DataArray, asked: np.ndarray) -> np.ndarray:
    """The largest finite |x| among the entries asked for, in each lane of a sweep, in the shape of x."""
    axes = swept_axes(x)
    rest = tuple(i for i, d in enumerate(x.dims) if d not in axes)
    size = np.where(asked & np.isfinite(x.values), np.abs(x.values), 0.0)
    return np.broadcast_to(size.max(axis=rest, keepdims=True, initial=0.0), x.shape)
