"""One step of a Runge-Kutta pair for vectors of lanes: what moves at its end, and the errors.

The stages of a step are written out one by one, or are a loop: then the program has the size of one stage, however many there
are, and the slopes are kept in memory, since registers cannot be found by a number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax
from jaxtyping import Array

from .kernel import Memory
from .operations import filled
from .pairs import Pair

Vectors = tuple[Array, ...]
# Of a time and what moves, as vectors of lanes: the velocities.
Rate = Callable[[Array, Vectors], Sequence[Array]]
# Of the beginning and the end of a step, and what moves: what moves at its end, and the errors.
Step = Callable[[Array, Array, Vectors], tuple[Vectors, Vectors]]


def written_out(
    pair: Pair, rate: Rate, begin: Array, end: Array, moving: Vectors
) -> tuple[Vectors, Vectors]:
    """A step, stage by stage."""
    size = end - begin
    slopes: list[Vectors] = []
    for row, part in zip(pair.rows, pair.times, strict=True):
        here = end if part == 1 else begin + like(size, part) * size
        moved = _plus(moving, row, slopes)
        slopes.append(tuple(size * x for x in rate(here, moved)))
    still = tuple(like(x, 0.0) for x in moving)
    return _plus(moving, pair.growth, slopes), _plus(still, pair.error, slopes)


def _plus(first: Vectors, weights: Sequence[float], slopes: Sequence[Vectors]) -> Vectors:
    """`first`, with the slopes added by their weights."""
    used = [(like(first[0], w), k) for w, k in zip(weights, slopes, strict=True) if w]
    if not used:
        return first
    found = []
    for place, x in enumerate(first):
        products = [weight * slope[place] for weight, slope in used]
        found.append(x + functools.reduce(lax.add, products))
    return tuple(found)


def in_a_loop(
    pair: Pair,
    rate: Rate,
    table: Any,
    memory: Memory,
    begin: Array,
    end: Array,
    moving: Vectors,
) -> tuple[Vectors, Vectors]:
    """The same step by a loop over the stages. `table` is `pair.table()` where a kernel can look numbers up."""
    size = end - begin
    stages = np.int32(pair.stages)
    width = np.int32(len(moving))
    times, growth, error = (stages * (stages + np.int32(part)) for part in range(3))

    def look_up(place: Any) -> Array:
        return filled(size.shape, table[place], np.float64)

    def add_slope(held: Any, vectors: Vectors, weight: Array, stage: Any) -> Vectors:
        rows = (stage * width + np.int32(place) for place in range(len(vectors)))
        return tuple(
            x + weight * memory.read(held, row) for x, row in zip(vectors, rows, strict=True)
        )

    def sum_up(held: Any, first: Vectors, weights: Any, count: Any) -> Vectors:
        """`first`, with the first slopes added by the weights that begin at a place of the table."""

        def add(stage: Any, vectors: Vectors) -> Vectors:
            return add_slope(held, vectors, look_up(weights + stage), stage)

        return lax.fori_loop(np.int32(0), count, add, first)

    def one_stage(stage: Any, held: Any) -> Any:
        part = look_up(times + stage)
        here = lax.select(lax.eq(part, like(part, 1.0)), end, begin + part * size)
        moved = sum_up(held, moving, stages * stage, stage)
        for place, x in enumerate(rate(here, moved)):
            held = memory.write(held, stage * width + np.int32(place), size * x)
        return held

    held = lax.fori_loop(np.int32(0), stages, one_stage, memory.empty())
    still = tuple(like(x, 0.0) for x in moving)
    return sum_up(held, moving, growth, stages), sum_up(held, still, error, stages)


def like(x: Array, value: float) -> Array:
    """A vector of one number, as long as another one."""
    return filled(x.shape, value, np.float64)
