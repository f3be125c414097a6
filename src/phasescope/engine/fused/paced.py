"""Flows on lanes, each at its own pace: every lane chooses the size of its steps by itself.

The choice of a step, its end and what counts as a failure are those of diffrax (`diffeqsolve` with a `PIDController`), written
for vectors of lanes with the operations that a kernel has. A lane that has come to its end stays there while others go on.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from .operations import filled, maximum, minimum
from .stages import Step, Vectors, like


class Interval(NamedTuple):
    """What is to be solved, for each lane: from `start` to `stop`, the first step up to `following`.

    A step that would end between `nearly` and `stop` ends at `stop`.
    """

    start: Array
    stop: Array
    nearly: Array
    following: Array
    rtol: Array
    atol: Array


class Lanes(NamedTuple):
    """Where the lanes are: their time, the end of their next step, what moves, and the steps tried and taken so far."""

    time: Array
    following: Array
    moving: Vectors
    tried: Array
    taken: Array


@dataclasses.dataclass(frozen=True)
class Control:
    """How the size of a step follows from the error of the last one, which shrinks like the power `order` of its size.

    The factor between the two is at least `least` and at most `most`. After `max_steps` a solve has failed.
    """

    order: float
    safety: float
    least: float
    most: float
    max_steps: int

    def solve(
        self, step: Step, interval: Interval, moving: Vectors
    ) -> tuple[Vectors, Array, Array]:
        """What moves at the end, the number of steps taken, and whether the end was reached."""

        def is_on_its_way(lanes: Lanes) -> Array:
            """A step that has no end (NaN) leads nowhere."""
            has_room = lax.lt(lanes.tried, filled(lanes.tried.shape, self.max_steps, np.int32))
            has_end = lax.eq(lanes.following, lanes.following)
            return lax.lt(lanes.time, interval.stop) & has_room & has_end

        def anybody(lanes: Lanes) -> Array:
            return jnp.max(is_on_its_way(lanes).astype(jnp.int32)) > np.int32(0)

        def go_on(lanes: Lanes) -> Lanes:
            after = self._tried(step, interval, lanes)
            chosen = functools.partial(lax.select, is_on_its_way(lanes))
            return Lanes(
                time=chosen(after.time, lanes.time),
                following=chosen(after.following, lanes.following),
                moving=tuple(map(chosen, after.moving, lanes.moving)),
                tried=chosen(after.tried, lanes.tried),
                taken=chosen(after.taken, lanes.taken),
            )

        nothing = filled(interval.start.shape, 0, np.int32)
        first = Lanes(interval.start, interval.following, moving, nothing, nothing)
        last = lax.while_loop(anybody, go_on, first)
        return last.moving, last.taken, lax.ge(last.time, interval.stop)

    def _tried(self, step: Step, interval: Interval, lanes: Lanes) -> Lanes:
        """One step of every lane: taken if its error is small, else to be tried again with a smaller size."""
        moved, errors = step(lanes.time, lanes.following, lanes.moving)
        error = _in_tolerances(interval, lanes.moving, moved, errors)
        keeps = lax.lt(error, like(error, 1.0))
        size = (lanes.following - lanes.time) * self._factor(error, keeps)
        begin = lax.select(keeps, lanes.following, lanes.time)
        time = minimum(begin, interval.stop)
        halfway = time + like(time, 0.5) * (interval.stop - time)
        clipped = lax.select(keeps, interval.stop, halfway)
        following = begin + size
        one = filled(lanes.tried.shape, 1, np.int32)
        return Lanes(
            time=time,
            following=lax.select(lax.gt(following, interval.nearly), clipped, following),
            moving=tuple(map(functools.partial(lax.select, keeps), moved, lanes.moving)),
            tried=lanes.tried + one,
            taken=lax.select(keeps, lanes.taken + one, lanes.taken),
        )

    def _factor(self, error: Array, keeps: Array) -> Array:
        """The next size over this one: not below 1 after a step that was taken, below 1 after one that was not."""
        ideal = lax.pow(like(error, 1.0) / error, like(error, 1.0 / self.order))
        least = lax.select(keeps, like(error, 1.0), like(error, self.least))
        most = lax.select(keeps, like(error, self.most), like(error, self.safety))
        return minimum(maximum(like(error, self.safety) * ideal, least), most)


def _in_tolerances(
    interval: Interval, before: Vectors, after: Vectors, errors: Sequence[Array]
) -> Array:
    """The error of a step in units of what is tolerated, root mean square; infinite where it is NaN."""
    squares = []
    for old, new, error in zip(before, after, errors, strict=True):
        new = lax.select(lax.ne(new, new), old, new)
        error = lax.select(lax.ne(error, error), like(error, np.inf), error)
        size = maximum(maximum(old, -old), maximum(new, -new))
        ratio = error / (interval.atol + size * interval.rtol)
        squares.append(ratio * ratio)
    total = functools.reduce(lax.add, squares)
    return lax.sqrt(total) / like(total, float(np.sqrt(len(squares))))
