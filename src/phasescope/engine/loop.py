"""Execute a plan: the host's loop around the compiled programs.

After each call of a compiled program the caller may save, show progress, or stop. Neither the calls nor the record
times change the path: keys are folded in by absolute step, and the number of steps taken is the same however they are cut.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, cast

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
from ..plan.plan import Arm, Plan, canonical_spec, continuous_fields, lane_fields, never, plan_of
from ..spec import Spec
from .calls import check_schedule, next_budget, record_times, spans, spans_per_call
from .packing import known, unpack
from .precision import exact_numbers
from .programs import advance_stage_jit, begin_run, begin_run_jit, enter_stage, enter_stage_jit, inspect_state_jit

# How much work one call should do, by program, as learned in this process. It moves no digit.
budgets: dict[Hashable, int] = {}
# What the runs of a shape show, as found in this process.
classes: dict[Hashable, tuple[type[Observables], type[Observables] | None]] = {}
CLASSES_KEPT = 256


@dataclasses.dataclass(frozen=True)
class CodedArm:
    """An arm that equals every other of the same code and the same values behind it.

    A function alone would not do: what it refers to may change while the process lives, and a
    factory makes equal functions that are not the same.
    """

    arm: Arm = dataclasses.field(compare=False)
    code: str

    @property
    def __name__(self) -> str:
        return self.arm.__name__

    def __call__(self, spec: Spec, /) -> Plan:
        return self.arm(spec)


@dataclasses.dataclass(frozen=True)
class Job:
    """One run, or a block of lanes: an arm, its numbers, and the columns that differ from lane to lane.

    `spec` is what was asked for; what runs is `canonical()`, in which fields that the arm does not read are at their
    defaults.
    """

    arm: Arm
    spec: Spec
    seed: int = 0
    columns: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    at: tuple[float, ...] | None = None
    code: str = ""  # the fingerprint of the arm, if it has one

    @property
    def program(self) -> Arm:
        """The arm as the compiled programs know it: by its code, so that other code is compiled anew."""
        return cast(Arm, CodedArm(self.arm, self.code)) if self.code else self.arm

    @property
    def lanes(self) -> int:
        """How many runs go side by side; 0 for a single run without a lane axis."""
        return len(next(iter(self.columns.values()), ()))

    def key(self) -> Array:
        """The root of all random numbers: one for each lane if seeds are swept, else one that all lanes share."""
        seeds = self.columns.get("seed")
        if seeds is None:
            return jr.key(self.seed, impl=PRNG)
        return jax.vmap(lambda s: jr.key(s, impl=PRNG))(jnp.asarray(seeds, jnp.uint32))

    def canonical(self) -> Spec:
        """The spec that runs."""
        return canonical_spec(self.arm, self.spec)

    def traced_spec(self) -> Spec:
        """The spec as an argument of the programs, swept fields as columns."""
        floats = {k: jnp.asarray(v, float) for k, v in self.columns.items() if k != "seed"}
        spec = self.canonical().traced(continuous_fields(self.arm))
        return spec.replace(**floats) if floats else spec

    def plan(self) -> Plan:
        """The plan on the host; where lanes differ, that of the first."""
        with exact_numbers():
            return plan_of(self.arm, self.lane_spec(0) if self.lanes else self.canonical())

    def shape(self) -> Hashable:
        """What jobs of one compiled program have in common."""
        numbers = lane_fields(self.arm, self.spec)
        fixed = [(k, v) for k, v in self.canonical().to_json().items() if k not in numbers or v is None]
        return (self.program, self.lanes, "seed" in self.columns, *fixed)

    def lane_spec(self, lane: int) -> Spec:
        """The plain spec of one lane."""
        return self.canonical().replace(**{k: v[lane] for k, v in self.columns.items() if k != "seed"})


@dataclasses.dataclass(frozen=True)
class Position:
    """How far a run has come: everything but the state that a resume needs."""

    stage: int = 0
    local: float = 0.0  # time since the stage began, in its own units; 0: not yet entered
    offset: float = 0.0  # the dataset's time at which the stage began


@dataclasses.dataclass(frozen=True)
class Chunk:
    """What one call of the compiled program gave: records (time first, lanes last), the state, and how far it came."""

    position: Position
    stage: int
    time: np.ndarray
    records: dict[str, np.ndarray]
    finite: np.ndarray
    state: State
    done: Array
    work: float
    inspected: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    began: float = 0.0  # the dataset's time at which its stage began
    unit: float = 1.0
    sound: bool = True  # whether anybody's state is finite at its end

    def local(self, time: Any) -> Any:
        """The dataset's time in the stage's own units."""
        return (time - self.began) / self.unit

    def leaves(self) -> list[np.ndarray]:
        """The arrays of the state, in order, as a checkpoint keeps them (keys as their raw words), then `done`."""
        raw = lambda x: jr.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x
        arrays = jax.tree.leaves(eqx.filter((self.state, self.done), eqx.is_array))
        with exact_numbers():
            return [np.asarray(jax.device_get(raw(x))) for x in arrays]


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


def observed(job: Job) -> tuple[type[Observables], type[Observables] | None]:
    """The classes that the plan's `measure` and `inspect` return; remembered, since every block of a sweep asks."""
    first = dataclasses.replace(job, columns={})
    shape = first.shape()
    if shape not in classes:
        if len(classes) >= CLASSES_KEPT:
            classes.clear()
        with exact_numbers():
            plan = job.plan()
            state, seen, _ = eqx.filter_eval_shape(begin_run, job.arm, False, first.traced_spec(), first.key())
            dear = eqx.filter_eval_shape(plan.inspect, state.params) if plan.inspect else None
        classes[shape] = type(seen), None if dear is None else type(dear)
    return classes[shape]


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)


def _row(seen: Observables) -> dict[str, np.ndarray]:
    """One record on the host, by name, as a row."""
    return {name: np.asarray(x)[None] for name, x in known(seen).items()}
