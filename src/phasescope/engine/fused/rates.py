"""The velocity of a flow as a program of scalars, of which what rests during a solve is worked out once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from .lanes import evaluated
from .program import Node, Program, Unfusable
from .runs import check_size
from .scalarise import scalarise
from .stages import Rate, Vectors

# Of what is behind a velocity (arrays that rest), the time, and the arrays that move: gives their velocities.
Explicit = Callable[[Sequence[Any], Any, Sequence[Any]], list[Any]]


@dataclasses.dataclass(frozen=True)
class Field:
    """A velocity: its program, whose first inputs, `behind` of them, rest; then come the time and what moves."""

    program: Program
    behind: int

    @property
    def resting(self) -> list[Node]:
        """The inputs that rest, as far as they are needed."""
        return [node for node in self.program.inputs if node.value < self.behind]

    def rate(self, resting: Sequence[Array], shape: tuple[int, ...]) -> Rate:
        """The velocities on lanes, given the vectors of what rests."""
        moves: set[Node] = set()
        for node in self.program.nodes:
            is_moving = node.operation == "input" and node.value >= self.behind
            if is_moving or any(operand in moves for operand in node.operands):
                moves.add(node)
        first = dict(zip(self.resting, resting, strict=True))
        still = [node for node in self.program.nodes if node not in moves]
        rest = evaluated(still, first, shape)
        later = [node for node in self.program.nodes if node in moves]
        inputs = [node for node in later if node.operation == "input"]

        def rate(time: Array, moving: Vectors) -> list[Array]:
            given = (time, *moving)
            values = rest | {node: given[node.value - self.behind] for node in inputs}
            values = evaluated(later, values, shape)
            return [values[node] for node in self.program.outputs]

        return rate


def field_of(velocity_of: Explicit, behind: Sequence[Any], moving: Sequence[Any]) -> Field:
    """The velocity of one run, given the shapes of its arguments.

    Raises `Unfusable` if it has no small program.
    """
    time = jax.ShapeDtypeStruct((), np.dtype(float))
    program = scalarise(velocity_of, list(behind), time, list(moving)).program
    if program.loop is not None:
        raise Unfusable("its velocity has a loop")
    if any(x.dtype != np.float64 for x in moving):
        raise Unfusable("what moves is not float64")
    if len(program.outputs) != sum(math.prod(x.shape) for x in moving):
        raise Unfusable("its velocity has not the shape of what moves")
    check_size(program)
    return Field(program, sum(math.prod(x.shape) for x in behind))
