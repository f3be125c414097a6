"""The verb `record`: run what recorded evidence asks for, and keep it in its file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

from ..claims.requests import Recorded, Runs, Sweeps
from ..claims.tied import tied
from ..records.evidence_file import manifest_of, read, write
from ..study import Study, find
from .registration import commit_of, digests_of_checks
from .run import run
from .sweep import sweep


def record(
    study: str | Study,
    evidence: Recorded,
    *,
    prepare: Callable[[xr.Dataset], xr.Dataset] | None = None,
    store: str | Path | bool = False,
    replaces: Path | None = None,
    **more: Any,
) -> xr.Dataset:
    """Run the request of recorded evidence and write its dataset to the file that claims will read.

        >>> from pathlib import Path
        >>> study = ps.find("linear_modes")
        >>> evidence = ps.recorded(ps.runs(study.arm("logistic"), at=[1.0, 2.0]), Path("short.zip"))
        >>> ds = ps.record(study, evidence)
        >>> evidence.file.exists(), ds.attrs["arm"]
        (True, 'logistic')

    **Arguments:** `study` is a name, the path of a file, or a Study. `evidence` comes from `ps.recorded`.
    `prepare` may change the dataset before it is written, for example round what is noise. `store` names a
    folder in which an unfinished run is kept, from which the next call goes on; nothing is read from a
    store or kept in one if it is not given. `replaces` is a file with an earlier answer to the same request:
    that answer was seen, so a check counts as written before its evidence only if the earlier file says so.
    `more` goes into the manifest of the file, beside the
    machine, the versions, the code and the seconds that this call took.

    **Returns:** the dataset as it was written.

    **Raises:** what `ps.run` and `ps.sweep` raise.
    """
    chosen = find(study)
    began = time.perf_counter()
    ds = _carried_out(chosen, evidence.request, store)
    seconds = time.perf_counter() - began
    ds.attrs.pop("folder", None)  # of the store: it is nobody else's
    if prepare is not None:
        ds = prepare(ds)
    checks = digests_of_checks(chosen, evidence.request)
    if replaces is not None:
        checks = _written_before(checks, replaces)
        more |= {"made_again": True}
    more |= {"checks": checks}
    more |= commit_of(evidence.request.arm)
    spec = type(chosen.default_for(evidence.request.arm))
    write(evidence, ds, spec, seconds=round(seconds, 1), **more)
    return ds


def _written_before(checks: dict[str, str], file: Path) -> dict[str, str]:
    """Those that were there, as they are now, when a file was made."""
    earlier = manifest_of(read(file)).get("checks", {})
    return {id: digest for id, digest in checks.items() if earlier.get(id) == digest}


def _carried_out(study: Study, request: Runs | Sweeps, store: str | Path | bool) -> xr.Dataset:
    fields: dict[str, Any] = dict(request.changes)
    if isinstance(request, Runs):
        return run(
            study,
            request.arm,
            preset=request.preset,
            seed=request.seed,
            at=request.at,
            keep=request.keep,
            reduce=dict(request.reduce) or None,
            store=store,
            **fields,
        )
    axes: dict[str, Any] = {name: list(values) for name, values in request.axes}
    ties = [tied(**{name: axes.pop(name) for name in names}) for names in request.ties]
    return sweep(
        study,
        request.arm,
        *ties,
        preset=request.preset,
        seeds=request.seeds,
        at=request.at,
        block=request.block,
        keep=request.keep,
        reduce=dict(request.reduce) or None,
        store=store,
        **fields,
        **axes,
    )
