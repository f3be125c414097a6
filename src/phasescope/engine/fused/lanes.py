"""Lanes: a program of scalars carried out for many runs at once, with a vector of runs in place of every scalar."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, PyTree

from .operations import OPERATIONS, converted, filled
from .program import AFTER, BEFORE, INSIDE, Node, Program
from .scalarise import Scalarised

# Carries out a program: of the program, its inputs in order (one vector each, all of one shape) and the first and last step
# of its loop, gives its outputs in order.
Carrier = Callable[[Program, Sequence[Array], Array, Array], list[Array]]


def carry_out(
    program: Program, inputs: Sequence[Array], start: Array, stop: Array, shape: tuple[int, ...]
) -> list[Array]:
    """The outputs of a program for vectors of lanes of this shape; the loop runs from step `start` to `stop`."""
    values = dict(zip(program.inputs, inputs, strict=True))
    values = evaluated(program.in_period(BEFORE), values, shape)
    if program.loop is not None:
        values = values | _results(program, values, start, stop, shape)
    values = evaluated(program.in_period(AFTER), values, shape)
    return [values[node] for node in program.outputs]


def evaluated(
    nodes: Iterable[Node], values: Mapping[Node, Array], shape: tuple[int, ...]
) -> dict[Node, Array]:
    """The values, with those of further nodes, which are in an order in which they can be carried out."""
    found = dict(values)
    for node in nodes:
        if node.is_constant:
            found[node] = filled(shape, node.value, node.dtype)
        elif node.operation == "convert":
            found[node] = converted(found[node.operands[0]], node.dtype)
        elif node.operation in OPERATIONS:
            operands = [found[operand] for operand in node.operands]
            found[node] = OPERATIONS[node.operation](*operands)
    return found


def _results(
    program: Program,
    values: Mapping[Node, Array],
    start: Array,
    stop: Array,
    shape: tuple[int, ...],
) -> dict[Node, Array]:
    """What the loop carries, after its last step."""
    loop = program.loop
    assert loop is not None
    counts = loop.counter in program.nodes

    def step(index: Any, carried: tuple[Array, ...]) -> tuple[Array, ...]:
        here = dict(values)
        if counts:
            here[loop.counter] = filled(shape, index, loop.counter.dtype)
        here |= {one.inside: x for one, x in zip(loop.carried, carried, strict=True)}
        here = evaluated(program.in_period(INSIDE), here, shape)
        return tuple(here[one.following] for one in loop.carried)

    first = tuple(values[one.first] for one in loop.carried)
    last = lax.fori_loop(start, stop, step, first)
    return {one.result: x for one, x in zip(loop.carried, last, strict=True)}


@dataclasses.dataclass(frozen=True)
class LaneArguments:
    """The arguments of a function for many runs: trees of arrays, in which `per_lane` has lanes last and `shared` none.

    `steps` are the first and the last step of its loop.
    """

    per_lane: PyTree
    shared: PyTree
    steps: tuple[Any, Any]

    def of_one_run(self) -> tuple[PyTree, PyTree, tuple[Any, Any]]:
        """The shapes of one run."""

        def without_lanes(x: Array) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct(x.shape[:-1], x.dtype)

        start, stop = map(_shape, self.steps)
        shared = jax.tree.map(_shape, self.shared)
        return jax.tree.map(without_lanes, self.per_lane), shared, (start, stop)

    @property
    def lanes(self) -> int:
        """How many runs there are."""
        return jax.tree.leaves(self.per_lane)[0].shape[-1]

    def rows(self, wanted: Iterable[int]) -> list[Array]:
        """Scalars of all runs, by their positions among all inputs: one vector each."""
        found: list[Array] = []
        given = [x.reshape(-1, self.lanes) for x in jax.tree.leaves(self.per_lane)]
        shared = [jnp.ravel(x) for x in (*jax.tree.leaves(self.shared), *self.steps)]
        ends = np.cumsum([len(x) for x in (*given, *shared)])
        for position in wanted:
            leaf = int(np.searchsorted(ends, position, side="right"))
            place = position - int(ends[leaf])
            if leaf < len(given):
                found.append(given[leaf][place])
            else:
                number = shared[leaf - len(given)][place]
                found.append(jnp.broadcast_to(number, (self.lanes,)))
        return found


def on_lanes(scalarised: Scalarised, arguments: LaneArguments, carrier: Carrier) -> PyTree:
    """What a scalarised function of `(per_lane, shared, steps)` gives for all runs, lanes last.

    What is known, or merely handed through, does not pass through the carrier.
    """
    whole = scalarised.program
    computed = dict.fromkeys(node for node in whole.outputs if not node.is_given)
    program = dataclasses.replace(whole, outputs=tuple(computed))
    handed = [node for node in whole.outputs if node.operation == "input"]
    rows = dict(zip(handed, arguments.rows(node.value for node in handed), strict=True))
    if computed:
        inputs = arguments.rows(node.value for node in program.inputs)
        found = carrier(program, inputs, *arguments.steps)
        rows |= dict(zip(computed, found, strict=True))
    for node in whole.outputs:
        if node.is_constant:
            rows[node] = filled((arguments.lanes,), node.value, node.dtype)
    return _unflattened(scalarised.like, [rows[node] for node in whole.outputs], arguments.lanes)


def _unflattened(like: PyTree, rows: list[Array], lanes: int) -> PyTree:
    """Vectors of lanes as a tree of arrays, lanes last, that has the shapes of `like` for one run."""
    leaves, structure = jax.tree.flatten(like)
    found = []
    for leaf in leaves:
        own = rows[: leaf.size]
        rows = rows[leaf.size :]
        stacked = jnp.stack(own) if own else jnp.zeros((0, lanes), leaf.dtype)
        found.append(stacked.reshape(*leaf.shape, lanes))
    return jax.tree.unflatten(structure, found)


def _shape(x: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)
