"""sweep: the same run over the product of some values, as one dataset whose sweep axes are ordinary dims.

Floats and seeds are lanes of one program, in blocks of a fixed width; every other field is a task of its own. Each
block is stored as it finishes, so that a sweep which is stopped goes on where it was.
"""

from __future__ import annotations

import concurrent.futures as futures
import dataclasses
import itertools
import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np
import xarray as xr

from ..discovery import installed
from ..engine.job import Job
from ..engine.precision import exact_numbers
from ..errors import PlanError, SpecError
from ..identity.provenance import PRNG
from ..plan.plan import Arm, canonical_spec, continuous_fields, lane_fields
from ..records.derive import UNDERIVED, is_underived, warn_of_underived
from ..records.names import check_clashes
from ..spec import Spec
from ..store import Store
from ..study import Study, find
from .run import Lab, check_read, is_stored, is_whole, job_for, lab, obtain, time_numbers

BLOCK_BYTES = 2**23  # of state that a block should not exceed on a CPU


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

    def job(self, study: Study, arm: Arm) -> Job:
        """The block, padded to its width by repeating the last lane."""
        job = job_for(study, arm, self.preset, self.seed, self.at, dict(self.changes))
        for name, values in self.columns:
            if name != "seed":
                for value in _telling(values):
                    study.specify(self.preset, **dict(self.changes) | {name: value})
        padded = {k: (*v, *(v[-1],) * (self.width - len(v))) for k, v in self.columns}
        return dataclasses.replace(job, columns=padded)


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a sweep is cut: the tasks in order, and the axes they are folded back into."""

    outer: dict[str, tuple[Any, ...]]
    inner: dict[str, tuple[float, ...]]
    tasks: tuple[Task, ...]

    @property
    def blocks(self) -> int:
        """Blocks for each combination of the outer axes."""
        return len(self.tasks) // math.prod(len(v) for v in self.outer.values())


def sweep(
    study: str | Study,
    arm: str | Arm,
    *,
    preset: str | None = None,
    seeds: int | Sequence[int] = 1,
    at: Iterable[float] | None = None,
    lanes: int | None = None,
    executor: futures.Executor | None = None,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
    **fields: Any,
) -> xr.Dataset:
    """Run over the product of the fields given as lists: `sweep("linear_modes", "flow", epsilon=[1e-3, 1e-4])`.

    `lanes` is the width of a block, which is part of a run's identity (not called `width`: studies have such a field).
    Any `concurrent.futures` executor may carry the tasks; without one, threads of this process do.
    """
    chosen = find(study)
    layout = lay_out(chosen, chosen.arm(arm), preset, seeds, at, lanes, fields)
    return sweep_in(chosen, chosen.arm(arm), layout, lab(store, progress), executor)[0]


def lay_out(
    study: Study,
    arm: Arm,
    preset: str | None,
    seeds: int | Sequence[int],
    at: Iterable[float] | None,
    width: int | None,
    fields: Mapping[str, Any],
) -> Layout:
    """Cut a sweep into blocks of lanes."""
    floats, whole = lane_fields(arm, study.spec), continuous_fields(arm)
    axes = {k: _values(v) for k, v in fields.items() if _is_axis(v)}
    fixed = {k: v for k, v in fields.items() if k not in axes}
    corner = fixed | {k: v[0] for k, v in axes.items() if v}
    first = study.specify(preset, **corner)
    check_read(study, arm, fields)
    for name, values in axes.items():
        for value in values if name in whole else _telling(values):
            study.specify(preset, **corner | {name: value})
        if not values or len(set(values)) != len(values):
            raise SpecError(f"{study.name}: the axis {name} needs values that differ from each other, got {values}.")
        if name in floats and None in values:
            raise SpecError(f"{study.name}: an axis of {name} is made of numbers, got {values}: run none by itself.")
    if axes:
        check_clashes(study.name, Job(arm, first), axes)
    inner = {k: v if k in whole else tuple(map(float, v)) for k, v in axes.items() if k in floats}
    outer = {k: v for k, v in axes.items() if k not in inner}
    numbers = _seed_numbers(study, seeds)
    if width is not None and not (is_whole(width) and width >= 1):
        raise SpecError(f"{study.name}: a block has one or more lanes, got lanes={width!r}.")
    widest = width or default_width(arm, first)
    if len(numbers) > 1:
        # With enough floats to fill a block, its lanes share one seed, and so their random numbers.
        if math.prod(map(len, inner.values())) >= widest / 4:
            outer = {"seed": numbers} | outer
        else:
            inner = {"seed": tuple(map(float, numbers))} | inner
    lanes = list(itertools.product(*inner.values())) if inner else [()]
    width = width or min(widest, 1 << (len(lanes) - 1).bit_length())
    times, tasks = None if at is None else time_numbers(study, at), []
    for combination in itertools.product(*outer.values()):
        changes = dict(zip(outer, combination, strict=True))
        seed = int(changes.pop("seed", min(numbers)))
        for start in range(0, len(lanes), width):
            block = lanes[start : start + width]
            columns = tuple((k, tuple(lane[j] for lane in block)) for j, k in enumerate(inner))
            words = tuple(sorted((fixed | changes).items()))
            tasks.append(Task(study.name, arm.__name__, preset, words, seed, columns, times, width if inner else 1))
    return Layout(outer, inner, tuple(tasks))


def _is_axis(value: Any) -> bool:
    return not isinstance(value, str) and np.ndim(value) == 1


def _values(axis: Any) -> tuple[Any, ...]:
    """The values of an axis as plain numbers and words."""
    if hasattr(axis, "tolist"):
        return tuple(axis.tolist())
    return tuple(x.item() if hasattr(x, "item") else x for x in axis)


def _telling(values: Sequence[Any]) -> list[Any]:
    """The values of an axis among which there is one out of range, if any is: its ends, and what is no number."""
    numbers = [v for v in values if isinstance(v, int | float) and v == v]
    others = [v for v in values if not isinstance(v, int | float) or v != v]
    return [*others, min(numbers), max(numbers)] if numbers else others


def _seed_numbers(study: Study, seeds: Any) -> tuple[int, ...]:
    """The seeds of a sweep: 0, 1, ... if their number is given, else the numbers themselves."""
    if is_whole(seeds):
        numbers = tuple(range(seeds))
    elif _is_axis(seeds):
        numbers = tuple(seeds)
    else:
        numbers = ()
    whole = all(is_whole(seed) and 0 <= seed < 2**32 for seed in numbers)
    if not numbers or not whole or len(set(numbers)) != len(numbers):
        raise SpecError(
            f"{study.name}: seeds are one or more different numbers from 0 to {2**32 - 1}, all of them whole, "
            f"got seeds={seeds!r}."
        )
    return tuple(map(int, numbers))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_width(arm: Arm, spec: Spec) -> int:
    """Lanes in a block: what fills a GPU, or a CPU core's vector units; fewer, if their state would leave its caches."""
    if jax.default_backend() != "cpu":
        return 8192
    with exact_numbers():
        canonical = canonical_spec(arm, spec).traced(continuous_fields(arm))
        start = jax.eval_shape(arm(canonical).init, jr.key(0, impl=PRNG))
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(start))
    return next((width for width in (128, 64, 32, 16) if width * size <= BLOCK_BYTES), 8)


def sweep_in(
    study: Study, arm: Arm, layout: Layout, lab: Lab, executor: futures.Executor | None = None
) -> tuple[xr.Dataset, list[str]]:
    """Run the tasks that the store lacks, then fold all of them into one dataset."""
    if executor is not None and lab.store is not None and not _is_local(executor):
        _run_elsewhere(study, layout, lab, executor)
    label = f"{study.name}.{arm.__name__} block"
    work = lambda task: obtain(study, task.job(study, arm), lab, task.width, label, throw=False)
    with lab.meter(f"{study.name}.{arm.__name__} sweep", len(layout.tasks)) as tick:
        done = [_ticked(tick, result) for result in _map(work, layout.tasks, lab, executor)]
    ds = fold(layout, [ds for ds, _ in done])
    warn_of_underived(f"{study.name}.{arm.__name__}", ds)
    return ds, [id for _, id in done]


def _map(work: Any, tasks: Sequence[Task], lab: Lab, executor: futures.Executor | None) -> Iterable[Any]:
    if len(tasks) == 1 or (executor is None and cores() == 1):
        yield from map(work, tasks)
        return
    pool = executor if executor is not None and _is_local(executor) else futures.ThreadPoolExecutor(cores())
    pending = [pool.submit(work, task) for task in tasks]
    try:
        for future in pending:
            yield future.result()
    except BaseException:
        lab.stop.set()  # what runs saves and stops; what has not begun never does
        for future in pending:
            future.cancel()
        raise
    finally:
        if pool is not executor:
            pool.shutdown(wait=True, cancel_futures=True)


def _run_elsewhere(study: Study, layout: Layout, lab: Lab, executor: futures.Executor) -> None:
    """Other processes write into the store themselves and return only ids, so that a lost one loses nothing finished."""
    if study.name not in installed():
        raise PlanError(
            f"{study.name} is not an installed study, so other processes cannot find it: install it, or use threads."
        )
    assert lab.store is not None
    pending = [executor.submit(run_task, task, str(lab.store.root)) for task in layout.tasks]
    with lab.meter(f"{study.name} on workers", len(pending)) as tick:
        for future in futures.as_completed(pending):
            _ticked(tick, future.result())


def run_task(task: Task, root: str) -> str:
    """What a worker process does: run one block into the store and return its id."""
    study = find(task.study)
    return obtain(study, task.job(study, study.arm(task.arm)), Lab(Store(Path(root))), task.width, throw=False)[1]


def bill(study: Study, arm: Arm, layout: Layout, lab: Lab) -> dict[str, Any]:
    """What a sweep would cost: blocks, lanes, and how many of them the store already has."""
    have = sum(is_stored(study, task.job(study, arm), lab, task.width) for task in layout.tasks)
    return {
        "axes": {k: len(v) for k, v in (layout.outer | layout.inner).items()},
        "runs": sum(max((len(v) for _, v in t.columns), default=1) for t in layout.tasks),
        "programs": math.prod(len(v) for k, v in layout.outer.items() if k != "seed"),
        "blocks": len(layout.tasks), "width": layout.tasks[0].width, "stored": have, "missing": len(layout.tasks) - have,
    }  # fmt: skip


def fold(layout: Layout, results: Sequence[xr.Dataset]) -> xr.Dataset:
    """Blocks of lanes back into a grid, last axis first."""
    grid = []
    for start in range(0, len(results), layout.blocks):
        blocks = [
            ds.isel(lane=slice(len(task.columns[0][1]))) if layout.inner else ds
            for ds, task in zip(results[start : start + layout.blocks], layout.tasks[start:], strict=False)
        ]
        grid.append(_unfold(_concatenate(blocks, "lane") if len(blocks) > 1 else blocks[0], layout.inner))
    for axis, values in reversed(layout.outer.items()):
        n = len(values)
        along = xr.Variable(axis, list(values))
        grid = [_concatenate(grid[i : i + n], along) for i in range(0, len(grid), n)]
    return grid[0]


def _concatenate(parts: Sequence[xr.Dataset], along: str | xr.Variable) -> xr.Dataset:
    """One dataset along an axis; a part that lacks a record (it ended early, or is smaller) has nan there.

    combine_by_coords cannot align sweeps that change a shape; concatenation axis by axis can.
    """
    parts = _alike(parts)
    marks = ["diverged_at", UNDERIVED] if is_underived(parts[0]) else ["diverged_at"]
    bare = [ds.drop_vars("stage").reset_coords(marks) for ds in parts]
    ds = xr.concat(bare, along, join="outer", data_vars="minimal" if isinstance(along, str) else "all",
                   coords="minimal", compat="override", combine_attrs="drop_conflicts")  # fmt: skip
    stage = _stages(parts, along)
    return ds.set_coords(marks).assign_coords(stage=stage.assign_attrs(parts[0]["stage"].attrs))


def _alike(parts: Sequence[xr.Dataset]) -> Sequence[xr.Dataset]:
    """The parts with the same variables: where nothing could be derived, NaN stands for what the others have."""
    if not any(map(is_underived, parts)):
        return parts
    full: dict[Hashable, xr.DataArray] = {}
    for ds in parts:
        full = dict(ds.data_vars) | full
    return [_completed(ds, full) for ds in parts]


def _completed(ds: xr.Dataset, full: Mapping[Hashable, xr.DataArray]) -> xr.Dataset:
    """The dataset with NaN for the variables of `full` that it lacks, over its own coordinates where it has them."""
    lacking = {}
    for name, model in full.items():
        if name not in ds:
            coords = {d: ds[d] if d in ds.coords else model[d] for d in model.dims if d in model.coords}
            sizes = {d: ds.sizes.get(d, model.sizes[d]) for d in model.dims}
            empty = np.full(tuple(sizes.values()), np.nan)
            lacking[name] = xr.DataArray(empty, coords, list(sizes), attrs=model.attrs)
    ds = ds.assign(lacking)
    if not is_underived(ds):
        marks = xr.zeros_like(ds["diverged_at"], bool).reset_coords(drop=True)
        ds = ds.assign_coords({UNDERIVED: marks})
    return ds


def _stages(parts: Sequence[xr.Dataset], along: str | xr.Variable) -> xr.DataArray:
    """The stage of every record, -1 where there is none; it varies along the axis only if the parts disagree."""
    stages = [ds["stage"].reset_coords(drop=True) for ds in parts]
    if isinstance(along, str):  # every part has several entries along the axis already
        sizes = [ds.sizes[along] for ds in parts]
        stages = [s if along in s.dims else s.expand_dims({along: n}) for s, n in zip(stages, sizes, strict=True)]
    stage = xr.concat(stages, along, join="outer", fill_value=np.int32(-1), coords="minimal", compat="override")
    common = stage.max(along if isinstance(along, str) else str(along.dims[0]))
    return common if bool(((stage == common) | (stage < 0)).all()) else stage


def _unfold(ds: xr.Dataset, inner: Mapping[str, tuple[float, ...]]) -> xr.Dataset:
    """The dim `lane` as the product of the swept axes."""
    if not inner:
        return ds
    shape = tuple(len(v) for v in inner.values())
    ds = ds.drop_vars(list(inner), errors="ignore")

    def split(v: xr.Variable) -> xr.Variable:
        if "lane" not in v.dims:
            return v
        v = v.transpose("lane", ...)
        return xr.Variable((*inner, *v.dims[1:]), v.values.reshape(*shape, *v.shape[1:]), v.attrs)

    data = {k: split(v.variable) for k, v in ds.data_vars.items()}
    coords = {k: split(v.variable) for k, v in ds.coords.items()}
    axes = {k: np.asarray(v, int if k == "seed" else None) for k, v in inner.items()}
    return xr.Dataset(data, coords | axes, ds.attrs)


def _is_local(executor: futures.Executor) -> bool:
    return isinstance(executor, futures.ThreadPoolExecutor)


def _ticked(tick: Any, result: Any) -> Any:
    tick(1)
    return result
