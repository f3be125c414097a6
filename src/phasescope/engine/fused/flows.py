"""Flows as fused lanes: a block of runs solved by one kernel, in which each of them has a pace of its own.

Inside `fused_flows` a flow that is mapped over lanes is not mapped operation by operation, by which all lanes would take as many
steps as the slowest: the whole solve is handed over. A flow that is not mapped is solved by diffrax as ever.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from equinox.internal import prevbefore
from jax import lax
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun  # pyright: ignore[reportPrivateImportUsage]
from jaxtyping import Array, PyTree

from ...plan.flow import Velocity, flow, solved_by
from .kernel import WARP, Memory, Way, Work, by_gpu, by_xla, in_pieces
from .paced import Control, Interval
from .pairs import Pair, pair_of
from .program import Unfusable
from .rates import Explicit, Field, field_of
from .stages import Looped, WrittenOut

LARGEST_WRITTEN_OUT = 1500  # scalar operations of a step whose stages are written out one by one
# Vectors that a looped stage loads and stores times the square of its operations: 6.4e7 take 20 to 30 s to compile.
LARGEST_LOOPED = 2e8
MOST_STEPS = 2**31 - 1  # a kernel counts them in 32 bits
ULPS = 100  # a step that ends this near to the end of the interval ends there, as in diffrax


@contextlib.contextmanager
def fused_flows(way: Way | None = None) -> Iterator[FusedFlows]:
    """Inside, flows that are mapped over lanes are solved by one kernel, or in another way that is given."""
    if way is None:
        way = by_gpu if jax.default_backend() == "gpu" else by_xla
    flows = FusedFlows(way)
    with solved_by(flows.solve):
        yield flows


@dataclasses.dataclass
class FusedFlows:
    """What solves flows as fused lanes. `count` is how many of them were mapped over lanes so far."""

    way: Way
    count: int = 0

    def solve(
        self,
        moves: flow,
        velocity: Velocity,
        start: Array,
        stop: Array,
        first: Array,
        moving: PyTree,
    ) -> tuple[PyTree, Array]:
        """As `flow.solve`. Raises `Unfusable` if it is mapped over lanes and cannot be written as a small kernel."""
        leaves, structure = jax.tree.flatten(moving)

        def flat(time: Array, *leaves: Array) -> list[Array]:
            return jax.tree.leaves(velocity(time, jax.tree.unflatten(structure, leaves), None))

        velocity_of, behind = _explicit(jax.make_jaxpr(flat)(start, *leaves))

        @custom_vmap
        def solved(behind: Any, ends: Any, tolerances: Any, leaves: Any) -> Any:
            start, stop, first = ends
            velocity = lambda time, leaves, _: velocity_of(behind, time, leaves)
            return moves.solve(velocity, start, stop, first, leaves)

        @solved.def_vmap
        def rule(lanes: int, mapped: Any, *given: Any) -> Any:
            self.count += 1
            spread = functools.partial(_spread, lanes=lanes)
            arrays = jax.tree.map(spread, given, tuple(mapped))
            ends, taken = self.on_lanes(moves, velocity_of, *arrays)
            return (ends, taken), ([True] * len(ends), True)

        tolerances = (jnp.asarray(moves.rtol, float), jnp.asarray(moves.atol, float))
        ends, taken = solved(behind, (start, stop, first), tolerances, leaves)
        return jax.tree.unflatten(structure, ends), taken

    def on_lanes(
        self,
        moves: flow,
        velocity_of: Explicit,
        behind: Sequence[Array],
        ends: tuple[Array, Array, Array],
        tolerances: tuple[Array, Array],
        leaves: Sequence[Array],
    ) -> tuple[list[Array], Array]:
        """The same for many runs, lanes first."""
        field = field_of(velocity_of, _of_one_run(behind), _of_one_run(leaves))
        rows = _vectors(behind)
        resting = [rows[node.value] for node in field.resting]
        moving = _vectors(leaves)
        work = _work(moves, field, resting, _interval(*ends, *tolerances), moving)
        vectors, held = in_pieces(work, self.way)
        *moved, taken, is_solved = vectors
        if held is not None:
            moved = list(held)
        found = []
        for leaf in leaves:
            size = leaf[0].size
            end = jnp.stack(moved[:size], axis=-1) if size else leaf.reshape(len(leaf), 0)
            moved = moved[size:]
            found.append(jnp.where(is_solved[:, None], end, jnp.nan).reshape(leaf.shape))
        return found, jnp.maximum(taken, 1).astype(int)


def _explicit(traced: ClosedJaxpr) -> tuple[Explicit, list[Array]]:
    """A traced velocity as a function that has all it depends on among its arguments; and what was behind it."""
    unknown = [isinstance(x, jax.core.Tracer) for x in traced.consts]

    def velocity_of(behind: Sequence[Any], time: Any, leaves: Sequence[Any]) -> list[Any]:
        given = iter(behind)
        pairs = zip(traced.consts, unknown, strict=True)
        consts = [next(given) if is_unknown else x for x, is_unknown in pairs]
        return jaxpr_as_fun(ClosedJaxpr(traced.jaxpr, consts))(time, *leaves)

    return velocity_of, [
        x for x, is_unknown in zip(traced.consts, unknown, strict=True) if is_unknown
    ]


def _spread(x: Array, is_mapped: bool, lanes: int) -> Array:
    """An argument of one solve, as one for each lane."""
    return x if is_mapped else jnp.broadcast_to(x, (lanes, *x.shape))


def _of_one_run(arrays: Sequence[Array]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in arrays]


def _vectors(arrays: Sequence[Array]) -> list[Array]:
    """The scalars of some arrays, lanes first, as vectors of lanes."""
    return [row for x in arrays for row in x.reshape(len(x), -1).T]


def _interval(start: Array, stop: Array, first: Array, rtol: Array, atol: Array) -> Interval:
    nearly = lax.fori_loop(0, ULPS, lambda _, time: prevbefore(time), stop)
    return Interval(
        start=start,
        stop=stop,
        nearly=nearly,
        following=jnp.minimum(start + first, stop),
        rtol=rtol,
        atol=atol,
    )


def _work(
    moves: flow, field: Field, resting: list[Array], interval: Interval, moving: list[Array]
) -> Work:
    """A solve as the work of a kernel."""
    pair = pair_of(moves.solver)
    control = _control(moves, pair)
    width = len(moving)
    loops = not _is_small(pair, field, width)
    if loops and 2 * width * field.program.size**2 > LARGEST_LOOPED:
        raise Unfusable(f"a kernel for its {width} numbers would take a minute or more to compile")

    def body(table: Any, memory: Memory, loaded: list[Array]) -> tuple[list[Array], Any]:
        rest = loaded[: len(resting)]
        ends = Interval(*loaded[len(rest) : len(rest) + len(interval)])
        rate = field.rate(rest, ends.start.shape)
        if loops:
            stages = Looped(pair, rate, width, table, memory)
            held, taken, is_solved = control.solve(stages, ends, memory.first())
            return [taken, is_solved], held
        first = tuple(loaded[-width:])
        moved, taken, is_solved = control.solve(WrittenOut(pair, rate), ends, first)
        return [*moved, taken, is_solved], None

    given = [*resting, *interval]
    counts = [np.dtype("int32"), np.dtype(bool)]
    table = jnp.asarray(pair.table())
    if loops:
        rows = jnp.stack(moving)
        return Work(body, given, counts, table, rows, Looped.rows(pair, width), block=WARP)
    return Work(body, [*given, *moving], [*(x.dtype for x in moving), *counts], table, block=WARP)


def _is_small(pair: Pair, field: Field, moving: int) -> bool:
    """Whether the stages of a step may be written out one by one."""
    return pair.stages * field.program.size + 2 * pair.products * moving <= LARGEST_WRITTEN_OUT


def _control(moves: flow, pair: Pair) -> Control:
    """How the flow chooses its steps."""
    pid = moves.controller()
    if type(moves).solve is not flow.solve:
        raise Unfusable(f"{type(moves).__name__} solves its flow in a way of its own")
    if pid.pcoeff or pid.dcoeff or pid.dtmin is not None or pid.dtmax is not None:
        raise Unfusable("its step depends on more than the error of the last one")
    if moves.max_steps > MOST_STEPS:
        raise Unfusable(f"it may take {moves.max_steps} steps, more than {MOST_STEPS}")
    return Control(
        order=pair.order,
        safety=float(pid.safety),
        least=float(pid.factormin),
        most=float(pid.factormax),
        max_steps=moves.max_steps,
    )
