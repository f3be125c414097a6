"""How a sweep is cut: floats and seeds are lanes of one program, in blocks; every other field is a task of its own."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..engine.fused.choice import is_fused
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
from .sizes import bytes_of_records, check_sweep_fits
from .sweep_tasks import Axes, Layout, Point, Task, extremes
from .validate import check_read, check_reduce, is_axis, is_whole, seed_numbers, time_numbers

BLOCK_BYTES = 2**23  # of state that a block should not exceed on a CPU
GPU_WIDTH = 8192  # lanes that fill a GPU
# Fused lanes that fill an H200: 7.9e9 run-steps/s, where eight times as many reach 8.8e9.
FUSED_WIDTH = 2**17
FITTING_BYTES = 2**29  # of records that a block wider than GPU_WIDTH may bring back
CPU_WIDTHS = (128, 64, 32, 16)  # lanes that fill the vector units of a core, widest first
CELLS_WIDTH = 1024  # the same for small states of which there are many: what a block costs by itself is shared
LEAST_WIDTH = 8
FILLED = 1 / 4  # of a block, from which on its lanes share one seed


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
    fixed = {k: v for k, v in fields.items() if not is_axis(v)}
    axes = {k: _values(v) for k, v in fields.items() if is_axis(v)}
    first, axes = _first_point(study, arm, preset, fixed, axes, ties)
    inner, outer, tied = _lanes_and_tasks(study, arm, axes, ties)
    seed_list = seed_numbers(study, seeds)
    if block is not None and not (is_whole(block) and block >= 1):
        raise SpecError(f"{study.name}: a block has one or more lanes, got block={block!r}.")
    times = None if at is None else time_numbers(study, at)
    job = dataclasses.replace(Job(arm, first), at=times)
    check_reduce(study, reduce)
    wanted = wanted_of(study.name, job, keep, reduce)
    job = job.wanting(wanted)
    lanes = _product(inner)
    check_sweep_fits(study, job, len(seed_list) * lanes * _product(outer), block or 1)
    widest = block or default_width(job, lanes * len(seed_list))
    if len(seed_list) > 1:
        # With enough floats to fill a block, its lanes share one seed, and so their random numbers.
        filled = lanes >= (block or min(widest, GPU_WIDTH)) * FILLED
        if block == 1 or (lanes > 1 and filled):
            outer = {"seed": tuple(seed_list)} | outer
        else:
            inner = {"seed": tuple(map(float, seed_list))} | inner
    width = block or min(widest, _power_of_two(_product(inner)))
    model = Task(
        study=study.name,
        arm=arm.__name__,
        preset=preset,
        changes=tuple(sorted(fixed.items())),
        seed=int(min(seed_list)),
        columns=(),
        at=times,
        width=width if inner else 1,
        ties=tuple(names for names in ties if names[0] in inner),
        keep=wanted.keep,
        reduce=wanted.reduce,
    )
    columns = _columns(inner, tied)
    tasks = tuple(_blocks(model, _points(outer, tied), columns, _product(inner), width))
    return Layout(study, arm, outer, inner, tasks, tied)


def _first_point(
    study: Study,
    arm: Arm,
    preset: str | None,
    fixed: Mapping[str, Any],
    axes: Axes,
    ties: Sequence[tuple[str, ...]],
) -> tuple[Spec, Axes]:
    """The numbers at the first point of a sweep, and its axes; both are checked."""
    corner = {**fixed, **{k: v[0] for k, v in axes.items() if v}}
    check_read(study, arm, [*fixed, *axes])
    first = study.specify(preset, arm, **corner)
    _check_axes(study, arm, preset, corner, axes, ties)
    if axes:
        check_clashes(study.name, Job(arm, first), axes)
    return first, _as_numbers(study, arm, axes)


def _blocks(
    model: Task,
    points: Iterable[Point],
    columns: Mapping[str, np.ndarray],
    lanes: int,
    width: int,
) -> Iterator[Task]:
    """The blocks of a sweep: at every point of the fields that are no lanes, the lanes in pieces of one width."""
    for point in points:
        changes = dict(model.changes) | dict(point)
        seed = int(changes.pop("seed", model.seed))
        for start in range(0, lanes, width):
            yield dataclasses.replace(
                model,
                changes=tuple(sorted(changes.items())),
                seed=seed,
                columns=_cut(columns, start, width),
            )


def lay_out_cells(
    base: Layout, cells: Mapping[str, tuple[Any, ...]], axis: str, block: int | None = None
) -> Layout:
    """Points that are no product as one more axis of lanes: `cells` has a value of each field for every point.

    `base` is the sweep at one of the points; `axis` names the dim of the points, which are counted from 0.
    """
    counted = tuple(range(len(next(iter(cells.values())))))
    inner = {axis: counted} | base.inner
    tied = base.tied | {axis: dict(cells)}
    columns = _columns(inner, tied)
    columns.pop(axis)
    lanes = _product(inner)
    job = base.job(base.tasks[0]).without_lanes()
    widest = default_width(job, lanes, (CELLS_WIDTH, *CPU_WIDTHS))
    width = block or min(widest, _power_of_two(lanes))
    tasks = [
        dataclasses.replace(task, columns=_cut(columns, start, width), width=width)
        for task in base.tasks[:: base.blocks]
        for start in range(0, lanes, width)
    ]
    return dataclasses.replace(base, inner=inner, tasks=tuple(tasks), tied=tied)


def _check_axes(
    study: Study,
    arm: Arm,
    preset: str | None,
    corner: Mapping[str, Any],
    axes: Axes,
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
            for value in values if name in whole else extremes(values):
                study.specify(preset, arm, **{**corner, name: value})
        if name not in followers and (not values or len(set(values)) != len(values)):
            raise SpecError(
                f"{study.name}: the axis {name} needs values that differ from each other, got {values}."
            )
        if name in floats and None in values:
            raise SpecError(
                f"{study.name}: an axis of {name} is made of numbers, got {values}: run none by itself."
            )


def _as_numbers(study: Study, arm: Arm, axes: Axes) -> Axes:
    """The axes, those of floats as floats."""
    floats = lane_fields(arm, study.default_for(arm))
    whole = continuous_fields(arm)
    return {
        name: tuple(map(float, values)) if name in floats and name not in whole else values
        for name, values in axes.items()
    }


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


def _points(axes: Axes, tied: Mapping[str, Axes]) -> list[Point]:
    """The product of some axes: every point by its fields, with those that move along."""
    each = []
    for name, values in axes.items():
        along = {name: values} | tied.get(name, {})
        points = zip(*along.values(), strict=True)
        each.append([tuple(zip(along, point, strict=True)) for point in points])
    return [tuple(itertools.chain(*parts)) for parts in itertools.product(*each)]


def _columns(inner: Axes, tied: Mapping[str, Axes]) -> dict[str, np.ndarray]:
    """For each field that is swept in lanes its values, one a lane, the last axis fastest."""
    shape = tuple(map(len, inner.values()))
    found = {}
    for number, (axis, values) in enumerate(inner.items()):
        place = [1] * len(shape)
        place[number] = -1
        for name, own in ({axis: values} | tied.get(axis, {})).items():
            found[name] = np.broadcast_to(np.asarray(own).reshape(place), shape).reshape(-1)
    return found


def _values(axis: Any) -> tuple[Any, ...]:
    """The values of an axis as plain numbers and words."""
    if hasattr(axis, "tolist"):
        return tuple(axis.tolist())
    return tuple(x.item() if hasattr(x, "item") else x for x in axis)


def _cut(
    columns: Mapping[str, np.ndarray], start: int, width: int
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The numbers of one block: those of its lanes in every column."""
    return tuple(
        (name, tuple(values[start : start + width].tolist())) for name, values in columns.items()
    )


def _product(axes: Axes) -> int:
    """How many points the product of some axes has."""
    return math.prod(map(len, axes.values()))


def _power_of_two(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << (count - 1).bit_length()


def default_width(job: Job, lanes: int, widths: Sequence[int] = CPU_WIDTHS) -> int:
    """Lanes in a block: what fills a GPU, or a core's vector units; fewer, if their state would leave its caches.

    Fused lanes keep their state in registers, and fill a GPU only if there are many of them: as many as their records leave
    room for.
    """
    if jax.default_backend() != "cpu":
        fitting = FITTING_BYTES // max(bytes_of_records(job), 1)
        widest = min(_power_of_two(lanes), FUSED_WIDTH, 1 << fitting.bit_length() - 1)
        return widest if widest > GPU_WIDTH and _fuses(job, widest) else GPU_WIDTH
    with exact_numbers():
        inputs = job.inputs()
        tables = () if inputs.tables is None else (inputs.tables,)
        start = jax.eval_shape(job.arm(inputs.spec).init, inputs.key, *tables)
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(start))
    fitting = [width for width in widths if width * size <= BLOCK_BYTES]
    return fitting[0] if fitting else LEAST_WIDTH


def _fuses(job: Job, width: int) -> bool:
    """Whether a block of so many runs would be fused lanes in any of its stages."""
    [field, *_] = lane_fields(job.arm, job.spec)
    block = dataclasses.replace(job, columns={field: (getattr(job.spec, field),) * width})
    return any(is_fused(block, index) for index in range(len(job.plan().stages)))
