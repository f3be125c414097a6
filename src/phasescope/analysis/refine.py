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
    found = [_crossed(side, dim) for dim in range(len(axes))]
    dims = np.concatenate([np.full(len(index), dim) for dim, index in enumerate(found)])
    starts = np.concatenate(found).astype(int)
    base = np.stack([scaled[d][starts[:, d]] for d in range(len(axes))], axis=1)
    rows = np.arange(len(dims))
    ends = starts.copy()
    ends[rows, dims] += 1
    low = base[rows, dims]
    high = np.array([scaled[d][i] for d, i in zip(dims, ends[rows, dims], strict=True)])
    first = side[tuple(starts.T)]
    known = np.ones(len(dims), bool)
    movable = ~np.array(fixed)[dims] if len(dims) else np.zeros(0, bool)
    evaluated = 0
    for _ in range(levels):
        cut = np.flatnonzero(movable & known)
        if not cut.size:
            break
        middle = (low + high) / 2
        points = base[cut].copy()
        points[np.arange(cut.size), dims[cut]] = middle[cut]
        answer = np.asarray(ask(_back(points, log)))
        evaluated += cut.size
        known[cut] = answer != 0
        same = answer == first[cut]
        low[cut] = np.where(same, middle[cut], low[cut])
        high[cut] = np.where(same, high[cut], middle[cut])
    points = base.copy()
    points[rows, dims] = (low + high) / 2
    span = np.array([abs(values[-1] - values[0]) or 1.0 for values in scaled])
    width = np.abs(high - low) / 2 / span[dims] if len(dims) else np.zeros(0)
    segments = _segments(side.shape, dims, starts, known) if len(axes) == 2 else np.zeros((0, 2))
    kept = np.cumsum(known) - 1
    return Line(
        points=_back(points[known], log),
        width=width[known],
        segments=kept[segments.astype(int)],
        evaluated=evaluated,
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
