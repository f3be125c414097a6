"""Trace: what a check compared, along one line through its worst entry, thin enough to be kept.

A check looks at arrays that may be large, and a verdict must stay small. So it keeps the line on which the
decision fell: the numbers measured, what they were held against, and where the worst of them is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from .align import coordinates_of, in_words

# An array, or what NumPy makes of one without axes.
Line = np.ndarray | np.generic | None
# A line keeps so many points at most.
POINTS = 256


@dataclasses.dataclass(frozen=True, eq=False)
class Trace:
    """What was measured along an axis, and what it was held against.

        >>> trace = ps.at_most([0.1, 0.7, 0.3], 0.5, "loss").trace
        >>> trace.name, trace.along, trace.measured.tolist(), trace.upper.tolist(), trace.worst
        ('loss', 'index', [0.1, 0.7, 0.3], [0.5, 0.5, 0.5], 1)

    - `name`: of what was measured.
    - `along`: the axis; empty if one number was compared.
    - `x`: the coordinates, in rising order; of an axis whose coordinates are words, their numbers.
    - `measured`: the numbers measured.
    - `lower`, `upper`: what they may not fall below, or exceed.
    - `reference`: what they should be equal to, or the law that was asked for.
    - `fitted`: the power law that was fitted to them.
    - `worst`: the position of the entry that decided.
    - `where`: the other coordinates of this line, `length=3, lam=10`.
    - `words`: the coordinates that are words.
    - `points`: how many there were before the line was thinned.
    - `is_power_law`: it is about exponents, which are seen on logarithmic axes.
    """

    name: str
    along: str
    x: np.ndarray
    measured: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    reference: np.ndarray | None = None
    fitted: np.ndarray | None = None
    worst: int | None = None
    where: str = ""
    words: tuple[str, ...] = ()
    points: int = 0
    is_power_law: bool = False


def number_trace(
    name: str, value: float, lower: float | None = None, upper: float | None = None
) -> Trace:
    """One number against its bounds."""
    return Trace(
        name=name,
        along="",
        x=np.zeros(1),
        measured=np.array([value], float),
        lower=None if lower is None else np.array([lower], float),
        upper=None if upper is None else np.array([upper], float),
        worst=0,
        points=1,
    )


def trace_through(
    x: xr.DataArray,
    entry: Sequence[int],
    name: str,
    against: Mapping[str, Line],
    along: str | None = None,
    asked: np.ndarray | None = None,
) -> Trace:
    """The line through one entry of x, along an axis: the one named, else time, else the longest.

    `against` holds `lower`, `upper` and `reference`, in the shape of x; `asked` says which entries the
    statement is about, and only those are kept.
    """
    index = tuple(int(i) for i in entry)
    lines = {key: None if values is None else np.asarray(values) for key, values in against.items()}
    dim = along if along is not None else _longest(x)
    if dim is None:
        single = {key: _number(values, index) for key, values in lines.items()}
        line = trace_of_line(np.zeros(1), {"measured": _number(x.values, index), **single}, 0)
        return dataclasses.replace(
            line,
            name=name,
            where=in_words(coordinates_of(x, dict(zip(x.dims, index, strict=True)))),
        )
    axis = x.dims.index(dim)
    cut: tuple[Any, ...] = (*index[:axis], slice(None), *index[axis + 1 :])
    positions, words = _positions(x, dim)
    kept = np.ones(positions.size, bool) if asked is None else asked[cut].copy()
    kept[index[axis]] = True
    worst = int(np.count_nonzero(kept[: index[axis]]))
    lines = {key: None if values is None else values[cut][kept] for key, values in lines.items()}
    others = {d: i for d, i in zip(x.dims, index, strict=True) if d != dim}
    line = trace_of_line(positions[kept], {"measured": x.values[cut][kept], **lines}, worst)
    spoken = tuple(words[int(i)] for i in line.x) if words else ()
    return dataclasses.replace(
        line,
        name=name,
        along=str(dim),
        where=in_words(coordinates_of(x, others)),
        words=spoken,
    )


def trace_of_line(x: np.ndarray, curves: dict[str, np.ndarray | None], worst: int | None) -> Trace:
    """A trace of curves over the same points, in rising order and thinned."""
    order = np.argsort(x, kind="stable")
    measured = curves["measured"]
    assert measured is not None
    at = None if worst is None else int(np.flatnonzero(order == worst)[0])
    few = _few(x[order], measured[order], at)
    chosen = order[few]

    def thinned(key: str) -> np.ndarray | None:
        curve = curves.get(key)
        if curve is None:
            return None
        line = np.asarray(curve, float)[chosen]
        return line if np.isfinite(line).any() else None

    return Trace(
        name="",
        along="",
        x=np.asarray(x, float)[chosen],
        measured=np.asarray(measured, float)[chosen],
        lower=thinned("lower"),
        upper=thinned("upper"),
        reference=thinned("reference"),
        fitted=thinned("fitted"),
        worst=None if at is None else int(np.searchsorted(few, at)),
        points=int(x.size),
    )


def _few(x: np.ndarray, values: np.ndarray, worst: int | None) -> np.ndarray:
    """Positions of at most `POINTS` points: ends, the worst one, and what a reader sees on either scale.

    Half of them are the smallest and the largest value of equally long pieces, so that no peak is lost;
    the other half are evenly spaced on a logarithmic axis.
    """
    if x.size <= POINTS:
        return np.arange(x.size)
    pieces = POINTS // 4 - 1
    length = -(-x.size // pieces)
    finite = np.where(np.isfinite(values), values, 0.0)
    padded = np.pad(finite, (0, pieces * length - x.size), mode="edge").reshape(pieces, length)
    starts = np.arange(pieces) * length
    found = [[0, x.size - 1], starts + padded.argmin(1), starts + padded.argmax(1)]
    if x[-1] > 0:
        first = x[x > 0][0]
        found.append(np.searchsorted(x, np.geomspace(first, x[-1], POINTS // 2 - 4)))
    if worst is not None:
        found.append([worst])
    return np.unique(np.clip(np.concatenate(found), 0, x.size - 1)).astype(int)


def _longest(x: xr.DataArray) -> str | None:
    """Time if there is more than one record, else the longest axis; None for a single number."""
    if x.sizes.get("time", 0) > 1:
        return "time"
    longest = max(x.sizes, key=lambda dim: x.sizes[dim], default=None)
    return None if longest is None or x.sizes[longest] < 2 else str(longest)


def _positions(x: xr.DataArray, dim: str) -> tuple[np.ndarray, list[str]]:
    """The coordinates along an axis; words are numbered."""
    values = x[dim].values if dim in x.coords else np.arange(x.sizes[dim])
    if values.dtype.kind in "fiu" and np.isfinite(values).all():
        return values.astype(float), []
    return np.arange(values.size, dtype=float), [str(value) for value in values]


def _number(values: np.ndarray | None, index: tuple[int, ...]) -> np.ndarray | None:
    return None if values is None else np.array([values[index]], float)
