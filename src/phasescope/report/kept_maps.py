"""Maps of claims that were made over a store, kept for the page: which claim, over which numbers, and what was found.

They lie in the user's cache folder and can be made again from the store. One that cannot be read is as good as none. The words
of the cells are text, which the record files of a store do not hold.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..errors import StoreError
from ..files import cache_folder, make_folders, write_atomically
from .code_digest import study_digest

if TYPE_CHECKING:
    from ..study import Study

MOST = 200  # maps that are kept of one store
LARGEST = 2**26  # bytes of one
SAME = ("study", "claim", "row", "request", "changes")  # what a map is of, beside its axes


@dataclasses.dataclass(frozen=True)
class KeptMap:
    """A map of a claim; `code` is the digest of the code that made it, empty if that is not known."""

    id: str
    dataset: xr.Dataset
    code: str
    when: str


class KeptMaps:
    """The maps of claims of one store: in the cache folder, or in memory if there is none."""

    def __init__(self, root: Path) -> None:
        top = cache_folder("maps")
        place = hashlib.sha256(str(root.resolve()).encode(errors="backslashreplace")).hexdigest()
        self.folder = None if top is None else top / place[:32]
        self._read: dict[str, tuple[tuple[int, int], KeptMap]] = {}

    def keep(self, found: xr.Dataset, study: Study) -> str:
        """Keep a map in place of an older one of the same claim over the same numbers; its id."""
        code = study_digest(study) or ""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        id = _id(found)
        if self.folder is None:
            self._read[id] = (0, 0), KeptMap(id, found, code, now)
            return id
        with contextlib.suppress(OSError, StoreError):  # a map that cannot be kept was still made
            make_folders(self.folder)
            write_atomically(self.folder / f"{id}.npz", _written(found, code, now))
            for old in self._files()[MOST:]:
                old.unlink()
        return id

    def all(self) -> list[KeptMap]:
        """All that can be read, the latest first."""
        if self.folder is not None:
            self._read = {file.stem: read for file in self._files() if (read := self._of(file))}
        maps = [one for _, one in self._read.values()]
        return sorted(maps, key=lambda one: one.when, reverse=True)

    def _files(self) -> list[Path]:
        with contextlib.suppress(OSError):
            files = [f for f in (self.folder or Path()).iterdir() if f.suffix == ".npz"]
            return sorted(files, key=lambda f: f.stat().st_mtime, reverse=True)
        return []

    def _of(self, file: Path) -> tuple[tuple[int, int], KeptMap] | None:
        with contextlib.suppress(OSError):
            about = file.stat()
            stamp = (about.st_mtime_ns, about.st_size)
            known = self._read.get(file.stem)
            if known is not None and known[0] == stamp:
                return known
            if about.st_size <= LARGEST:
                found = _understood(file.stem, file.read_bytes())
                return None if found is None else (stamp, found)
        return None


def _id(found: xr.Dataset) -> str:
    axes = {str(d): found[d].values.tolist() for d in found["margin"].dims}
    of = [found.attrs.get(name) for name in SAME]
    return hashlib.sha256(json.dumps([of, axes], default=str).encode()).hexdigest()[:16]


def _written(found: xr.Dataset, code: str, when: str) -> bytes:
    document: dict[str, Any] = {
        "code": code,
        "when": when,
        "attrs": _attrs(found.attrs),
        "variables": {
            str(name): {"dims": [str(d) for d in x.dims], "attrs": _attrs(x.attrs)}
            for name, x in found.variables.items()
        },
    }
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        f"x.{name}": np.asarray(x.values) for name, x in found.variables.items()
    }
    np.savez_compressed(buffer, document=np.array(json.dumps(document)), **arrays)
    return buffer.getvalue()


def _attrs(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(k): v for k, v in attrs.items() if isinstance(v, str | int | float | list)}


def _understood(id: str, data: bytes) -> KeptMap | None:
    """The map in a file; None if it is not one. Nothing in it is executed."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            document = json.loads(str(held["document"]))
            variables = {
                name: (tuple(said["dims"]), held[f"x.{name}"], said["attrs"])
                for name, said in document["variables"].items()
            }
        names = {dim for dims, _, _ in variables.values() for dim in dims}
        coords = {name: x for name, x in variables.items() if name in names}
        ds = xr.Dataset(
            {name: x for name, x in variables.items() if name not in coords},
            coords,
            document["attrs"],
        )
        if ds["margin"].dtype.kind != "f" or not ds["margin"].dims:
            return None
        return KeptMap(id, ds, str(document["code"]), str(document["when"]))
    except Exception:  # whatever a damaged file raises
        return None
