"""What the time of a phase says of itself: what happens at it, and how closely the records place it.

Also what all functions of phases ask of a curve.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from .types import ArrayLike


def told(
    found: xr.DataArray,
    records: xr.DataArray,
    *,
    event: str,
    without: str,
    interpolated: bool = True,
    both_sides: bool = False,
) -> xr.DataArray:
    """The times in `found`, one for each lane, with attributes that say what they are.

    - `records`: the times of the records.
    - `event`: what happens at these times.
    - `without`: why there is no time where there is none.
    - `interpolated`: whether a time may lie between two records.
    - `both_sides`: whether it is known to one record before and one after, and not only to one before.
    """
    words = {"long_name": event}
    if records.attrs.get("units"):
        words["units"] = str(records.attrs["units"])
    times = np.ravel(found.values)
    came = times[np.isfinite(times)]
    if came.size:
        words["resolution"] = _resolution(came, records.values, interpolated, both_sides)
    if came.size < times.size:
        words["not_found"] = _not_found(times.size - came.size, times.size, without)
    found.attrs = words
    return found


def told_crossing(
    found: xr.DataArray,
    of: str,
    records: xr.DataArray,
    level: ArrayLike,
    direction: str,
    last: bool = False,
) -> xr.DataArray:
    """The times at which what is called `of` goes through a level, with attributes that say so."""
    said = f"{float(np.asarray(level)):.6g}" if np.ndim(level) == 0 else "its level"
    which = "last time" if last else "time"
    return told(
        found,
        records,
        event=f"{which} at which {of} goes {direction} through {said}",
        without=f"it never goes {direction} through {said} within the records",
    )


def told_sustained(found: xr.DataArray, of: str, records: xr.DataArray) -> xr.DataArray:
    """The times from which on a condition on what is called `of` holds, with attributes that say so."""
    return told(
        found,
        records,
        event=f"time from which the condition on {of} holds to the end",
        without="it is not true at the last record",
        interpolated=False,
    )


def _resolution(came: np.ndarray, records: np.ndarray, interpolated: bool, both_sides: bool) -> str:
    """Between which records a time lies; of several, how far apart those are at most."""
    how = "interpolated" if interpolated else "to the record"
    t = np.sort(np.asarray(records, float))
    at = np.searchsorted(t, came, side="left").clip(0, t.size - 1)
    before = t[(at - 1).clip(0)]
    after = t[(at + both_sides).clip(0, t.size - 1)]
    if came.size == 1:
        return f"{how}, between the records at {before[0]:.6g} and {after[0]:.6g}"
    gap = after - before
    widest = int(gap.argmax())
    return (
        f"{how}, between records at most {gap[widest]:.6g} apart "
        f"({before[widest]:.6g} and {after[widest]:.6g})"
    )


def _not_found(missing: int, lanes: int, without: str) -> str:
    return without if lanes == 1 else f"{without} ({missing} of {lanes} lanes)"


def known(
    t: np.ndarray, x: np.ndarray, among: np.ndarray | bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The records that are finite, of those that are `among`."""
    good = np.isfinite(x) & among
    return t[good], x[good]


def name_of(da: xr.DataArray) -> str:
    """What a sentence calls the array."""
    return str(da.name or "it")


def needs(da: xr.DataArray, along: str) -> None:
    """Refuse an array without this axis."""
    if along not in da.dims or along not in da.coords:
        raise ValueError(
            f"needs an axis {along!r} with coordinates, got axes {', '.join(map(str, da.dims)) or '(none)'}."
        )
