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

WORDS = "words"  # the attribute of an axis whose numbers stand for words
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
    kept = words_as_numbers(ds).assign_attrs(manifest=json.dumps(manifest))
    evidence.file.write_bytes(pack(kept))


def read(file: Path, limit: int = LIMIT) -> xr.Dataset:
    """The dataset that was recorded. `limit` is the most bytes that its numbers may take."""
    if not file.exists():
        raise PlanError(
            f"{file.name} was not recorded yet: it is made where there is a GPU (see the study's README)."
        )
    with file.open("rb") as opened:
        return _numbers_as_words(unpack(file, opened, limit))


def words_as_numbers(ds: xr.Dataset) -> xr.Dataset:
    """The dataset with whole numbers for the words along an axis: a file holds numbers only."""
    numbered = {}
    for name, axis in ds.coords.items():
        if axis.ndim == 1 and axis.dtype.kind in "UO":
            words = json.dumps(axis.values.tolist())
            numbered[name] = (axis.dims, range(axis.size), {**axis.attrs, WORDS: words})
    return ds.assign_coords(numbered)


def _numbers_as_words(ds: xr.Dataset) -> xr.Dataset:
    """The words along an axis in place of their numbers."""
    worded = {}
    for name, axis in ds.coords.items():
        if WORDS in axis.attrs:
            attrs = dict(axis.attrs)
            words = json.loads(attrs.pop(WORDS))
            worded[name] = (axis.dims, [words[i] for i in axis.values], attrs)
    return ds.assign_coords(worded)


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
