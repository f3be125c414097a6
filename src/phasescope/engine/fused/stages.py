"""One step of a Runge-Kutta pair for vectors of lanes, in two forms that give the same numbers to rounding.

`WrittenOut` has every stage of a step in the program and keeps all numbers in registers: for small systems. `Looped` has one
stage, in a loop, and keeps what moves and its slopes in memory, where a loop finds them by a number. A compiler for GPUs
takes a time of about (vectors loaded and stored) x (size of the program)^2, so that all but the velocity is a loop.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jax import lax
from jaxtyping import Array

from .kernel import Memory
from .operations import filled, maximum
from .pairs import Pair

Vectors = tuple[Array, ...]
# Of a time and what moves, as vectors of lanes: the velocities.
Rate = Callable[[Array, Vectors], Sequence[Array]]


class Tolerances(NamedTuple):
    """What error of a step is tolerated, for each lane."""

    rtol: Array
    atol: Array

    def square(self, before: Array, after: Array, error: Array) -> Array:
        """The square of an error in units of what is tolerated; infinite where it is NaN."""
        after = lax.select(lax.ne(after, after), before, after)
        error = lax.select(lax.ne(error, error), like(error, np.inf), error)
        size = maximum(maximum(before, -before), maximum(after, -after))
        ratio = error / (self.atol + size * self.rtol)
        return ratio * ratio


@runtime_checkable
class Stages(Protocol):
    """How a step is made. What moves is held in a form of its own."""

    def tried(
        self, begin: Array, end: Array, tolerances: Tolerances, held: Any
    ) -> tuple[Any, Array]:
        """What would be held after a step, and the root mean square of its errors in units of what is tolerated."""
        ...

    def kept(self, chosen: Array, tried: Any, held: Any) -> Any:
        """What is held after the step: lanes that are chosen have moved."""
        ...


@dataclasses.dataclass(frozen=True)
class WrittenOut:
    """Stage after stage. What moves is held as a tuple of vectors."""

    pair: Pair
    rate: Rate

    def tried(
        self, begin: Array, end: Array, tolerances: Tolerances, held: Vectors
    ) -> tuple[Vectors, Array]:
        size = end - begin
        slopes: list[Vectors] = []
        for row, part in zip(self.pair.rows, self.pair.times, strict=True):
            here = end if part == 1 else begin + like(size, part) * size
            velocity = self.rate(here, _plus(held, row, slopes))
            slopes.append(tuple(size * x for x in velocity))
        moved = _plus(held, self.pair.growth, slopes)
        still = tuple(like(x, 0.0) for x in held)
        errors = _plus(still, self.pair.error, slopes)
        return moved, _mean(list(map(tolerances.square, held, moved, errors)))

    def kept(self, chosen: Array, tried: Vectors, held: Vectors) -> Vectors:
        return tuple(map(functools.partial(lax.select, chosen), tried, held))


@dataclasses.dataclass(frozen=True)
class Looped:
    """A loop over stages, and loops over what moves, `width` numbers. It is held in the first rows of a memory.

    Then come the rows of a step that is tried, those at which the velocity is asked, and the slopes. `table` is `pair.table()`
    where a kernel can look numbers up.
    """

    pair: Pair
    rate: Rate
    width: int
    table: Any
    memory: Memory

    @staticmethod
    def rows(pair: Pair, width: int) -> int:
        """How many rows of memory it needs."""
        return (3 + pair.stages) * width

    def tried(
        self, begin: Array, end: Array, tolerances: Tolerances, held: Any
    ) -> tuple[Any, Array]:
        size = end - begin
        shape = size.shape
        stages = self.pair.stages
        times = stages**2

        def one_stage(stage: Array, held: Any) -> Any:
            held = loop(self.width, functools.partial(self._argument, shape, stage), held)
            part = self._look_up(shape, times + stage)
            here = lax.select(lax.eq(part, like(part, 1.0)), end, begin + part * size)
            places = range(2 * self.width, 3 * self.width)
            moved = tuple(self.memory.read(held, np.int32(place)) for place in places)
            for place, velocity in enumerate(self.rate(here, moved)):
                held = self.memory.write(held, self._slope(stage, place), size * velocity)
            return held

        held = loop(stages, one_stage, held)
        add = functools.partial(self._moved, tolerances)
        held, total = loop(self.width, add, (held, like(size, 0.0)))
        return held, _mean([total], self.width)

    def kept(self, chosen: Array, tried: Any, held: Any) -> Any:
        def keep(place: Array, held: Any) -> Any:
            new = self.memory.read(held, self.width + place)
            old = self.memory.read(held, place)
            return self.memory.write(held, place, lax.select(chosen, new, old))

        return loop(self.width, keep, tried)

    def _argument(self, shape: tuple[int, ...], stage: Array, place: Array, held: Any) -> Any:
        """Write down where the velocity is asked in a stage, for one of the numbers."""

        def add(earlier: Array, x: Array) -> Array:
            weight = self._look_up(shape, self.pair.stages * stage + earlier)
            return x + weight * self.memory.read(held, self._slope(earlier, place))

        x = loop(stage, add, self.memory.read(held, place))
        return self.memory.write(held, 2 * self.width + place, x)

    def _moved(self, tolerances: Tolerances, place: Array, carried: Any) -> Any:
        """Write down what one of the numbers is after the step, and add the square of its error."""
        held, total = carried
        stages = self.pair.stages
        before = self.memory.read(held, place)

        def add(stage: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
            slope = self.memory.read(held, self._slope(stage, place))
            growth = self._look_up(slope.shape, stages * (stages + 1) + stage)
            error = self._look_up(slope.shape, stages * (stages + 2) + stage)
            return sums[0] + growth * slope, sums[1] + error * slope

        after, error = loop(stages, add, (before, like(before, 0.0)))
        held = self.memory.write(held, self.width + place, after)
        return held, total + tolerances.square(before, after, error)

    def _slope(self, stage: Any, place: Any) -> Any:
        """The row of a slope."""
        return (np.int32(3) + stage) * np.int32(self.width) + place

    def _look_up(self, shape: tuple[int, ...], place: Any) -> Array:
        return filled(shape, self.table[place], np.float64)


def loop(count: Any, step: Callable[[Array, Any], Any], first: Any) -> Any:
    """`carried = step(index, carried)` for each index, which has 32 bits as a kernel counts."""

    def counted(index: Any, carried: Any) -> Any:
        return step(lax.convert_element_type(index, np.int32), carried)

    return lax.fori_loop(np.int32(0), count, counted, first)


def like(x: Array, value: float) -> Array:
    """A vector of one number, as long as another one."""
    return filled(x.shape, value, np.float64)


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


def _mean(squares: Sequence[Array], count: int | None = None) -> Array:
    """The root of the mean of so many squares, of which these are sums."""
    total = functools.reduce(lax.add, squares)
    return lax.sqrt(total) / like(total, float(np.sqrt(count or len(squares))))
