"""The gradient-flow path at a steady pace: steps of a fixed length along it, with physical time as a by-product.

Late training is exponentially slow: a unit of path takes t = 1e16 and more. A step moves the fastest entry by `stride`
(Heun's rule on the direction divided by its largest entry) and adds stride / speed to the time, kept as a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Point = TypeVar("Point")
Extra = TypeVar("Extra")

LOG_OF_NO_TIME = -700.0  # a time of 1e-304: nothing beside any step, but a number


def speed(direction: object) -> Float[Array, ""]:
    """The largest entry."""
    return jnp.stack([jnp.abs(x).max() for x in jax.tree.leaves(direction)]).max()


def move(point: Point, direction: Point, by) -> Point:
    """point + by * direction."""
    return jax.tree.map(lambda x, v: x + by * v, point, direction)


def unit(direction: Point) -> Point:
    """The direction at speed 1; one that vanishes stays 0."""
    s = speed(direction)
    return jax.tree.map(lambda v: v / jnp.where(s > 0, s, 1.0), direction)


def heun(
    point: Point,
    direction: Point,
    downhill: Callable[[Point], tuple[Extra, Point]],
    stride: Float[Array, ""] | float,
    log_time: Float[Array, ""],
    log_scale: Float[Array, ""] | float = 0.0,
) -> tuple[Point, Extra, Point, Float[Array, ""]]:
    """One stride from a point whose direction is known: the new point, what `downhill` gives there, and the log of the time.

    `downhill` gives something of interest (a loss) and the direction. The one at the point is known up to a factor whose
    logarithm is `log_scale`. Where nothing pulls, the point stays and time does not pass. Both evaluations of the rule are
    one loop, so that the loss is compiled once.
    """
    here = unit(direction)

    def evaluate(at, _):
        extra, ahead = downhill(at)
        mean = jax.tree.map(lambda a, b: 0.5 * (a + b), here, unit(ahead))
        return move(point, mean, stride), (at, extra, ahead)

    _, evaluations = jax.lax.scan(evaluate, move(point, here, stride), length=2)
    new, extra, ahead = jax.tree.map(lambda x: x[-1], evaluations)
    s = speed(direction)
    log_speed = jnp.log(jnp.where(s > 0, s, 1.0)) + log_scale
    passed = jnp.where(s > 0, jnp.log(stride) - log_speed, -jnp.inf)
    reached = jax.tree.map(lambda a, b: jnp.where(s > 0, a, b), new, point)
    return reached, extra, ahead, jnp.logaddexp(log_time, passed)
