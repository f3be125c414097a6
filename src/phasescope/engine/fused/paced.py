"""Flows on lanes, each at its own pace: every lane chooses the size of its steps by itself.

The choice of a step, its end and what counts as a failure are those of diffrax (`diffeqsolve` with a `PIDController`), written
for vectors of lanes with the operations that a kernel has. A lane that has come to its end stays there while others go on.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from .operations import filled, maximum, minimum
from .stages import Stages, Tolerances, like


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

    @property
    def tolerances(self) -> Tolerances:
        return Tolerances(self.rtol, self.atol)


class Lanes(NamedTuple):
    """Where the lanes are: their time, the end of their next step, what holds what moves, and the steps tried and taken."""

    time: Array
    following: Array
    held: Any
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

    def solve(self, stages: Stages, interval: Interval, held: Any) -> tuple[Any, Array, Array]:
        """What moves at the end, as the stages hold it, the number of steps taken, and whether the end was reached."""

        def is_on_its_way(lanes: Lanes) -> Array:
            """A step that has no end (NaN) leads nowhere."""
            has_room = lax.lt(lanes.tried, filled(lanes.tried.shape, self.max_steps, np.int32))
            has_end = lax.eq(lanes.following, lanes.following)
            return lax.lt(lanes.time, interval.stop) & has_room & has_end

        def anybody(lanes: Lanes) -> Array:
            return jnp.max(is_on_its_way(lanes).astype(jnp.int32)) > np.int32(0)

        def go_on(lanes: Lanes) -> Lanes:
            return self._stepped(stages, interval, lanes, is_on_its_way(lanes))

        nothing = filled(interval.start.shape, 0, np.int32)
        first = Lanes(interval.start, interval.following, held, nothing, nothing)
        last = lax.while_loop(anybody, go_on, first)
        return last.held, last.taken, lax.ge(last.time, interval.stop)

    def _stepped(self, stages: Stages, interval: Interval, lanes: Lanes, goes: Array) -> Lanes:
        """One step of the lanes that go: taken if its error is small, else to be tried again with a smaller size."""
        tried, error = stages.tried(lanes.time, lanes.following, interval.tolerances, lanes.held)
        keeps = lax.lt(error, like(error, 1.0))
        size = (lanes.following - lanes.time) * self._factor(error, keeps)
        begin = lax.select(keeps, lanes.following, lanes.time)
        time = minimum(begin, interval.stop)
        halfway = time + like(time, 0.5) * (interval.stop - time)
        clipped = lax.select(keeps, interval.stop, halfway)
        end = begin + size
        following = lax.select(lax.gt(end, interval.nearly), clipped, end)
        one = filled(lanes.tried.shape, 1, np.int32)
        return Lanes(
            time=lax.select(goes, time, lanes.time),
            following=lax.select(goes, following, lanes.following),
            held=stages.kept(goes & keeps, tried, lanes.held),
            tried=lax.select(goes, lanes.tried + one, lanes.tried),
            taken=lax.select(goes & keeps, lanes.taken + one, lanes.taken),
        )

    def _factor(self, error: Array, keeps: Array) -> Array:
        """The next size over this one: not below 1 after a step that was taken, below 1 after one that was not."""
        ideal = lax.pow(like(error, 1.0) / error, like(error, 1.0 / self.order))
        least = lax.select(keeps, like(error, 1.0), like(error, self.least))
        most = lax.select(keeps, like(error, self.most), like(error, self.safety))
        return minimum(maximum(like(error, self.safety) * ideal, least), most)
