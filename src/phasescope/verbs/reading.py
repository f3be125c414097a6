"""open: the records of a run that is stored, found by its id or its path."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import xarray as xr

from ..claims.requests import Recorded
from ..discovery import installed
from ..errors import PhasescopeError, SpecError, StoreError
from ..identity.provenance import decisive
from ..records.evidence_file import read as read_evidence
from ..records.reduced import without_records
from ..store import Entry, Store
from ..store.folders import RECORDS, draft_folders, run_folders
from ..store.run_document import read_run
from ..study import Study, find
from .labels import label, without_a_mark_of_nothing

RECORDED = "recorded:"  # what the ledger puts before the name of a file of recorded evidence
SHOWN = 5  # ids that an error names


def open(run: str | Path, *, store: str | Path | None = None) -> xr.Dataset:
    """The records of a run that is stored, as a dataset. Nothing is run.

        >>> ds = ps.run("linear_modes", "logistic", at=[1.0, 5.0])
        >>> ps.open(ds.attrs["id"]).identical(ds)
        True

    **Arguments:**

    - `run`: an id, as `phasescope runs` and the ledger print it, or the beginning of an id or of its
      last part, if it is of one run only; the path of a run's folder; or the path of a file of
      records: recorded evidence (of which the ledger's name, `recorded:...`, will do) or what
      `phasescope sweep --out` wrote.
    - `store`: the folder in which ids are looked up; by default as for `run`.

    **Returns:** the dataset that `run` returned. A block of a sweep has the dim `lane`, and the swept
    fields are coordinates along it. A run that diverged has its records up to there, and the
    coordinate `diverged_at`.

    **Raises:** `StoreError` if there is no such run, if several begin alike, if it is unfinished or
    damaged.
    """
    if not isinstance(run, str | Path) or not str(run):
        raise SpecError(f"a run is an id, or the path of a folder or file, got {run!r}.")
    path = Path(run)
    if path.is_file() and path.name != RECORDS:
        return _from_file(path)
    if isinstance(run, str) and run.startswith(RECORDED):
        return _recorded(run.removeprefix(RECORDED))
    home, entry = find_entry(run, store)
    return opened(home, entry)


def find_entry(run: str | Path, store: str | Path | None = None) -> tuple[Store, Entry]:
    """The store and the entry of a run, by its id, the beginning of one, or the path of its folder."""
    path = Path(run)
    if path.name == RECORDS:
        path = path.parent
    if (path / "run.json").is_file():
        folder = path.absolute()
        home = Store(folder.parents[2])
        return home, read_run(folder, home.root)[0]
    home = Store(Store.default_root(store))
    if isinstance(run, Path):
        raise StoreError(
            f"{run} is neither the folder of a run (it has no run.json) nor a file of records. "
            "`phasescope runs` lists the folders of the store."
        )
    folder = _only_folder(home, run)
    return home, read_run(folder, home.root)[0]


def opened(home: Store, entry: Entry) -> xr.Dataset:
    """The records of an entry, as `run` gives them."""
    ds = home.load(entry).assign_attrs(
        id=entry.id,
        folder=str(entry.folder),
        status=entry.status,
        provenance=json.dumps(decisive(entry.manifest)),
    )
    if "long_name" not in ds["time"].attrs:  # it was stored before coordinates said what they are
        with contextlib.suppress(PhasescopeError):
            label(ds, find(entry.study))
    ds = without_records(_without_padding(ds), entry.identity.reduce or ())
    return without_a_mark_of_nothing(ds)


def _only_folder(home: Store, word: str) -> Path:
    """The folder of the one finished run whose id, or the last part of it, begins with the word."""
    folders = run_folders(home.root)[0]
    found = [folder for folder in folders if _is_named(folder, word)]
    if len(found) == 1:
        return found[0]
    if found:
        names = [_id(folder) for folder in found[:SHOWN]]
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise StoreError(
            f'"{word}" is the beginning of {len(found)} runs in {home.root}: {", ".join(names)}{more}. '
            "Give more of the id."
        )
    drafts = [folder for folder in draft_folders(home.root)[0] if _is_named(folder, word)]
    if drafts:
        raise StoreError(
            f"{_id(drafts[0])} is unfinished: it has no dataset yet. The command that began it goes on "
            "from where it stopped."
        )
    raise StoreError(
        f'there is no run "{word}" among the {len(folders)} runs in {home.root}, and no such file or folder. '
        "`phasescope runs` lists what there is; --store DIR or store= names another store."
    )


def _is_named(folder: Path, word: str) -> bool:
    return bool(word) and (_id(folder).startswith(word) or folder.name.startswith(word))


def _id(folder: Path) -> str:
    return "/".join(folder.parts[-3:])


def _without_padding(ds: xr.Dataset) -> xr.Dataset:
    """A block without the copies of its last lane that fill it up."""
    columns = [x for x in ds.coords.values() if x.dims == ("lane",) and x.dtype.kind in "if"]
    columns = [x.values for x in columns if x.name not in ("lane", "diverged_at")]
    if not columns:
        return ds
    differs = np.any([column != column[-1] for column in columns], axis=0)
    lanes = int(np.flatnonzero(differs)[-1]) + 2 if differs.any() else 1
    return ds.isel(lane=slice(lanes))


def _from_file(path: Path) -> xr.Dataset:
    """The dataset of a file: recorded evidence, or what was exported."""
    if path.suffix == ".nc":
        return xr.load_dataset(path)
    if path.suffix == ".zip":
        return read_evidence(path, Store(path.parent).limit)
    raise StoreError(
        f"{path} is not a file of records: those end in .zip or .nc. A run is opened by its id or its folder."
    )


def _recorded(name: str) -> xr.Dataset:
    """The recorded evidence of this name, of whichever installed study has it."""
    known: dict[str, Path] = {}
    for study in installed():
        with contextlib.suppress(PhasescopeError):
            known |= {file.stem: file for file in _recorded_files(find(study))}
    if name not in known:
        raise StoreError(
            f'no study has recorded evidence "{name}". Known: {", ".join(sorted(known)) or "none"}.'
        )
    return read_evidence(known[name])


def _recorded_files(study: Study) -> list[Path]:
    requests = [r for c in study.claims for regime in c.regimes for r in regime.evidence]
    requests += [request for figure in study.figures for request in figure.evidence]
    return [request.file for request in requests if isinstance(request, Recorded)]
