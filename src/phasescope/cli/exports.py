"""Files that commands write on request: datasets and states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError

if TYPE_CHECKING:
    import xarray as xr

STATE = ".safetensors"


def check_out(file: Path | None) -> None:
    """Refuse a file that could not be written, before anything runs for it."""
    if file is not None:
        from ..verbs.exporting import check_file

        check_file(file)


def write_out(ds: xr.Dataset, file: Path | None) -> None:
    """Write the dataset, if a file is named."""
    if file is not None:
        from ..verbs.exporting import export

        export(ds, file)


def export_run(run: str, file: Path, stage: str | None, store: Path | None) -> dict[str, Any]:
    """Write the records of a stored run, or its state at the end of a stage; the file's name says which."""
    from .. import open as open_run
    from .. import state
    from ..verbs.exporting import export

    if file.suffix == STATE:
        arrays = state(run, stage, out=file, store=store)
        shapes = [f"{name} {list(array.shape)}" for name, array in arrays.items()]
        return {"id": run, "out": str(file), "what": f"the state ({', '.join(shapes)})"}
    if stage is not None:
        raise SpecError(f"--stage is of a state: write FILE{STATE}, or leave it out. Got {file}.")
    check_out(file)
    ds = open_run(run, store=store)
    export(ds, file)
    dims = ", ".join(f"{name}={size}" for name, size in ds.sizes.items())
    return {"id": ds.attrs.get("id", run), "out": str(file), "what": f"the records ({dims})"}
