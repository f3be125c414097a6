"""Recorded evidence: a dataset kept in one small file beside the study, with the machine and the request it came from.

What a GPU computes in an hour cannot be computed by everybody who reads a ledger. The file holds numbers only, and is
read by the same code as the records of a run.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import PlanError
from .store.recordfile import pack, unpack

if TYPE_CHECKING:
    import xarray as xr

    from .evidence import Recorded

LIMIT = 2**28  # bytes of numbers that a recorded file may unpack to


def write(evidence: Recorded, ds: xr.Dataset, **more: Any) -> None:
    """Keep the dataset; its manifest says which machine, versions and sources it came from, and `more`."""
    from .manifest import describe_machine
    from .study import source_digest

    asked = evidence.request
    request = {f.name: getattr(asked, f.name) for f in dataclasses.fields(asked)} | {"arm": asked.arm.__name__}
    manifest = describe_machine() | {"sources": source_digest(asked.arm), "request": request} | more
    evidence.file.parent.mkdir(parents=True, exist_ok=True)
    evidence.file.write_bytes(pack(ds.assign_attrs(manifest=json.dumps(manifest))))


def read(file: Path) -> xr.Dataset:
    """The dataset that was recorded."""
    if not file.exists():
        raise PlanError(f"{file.name} was not recorded yet: it is made where there is a GPU (see the study's README).")
    return unpack(file, file.read_bytes(), LIMIT)
