"""The blocks of a sweep: what each of them is to run, as plain values that can travel, and all of them with their axes."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from ..engine.job import Job
from ..plan.plan import Arm
from ..plan.reductions import Reductions
from ..study import Study
from .validate import requested_job

# The values of every axis, by its name.
Axes = dict[str, tuple[Any, ...]]
# A point of some axes: fields with their values.
Point = tuple[tuple[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class Task:
    """One block of lanes: what a worker needs, in plain values."""

    study: str
    arm: str
    preset: str | None
    changes: Point
    seed: int
    columns: tuple[tuple[str, tuple[float, ...]], ...]  # one value a lane, without padding
    at: tuple[float, ...] | None
    width: int
    ties: tuple[tuple[str, ...], ...] = ()  # columns that are in range together
    keep: tuple[str, ...] | None = None
    reduce: Reductions = ()

    @property
    def lanes(self) -> int:
        """Lanes that were asked for."""
        return len(self.columns[0][1]) if self.columns else 1

    def in_words(self) -> str:
        """The numbers by which the block differs from the others of its sweep."""
        words = [f"{name}={value}" for name, value in self.changes]
        for name, values in self.columns:
            low, high = min(values), max(values)
            words.append(f"{name}={low:g}" if low == high else f"{name}={low:g} to {high:g}")
        if "seed" not in dict(self.columns):
            words.append(f"seed={self.seed}")
        return " ".join(words)

    def job(self, study: Study, arm: Arm) -> Job:
        """The block, padded to its width by repeating the last lane; its numbers are checked."""
        job = self.without_lanes(study, arm)
        for point in self._points_to_check():
            study.specify(self.preset, arm, **dict(self.changes) | point)
        return self.with_lanes(job)

    def without_lanes(self, study: Study, arm: Arm) -> Job:
        """The run that the lanes of the block are variations of; the same for all blocks that differ in lanes only."""
        return requested_job(
            study,
            arm,
            preset=self.preset,
            seed=self.seed,
            at=self.at,
            keep=self.keep,
            reduce=self.reduce,
            changes=dict(self.changes),
        )

    def with_lanes(self, job: Job) -> Job:
        """A run without lanes, as this block."""
        padding = self.width - self.lanes
        padded = {name: (*values, *(values[-1],) * padding) for name, values in self.columns}
        return dataclasses.replace(job, columns=padded)

    def _points_to_check(self) -> Iterator[dict[str, Any]]:
        """Numbers among which there is one out of range, if any lane has one."""
        columns = {name: values for name, values in self.columns if name != "seed"}
        for names in self.ties:
            together = zip(*(columns.pop(name) for name in names), strict=True)
            for values in dict.fromkeys(together):
                yield dict(zip(names, values, strict=True))
        for name, values in columns.items():
            for value in extremes(values):
                yield {name: value}


@dataclasses.dataclass(frozen=True)
class Layout:
    """A sweep of an arm as tasks in order, and the axes they are folded back into.

    `inner` axes are lanes, `outer` ones are tasks. `tied` has the values of the fields that move along
    with the one that names an axis.
    """

    study: Study
    arm: Arm
    outer: Axes
    inner: dict[str, tuple[float, ...]]
    tasks: tuple[Task, ...]
    tied: dict[str, Axes] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """What is swept, in words."""
        return f"{self.study.name}.{self.arm.__name__}"

    @property
    def blocks(self) -> int:
        """Blocks for each combination of the outer axes."""
        return len(self.tasks) // math.prod(len(v) for v in self.outer.values())

    def jobs(self) -> list[Job]:
        """The job of every task."""
        return [self.job(task) for task in self.tasks]

    def job(self, task: Task) -> Job:
        """The job of a task. What blocks that differ in lanes only have in common is made, and checked, once."""
        name = (task.changes, task.seed)
        if name not in self._without_lanes:
            self._without_lanes[name] = self._checked(task)
        return task.with_lanes(self._without_lanes[name])

    @functools.cached_property
    def _without_lanes(self) -> dict[Hashable, Job]:
        return {}

    def _checked(self, task: Task) -> Job:
        """The run without lanes of a task, after a look at the numbers that are swept beside its own."""
        job = task.without_lanes(self.study, self.arm)
        changes = dict(task.changes)
        for axis in self.inner:
            for point in self._points_to_check(axis):
                self.study.specify(task.preset, self.arm, **changes | point)
        return job

    def _points_to_check(self, axis: str) -> Iterator[dict[str, Any]]:
        """Numbers along an axis of lanes among which there is one out of range, if any lane has one."""
        tied = self.tied.get(axis, {})
        if axis == "seed":
            return
        if (
            axis not in self.arm_fields
        ):  # cells, each with numbers of their own: all are checked by themselves
            for name, values in tied.items():
                yield from ({name: value} for value in extremes(values))
        elif tied:
            along = {axis: self.inner[axis]} | tied
            for point in zip(*along.values(), strict=True):
                yield dict(zip(along, point, strict=True))
        else:
            yield from ({axis: value} for value in extremes(self.inner[axis]))

    @property
    def arm_fields(self) -> set[str]:
        """The fields of the Spec that the arm takes."""
        return {field.name for field in dataclasses.fields(self.study.default_for(self.arm))}


def extremes(values: Sequence[Any]) -> list[Any]:
    """The values of an axis among which there is one out of range, if any is: its ends, and what is no number."""
    numbers = [v for v in values if isinstance(v, int | float) and v == v]
    others = [v for v in values if not isinstance(v, int | float) or v != v]
    return [*others, min(numbers), max(numbers)] if numbers else others
