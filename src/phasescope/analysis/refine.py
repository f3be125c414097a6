"""Where a quantity changes its sign on a grid, located by bisection of the grid's edges.

Only the edges that the line crosses are cut, all of them at once: one call evaluates a point of every edge, so that
a program over lanes is well filled.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np

# From points, one row each, to the side on which each lies: 1 or -1, 0 where nobody knows.
Side = Callable[[np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Line:
    """Points of the line where a quantity changes its sign.

    - `points`: one row a point, one column an axis.
    - `width`: how far each may be off, along the edge on which it was found, in units of the axis.
    - `segments`: pairs of points that are neighbours on the line; none unless there are two axes.
    - `evaluated`: points that were looked at, beside those of the grid.
    """

    points: np.ndarray
    width: np.ndarray
    segments: np.ndarray
    evaluated: int


def zero_line(
    axes: Sequence[np.ndarray],
    side: np.ndarray,
    ask: Side,
    levels: int,
    log: Sequence[bool] = (),
    fixed: Sequence[bool] = (),
) -> Line:
    """The line between 1 and -1 of `side`, which is given on the product of the axes.

    Each edge between two neighbours of different sign is halved `levels` times. Axes that are `log` are halved at
    the geometric mean; on those that are `fixed` (whole numbers) the line stays in the middle of its edge. An edge
    on which a point turns out to be unknown is left out.
    """
    log = tuple(log) or (False,) * len(axes)
    fixed = tuple(fixed) or (False,) * len(axes)
    scaled = [_forth(values, is_log) for values, is_log in zip(axes, log, strict=True)]
    edges = _crossed_edges(scaled, side)
    movable = ~np.array(fixed)[edges.dims]
    evaluated = 0
    for _ in range(levels):
        cut = np.flatnonzero(movable & edges.known)
        if not cut.size:
            break
        edges.halve(cut, np.asarray(ask(_back(edges.middles()[cut], log))))
        evaluated += cut.size
    span = np.array([abs(values[-1] - values[0]) or 1.0 for values in scaled])
    width = np.abs(edges.high - edges.low) / 2 / span[edges.dims]
    segments = np.zeros((0, 2))
    if len(axes) == 2:
        segments = _segments(side.shape, edges.dims, edges.starts, edges.known)
    kept = np.cumsum(edges.known) - 1
    return Line(
        points=_back(edges.middles()[edges.known], log),
        width=width[edges.known],
        segments=kept[segments.astype(int)],
        evaluated=evaluated,
    )


@dataclasses.dataclass
class _Edges:
    """Edges of the grid whose ends have different signs, one a row.

    - `dims`, `starts`: the axis of an edge, and the index of its first end; `base` is that end as a point.
    - `low`, `high`: along the axis, between which numbers the sign changes; `low` has the sign `first`.
    - `known`: whether all of its points are.
    """

    dims: np.ndarray
    starts: np.ndarray
    base: np.ndarray
    low: np.ndarray
    high: np.ndarray
    first: np.ndarray
    known: np.ndarray

    def middles(self) -> np.ndarray:
        """The points between `low` and `high`."""
        points = self.base.copy()
        points[np.arange(len(self.dims)), self.dims] = (self.low + self.high) / 2
        return points

    def halve(self, cut: np.ndarray, answer: np.ndarray) -> None:
        """Some edges by the signs in their middles."""
        middle = (self.low[cut] + self.high[cut]) / 2
        same = answer == self.first[cut]
        self.known[cut] = answer != 0
        self.low[cut] = np.where(same, middle, self.low[cut])
        self.high[cut] = np.where(same, self.high[cut], middle)


def _crossed_edges(scaled: Sequence[np.ndarray], side: np.ndarray) -> _Edges:
    """All edges of the grid on which the sign changes."""
    found = [_crossed(side, dim) for dim in range(len(scaled))]
    dims = np.concatenate([np.full(len(index), dim) for dim, index in enumerate(found)])
    starts = np.concatenate(found).astype(int)
    base = np.stack([values[starts[:, d]] for d, values in enumerate(scaled)], axis=1)
    rows = np.arange(len(dims))
    ends = starts[rows, dims] + 1
    return _Edges(
        dims=dims,
        starts=starts,
        base=base,
        low=base[rows, dims],
        high=np.array([scaled[d][end] for d, end in zip(dims, ends, strict=True)]),
        first=side[tuple(starts.T)],
        known=np.ones(len(dims), bool),
    )


def _forth(values: np.ndarray, is_log: bool) -> np.ndarray:
    numbers = np.asarray(values, float)
    return np.log(numbers) if is_log else numbers


def _back(points: np.ndarray, log: Sequence[bool]) -> np.ndarray:
    return np.where(np.array(log), np.exp(np.where(log, points, 0.0)), points)


def _crossed(side: np.ndarray, dim: int) -> np.ndarray:
    """The index of the first end of every edge along an axis whose ends have different signs."""
    before = np.take(side, range(side.shape[dim] - 1), dim)
    after = np.take(side, range(1, side.shape[dim]), dim)
    return np.argwhere(before.astype(int) * after == -1)


def _segments(
    shape: tuple[int, ...], dims: np.ndarray, starts: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Crossings of one cell of the grid, by pairs; a saddle, with four, is joined in the order of its edges."""
    number = {
        (int(dim), *map(int, start)): row
        for row, (dim, start) in enumerate(zip(dims, starts, strict=True))
        if known[row]
    }
    pairs = []
    for i, j in itertools.product(range(shape[0] - 1), range(shape[1] - 1)):
        edges = ((0, i, j), (1, i, j), (0, i, j + 1), (1, i + 1, j))
        here = [number[edge] for edge in edges if edge in number]
        pairs += [here[k : k + 2] for k in range(0, len(here) - 1, 2)]
    return np.array(pairs, int).reshape(-1, 2)
