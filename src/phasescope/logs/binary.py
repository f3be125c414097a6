"""Logs that are not text: NumPy archives, parquet, netCDF and the event files of TensorBoard.

Nothing in them is executed: no pickles are read. Their readers are extras, loaded when a file asks for them.
"""

from __future__ import annotations

import warnings
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import LogError, MissingExtra
from .columns import Columns, at_most

if TYPE_CHECKING:
    import xarray as xr

LARGEST = 2**30  # bytes that the arrays of a compressed log may take
EVENTS = "events.out.tfevents"
NO_SCALARS = ("histograms", "images", "audio", "tensors")  # kinds of tags that are left out


def missing(what: str, library: str) -> MissingExtra:
    """A reader is not installed."""
    return MissingExtra(f'{what} needs {library}: pip install "phasescope[logs]".')


def read_npz(file: Path) -> Columns:
    """The arrays of an archive of NumPy."""
    try:
        with zipfile.ZipFile(file) as archive:
            _check_size(file, sum(member.file_size for member in archive.infolist()))
        with np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    except LogError:
        raise
    except Exception as problem:  # the reader raises whatever it meets
        raise LogError(
            f"{file} cannot be read as an archive of NumPy arrays (.npz): {_first_line(problem)}"
        ) from None
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray):
            raise LogError(f"{file} holds {name}, which is no array of NumPy (.npy).")
    return arrays


def _check_size(file: Path, size: int) -> None:
    """Refuse what is small on a disk and large in memory."""
    if size > LARGEST:
        raise LogError(
            f"{file} unpacks to {size / 2**30:.3g} GiB; a log may take {LARGEST / 2**30:g}. Log fewer records."
        )


def read_parquet(file: Path) -> Columns:
    """The columns of a parquet file that are numbers."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing(f"{file}: parquet", "pyarrow") from None
    try:
        with pq.ParquetFile(file) as opened:
            numbers = [
                field.name
                for field in opened.schema_arrow
                if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            ]
            _check_size(file, 8 * opened.metadata.num_rows * len(numbers))
            table = opened.read(columns=numbers)
    except (pa.ArrowException, OSError) as problem:
        raise LogError(f"{file} cannot be read as parquet: {_first_line(problem)}") from None
    return {
        name: np.asarray(column.cast(pa.float64()).to_numpy(), float)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def read_netcdf(file: Path) -> xr.Dataset:
    """The dataset of a netCDF file, of version 3 or 4."""
    import xarray as xr

    with file.open("rb") as opened:
        is_version_4 = opened.read(4) == b"\x89HDF"
    if is_version_4:
        try:
            import h5netcdf  # noqa: F401  # pyright: ignore[reportMissingImports]
            import h5py  # noqa: F401  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise missing(f"{file}: netCDF 4", "h5netcdf and h5py") from None
    try:
        engine = "h5netcdf" if is_version_4 else "scipy"
        with xr.open_dataset(file, engine=engine, decode_times=False) as opened:
            _check_size(file, opened.nbytes)
            return opened.load()
    except LogError:
        raise
    except Exception as problem:  # the readers raise whatever they meet
        raise LogError(f"{file} cannot be read as netCDF: {_first_line(problem)}") from None


def event_files(source: Path) -> list[Path]:
    """The event files of TensorBoard: the file itself, or those in a folder."""
    if source.is_dir():
        return sorted(file for file in source.iterdir() if EVENTS in file.name and file.is_file())
    return [source]


def folders_with_events(source: Path) -> list[str]:
    """The folders below a folder that have event files of TensorBoard, by their paths in it."""
    if not source.is_dir():
        return []
    found = {file.parent for file in source.rglob(f"*{EVENTS}*") if file.is_file()}
    return sorted(str(folder.relative_to(source)) for folder in found - {source})


def read_events(source: Path) -> Columns:
    """The scalars of TensorBoard event files, at all steps at which one of them was logged; NaN where one was not.

    A warning names what else there is: histograms and the like, and event files in folders below.
    """
    try:
        from tensorboard.backend.event_processing import (  # pyright: ignore[reportMissingImports]
            event_accumulator,
        )
    except ImportError:
        raise missing(f"{source}: a TensorBoard log", "tensorboard") from None
    whatever: Any = {event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0}  # 0 is all of them
    try:
        found = event_accumulator.EventAccumulator(str(source), size_guidance=whatever).Reload()
        tags = found.Tags()
        series = {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in tags["scalars"]}
        for tag in tags["tensors"]:  # scalars as TensorFlow 2 writes them
            values = [(e.step, e.tensor_proto) for e in found.Tensors(tag)]
            series |= _scalar_tensors(tag, values)
        others = [tag for kind in NO_SCALARS for tag in tags.get(kind, ()) if tag not in series]
    except Exception as problem:  # the reader raises whatever it meets
        raise LogError(
            f"{source} cannot be read as a TensorBoard log: {_first_line(problem)}"
        ) from None
    if not series:
        raise LogError(
            f"{source} holds no scalars of TensorBoard: it is no event file, or an empty one."
        )
    _warn_of_others(source, others)
    for tag, events in series.items():
        _check_steps(source, tag, [step for step, _ in events])
    return _on_common_steps(series)


def _check_steps(source: Path, tag: str, steps: list[int]) -> None:
    """The steps of a scalar rise: those of a second run in the same folder begin again."""
    for before, after in pairwise(steps):
        if after <= before:
            fault = f"does not rise in its steps: {after} comes after {before}"
            if after == before:
                fault = f"was logged twice at step {after}"
            raise LogError(
                f"{source}: {tag} {fault}. A run that was begun twice is two logs: name one event file, or a list of "
                "them. A loop gives every record a step: add_scalar(name, value, step)."
            )


def _warn_of_others(source: Path, tags: list[str]) -> None:
    """Say what of a TensorBoard log is not in the columns."""
    below = folders_with_events(source)
    left_out = [f"what is no scalar ({at_most(tags)})"] if tags else []
    left_out += [f"the event files in {at_most(below)}, each a log of its own"] if below else []
    if left_out:
        warnings.warn(
            f"{source}: a log has the scalars of one folder. Left out: {'; '.join(left_out)}.",
            stacklevel=2,
        )


def _scalar_tensors(tag: str, events: list[tuple[int, Any]]) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.util import tensor_util  # pyright: ignore[reportMissingImports]

    arrays = [(step, np.asarray(tensor_util.make_ndarray(proto))) for step, proto in events]
    if any(x.ndim or x.dtype.kind not in "iuf" for _, x in arrays):
        return {}
    return {tag: [(step, float(x)) for step, x in arrays]}


def _on_common_steps(series: dict[str, list[tuple[int, float]]]) -> Columns:
    steps = sorted({step for found in series.values() for step, _ in found})
    rows = {step: row for row, step in enumerate(steps)}
    columns: Columns = {"step": np.array(steps, float)}
    for tag, found in series.items():
        columns[tag] = np.full(len(steps), np.nan)
        for step, value in found:
            columns[tag][rows[step]] = value
    return columns


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0] or type(problem).__name__
