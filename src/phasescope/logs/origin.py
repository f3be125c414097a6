"""Where a log came from: its path, the kind of log, and the digest of its content."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

LOGGED = "logged"  # the attribute that says which logs a dataset was made of
PREFIX = "logged:"  # what the ledger puts before a log, where a run has its id
DIGITS = 12  # of a digest, that the ledger shows


@dataclasses.dataclass(frozen=True)
class Origin:
    """One log: where it lies, what kind of log it is, and the SHA-256 of its bytes or of its arrays."""

    source: str
    kind: str
    sha256: str

    @property
    def id(self) -> str:
        """As the ledger names it: `logged:train.csv (CSV, sha256 1a2b3c4d5e6f)`."""
        return f"{PREFIX}{self.source} ({self.kind}, sha256 {self.sha256[:DIGITS]})"


def told(origins: Iterable[Origin]) -> str:
    """Origins as the attribute of a dataset."""
    return json.dumps([dataclasses.asdict(one) for one in origins])


def origins(ds: xr.Dataset) -> tuple[Origin, ...]:
    """The logs that a dataset was made of; none if it is of a run."""
    return tuple(Origin(**one) for one in json.loads(ds.attrs.get(LOGGED, "[]")))


def log_ids(ds: xr.Dataset) -> tuple[str, ...]:
    """The names of its logs, as the ledger has them."""
    return tuple(dict.fromkeys(one.id for one in origins(ds)))


def is_log(run: str) -> bool:
    """Whether what a row rests on is a log."""
    return run.startswith(PREFIX)


def digest_of_files(files: Iterable[Path]) -> str:
    """The SHA-256 of a file, or of several with their names."""
    listed = list(files)
    if len(listed) == 1:
        return _digest_of_file(listed[0])
    whole = hashlib.sha256()
    for file in listed:
        whole.update(f"{file.name} {_digest_of_file(file)}\n".encode())
    return whole.hexdigest()


def _digest_of_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def digest_of_arrays(arrays: Mapping[Any, Any]) -> str:
    """The SHA-256 of named arrays."""
    whole = hashlib.sha256()
    for name in sorted(arrays, key=str):
        values = np.ascontiguousarray(arrays[name])
        whole.update(f"{name} {values.dtype} {values.shape}\n".encode())
        whole.update(repr(values.tolist()).encode() if values.dtype.hasobject else values.tobytes())
    return whole.hexdigest()
