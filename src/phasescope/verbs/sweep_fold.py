"""fold: the blocks of a sweep back into one dataset, whose sweep axes are ordinary dims."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import xarray as xr

from ..records.dataset import ENDED
from ..records.derive import UNDERIVED, is_underived
from .sweep_tasks import Layout, Task


def fold(layout: Layout, blocks: Sequence[xr.Dataset | None]) -> xr.Dataset:
    """Blocks of lanes back into a grid, last axis first. One that is missing is NaN; there must be one that is not."""
    model = next(block for block in blocks if block is not None)
    results = [_absent(model) if block is None else block for block in blocks]
    grid = []
    for start in range(0, len(results), layout.blocks):
        stop = start + layout.blocks
        pairs = zip(layout.tasks[start:stop], results[start:stop], strict=True)
        parts = [_without_padding(task, ds) for task, ds in pairs]
        joined = _concatenate(parts, "lane") if len(parts) > 1 else parts[0]
        grid.append(_unfold(joined, layout))
    for axis, values in reversed(layout.outer.items()):
        along = xr.Variable(axis, list(values))
        count = len(values)
        grid = [_concatenate(grid[i : i + count], along) for i in range(0, len(grid), count)]
    return grid[0].assign_coords(_followers(layout))


def _absent(model: xr.Dataset) -> xr.Dataset:
    """A block like another one, of which nothing is known."""
    empty = {name: xr.full_like(v, np.nan, float) for name, v in model.data_vars.items()}
    never = xr.full_like(model["diverged_at"], np.nan, float)
    # Attributes that differ are dropped when blocks are joined: what names one run must not name all.
    return model.assign(empty).assign_coords(diverged_at=never).assign_attrs(id="", folder="")


def _followers(layout: Layout) -> dict[str, xr.Variable]:
    """The fields that move along with the one that names an axis, as coordinates along it."""
    return {
        name: xr.Variable(axis, list(values))
        for axis, others in layout.tied.items()
        for name, values in others.items()
    }


def _without_padding(task: Task, ds: xr.Dataset) -> xr.Dataset:
    """The lanes that were asked for."""
    return ds.isel(lane=slice(task.lanes)) if task.columns else ds


def _concatenate(parts: Sequence[xr.Dataset], along: str | xr.Variable) -> xr.Dataset:
    """One dataset along an axis; a part that lacks a record (it was planned to end earlier, or is smaller) has nan there.

    A part that left a stage early stays where it stopped, as its lanes do that left it before the others. Blocks of one
    program would else be told apart by it, and how a sweep is cut into blocks says nothing about its runs.
    combine_by_coords cannot align sweeps that change a shape; concatenation axis by axis can.
    """
    parts = _staying(_alike(parts))
    if isinstance(along, str) or along.dims == ("seed",):
        parts = _with_common_ends(parts)
    marks = ["diverged_at", UNDERIVED] if is_underived(parts[0]) else ["diverged_at"]
    bare = [ds.drop_vars("stage").reset_coords(marks) for ds in parts]
    ds = xr.concat(
        bare,
        along,
        join="outer",
        data_vars="minimal" if isinstance(along, str) else "all",
        coords="minimal",
        compat="override",
        combine_attrs="drop_conflicts",
    )
    stage = _stages(parts, along)
    ds.attrs.pop(ENDED, None)
    ds.attrs |= _end_of_all(parts)
    if "spec" in parts[0].attrs:  # of the first run; what was swept is an axis
        ds.attrs["spec"] = parts[0].attrs["spec"]
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
            coords = {
                d: ds[d] if d in ds.coords else model[d] for d in model.dims if d in model.coords
            }
            sizes = {d: ds.sizes.get(d, model.sizes[d]) for d in model.dims}
            empty = np.full(tuple(sizes.values()), np.nan)
            lacking[name] = xr.DataArray(empty, coords, list(sizes), attrs=model.attrs)
    ds = ds.assign(lacking)
    if not is_underived(ds):
        marks = xr.zeros_like(ds["diverged_at"], bool).reset_coords(drop=True)
        ds = ds.assign_coords({UNDERIVED: marks})
    return ds


def _staying(parts: Sequence[xr.Dataset]) -> Sequence[xr.Dataset]:
    """The parts, of which those that left a stage early repeat their last record at the later times of the others.

    Where record times were asked for, the last record may be older than the end of the run; it is not repeated then.
    """
    times = np.unique(np.concatenate([ds["time"].values for ds in parts]))
    return [_stays(ds, times[times > ds["time"].values[-1]]) for ds in parts]


def _stays(ds: xr.Dataset, later: np.ndarray) -> xr.Dataset:
    if not later.size or ds.attrs.get(ENDED) != ds["time"].values[-1]:
        return ds
    last = np.full(later.size, ds.sizes["time"] - 1)
    rows = np.append(np.arange(ds.sizes["time"]), last)
    times = np.append(ds["time"].values, later)
    return ds.isel(time=rows).assign_coords(time=("time", times, ds["time"].attrs))


def _with_common_ends(parts: Sequence[xr.Dataset]) -> Sequence[xr.Dataset]:
    """Blocks of one program under the same ends of stages: those of the block that was the last to end each of them."""
    if any("stage_end" not in ds.coords for ds in parts):
        return parts
    if len({ds.sizes["stage_end"] for ds in parts}) > 1:  # some of them left the finite numbers
        return parts
    ends = np.max([ds["stage_end"].values for ds in parts], axis=0)
    return [ds.assign_coords(stage_end=("stage_end", ends, ds["stage_end"].attrs)) for ds in parts]


def _end_of_all(parts: Sequence[xr.Dataset]) -> dict[str, float]:
    """When the last of the parts ended, if all of them left a stage early."""
    ends = [ds.attrs.get(ENDED) for ds in parts]
    known = [float(end) for end in ends if end is not None]
    return {ENDED: max(known)} if len(known) == len(ends) else {}


def _stages(parts: Sequence[xr.Dataset], along: str | xr.Variable) -> xr.DataArray:
    """The stage of every record, -1 where there is none; it varies along the axis only if the parts disagree."""
    stages = [ds["stage"].reset_coords(drop=True) for ds in parts]
    if isinstance(along, str):  # every part has several entries along the axis already
        sizes = [ds.sizes[along] for ds in parts]
        stages = [_along(along, size, stage) for stage, size in zip(stages, sizes, strict=True)]
    stage = xr.concat(
        stages, along, join="outer", fill_value=np.int32(-1), coords="minimal", compat="override"
    )
    common = stage.max(along if isinstance(along, str) else str(along.dims[0]))
    agree = bool(((stage == common) | (stage < 0)).all())
    return common if agree else stage


def _along(axis: str, size: int, stage: xr.DataArray) -> xr.DataArray:
    """The stages with this axis, along which they do not vary if they did not have it."""
    return stage if axis in stage.dims else stage.expand_dims({axis: size})


def _unfold(ds: xr.Dataset, layout: Layout) -> xr.Dataset:
    """The dim `lane` as the product of the swept axes."""
    inner = layout.inner
    if not inner:
        return ds
    shape = tuple(len(v) for v in inner.values())
    ds = ds.drop_vars([*inner, *_followers(layout)], errors="ignore")

    def split(v: xr.Variable) -> xr.Variable:
        if "lane" not in v.dims:
            return v
        v = v.transpose("lane", ...)
        return xr.Variable((*inner, *v.dims[1:]), v.values.reshape(*shape, *v.shape[1:]), v.attrs)

    data = {k: split(v.variable) for k, v in ds.data_vars.items()}
    coords = {k: split(v.variable) for k, v in ds.coords.items()}
    axes = {k: np.asarray(v, int if k == "seed" else None) for k, v in inner.items()}
    return xr.Dataset(data, coords | axes, ds.attrs)
