"""Execute a plan: the host's loop around the compiled programs.

One call of the compiled program covers up to 64 record times, or as many steps as take about half a second; after
each call the caller may save, show progress, or stop. Neither the calls nor the record times change the path: keys are
folded in by absolute step, and the number of steps taken is the same however they are cut.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, PyTree

from .dynamics import State
from .errors import PlanError
from .observables import Observables
from .plan import Arm, Plan, Stage, continuous_fields, never, plan_of
from .programs import (
    SPANS,
    advance_stage_jit,
    begin_run,
    begin_run_jit,
    enter_stage,
    enter_stage_jit,
    inspect_state_jit,
)
from .spec import Spec

PRNG = "threefry2x32"
TARGET_SECONDS = 0.5  # what one call of the compiled program should take
RECORD_BYTES = 2**25  # of records that one call may bring back
FIRST_BUDGET = 16  # steps of the first call, before its speed is known


@dataclasses.dataclass(frozen=True)
class Job:
    """One run, or a block of lanes: an arm, its numbers, and the columns that differ from lane to lane."""

    arm: Arm
    spec: Spec
    seed: int = 0
    columns: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    at: tuple[float, ...] | None = None

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

    def traced_spec(self) -> Spec:
        """The spec as an argument of the programs, swept fields as columns."""
        floats = {k: jnp.asarray(v, float) for k, v in self.columns.items() if k != "seed"}
        return self.spec.traced(continuous_fields(self.arm)).replace(**floats)

    def plan(self) -> Plan:
        """The plan on the host; where lanes differ, that of the first."""
        return plan_of(self.arm, self.lane_spec(0) if self.lanes else self.spec)

    def lane_spec(self, lane: int) -> Spec:
        """The plain spec of one lane."""
        return self.spec.replace(**{k: v[lane] for k, v in self.columns.items() if k != "seed"})


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
        return [np.asarray(jax.device_get(raw(x))) for x in arrays]


@contextlib.contextmanager
def exact_numbers() -> Iterator[None]:
    """64-bit floats and full matmul precision, inside only: a user's session keeps its own settings."""
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


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
    check_schedule(job)
    spec, key = job.traced_spec(), job.key()
    nobody = jnp.zeros((job.lanes,) if lanes else (), bool)
    if start is None:
        state, *out = begin_run_jit(job.arm, lanes, spec, key)
        position, done = Position(), nobody
        seen, sound = jax.device_get(out)
        room = spans_per_call(seen)
        yield Chunk(position, 0, np.zeros(1), _rows(seen), sound[None], state, done, 0.0, sound=bool(sound.any()))
    else:
        position, (state, done) = start[0], unflatten(job, *start)
        room = spans_per_call(eqx.filter_eval_shape(begin_run, job.arm, lanes, spec, key)[1])
    while position.stage < len(plan.stages):
        index, stage = position.stage, plan.stages[position.stage]
        if position.local == 0:
            state, done = enter_stage_jit(job.arm, index, lanes, spec, key, state), nobody
        times, budget = record_times(stage, position.offset, job.at), None
        if not times.size:
            position = dataclasses.replace(position, stage=index + 1)
        while position.stage == index:
            starts, stops, kept = spans(times, position.local, stage.dynamics.divisible, budget or FIRST_BUDGET, room)
            shows, asks = np.isin(stops, times), np.isin(stops, stage.lay_out())
            clock = time.perf_counter()
            state, done, out = advance_stage_jit(
                job.arm, index, lanes, spec, key, state, done, starts, stops, shows, asks
            )
            seen, dones, finite = jax.device_get(out)
            work = (stops - starts).sum() if stage.dynamics.divisible else (stops > starts).sum()
            budget = _next_budget(budget, int(work), time.perf_counter() - clock)
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
                dear = _rows(jax.device_get(inspect_state_jit(job.arm, lanes, spec, key, state)))
            records = {name: x[kept] for name, x in _rows(seen, stacked=True).items()}
            yield Chunk(
                position, index, offset + unit * stops[kept], records, finite[kept], state, done, local - starts[0],
                dear, offset, unit, bool(finite[last].any()),
            )  # fmt: skip


def record_times(stage: Stage, offset: float, at: Sequence[float] | None) -> np.ndarray:
    """The stage's own record times, or those of `at` that fall into it (its end is always among them).

    A stage with an `until` keeps its own times as well: only there is it asked, so that `at` does not move its end.
    """
    times = stage.lay_out()
    if at is None or not times.size:
        return times
    local = (np.asarray(sorted(at), float) - offset) / float(stage.unit)
    local = local[(local > 0) & (local < times[-1])]
    if stage.dynamics.divisible:
        if (abs(local - np.round(local)) > 1e-6).any():
            raise PlanError(f'stage "{stage.name}" counts steps: it cannot be recorded between two of them.')
        local = np.round(local)
    own = times if stage.until is not never else times[-1:]
    return np.union1d(local, own).astype(times.dtype)


def spans_per_call(seen: PyTree) -> int:
    """How many record times one call covers: 64, or fewer if their records would be large (they come back whole)."""
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(seen))
    return max(1, min(SPANS, RECORD_BYTES // max(size, 1)))


def spans(
    times: np.ndarray, local: float, divisible: bool, budget: int, room: int = SPANS
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """The next spans to advance over, padded to a fixed number; which of them end at a record time."""
    starts, stops, kept, left = [], [], [], budget
    for target in times[times > local]:
        while local < target and left > 0 and len(starts) < room:
            stop = min(target, local + left) if divisible else target
            left -= int(stop - local) if divisible else 1
            starts.append(local)
            stops.append(stop)
            local = stop
        if local < target or left <= 0 or len(starts) == room:
            if stops and stops[-1] == target:
                kept.append(len(stops) - 1)
            break
        kept.append(len(stops) - 1)
    pad = [stops[-1]] * (room - len(starts))
    return np.array(starts + pad, times.dtype), np.array(stops + pad, times.dtype), kept


def total_work(plan: Plan) -> float:
    """Steps (or time) from the beginning to the end, for the progress bar."""
    return float(sum(t[-1] for t in (stage.lay_out() for stage in plan.stages) if t.size))


def horizon(plan: Plan) -> float:
    """The dataset's last time, if no stage is left early."""
    return float(sum(t[-1] * float(s.unit) for s, t in ((s, s.lay_out()) for s in plan.stages) if t.size))


def check_schedule(job: Job) -> None:
    """Lanes share their record times: no swept field may move them."""
    laid_out = lambda spec: [(s.lay_out(), float(s.unit)) for s in job.arm(spec).stages]
    for name, values in job.columns.items():
        if name == "seed" or len(set(values)) == 1:
            continue
        low, high = (laid_out(job.spec.replace(**{name: v})) for v in (min(values), max(values)))
        if any(not np.array_equal(a[0], b[0]) or a[1] != b[1] for a, b in zip(low, high, strict=True)):
            raise PlanError(
                f"{job.arm.__name__}: record times depend on `{name}`, which is being swept. Lanes share their times: make "
                f"them depend on integers, or sweep `{name}` one run at a time."
            )


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
    """The classes that the plan's `measure` and `inspect` return."""
    with exact_numbers():
        plan, first = job.plan(), dataclasses.replace(job, columns={})
        state, seen, _ = eqx.filter_eval_shape(begin_run, job.arm, False, first.traced_spec(), first.key())
        dear = eqx.filter_eval_shape(plan.inspect, state.params) if plan.inspect else None
    return type(seen), None if dear is None else type(dear)


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)


def _next_budget(budget: int | None, work: int, seconds: float) -> int:
    """The work for the next call: what takes about the target time at the speed of this one.

    A slow first call is mostly compilation and says nothing; a fast one was compiled before.
    """
    if budget is None and seconds > TARGET_SECONDS / 4:
        return FIRST_BUDGET
    if seconds < TARGET_SECONDS / 2:
        return max(budget or FIRST_BUDGET, min(int(work * TARGET_SECONDS / max(seconds, 1e-6)), 2**40))
    budget = budget or FIRST_BUDGET
    return max(1, budget // 2) if seconds > 2 * TARGET_SECONDS else budget


def _rows(seen: Any, stacked: bool = False) -> dict[str, np.ndarray]:
    """Observables already on the host, by name; one state's as a row."""
    names = {f.name: getattr(seen, f.name) for f in dataclasses.fields(seen)}
    arrays = {name: np.asarray(x) for name, x in names.items() if x is not None}
    return arrays if stacked else {name: x[None] for name, x in arrays.items()}
