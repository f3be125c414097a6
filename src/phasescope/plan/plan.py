"""Plan: a start, stages of training, and how to measure. An arm is a pure function `Spec -> Plan`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, PyTree

from ..errors import PlanError, SpecError, nearest
from ..spec import Spec, float_fields
from .dynamics import Dynamics, State
from .numbers import Number
from .observables import Observables
from .times import Schedule


def keep(key: Array, state: State) -> State:
    """Enter a stage with the state as the last one left it: what `Stage(enter=...)` does by default.

        >>> state = ps.State(1.0)
        >>> ps.keep(jax.random.key(0), state) is state
        True

    **Arguments:** `key`: of the stage. `state`: at the end of the stage before.

    **Returns:** the state.
    """
    return state


def never(seen: Observables) -> Bool[Array, ""]:
    """Stay in the stage until its last record time."""
    return jnp.array(False)


@dataclasses.dataclass(frozen=True)
class Stage:
    """One period of training: which dynamics, recorded when, entered how, left when.

        >>> ps.Stage("training", ps.formula(lambda t: t), ps.linear_times(2.0, 2)).lay_out().tolist()
        [1.0, 2.0]

    **Arguments:**

    - `name`: one or more words; no two stages of a plan share it.
    - `dynamics`: what moves the state.
    - `times`: record times from the start of the stage, in the dynamics' own time.
    - `enter`: of a key and the state, makes the state that the stage begins with.
    - `until`: of the observables at a record, whether to leave the stage there.
    - `unit`: how much of the dataset's `time` one unit of the dynamics' time is (a step of size eta is
      eta of gradient-flow time).

    **Raises:** `PlanError`, when laid out, if the times do not rise from 0 on, or are not whole where
    the dynamics counts steps.
    """

    name: str
    dynamics: Dynamics
    times: Schedule | np.ndarray
    enter: Callable[[Array, State], State] = keep
    until: Callable[[Any], Bool[Array, ""]] = never
    unit: Number = 1

    def lay_out(self) -> np.ndarray:
        """The record times on the host, checked."""
        times = self.times.lay_out() if isinstance(self.times, Schedule) else np.asarray(self.times)
        if times.ndim != 1 or (np.diff(times) <= 0).any() or (times.size and times[0] < 0):
            raise PlanError(f'stage "{self.name}": record times must rise from 0 on, got {times}.')
        times = times[times > 0]
        if self.dynamics.divisible and times.size and (times != np.round(times)).any():
            raise PlanError(
                f'stage "{self.name}": its dynamics counts steps, so record times must be whole numbers.'
            )
        return times.astype(np.int64) if self.dynamics.divisible else times.astype(np.float64)


def as_measured(ds: xr.Dataset) -> xr.Dataset:
    """Add nothing to the records."""
    return ds


@dataclasses.dataclass(frozen=True)
class Plan:
    """A whole procedure: a start, stages, and how to measure.

        >>> study = ps.find("linear_modes")
        >>> plan = study.arm("logistic")(study.spec)
        >>> [stage.name for stage in plan.stages]
        ['training']

    **Arguments:**

    - `init`: of a key, the parameters at the start.
    - `stages`: one after the other.
    - `measure`: of the parameters, what is recorded at every record time.
    - `inspect`: the same for what is expensive, at the end of every stage only.
    - `derive`: of the dataset, adds on the host what follows from the records; it may meet a leading
      dim `lane`.
    - `coords`: values of named axes; those that are not given are counted from 0.
    - `tables`: makes arrays on the host, from plain numbers, that the program takes as they are (a
      look-up table, a dataset); `init` then has them as its second argument.
    """

    init: Callable[..., PyTree]
    stages: tuple[Stage, ...]
    measure: Callable[[Any], Observables]
    inspect: Callable[[Any], Observables] | None = None
    derive: Callable[[xr.Dataset], xr.Dataset] = as_measured
    coords: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tables: Callable[[], PyTree] | None = None


@runtime_checkable
class Arm(Protocol):
    """One description of how the quantities move: training, a reduction, a flow, a closed form."""

    @property
    def __name__(self) -> str: ...

    def __call__(self, spec: Any, /) -> Plan: ...


@dataclasses.dataclass(frozen=True, eq=False)
class DeclaredArm:
    """An arm that says which fields of which Spec it reads. Two that wrap one function are equal."""

    function: Arm
    reads: tuple[str, ...] | None = None
    continuous: tuple[str, ...] = ()
    # Of a Spec only the methods are code; its numbers are what was asked.
    spec: type[Spec] | None = dataclasses.field(default=None, metadata={"identity": False})

    if TYPE_CHECKING:  # of the function, see below
        __name__: str = dataclasses.field(init=False)
        __qualname__: str = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            object.__setattr__(self, name, getattr(self.function, name))
        object.__setattr__(self, "__wrapped__", self.function)  # `inspect` looks through it

    def __call__(self, spec: Any, /) -> Plan:
        return self.function(spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeclaredArm) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return f"<arm {self.__name__}>"

    def __reduce__(self) -> str:
        return self.__qualname__  # pickled by name, as a function is


def arm(
    *,
    reads: Iterable[str] | None = None,
    continuous: Iterable[str] = (),
    spec: type[Spec] | None = None,
) -> Callable[[Arm], DeclaredArm]:
    """Declare what an arm, a pure function `Spec -> Plan`, reads.

        >>> @ps.arm(reads=("samples", "eta"), continuous=("samples",))
        ... def reduction(spec): ...
        >>> reduction.__name__, reduction.reads
        ('reduction', ('samples', 'eta'))

    **Arguments:**

    - `reads`: every field of the spec that can change what the arm records: another one, given by a
      caller, is an error, and runs that differ in it are one run. Without it, as for a plain function,
      all fields count.
    - `continuous`: integer fields that are mere numbers to the arm (a size that a reduction made a
      parameter of its equations): they may be swept as lanes, and another value compiles nothing.
    - `spec`: the Spec class of the arm, where it is not that of the study: arms of two models have
      little in common. What they share is a class that both extend.

    **Returns:** a decorator.

    **Raises:** `PlanError` if a field is called continuous and is not read.
    """
    fields = None if reads is None else tuple(reads)
    numbers = tuple(continuous)
    for name in numbers:
        if fields is not None and name not in fields:
            raise PlanError(
                f'an arm calls "{name}" continuous but does not read it: name it in `reads` too.'
            )

    def declare(function: Arm) -> DeclaredArm:
        return DeclaredArm(function, fields, numbers, spec)

    return declare


def fields_read(arm: Arm, spec: Spec) -> list[str]:
    """The fields of the spec that the arm reads, in the spec's order; all of them, if it does not say."""
    known = [f.name for f in dataclasses.fields(spec)]
    if not isinstance(arm, DeclaredArm) or arm.reads is None:
        return known
    for name in arm.reads:
        if name not in known:
            raise PlanError(
                f'arm "{arm.__name__}" says that it reads "{name}", which is no field. {nearest(name, known)}'
            )
    return [name for name in known if name in arm.reads]


def canonical_spec(arm: Arm, spec: Spec) -> Spec:
    """The spec with every field that the arm does not read at its default, so that it can change nothing.

    A default which the spec's own rules do not allow beside the rest is left out.
    """
    read = fields_read(arm, spec)
    unread = [
        f
        for f in dataclasses.fields(spec)
        if f.name not in read and f.default is not dataclasses.MISSING
    ]
    try:
        return spec.replace(**{f.name: f.default for f in unread})
    except SpecError:
        for f in unread:
            with contextlib.suppress(SpecError):
                spec = spec.replace(**{f.name: f.default})
        return spec


def continuous_fields(arm: Arm) -> tuple[str, ...]:
    """The integer fields that are mere numbers to the arm."""
    return arm.continuous if isinstance(arm, DeclaredArm) else ()


def lane_fields(arm: Arm, spec: Spec) -> list[str]:
    """Names of the fields that may be swept inside one program of this arm."""
    read = fields_read(arm, spec)
    return [name for name in (*float_fields(spec), *continuous_fields(arm)) if name in read]


def plan_of(arm: Arm, spec: Spec) -> Plan:
    """The arm's plan on the host, with its stages laid out once to find mistakes early."""
    plan = arm(spec)
    if not isinstance(plan, Plan):
        raise PlanError(f'arm "{arm.__name__}" returned {type(plan).__name__}, not a Plan.')
    names = [stage.name for stage in plan.stages]
    if not names or len(set(names)) != len(names):
        raise PlanError(
            f'arm "{arm.__name__}": stages need different names and there must be one, got {names}.'
        )
    for stage in plan.stages:
        stage.lay_out()
    return plan
