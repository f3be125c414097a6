"""logged: evidence of a log that phasescope did not make."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..errors import LogError, SpecError, nearest
from .columns import Columns, with_arrays
from .evidence import as_evidence
from .sources import Found, read
from .times import TIME, check_times, time_name, warn_of_clock

JOINS = ("exact", "inner")


def logged(
    source: Any,
    *,
    rename: Mapping[str, str] | None = None,
    time: str | None = None,
    unit: float = 1.0,
    dims: Mapping[str, str | Sequence[str]] | None = None,
    along: Mapping[str, Sequence[float]] | None = None,
    join: str = "exact",
    arm: str | None = None,
    numbers: Mapping[str, Any] | None = None,
    end: float | None = None,
) -> xr.Dataset:
    """Make evidence of a log of training that phasescope did not run.

        >>> log = {"step": [0, 10, 20], "train/acc": [0.0, 0.4, 0.9]}
        >>> ds = ps.logged(log, rename={"train/acc": "accuracy"})
        >>> float(ps.crossing(ds.accuracy, 0.2))
        5.0

    **Arguments:**

    - `source`: the path of a log, a dataset of xarray, or arrays by name; or a list of these, one for each
      seed. Files are CSV or TSV (also as Weights & Biases exports them), .npz, .parquet, netCDF, and event
      files or folders of TensorBoard.
    - `rename`: names in the log, and the observables that they are: `{"train/loss": "loss"}`.
    - `time`: the name in the log of what counts time; by default the first of `time`, `step`, `_step`,
      `Step`, `global_step`, `iteration`, `epoch` that is there, with a warning if columns have `time`, which may be
      a clock, and another of them.
    - `unit`: how much time one step is, such as a learning rate where a theorem counts `eta` times steps.
    - `dims`: names for the axes of arrays, without time: `{"progress": "mode"}`.
    - `along`: what the several logs differ in, and its values: `{"epsilon": [1e-2, 1e-3]}`; by default
      `{"seed": [0, 1, ...]}`.
    - `join`: what to do about logs of different times: `exact` refuses them, `inner` keeps the times that
      all have.
    - `arm`: the arm of a study that the log is a run of, if it is: a claim that assumes a model asks.
    - `numbers`: fields of the study's Spec, if it was run with such: assumptions are evaluated on them.
    - `end`: the time at which the run was meant to end: `ps.reached` asks.

    **Returns:** a dataset such as `ps.run` returns. Its attribute `logged` has source, kind and SHA-256 of
    every log, which the ledger shows in place of runs. Columns of words are left out, as is a first column
    without a name, which is the index of pandas; a warning names what of TensorBoard is no scalar.

    **Raises:** `LogError` for a file that is no log, has no records or other columns than were named, or
    whose times are missing or do not rise; `MissingExtra` if its reader is not installed.
    """
    for option, names in (
        ("rename", rename),
        ("dims", dims),
        ("along", along),
        ("numbers", numbers),
    ):
        if names is not None and not isinstance(names, Mapping):
            raise SpecError(f"{option} has values by name, got {option}={names!r}.")
    several = isinstance(source, Sequence) and not isinstance(source, str | os.PathLike)
    if several and not source:
        raise LogError("there is no log in an empty list.")
    if join not in JOINS:
        raise SpecError(f'join is "exact" or "inner", got join={join!r}.')
    found = [run for one in (source if several else [source]) for run in read(one)]
    lanes = [_labelled(run, rename or {}, time, dims or {}) for run in found]
    if several or len(found) > 1 or along:
        ds = _side_by_side(lanes, found, along, join)
    else:
        ds = lanes[0]
    origins = [origin for run in found for origin in run.origins]
    return as_evidence(ds, origins, unit=unit, arm=arm, numbers=numbers, end=end)


def _labelled(
    run: Found, rename: Mapping[str, str], time: str | None, dims: Mapping[str, str | Sequence[str]]
) -> xr.Dataset:
    """One run of a log, with time and axes named."""
    if isinstance(run.values, xr.Dataset):
        ds = _renamed_dataset(run.values, rename, time, run.where)
    else:
        ds = _from_columns(with_arrays(run.values, run.where), rename, time, dims, run.where)
    check_times(ds[TIME].values, run.where)
    if not ds.data_vars:
        raise LogError(
            f"{run.where} has nothing but times: a log has a column of numbers beside them."
        )
    return ds.assign_coords({TIME: ds[TIME].values.astype(float)})


def _renamed_dataset(
    ds: xr.Dataset, rename: Mapping[str, str], time: str | None, where: str
) -> xr.Dataset:
    names = {**dict(rename)}
    _check_known(names, map(str, ds.variables), where)
    column = time_name(time, [str(n) for n in (*ds.dims, *ds.variables)], names, where)
    names[column] = TIME
    try:
        ds = ds.rename(names)
    except ValueError as problem:
        raise LogError(f"{where}: columns cannot be renamed so: {problem}.") from None
    if TIME not in ds.coords and TIME in ds.variables:
        ds = ds.set_coords(TIME)
    if TIME not in ds.variables:
        raise LogError(
            f'{where}: the axis "{column}" has no coordinate, so that no record has a time.'
        )
    if ds[TIME].dims != (TIME,):
        if ds[TIME].ndim != 1:
            raise LogError(f"{where}: the times have axes {ds[TIME].dims}; they are one list.")
        ds = ds.swap_dims({ds[TIME].dims[0]: TIME})
    return ds


def _from_columns(
    columns: Columns,
    rename: Mapping[str, str],
    time: str | None,
    dims: Mapping[str, str | Sequence[str]],
    where: str,
) -> xr.Dataset:
    _check_known(rename, columns, where)
    column = time_name(time, list(columns), rename, where)
    if time is None and TIME not in rename.values():
        warn_of_clock(column, list(columns), where)
    values = columns.pop(column)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        advice = ""
        if not values.ndim:
            advice = " Of records one by one pandas.DataFrame(records) makes a table."
        raise LogError(f'{where}: "{column}" is not a list of numbers, as times are.{advice}')
    variables: dict[str, Any] = {}
    for name, x in columns.items():
        new = rename.get(name, name)
        if new in variables or new == TIME:
            raise LogError(f'{where}: two columns would be called "{new}". Rename one of them.')
        if x.dtype.kind not in "iufb":
            continue  # words
        if x.ndim and len(x) != len(values):
            raise LogError(
                f'{where}: "{name}" has {len(x)} records, and "{column}" has {len(values)}: they are of one length.'
            )
        variables[new] = (_axes(new, x, dims, where), x) if x.ndim else ((), x)
    unknown = set(dims) - set(variables)
    if unknown:
        raise LogError(f"{where}: dims names {min(unknown)}. {nearest(min(unknown), variables)}")
    _check_axes(variables, where)
    ds = xr.Dataset(variables, coords={TIME: values})
    return ds.assign_coords({d: np.arange(ds.sizes[d]) for d in ds.dims if d not in ds.coords})


def _check_axes(variables: Mapping[str, Any], where: str) -> None:
    """Axes have names of their own, and each of them one length."""
    lengths: dict[str, tuple[int, str]] = {}
    for name, (axes, x) in variables.items():
        for axis, length in zip(axes[1:], x.shape[1:], strict=True):
            if axis == TIME or axis in variables or axes.count(axis) > 1:
                raise LogError(
                    f'{where}: an axis of "{name}" would be called "{axis}", which is taken. Give it another name by dims.'
                )
            known, other = lengths.setdefault(axis, (length, name))
            if known != length:
                raise LogError(
                    f'{where}: the axis "{axis}" has {known} places in "{other}" and {length} in "{name}".'
                )


def _axes(
    name: str, x: np.ndarray, dims: Mapping[str, str | Sequence[str]], where: str
) -> tuple[str, ...]:
    given = dims.get(name)
    if given is None:
        own = [f"{name}_{axis}" for axis in range(x.ndim - 1)]
    else:
        own = [given] if isinstance(given, str) else list(given)
    if len(own) != x.ndim - 1:
        raise LogError(
            f'{where}: "{name}" has {x.ndim - 1} axes beside time, and dims names {len(own)}: {", ".join(own) or "none"}.'
        )
    return (TIME, *own)


def _check_known(rename: Mapping[str, str], known: Any, where: str) -> None:
    known = list(known)
    for name in rename:
        if name not in known:
            raise LogError(f'{where} has no column "{name}". {nearest(name, known)}')


def _side_by_side(
    lanes: Sequence[xr.Dataset],
    found: Sequence[Found],
    along: Mapping[str, Sequence[float]] | None,
    join: str,
) -> xr.Dataset:
    """Several runs as one dataset, along what they differ in."""
    if along is not None and len(along) != 1:
        raise SpecError(f"along names one thing that the logs differ in, got {len(along)}.")
    name, values = next(iter((along or {"seed": range(len(lanes))}).items()))
    if name in lanes[0].variables or name in lanes[0].dims:
        raise LogError(
            f'{found[0].where} has "{name}" itself: along names what the logs differ in, and is none of their columns.'
        )
    if len(values) != len(lanes):
        raise LogError(f"along has {len(values)} values of {name} for {len(lanes)} logs.")
    for ds, run in zip(lanes[1:], found[1:], strict=True):
        _check_alike(lanes[0], ds, found[0].where, run.where, join)
    axis = xr.DataArray(np.asarray(list(values)), dims=name, name=name)
    ds = xr.concat(lanes, axis, join="inner", coords="minimal", compat="override", data_vars="all")
    if not ds.sizes[TIME]:
        raise LogError("the logs have no time in common.")
    return ds


def _check_alike(first: xr.Dataset, other: xr.Dataset, where: str, place: str, join: str) -> None:
    if set(first.data_vars) != set(other.data_vars):
        odd = min(map(str, set(first.data_vars) ^ set(other.data_vars)))
        raise LogError(
            f'{where} and {place} differ in their columns: only one of them has "{odd}".'
        )
    if join == "exact" and not np.array_equal(first[TIME].values, other[TIME].values):
        raise LogError(
            f"{where} has {first.sizes[TIME]} records up to {float(first[TIME][-1]):g}, {place} has {other.sizes[TIME]} "
            f'up to {float(other[TIME][-1]):g}, not at the same times. join="inner" keeps the times that all have.'
        )
