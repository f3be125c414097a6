"""Arrays side by side: entries that belong together are found by coordinates, and each has
coordinates to name it by.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .types import ArrayLike, Axis

# Two record times are the same if they differ by rounding: eta * 300 steps and the 300th of
# linspace.
SAME = 1e-9


class Misaligned(ValueError):
    """Two arrays share an axis but not its coordinates, so their entries do not belong together."""


class _Joins:
    """How many are computing under exact joins just now, and what xarray's setting was before the
    first of them.
    """

    lock = threading.Lock()
    count = 0
    before = "inner"


@contextlib.contextmanager
def exact_joins() -> Iterator[None]:
    """Inside, arithmetic between datasets whose coordinates differ is an error: no record drops out
    in silence.

    xarray has one setting for the process. Threads may be inside at once: the last to leave
    restores the setting.
    """
    with _Joins.lock:
        if _Joins.count == 0:
            _Joins.before = xr.get_options()["arithmetic_join"]
            xr.set_options(arithmetic_join="exact")
        _Joins.count += 1
    try:
        yield
    finally:
        with _Joins.lock:
            _Joins.count -= 1
            if _Joins.count == 0:
                xr.set_options(arithmetic_join=_Joins.before)


def would_lose_records(problem: BaseException) -> bool:
    """Whether this is xarray's refusal to compute with arrays whose coordinates differ."""
    return isinstance(problem, ValueError) and "join='exact'" in str(problem)


def aligned(*arrays: ArrayLike) -> list[xr.DataArray]:
    """The arrays over one common set of axes, entry by entry, in float64.

    DataArrays are matched by coordinates (which must coincide, in any order) and broadcast by name;
    plain arrays must be scalars, or have the shape of the DataArrays, or broadcast among
    themselves.
    """
    labelled = [x for x in arrays if isinstance(x, xr.DataArray)]
    if not labelled:
        return [_anonymous(x) for x in np.broadcast_arrays(*(np.asarray(x, float) for x in arrays))]
    matched: list[xr.DataArray] = []
    for x in labelled:
        for other in matched:
            x = _matched(x, other)
        matched.append(_numbers(x))
    broadcast = xr.broadcast(*matched)
    remaining = iter(broadcast)
    out = []
    for x in arrays:
        if isinstance(x, xr.DataArray):
            out.append(next(remaining))
        else:
            out.append(_dressed(x, broadcast[0]))
    return out


def one(x: ArrayLike) -> xr.DataArray:
    """A single array, labelled."""
    return aligned(x)[0]


def axis(x: xr.DataArray, along: Axis) -> str:
    """The axis a statement runs along: the one named, else the only one, else time."""
    if isinstance(along, int) and -x.ndim <= along < x.ndim:
        return str(x.dims[along])
    if along is None and x.ndim == 1:
        return str(x.dims[0])
    name = "time" if along is None else along
    if name in x.dims:
        return str(name)
    raise ValueError(
        f"along must be one of the axes {', '.join(map(str, x.dims)) or '(none: a scalar)'}, got {along!r}."
    )


def in_order(x: xr.DataArray, along: str) -> xr.DataArray:
    """Along rising coordinates, whatever the order in which a sweep was written down."""
    if along not in x.coords:
        return x
    return x.isel({along: np.argsort(x[along].values, kind="stable")})


def coordinates_of(x: xr.DataArray, index: Mapping[Any, int]) -> dict[str, Any]:
    """The coordinates of an entry by name; of an axis that has none, the position along it."""
    found: dict[str, Any] = {}
    for dim, i in index.items():
        found[str(dim)] = x[dim].values[i] if dim in x.coords else i
    return found


def in_words(coordinates: Mapping[str, Any]) -> str:
    """`time=284, length=3`."""
    return ", ".join(f"{name}={_word(value)}" for name, value in coordinates.items())


def numbers_in(coordinates: Mapping[str, Any]) -> dict[str, float]:
    """Those coordinates that are numbers."""
    numbers = {}
    for name, value in coordinates.items():
        if isinstance(value, int | float | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            numbers[name] = float(value)
    return numbers


def _word(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return str(value)


def _anonymous(x: np.ndarray) -> xr.DataArray:
    names = ["index"] if x.ndim == 1 else [f"axis_{i}" for i in range(x.ndim)]
    return xr.DataArray(x, dims=names)


def _dressed(x: ArrayLike, like: xr.DataArray) -> xr.DataArray:
    values = np.asarray(x, float)
    if values.shape not in ((), like.shape):
        raise ValueError(
            f"an array of shape {values.shape} does not fit {dict(like.sizes)}: give it axes (a DataArray)."
        )
    return like.copy(data=np.broadcast_to(values, like.shape))


def _numbers(x: xr.DataArray) -> xr.DataArray:
    return x.astype(float)


def _matched(x: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    """`x` in the order, and with the coordinates, of `other` on the axes they share."""
    for dim in set(x.dims) & set(other.dims):
        ours = x[dim].values
        theirs = other[dim].values
        named = dim in x.coords and dim in other.coords
        if ours.size == theirs.size and named:
            order = _order_of(ours, theirs)
            if _same(ours[order], theirs):
                x = x.isel({dim: order}).assign_coords({dim: other[dim].variable})
                continue
        elif ours.size == theirs.size:
            continue
        shared = np.intersect1d(ours, theirs).size
        raise Misaligned(
            f"the coordinates of {dim} do not coincide: {ours.size} and {theirs.size}, {shared} in common"
        )
    return x


def _order_of(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The permutation that brings our coordinates into the order of theirs, if any does."""
    if _same(ours, theirs):
        return np.arange(ours.size)
    rank = np.argsort(np.argsort(theirs, kind="stable"), kind="stable")
    return np.argsort(ours, kind="stable")[rank]


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind in "iuf" and b.dtype.kind in "iuf":
        difference = np.abs(a.astype(float) - b.astype(float))
        size = np.maximum(np.abs(a.astype(float)), np.abs(b.astype(float)))
        return bool(np.all(difference <= SAME * size))
    return bool(np.all(a == b))
