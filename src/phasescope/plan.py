"""Plan: a start, stages of training, and how to measure. An arm is a pure function `Spec -> Plan`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, PyTree

from .dynamics import Dynamics, State
from .errors import PlanError
from .observables import Observables
from .spec import Spec, float_fields


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Record times of one stage, written down but not yet laid out.

    The compiled program builds the plan too, with traced numbers in it; there the times are never laid out.
    """

    last: Any
    count: int | None = None
    first: Any = 1
    log: bool = False

    def lay_out(self) -> np.ndarray:
        """The times themselves, rising, without the 0 at which the stage starts."""
        whole = isinstance(self.last, int | np.integer)
        if self.last <= 0:
            return np.zeros(0, int if whole else float)
        if self.count is None:
            return np.arange(1, int(self.last) + 1)
        first = min(self.first, self.last) if self.log else self.last / self.count
        times = np.geomspace(first, self.last, self.count) if self.log else np.linspace(first, self.last, self.count)
        times[-1] = self.last
        return np.unique(np.maximum(np.round(times), 1).astype(int)) if whole else np.unique(times)


def log_times(last: Any, count: int = 100, first: Any = 1) -> Schedule:
    """About `count` record times from `first` to `last`, evenly spaced in log time (whole if `last` is)."""
    return Schedule(last, count, first, log=True)


def linear_times(last: Any, count: int | None = None) -> Schedule:
    """`count` evenly spaced record times up to `last`; without `count`, every step."""
    return Schedule(last, count)


def keep(key: Array, state: State) -> State:
    """Enter a stage with the state as the last one left it."""
    return state


def never(seen: Observables) -> Bool[Array, ""]:
    """Stay in the stage until its last record time."""
    return jnp.array(False)


@dataclasses.dataclass(frozen=True)
class Stage:
    """One period of training: which dynamics, recorded when, entered how, left when.

    `times` count from the start of the stage, in the dynamics' own time; `unit` says how much of the dataset's
    `time` one such unit is (a step of size eta is eta of gradient-flow time).
    """

    name: str
    dynamics: Dynamics
    times: Schedule | np.ndarray
    enter: Callable[[Array, State], State] = keep
    until: Callable[[Any], Bool[Array, ""]] = never
    unit: Any = 1

    def lay_out(self) -> np.ndarray:
        """The record times on the host, checked."""
        times = self.times.lay_out() if isinstance(self.times, Schedule) else np.asarray(self.times)
        if times.ndim != 1 or (np.diff(times) <= 0).any() or (times.size and times[0] < 0):
            raise PlanError(f'stage "{self.name}": record times must rise from 0 on, got {times}.')
        times = times[times > 0]
        if self.dynamics.divisible and times.size and (times != np.round(times)).any():
            raise PlanError(f'stage "{self.name}": its dynamics counts steps, so record times must be whole numbers.')
        return times.astype(np.int64) if self.dynamics.divisible else times.astype(np.float64)


def as_measured(ds: xr.Dataset) -> xr.Dataset:
    """Add nothing to the records."""
    return ds


@dataclasses.dataclass(frozen=True)
class Plan:
    """A whole procedure.

    `measure` is recorded at every record time; `inspect`, which may be dear, at the end of every stage only.
    `derive` adds on the host what follows from the records; it may meet a leading dim `lane`.
    """

    init: Callable[[Array], PyTree]
    stages: tuple[Stage, ...]
    measure: Callable[[Any], Observables]
    inspect: Callable[[Any], Observables] | None = None
    derive: Callable[[xr.Dataset], xr.Dataset] = as_measured
    coords: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@runtime_checkable
class Arm(Protocol):
    """One description of how the quantities move: training, a reduction, a flow, a closed form."""

    __name__: str

    def __call__(self, spec: Any, /) -> Plan: ...


def continuous(*fields: str) -> Callable[[Arm], Arm]:
    """Integer fields that are mere numbers to an arm (a size that a reduction made a parameter of its equations).

    They may be swept as lanes, and another value compiles nothing. `@ps.continuous("samples", "length")`
    """

    def mark(arm: Arm) -> Arm:
        setattr(arm, "continuous", fields)  # noqa: B010
        return arm

    return mark


def continuous_fields(arm: Arm) -> tuple[str, ...]:
    """The integer fields that `continuous` names."""
    return getattr(arm, "continuous", ())


def lane_fields(arm: Arm, spec: Spec) -> list[str]:
    """Names of the fields that may be swept inside one program of this arm."""
    return [*float_fields(spec), *continuous_fields(arm)]


def plan_of(arm: Arm, spec: Spec) -> Plan:
    """The arm's plan on the host, with its stages laid out once to find mistakes early."""
    plan = arm(spec)
    if not isinstance(plan, Plan):
        raise PlanError(f'arm "{arm.__name__}" returned {type(plan).__name__}, not a Plan.')
    names = [stage.name for stage in plan.stages]
    if not names or len(set(names)) != len(names):
        raise PlanError(f'arm "{arm.__name__}": stages need different names and there must be one, got {names}.')
    for stage in plan.stages:
        stage.lay_out()
    return plan
