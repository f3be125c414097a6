"""Where a fork begins: the state of a run at a time, with what is changed in it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import numpy as np

from ..engine.calls import horizon, stage_length
from ..engine.job import Job, Position
from ..engine.loop import execute
from ..engine.precision import exact_numbers
from ..engine.programs import Program, begin_run
from ..errors import PhasescopeError, PlanError
from ..plan.fork import ForkedArm, Origin, digest_of, parameter_shapes
from ..plan.observables import flag_word
from ..plan.plan import fields_read, never
from ..plan.times import SAME_TIME
from ..spec import Spec
from ..store import Entry, Store
from ..study import Study
from .states import shapes_of_state

Shapes = Mapping[str, tuple[int, ...]]
STATES_KEPT = (
    4  # states of runs at times, in this process: forks of one run differ in what they change
)
LONGER = 2  # times what it is: a number that makes a plan longer is looked for by this


@dataclasses.dataclass(frozen=True)
class Changed:
    """What is done to the state, by full names of parameters, and which numbers are others."""

    clamp: tuple[str, ...]
    reset: tuple[str, ...]
    replace: Mapping[str, np.ndarray]
    number: Mapping[str, Any]

    def told(self, run: str, at: float) -> str:
        """All that decides where a fork begins, in one line."""
        said = {"of": run, "at": at, "clamp": list(self.clamp), "reset": list(self.reset)}
        said |= {"replace": digest_of(self.replace), "change": dict(self.number)}
        return json.dumps(said, sort_keys=True)


@dataclasses.dataclass(frozen=True)
class Base:
    """The run that is forked, the time, and where the store has it."""

    study: Study
    job: Job
    at: float
    entry: Entry
    home: Store

    @property
    def id(self) -> str:
        """The id of the run."""
        return self.entry.id

    @property
    def begin(self) -> float:
        """The dataset's time at which the run begins: 0, or that of a fork."""
        arm = self.job.arm
        return float(json.loads(arm.told)["at"]) if isinstance(arm, ForkedArm) else 0.0

    @property
    def end(self) -> float | None:
        """The dataset's last time as far as the plan says it; None of a fork with other numbers, whose clock may be another."""
        arm = self.job.arm
        if isinstance(arm, ForkedArm) and arm.has_other_numbers:
            return None
        return horizon(self.job.plan())

    def check_time(self, spec: Spec) -> None:
        """Raises `PlanError` if the run does not reach the time, or ends there also with these numbers."""
        end = np.inf if self.end is None else self.end
        if not self.begin * (1 - SAME_TIME) <= self.at <= end * (1 + SAME_TIME):
            to = "" if self.end is None else f" to {self.end:g}"
            raise PlanError(
                f"{self.id} runs from {self.begin:g}{to}: it cannot be forked at {self.at:g}."
            )
        if self.at >= end * (1 - SAME_TIME):
            self._check_goes_on(dataclasses.replace(self.job, spec=spec))

    @functools.cached_property
    def parameters(self) -> Shapes:
        """The shapes of the parameters, by full name."""
        with exact_numbers():
            state = eqx.filter_eval_shape(begin_run, Program(self.job.arm), self.job.inputs())[0]
            return parameter_shapes(state.params)

    def origin(self, changed: Changed, new: Job) -> Origin:
        """Where the fork begins: the state of the run at the time, with what is changed in it."""
        place, leaves = self._state()
        shapes = _shapes_at(self.job, place)
        named = dict(zip(shapes, leaves[:-1], strict=True))
        if changed.reset:
            first = next(execute(self.job))
            start = dict(
                zip(_shapes_at(self.job, first.position), first.leaves()[:-1], strict=True)
            )
            named |= {name: start[name] for name in changed.reset}
        for name, array in changed.replace.items():
            self.check_shape(name, array, named[name].shape)
            named[name] = self._as_kind(name, array, named[name].dtype)
        place = self._place_in(new, place)
        self._check_new(new, place, shapes)
        # Time goes on from where it was, also if a step is worth more of it from now on.
        offset = place.offset
        if changed.number and place.local:
            offset = self.at - float(new.plan().stages[place.stage].unit) * place.local
        return Origin(place.stage, place.local, offset, [*named.values(), leaves[-1]])

    def check_shape(self, name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
        """Raises `PlanError` if an array does not fit in the place of a parameter."""
        if array.shape != shape:
            raise PlanError(
                f'{self.id}: "{name}" has the shape {array.shape}, and this run needs {shape}.'
            )

    def _as_kind(self, name: str, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """An array as numbers of the kind of a parameter; raises `PlanError` if there are none such."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = array.astype(dtype)
        fits = found == array if dtype.kind in "iub" else np.isfinite(found)
        if not fits.all():
            odd = array[~fits].flat[0]
            raise PlanError(f'{self.id}: "{name}" is of {dtype}, and {odd:g} is no such number.')
        return found

    def _state(self) -> tuple[Position, list[np.ndarray]]:
        """How far the run has come at the time, and the leaves of its state there: those stored at its end, else computed."""
        if self._has_stored_end():
            stages = self.job.plan().stages
            leaves = self.home.snapshot(self.entry, flag_word(stages[-1].name))
            return Position(len(stages), 0.0, horizon(self.job.plan())), [
                *leaves,
                np.asarray(self.job.nobody_done()),
            ]
        return _state_at(_Hashed(self.id, self.job), self.at, self.id)

    def _has_stored_end(self) -> bool:
        """Whether the state is that of the end of a run of which no stage can be left early."""
        if self.end is None or self.at < self.end * (1 - SAME_TIME):
            return False
        plan = self.job.plan()
        names = {flag_word(stage.name) for stage in plan.stages}
        return (
            self.entry.status == "finished"
            and len(names) == len(plan.stages)
            and all(stage.until is never for stage in plan.stages)
            and bool(stage_length(plan.stages[-1]))
        )

    def _place_in(self, new: Job, place: Position) -> Position:
        """The place in the plan of the new numbers: from the end of the last stage it goes on in that stage."""
        old = self.job.plan().stages
        if place.stage < len(old):
            return place
        self._check_goes_on(new)
        if len(new.plan().stages) > len(old):
            return place
        length = stage_length(old[-1])
        return Position(len(old) - 1, length, place.offset - float(old[-1].unit) * length)

    def _check_goes_on(self, new: Job) -> None:
        """Raises `PlanError` if the plan of the new numbers has nothing left after the end of the run."""
        old, stages = self.job.plan().stages, new.plan().stages
        if len(stages) > len(old) or stage_length(stages[-1]) > stage_length(old[-1]):
            return
        number = _number_that_makes_longer(self.job)
        how = f", such as change={{{number}}}" if number else ""
        raise PlanError(
            f"{self.id} ends at {self.at:g}, and nothing is left to run: it cannot be forked at {self.at:g} without a change "
            f"that makes its plan longer{how}."
        )

    def _check_new(self, new: Job, place: Position, shapes: Shapes) -> None:
        """Under other numbers the state must have the same form, and the stage must go on."""
        stages = new.plan().stages
        over = place.local and stage_length(stages[place.stage]) <= place.local
        if place.stage >= len(stages) or over:
            raise PlanError(
                f"{self.id}: with these numbers the run would have ended before {self.at:g}, where it is forked."
            )
        if _shapes_at(new, place) != shapes:
            raise PlanError(
                f"{self.id}: with these numbers its state has another shape: what is changed in a fork must be "
                "numbers that the state does not depend on."
            )


def _shapes_at(job: Job, place: Position) -> dict[str, tuple[int, ...]]:
    """The shapes of the state at a place of the plan."""
    return shapes_of_state(job, place.stage if place.local else place.stage - 1)


def _number_that_makes_longer(job: Job) -> str:
    """A field and a value with which the last stage goes on, as in a change; empty if none is found."""
    spec = job.canonical()
    length = stage_length(job.plan().stages[-1])
    for name in fields_read(job.arm, spec):
        value = getattr(spec, name)
        if isinstance(value, bool | str) or not value:
            continue
        with contextlib.suppress(PhasescopeError):
            longer = dataclasses.replace(job, spec=spec.replace(**{name: LONGER * value}))
            if stage_length(longer.plan().stages[-1]) > length:
                return f'"{name}": {LONGER * value:g}'
    return ""


@dataclasses.dataclass(frozen=True)
class _Hashed:
    """A job that is known by its identity."""

    id: str
    job: Job = dataclasses.field(compare=False)


@functools.lru_cache(maxsize=STATES_KEPT)
def _state_at(hashed: _Hashed, at: float, id: str) -> tuple[Position, list[np.ndarray]]:
    """How far the run has come at the time, and the leaves of its state there, as they are computed anew."""
    job = hashed.job
    last = None
    for chunk in execute(job, end=at):
        last = chunk
    assert last is not None
    if not last.sound:
        raise PlanError(f"{id} left the finite numbers before {at:g}: it cannot be forked there.")
    place = last.position
    if place.stage >= len(job.plan().stages):
        if place.offset < at * (1 - SAME_TIME):
            raise PlanError(
                f"{id} had ended before {at:g}: it cannot be forked there. It ended at {place.offset:g}."
            )
        if np.asarray(last.done).all():
            raise PlanError(
                f"{id} ended at {at:g}, where its last stage was left by its own rule (`until`): nothing is left to run, and "
                f"it cannot be forked at {at:g}."
            )
    return place, last.leaves()
