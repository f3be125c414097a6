"""What is executed: a job, how far it has come, and what one call of the compiled program gave."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, PyTree

from ..identity.provenance import PRNG
from ..plan.dynamics import State
from ..plan.observables import Observables
from ..plan.plan import Arm, Plan, canonical_spec, continuous_fields, lane_fields, plan_of
from ..spec import Spec
from .calls import stage_length
from .leaves import leaves_of
from .memory import within_memory
from .plain_numbers import mistakes_placed, plain_numbers_named
from .precision import exact_numbers
from .programs import Inputs, Program, begin_run
from .reductions import Carried
from .wanted import EVERYTHING, Wanted


@dataclasses.dataclass(frozen=True)
class Shapes:
    """What one run is made of, as shapes: nothing of it was computed.

    - `state`: at the start, without what the dynamics of a stage carries.
    - `measured`, `inspected`: one record, and the expensive one at a stage's end, if the plan has any.
    """

    state: State
    measured: Observables
    inspected: Observables | None = None


# The shapes of runs, as found in this process.
shapes: dict[Hashable, Shapes] = {}
SHAPES_KEPT = 256


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

    `spec` is what was asked for; what runs is `canonical()`, in which fields that the arm does not
    read are at their defaults.
    """

    arm: Arm
    spec: Spec
    seed: int = 0
    columns: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    at: tuple[float, ...] | None = None
    code: str = ""  # the fingerprint of the arm, if it has one
    wanted: Wanted = EVERYTHING

    def recorded_at(self, times: Iterable[float]) -> Job:
        """The same job, recorded at other times of the dataset."""
        return self._with_same_plan(at=tuple(map(float, times)))

    def with_code(self, code: str) -> Job:
        """The same job, whose arm is known by the fingerprint of its code."""
        return self._with_same_plan(code=code)

    def wanting(self, wanted: Wanted) -> Job:
        """The same job, of which other things are wanted."""
        return self._with_same_plan(wanted=wanted)

    def without_lanes(self) -> Job:
        """A single run of the same shapes."""
        return self._with_same_plan(columns={})

    def _with_same_plan(self, **changes: Any) -> Job:
        changed = dataclasses.replace(self, **changes)
        for name in ("_plan", "_canonical"):
            if name in self.__dict__:
                changed.__dict__[name] = self.__dict__[name]
        return changed

    @property
    def program(self) -> Program:
        """The job's program, which knows the arm by its code, so that other code is compiled anew."""
        arm = cast(Arm, CodedArm(self.arm, self.code)) if self.code else self.arm
        return Program(
            arm,
            is_block=self.is_block,
            keep=self.wanted.measured,
            reduce=self.wanted.reduce,
            inspects=self.wanted.inspected,
        )

    @property
    def is_block(self) -> bool:
        """Whether several runs go side by side."""
        return self.lane_count > 0

    @property
    def lane_count(self) -> int:
        """How many runs go side by side; 0 for a single run without a lane axis."""
        return len(next(iter(self.columns.values()), ()))

    @property
    def keeps_states(self) -> bool:
        """Whether states at the ends of stages are kept: not those of lanes of which only some observables are wanted."""
        return not self.is_block or self.wanted == EVERYTHING

    def naming_plain_numbers(self) -> AbstractContextManager[None]:
        """Errors about a field that the arm uses as a plain number name the field and the author's line."""
        one = self.without_lanes()
        return plain_numbers_named(self.arm, one.canonical(), one.inputs)

    def nobody_done(self) -> Array:
        """False for the run, or for every lane."""
        return jnp.zeros((self.lane_count,) if self.is_block else (), bool)

    def key(self) -> Array:
        """The root of all random numbers: one for each lane if seeds are swept, else one that all lanes share."""
        seeds = self.columns.get("seed")
        if seeds is None:
            return jr.key(self.seed, impl=PRNG)
        numbers = jnp.asarray(np.asarray(seeds, np.uint32))
        return jax.vmap(lambda seed: jr.key(seed, impl=PRNG))(numbers)

    def canonical(self) -> Spec:
        """The spec that runs. It is made once."""
        return self._canonical

    @functools.cached_property
    def _canonical(self) -> Spec:
        return canonical_spec(self.arm, self.spec)

    def traced_spec(self) -> Spec:
        """The spec as an argument of the programs, swept fields as columns."""
        numbers = {k: np.asarray(v, float) for k, v in self.columns.items() if k != "seed"}
        floats = {k: jnp.asarray(v) for k, v in numbers.items()}
        spec = self.canonical().traced(continuous_fields(self.arm))
        return spec.replace(**floats) if floats else spec

    def inputs(self) -> Inputs:
        """What the programs compute from."""
        return Inputs(self.traced_spec(), self.key(), self.tables())

    def tables(self) -> PyTree:
        """The arrays that the plan makes on the host, lanes last; None if it makes none."""
        if self.plan().tables is None:
            return None
        specs = [self.lane_spec(lane) for lane in range(self.lane_count)]
        plans = [plan_of(self.arm, spec) for spec in specs] if specs else [self.plan()]
        made = [plan.tables() for plan in plans if plan.tables is not None]
        if not self.is_block:
            return jax.device_put(made[0])
        return jax.device_put(jax.tree.map(lambda *lanes: np.stack(lanes, axis=-1), *made))

    def plan(self) -> Plan:
        """The plan on the host; where lanes differ, that of the first. It is built once."""
        return self._plan

    @functools.cached_property
    def _plan(self) -> Plan:
        with within_memory(self.arm.__name__), exact_numbers(), mistakes_placed(self.arm):
            spec = self.lane_spec(0) if self.is_block else self.canonical()
            return plan_of(self.arm, spec)

    def shape(self) -> Hashable:
        """What jobs of one compiled program have in common."""
        numbers = lane_fields(self.arm, self.spec)
        fixed = [
            (k, v) for k, v in self.canonical().to_json().items() if k not in numbers or v is None
        ]
        return (self.program, self.lane_count, "seed" in self.columns, *fixed)

    def lane_spec(self, lane: int) -> Spec:
        """The plain spec of one lane."""
        return self.canonical().replace(
            **{k: v[lane] for k, v in self.columns.items() if k != "seed"}
        )


@dataclasses.dataclass(frozen=True)
class Position:
    """How far a run has come: everything but the state that a resume needs."""

    stage: int = 0
    local: float = 0.0  # time since the stage began, in its own units; 0: not yet entered
    offset: float = 0.0  # the dataset's time at which the stage began


# Where a run goes on from: its position, and the arrays of its state as `Chunk.leaves` gives them.
Start = tuple[Position, Sequence[np.ndarray]]


def work_before(plan: Plan, position: Position) -> float:
    """Steps (or time) from the beginning to a position, for the progress bar."""
    return (
        sum((stage_length(stage) for stage in plan.stages[: position.stage]), 0.0) + position.local
    )


@dataclasses.dataclass(frozen=True)
class Chunk:
    """What one call of the compiled program gave: records (time first, lanes last), the state, and how far it came.

    - `position`: how far the run has come.
    - `stage`: the stage that the records are of, which began at the dataset's time `began`.
    - `unit`: how much of the dataset's time one unit of the stage's own time is.
    - `time`, `records`, `finite`: the records, and who was finite at each.
    - `state`, `done`: the state at its end, and who has left the stage.
    - `work`: steps (or time) that were done.
    - `inspected`: the expensive observables, if the stage has ended.
    - `sound`: whether anybody's state is finite at its end.
    - `carried`: what reductions carry at its end; None without any.
    - `counts`: which of the records count in reductions; None without any.
    - `keeps_state`: whether its state is kept with the records, if the stage has ended.
    """

    position: Position
    stage: int
    time: np.ndarray
    records: dict[str, np.ndarray]
    finite: np.ndarray
    state: State
    done: Array
    work: float = 0.0
    inspected: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    began: float = 0.0
    unit: float = 1.0
    sound: bool = True
    carried: Carried | None = None
    counts: np.ndarray | None = None
    keeps_state: bool = True

    @property
    def ends_stage(self) -> bool:
        """Whether its stage ended with it."""
        return self.position.stage > self.stage

    def local(self, time: Any) -> Any:
        """The dataset's time in the stage's own units."""
        return (time - self.began) / self.unit

    def leaves(self) -> list[np.ndarray]:
        """The arrays of the state, in order, as a checkpoint keeps them (keys as their raw words), then `done`, `carried`."""
        return leaves_of((self.state, self.done, self.carried))


def observed(job: Job) -> tuple[type[Observables], type[Observables] | None]:
    """The classes that the plan's `measure` and `inspect` return."""
    found = shapes_of(job)
    return type(found.measured), None if found.inspected is None else type(found.inspected)


def shapes_of(job: Job) -> Shapes:
    """What one run of the job is made of, as shapes; remembered, since every block of a sweep asks."""
    one = job.without_lanes().wanting(EVERYTHING)
    name = one.shape()
    if name not in shapes:
        if len(shapes) >= SHAPES_KEPT:
            shapes.clear()
        with within_memory(job.arm.__name__), exact_numbers(), one.naming_plain_numbers():
            shapes[name] = _shapes(job.plan(), Program(job.arm), one.inputs())
    return shapes[name]


def _shapes(plan: Plan, program: Program, inputs: Inputs) -> Shapes:
    state, measured, _ = eqx.filter_eval_shape(begin_run, program, inputs)
    if plan.inspect is None:
        return Shapes(state, measured)
    return Shapes(state, measured, eqx.filter_eval_shape(plan.inspect, state.params))
