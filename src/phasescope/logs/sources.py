"""Any log -> the runs in it, with where they came from."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..errors import LogError
from ..tensors import without_gradient
from .binary import (
    EVENTS,
    event_files,
    folders_with_events,
    read_events,
    read_netcdf,
    read_npz,
    read_parquet,
)
from .columns import Columns, at_most
from .delimited import is_wandb_chart, read_text, runs_of_chart
from .origin import Origin, digest_of_arrays, digest_of_files, origins

KINDS = ".csv, .tsv, .npz, .nc, .parquet, or an event file or folder of TensorBoard"
WANDB_HISTORY = "_step"


@dataclasses.dataclass(frozen=True)
class Found:
    """One run that a log holds: its columns or its dataset, and where it came from."""

    values: Columns | xr.Dataset
    origins: tuple[Origin, ...]

    @property
    def where(self) -> str:
        """What an error calls it."""
        return self.origins[0].source


def read(source: Any) -> list[Found]:
    """The runs of one log: a path, a dataset, or arrays by name (a mapping or a table of pandas).

    **Raises:** `LogError` if there is no such file, or if it is no log.
    """
    if isinstance(source, xr.Dataset):
        return [Found(source, origins(source) or (_of_dataset(source),))]
    if isinstance(source, str | os.PathLike):
        return _read_path(Path(source))
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        source = _with_index(source)
        arrays = {str(name): _as_array(str(name), source[name]) for name in source}
        origin = Origin("arrays in memory", "arrays", digest_of_arrays(arrays))
        return [Found(arrays, (origin,))]
    raise LogError(
        f"a log is a path, an xarray dataset, or arrays by name; got {type(source).__name__}."
    )


def _with_index(source: Any) -> Any:
    """A table of pandas with its index among its columns, if that has a name of its own: the steps may be there."""
    name = getattr(getattr(source, "index", None), "name", None)
    return source if name is None or name in source else source.reset_index()


def _as_array(name: str, values: Any) -> np.ndarray:
    """What stands under a name, as an array: also a tensor of torch, or a list of them as a loop collects it.

    Of numbers with None among them, as where nothing was measured, None is NaN.
    """
    try:
        if isinstance(values, list | tuple):
            values = [without_gradient(one) for one in values]
        array = np.asarray(without_gradient(values))
        with contextlib.suppress(ValueError, TypeError):
            array = array.astype(float) if array.dtype.hasobject else array
        return array
    except (ValueError, TypeError, RuntimeError) as problem:
        said = str(problem).partition("\n")[0].rstrip(".")
        raise LogError(f'arrays in memory: "{name}" is no array: {said}.') from None


def _of_dataset(ds: xr.Dataset) -> Origin:
    """What is said of a dataset that does not say itself which logs or checkpoints it was made of."""
    digest = digest_of_arrays({name: x.values for name, x in ds.variables.items()})
    return Origin("a dataset in memory", "xarray", digest)


def _read_path(path: Path) -> list[Found]:
    if not path.exists():
        raise LogError(f"{path}: there is no such file.")
    if path.is_dir() or EVENTS in path.name:
        return [_events(path)]
    if not path.stat().st_size:
        raise LogError(f"{path} is empty.")
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        return _text(path)
    if ending == ".npz":
        return [_found(path, "npz", read_npz(path))]
    if ending == ".parquet":
        columns = read_parquet(path)
        kind = "W&B parquet" if WANDB_HISTORY in columns else "parquet"
        return [_found(path, kind, columns)]
    if ending in (".nc", ".nc4", ".netcdf"):
        return [_found(path, "netCDF", read_netcdf(path))]
    raise LogError(
        f"{path} is not a log that can be read: those are {KINDS}. Checkpoints are for ps.probe."
    )


def _found(path: Path, kind: str, values: Columns | xr.Dataset) -> Found:
    return Found(values, (Origin(str(path), kind, digest_of_files([path])),))


def _text(path: Path) -> list[Found]:
    columns = read_text(path)
    kind = "TSV" if path.suffix.lower() == ".tsv" else "CSV"
    if is_wandb_chart(columns):
        digest = digest_of_files([path])
        return [
            Found(metrics, (Origin(f"{path}, run {run}", "W&B CSV", digest),))
            for run, metrics in runs_of_chart(columns).items()
        ]
    return [_found(path, f"W&B {kind}" if WANDB_HISTORY in columns else kind, columns)]


def _events(path: Path) -> Found:
    files = event_files(path)
    below = folders_with_events(path)
    if not files and below:
        raise LogError(
            f"{path} has event files of TensorBoard in folders only: {at_most(below)}. Each is a log of its own."
        )
    if not files:
        raise LogError(f"{path} is a folder without event files of TensorBoard. A log is {KINDS}.")
    if any(not file.stat().st_size for file in files):
        raise LogError(f"{next(f for f in files if not f.stat().st_size)} is empty.")
    origin = Origin(str(path), "TensorBoard", digest_of_files(files))
    return Found(read_events(path), (origin,))
