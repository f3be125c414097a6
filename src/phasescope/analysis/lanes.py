"""Which axes of an array are lanes of a sweep, and what a check found in each of them.

A sweep marks its axes. A check looks for the worst entry of all, and beside it decides every lane
by itself, for all lanes at once: that is what a map is made of.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
import xarray as xr

SWEPT = "swept"
HOLDS = 1
UNDECIDED = 0
FAILS = -1
UNMET = "unmet"  # the variable that says in which lanes a guard is not met, where there are guards


def mark_swept(ds: xr.Dataset, axes: Iterable[Hashable]) -> xr.Dataset:
    """The dataset with these axes marked as swept.

    The mark is an attribute of the coordinate, and survives arithmetic.
    """
    marked = {}
    for axis in axes:
        if axis in ds.coords and ds[axis].dims == (axis,):
            marked[axis] = ds[axis].assign_attrs({SWEPT: 1})
    return ds.assign_coords(marked)


def swept_axes(x: xr.DataArray | xr.Dataset) -> tuple[Hashable, ...]:
    """The axes of an array that are axes of a sweep."""
    return tuple(d for d in x.dims if d in x.coords and SWEPT in x[d].attrs)


def judge_lanes(
    x: xr.DataArray, ok: np.ndarray, known: np.ndarray, asked: np.ndarray, margin: np.ndarray
) -> xr.Dataset | None:
    """Outcome and margin of every lane; None if x has no swept axis.

    `ok`, `known`, `asked` and `margin` have the shape of x: whether an entry satisfies the
    statement, whether it is a number, whether the statement is about it, and how far it is inside.
    """
    axes = swept_axes(x)
    if not axes:
        return None
    rest = tuple(i for i, d in enumerate(x.dims) if d not in axes)
    broken = (asked & known & ~ok).any(axis=rest)
    unknown = (asked & ~known).any(axis=rest) | ~asked.any(axis=rest)
    outcome = np.where(broken, FAILS, np.where(unknown, UNDECIDED, HOLDS)).astype(np.int8)
    entries = np.where(asked & known, margin, np.inf)
    smallest = entries.min(axis=rest, initial=np.inf)
    smallest = np.where(outcome == UNDECIDED, np.nan, smallest)
    return lane_table(x, axes, outcome, smallest)


def lane_table(
    x: xr.DataArray, axes: tuple[Hashable, ...], outcome: np.ndarray, margin: np.ndarray
) -> xr.Dataset:
    """Outcome and margin over the swept axes of x, in the order that they have there."""
    coords = {axis: x[axis].variable for axis in axes}
    values = {
        "outcome": (axes, np.asarray(outcome, np.int8)),
        "margin": (axes, np.asarray(margin, float)),
    }
    return xr.Dataset(values, coords)


def join_lanes(first: xr.Dataset | None, second: xr.Dataset | None) -> xr.Dataset | None:
    """Both statements, lane by lane: the worse outcome, the smaller margin; undecided where a guard is not met.

    Of axes on which they are at other values the worst lane counts. None if no axis is left.
    """
    if first is None or second is None:
        return first if second is None else second
    axes = [axis for axis in first.dims if not _are_alike(first, second, axis)]
    first, second = worst_over(first, axes), worst_over(second, axes)
    if not first.dims and not second.dims:
        return None
    unmet = unmet_in(first) | unmet_in(second)
    fails = (first.outcome == FAILS) | (second.outcome == FAILS)
    unknown = (first.outcome == UNDECIDED) | (second.outcome == UNDECIDED) | unmet
    outcome = _coded(fails & ~unmet, unknown)
    margin = xr.apply_ufunc(np.fmin, first.margin, second.margin).where(outcome != UNDECIDED)
    return xr.Dataset({"outcome": outcome, "margin": margin, UNMET: unmet})


def worst_over(lanes: xr.Dataset, axes: Iterable[Hashable]) -> xr.Dataset:
    """The worst of the lanes along some axes: one that fails counts, whichever guards are not met in others."""
    over = [axis for axis in axes if axis in lanes.dims]
    if not over:
        return lanes
    fails = (lanes.outcome == FAILS).any(over)
    outcome = _coded(fails, (lanes.outcome == UNDECIDED).any(over))
    margin = lanes.margin.min(over).where(outcome != UNDECIDED)
    unmet = unmet_in(lanes).any(over) & ~fails
    return xr.Dataset({"outcome": outcome, "margin": margin, UNMET: unmet})


def unmet_in(lanes: xr.Dataset) -> xr.DataArray:
    """In which lanes a guard is not met."""
    return lanes.get(UNMET, xr.zeros_like(lanes["outcome"], bool))


def _are_alike(first: xr.Dataset, second: xr.Dataset, axis: Hashable) -> bool:
    """Whether two have the same values on an axis; one that has it not is the same at all of them."""
    return axis not in second.dims or bool(first[axis].equals(second[axis]))


def _coded(fails: xr.DataArray, unknown: xr.DataArray) -> xr.DataArray:
    """The outcome, of which failing is the worst."""
    return xr.where(fails, FAILS, xr.where(unknown, UNDECIDED, HOLDS)).astype(np.int8)
