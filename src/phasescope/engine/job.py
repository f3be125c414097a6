"""What is executed: a job, how far it has come, and what one call of the compiled program gave."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from ..identity.provenance import PRNG
from ..plan.dynamics import State
from ..plan.observables import Observables
from ..plan.plan import Arm, Plan, canonical_spec, continuous_fields, lane_fields, plan_of
from ..spec import Spec
from .precision import exact_numbers
from .programs import begin_run

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
