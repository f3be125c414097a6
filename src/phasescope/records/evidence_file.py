"""The file of recorded evidence: a dataset beside its study, with the machine and the request it came from.

What a GPU computes in an hour cannot be computed by everybody who reads a ledger. The file holds numbers only, and is
read by the same code as the records of a run.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PlanError
from ..store.recordfile import pack, size_in_memory, unpack

if TYPE_CHECKING:
    import xarray as xr

    from ..claims.requests import Recorded
    from ..spec import Spec

LIMIT = 2**28  # bytes of numbers that a recorded file may unpack to


def write(evidence: Recorded, ds: xr.Dataset, spec: type[Spec], **more: Any) -> None:
    """Keep the dataset; its manifest says which machine, versions and code it came from, and `more`.

    `spec` is the Spec class of the arm. Raises `PlanError` for more numbers than `read` would read.
    """
    from ..identity import fingerprint
    from ..identity.provenance import provenance

    size = size_in_memory(ds)
    if size > LIMIT:
        raise PlanError(
            f"{evidence.file.name} would hold {size / 2**20:.3g} MiB of numbers; at most "
            f"{LIMIT / 2**20:.3g} MiB are read again. Record fewer times or fewer lanes."
        )
    asked = evidence.request
    request = {f.name: getattr(asked, f.name) for f in dataclasses.fields(asked)}
    code = fingerprint(asked.arm, spec)
    manifest = provenance(precision=ds.attrs["precision"])
    manifest |= {"request": request | {"arm": asked.arm.__name__}}
    manifest |= {"model": code.model, "code": code.digest} | more
    evidence.file.parent.mkdir(parents=True, exist_ok=True)
    evidence.file.write_bytes(pack(ds.assign_attrs(manifest=json.dumps(manifest))))


def read(file: Path) -> xr.Dataset:
    """The dataset that was recorded."""
    if not file.exists():
        raise PlanError(
            f"{file.name} was not recorded yet: it is made where there is a GPU (see the study's README)."
        )
    with file.open("rb") as opened:
        return unpack(file, opened, LIMIT)


def manifest_of(ds: xr.Dataset) -> dict[str, Any]:
    """Machine, versions, code and request of what was recorded."""
    return json.loads(ds.attrs["manifest"])


def made_by_other_code(evidence: Recorded, ds: xr.Dataset, spec: type[Spec]) -> bool:
    """Whether the study's code for this arm is another than the one that was recorded."""
    from ..identity import Unidentified, fingerprint

    try:
        return manifest_of(ds).get("model") != fingerprint(evidence.request.arm, spec).model
    except Unidentified:
        return True
