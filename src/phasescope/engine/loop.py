"""Execute a plan: the host's loop around the compiled programs.

After each call of a compiled program the caller may save, show progress, or stop. Neither the calls nor the record
times change the path: keys are folded in by absolute step, and the number of steps taken is the same however they are cut.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from ..errors import PlanError
from ..identity.provenance import PRNG
from ..plan.dynamics import State
from ..plan.observables import Observables
from ..plan.plan import never
from .calls import check_schedule, next_budget, record_times, spans, spans_per_call
from .job import Chunk, Job, Position
from .packing import known, unpack
from .precision import exact_numbers
from .programs import advance_stage_jit, begin_run, begin_run_jit, enter_stage, enter_stage_jit, inspect_state_jit

# How much work one call should do, by program, as learned in this process. It moves no digit.
budgets: dict[Hashable, int] = {}


def execute(job: Job, start: tuple[Position, Sequence[np.ndarray]] | None = None) -> Iterator[Chunk]:
    """Run the job from the beginning, or from a position and the leaves of its state; yields as it goes."""
    generator = _execute(job, start)
    while True:
        with exact_numbers():  # entered anew for each piece, so that the caller's own code never sees it
            chunk = next(generator, None)
        if chunk is None:
            return
        yield chunk


def _execute(job: Job, start: tuple[Position, Sequence[np.ndarray]] | None) -> Iterator[Chunk]:
    plan, lanes = job.plan(), bool(job.lanes)
    check_schedule(job.arm, job.canonical(), job.columns)
    spec, key = job.traced_spec(), job.key()
    nobody = jnp.zeros((job.lanes,) if lanes else (), bool)
    if start is None:
        state, *out = begin_run_jit(job.program, lanes, spec, key)
        position, done = Position(), nobody
        like, sound = jax.device_get(out)
        yield Chunk(position, 0, np.zeros(1), _row(like), sound[None], state, done, 0.0, sound=bool(sound.any()))
    else:
        position, (state, done) = start[0], unflatten(job, *start)
        like = eqx.filter_eval_shape(begin_run, job.program, lanes, spec, key)[1]
    room, shape = spans_per_call(like), job.shape()
    while position.stage < len(plan.stages):
        index, stage = position.stage, plan.stages[position.stage]
        if position.local == 0:
            state, done = enter_stage_jit(job.program, index, lanes, spec, key, state), nobody
        own = stage.lay_out()
        times, budget = record_times(stage, own, position.offset, job.at), budgets.get((shape, index))
        if not times.size:
            position = dataclasses.replace(position, stage=index + 1)
        while position.stage == index:
            starts, stops, kept = spans(times, position.local, stage.dynamics.divisible, budget, room)
            shows, asks = np.zeros((2, len(stops)), bool)
            shows[kept] = True
            if stage.until is not never:
                asks = np.isin(stops, own)
            clock = time.perf_counter()
            state, done, out = advance_stage_jit(
                job.program, index, lanes, spec, key, state, done, starts, stops, shows, asks
            )
            seen, dones, finite = jax.device_get(out)
            work = (stops - starts).sum() if stage.dynamics.divisible else (stops > starts).sum()
            budget = budgets[shape, index] = next_budget(budget, int(work), time.perf_counter() - clock)
            # `until` may have ended the stage for everybody: what follows in this call is padding.
            over = np.flatnonzero(dones.reshape(len(dones), -1).all(axis=1))
            last = over[0] if over.size else np.flatnonzero(stops > starts)[-1]
            kept = sorted({k for k in kept if k <= last} | ({int(last)} if over.size else set()))
            local, offset, unit = float(stops[last]), position.offset, float(stage.unit)
            ended = bool(over.size) or local >= times[-1]
            if ended:
                position = Position(index + 1, 0.0, offset + unit * local)
            else:
                position = Position(index, local, offset)
            dear = {}
            if ended and plan.inspect:
                dear = _row(jax.device_get(inspect_state_jit(job.program, lanes, spec, key, state)))
            records = unpack(like, {kind: x[kept] for kind, x in seen.items()}, lanes)
            yield Chunk(
                position, index, offset + unit * stops[kept], records, finite[kept], state, done, local - starts[0],
                dear, offset, unit, bool(finite[last].any()),
            )  # fmt: skip


def unflatten(job: Job, position: Position, leaves: Sequence[np.ndarray]) -> tuple[State, Array]:
    """State and `done` of a checkpoint; their shape follows from the plan."""
    lanes, entered = bool(job.lanes), position.stage + (position.local > 0)

    def template(spec, key):
        state = begin_run(job.arm, lanes, spec, key)[0]
        for index in range(entered):
            state = enter_stage(job.arm, index, lanes, spec, key, state)
        return state, jnp.zeros((job.lanes,) if lanes else (), bool)

    shapes = eqx.filter_eval_shape(template, job.traced_spec(), job.key())
    wanted, tree = jax.tree.flatten(eqx.filter(shapes, _is_shape))
    if len(wanted) != len(leaves):
        raise PlanError(f"{job.arm.__name__}: the checkpoint holds {len(leaves)} arrays, the plan has {len(wanted)}.")
    arrays = [
        jr.wrap_key_data(jnp.asarray(x), impl=PRNG)
        if jnp.issubdtype(w.dtype, jax.dtypes.prng_key)
        else jnp.asarray(x, w.dtype)
        for x, w in zip(leaves, wanted, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(tree, arrays), eqx.filter(shapes, _is_shape, inverse=True))


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)


def _row(seen: Observables) -> dict[str, np.ndarray]:
    """One record on the host, by name, as a row."""
    return {name: np.asarray(x)[None] for name, x in known(seen).items()}
