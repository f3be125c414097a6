"""How a sweep is cut: floats and seeds are lanes of one program, in blocks; every other field is a task of its own."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax

from ..engine.job import Job
from ..engine.precision import exact_numbers
from ..errors import SpecError
from ..plan.plan import Arm, continuous_fields, lane_fields
from ..plan.reductions import Reduction, Reductions
from ..plan.times import Times
from ..records.choice import wanted_of
from ..records.names import check_clashes
from ..spec import Spec
from ..study import Study
from .sizes import check_sweep_fits
from .validate import check_read, is_axis, is_whole, requested_job, seed_numbers, time_numbers

BLOCK_BYTES = 2**23  # of state that a block should not exceed on a CPU
GPU_WIDTH = 8192  # lanes that fill a GPU
CPU_WIDTHS = (128, 64, 32, 16)  # lanes that fill the vector units of a core, widest first
LEAST_WIDTH = 8
FILLED = 1 / 4  # of a block, from which on its lanes share one seed


@dataclasses.dataclass(frozen=True)
class Task:
    """One block of lanes: what a worker needs, in plain values."""

    study: str
    arm: str
    preset: str | None
    changes: tuple[tuple[str, Any], ...]
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
        """The block, padded to its width by repeating the last lane."""
        changes = dict(self.changes)
        job = requested_job(
            study,
            arm,
            preset=self.preset,
            seed=self.seed,
            at=self.at,
            keep=self.keep,
            reduce=self.reduce,
            changes=changes,
        )
        for point in self._points_to_check():
            study.specify(self.preset, arm, **changes | point)
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
            for value in _extremes(values):
                yield {name: value}


@dataclasses.dataclass(frozen=True)
class Layout:
    """A sweep of an arm as tasks in order, and the axes they are folded back into.

    `inner` axes are lanes, `outer` ones are tasks. `tied` has the values of the fields that move along
    with the one that names an axis.
    """

    study: Study
    arm: Arm
    outer: dict[str, tuple[Any, ...]]
    inner: dict[str, tuple[float, ...]]
    tasks: tuple[Task, ...]
    tied: dict[str, dict[str, tuple[Any, ...]]] = dataclasses.field(default_factory=dict)

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
        return [task.job(self.study, self.arm) for task in self.tasks]


def lay_out(
    study: Study,
    arm: str | Arm,
    fields: Mapping[str, Any],
    *,
    preset: str | None = None,
    seeds: int | Sequence[int] = 1,
    at: Times | None = None,
    block: int | None = None,
    ties: Sequence[tuple[str, ...]] = (),
    keep: Iterable[str] | None = None,
    reduce: Mapping[str, Reduction] | Reductions | None = None,
) -> Layout:
    """Cut a sweep into blocks of lanes; fields given as lists are its axes, `block` is the width of a block.

    `ties` names fields that move together; the first of them names the axis.
    """
    arm = study.arm(arm)
    axes = {k: _values(v) for k, v in fields.items() if is_axis(v)}
    fixed = {k: v for k, v in fields.items() if k not in axes}
    corner = fixed | {k: v[0] for k, v in axes.items() if v}
    check_read(study, arm, fields)
    first = study.specify(preset, arm, **corner)
    _check_axes(study, arm, preset, corner, axes, ties)
    if axes:
        check_clashes(study.name, Job(arm, first), axes)
    axes = _as_numbers(study, arm, axes)
    inner, outer, tied = _lanes_and_tasks(study, arm, axes, ties)
    seed_list = seed_numbers(study, seeds)
    if block is not None and not (is_whole(block) and block >= 1):
        raise SpecError(f"{study.name}: a block has one or more lanes, got block={block!r}.")
    wanted = wanted_of(study.name, Job(arm, first), keep, reduce)
    widest = block or default_width(arm, first)
    times = None if at is None else time_numbers(study, at)
    runs = len(seed_list) * math.prod(map(len, [*inner.values(), *outer.values()]))
    check_sweep_fits(study, Job(arm, first, at=times), runs, block or 1)
    numbers = tuple(seed_list)
    if len(numbers) > 1:
        # With enough floats to fill a block, its lanes share one seed, and so their random numbers.
        if math.prod(map(len, inner.values())) >= widest * FILLED:
            outer = {"seed": numbers} | outer
        else:
            inner = {"seed": tuple(map(float, numbers))} | inner
    lanes = _points(inner, tied)
    width = block or min(widest, _power_of_two(len(lanes)))
    tasks = []
    for combination in _points(outer, tied):
        changes = dict(combination)
        seed = int(changes.pop("seed", min(numbers)))
        for start in range(0, len(lanes), width):
            task = Task(
                study=study.name,
                arm=arm.__name__,
                preset=preset,
                changes=tuple(sorted((fixed | changes).items())),
                seed=seed,
                columns=_columns(lanes[start : start + width]),
                at=times,
                width=width if inner else 1,
                ties=tuple(names for names in ties if names[0] in inner),
                keep=wanted.keep,
                reduce=wanted.reduce,
            )
            tasks.append(task)
    return Layout(study, arm, outer, inner, tuple(tasks), tied)


def _check_axes(
    study: Study,
    arm: Arm,
    preset: str | None,
    corner: Mapping[str, Any],
    axes: Mapping[str, tuple[Any, ...]],
    ties: Sequence[tuple[str, ...]],
) -> None:
    """Every axis has values that are in range and differ from each other."""
    floats = lane_fields(arm, study.default_for(arm))
    whole = continuous_fields(arm)
    followers = {name for names in ties for name in names[1:]}
    for names in ties:
        for point in zip(*(axes[name] for name in names), strict=True):
            study.specify(preset, arm, **{**corner, **dict(zip(names, point, strict=True))})
    for name, values in axes.items():
        if not any(name in names for names in ties):
            for value in values if name in whole else _extremes(values):
                study.specify(preset, arm, **{**corner, name: value})
        if name not in followers and (not values or len(set(values)) != len(values)):
            raise SpecError(
                f"{study.name}: the axis {name} needs values that differ from each other, got {values}."
            )
        if name in floats and None in values:
            raise SpecError(
                f"{study.name}: an axis of {name} is made of numbers, got {values}: run none by itself."
            )


def _as_numbers(
    study: Study, arm: Arm, axes: Mapping[str, tuple[Any, ...]]
) -> dict[str, tuple[Any, ...]]:
    """The axes, those of floats as floats."""
    floats = lane_fields(arm, study.default_for(arm))
    whole = continuous_fields(arm)
    return {
        name: tuple(map(float, values)) if name in floats and name not in whole else values
        for name, values in axes.items()
    }


Axes = dict[str, tuple[Any, ...]]


def _lanes_and_tasks(
    study: Study, arm: Arm, axes: Axes, ties: Sequence[tuple[str, ...]]
) -> tuple[Axes, Axes, dict[str, Axes]]:
    """The axes that are lanes of one program, those that are tasks, and what moves along with them."""
    floats = lane_fields(arm, study.default_for(arm))
    tied = {names[0]: {name: axes[name] for name in names[1:]} for names in ties}
    followers = {name for others in tied.values() for name in others}
    inner: Axes = {}
    outer: Axes = {}
    for name, values in axes.items():
        if name in followers:
            continue
        if all(field in floats for field in (name, *tied.get(name, ()))):
            inner[name] = values
        else:
            outer[name] = values
    return inner, outer, tied


def _points(axes: Axes, tied: Mapping[str, Axes]) -> list[tuple[tuple[str, Any], ...]]:
    """The product of some axes: every point by its fields, with those that move along."""
    each = []
    for name, values in axes.items():
        along = {name: values} | tied.get(name, {})
        points = zip(*along.values(), strict=True)
        each.append([tuple(zip(along, point, strict=True)) for point in points])
    return [tuple(itertools.chain(*parts)) for parts in itertools.product(*each)]


def _columns(
    lanes: Sequence[tuple[tuple[str, float], ...]],
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """For each field its values, one a lane."""
    by_lane = [dict(lane) for lane in lanes]
    return tuple((name, tuple(lane[name] for lane in by_lane)) for name in by_lane[0])


def _values(axis: Any) -> tuple[Any, ...]:
    """The values of an axis as plain numbers and words."""
    if hasattr(axis, "tolist"):
        return tuple(axis.tolist())
    return tuple(x.item() if hasattr(x, "item") else x for x in axis)


def _extremes(values: Sequence[Any]) -> list[Any]:
    """The values of an axis among which there is one out of range, if any is: its ends, and what is no number."""
    numbers = [v for v in values if isinstance(v, int | float) and v == v]
    others = [v for v in values if not isinstance(v, int | float) or v != v]
    return [*others, min(numbers), max(numbers)] if numbers else others


def _power_of_two(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << (count - 1).bit_length()


def default_width(arm: Arm, spec: Spec) -> int:
    """Lanes in a block: what fills a GPU, or a core's vector units; fewer, if their state would leave its caches."""
    if jax.default_backend() != "cpu":
        return GPU_WIDTH
    with exact_numbers():
        inputs = Job(arm, spec).inputs()
        tables = () if inputs.tables is None else (inputs.tables,)
        start = jax.eval_shape(arm(inputs.spec).init, inputs.key, *tables)
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(start))
    fitting = [width for width in CPU_WIDTHS if width * size <= BLOCK_BYTES]
    return fitting[0] if fitting else LEAST_WIDTH
