"""Runs that the page asks for: quick ones answered at once and kept nowhere, others as jobs that land in the store."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..engine.job import Job
from ..errors import SpecError
from ..plan.plan import fields_read
from ..records.reduced import without_records
from ..report.mathematics import formula
from ..study import Study
from ..verbs.context import Context, Stopped
from ..verbs.labels import without_a_mark_of_nothing
from ..verbs.run import find_or_run
from ..verbs.validate import requested_job
from .detail import chosen_records
from .run_view import moments, phases
from .studies import by_name, is_quick
from .wire import extremes, packed, plain

PATIENCE = 5.0  # seconds, the compilation of an arm that is asked for the first time included
MOST_VALUES = 2**20
POINTS = 1000


def asked(document: Any) -> tuple[Study, Job]:
    """The run that a request describes, checked; names are those of installed studies, numbers those of its Spec."""
    if not isinstance(document, dict):
        raise SpecError('a request is an object such as {"study": ..., "arm": ...}.')
    study = by_name(document.get("study"))
    arm = document.get("arm")
    preset = document.get("preset") or None
    fields = document.get("fields") or {}
    if not isinstance(arm, str) or not isinstance(fields, dict):
        raise SpecError("an arm is a name, and fields are an object of numbers by name.")
    if preset is not None and not isinstance(preset, str):
        raise SpecError("a preset is a name.")
    keep = document.get("keep")
    if keep is not None and not (isinstance(keep, list) and all(isinstance(k, str) for k in keep)):
        raise SpecError("keep is a list of names.")
    chosen = study.arm(arm)
    read = fields_read(chosen, study.default_for(chosen))
    changes = {k: v for k, v in fields.items() if k in read or k not in study.fields}
    seed = document.get("seed") or 0
    if type(seed) is not int:
        raise SpecError("a seed is a whole number.")
    job = requested_job(study, chosen, preset=preset, seed=seed, keep=keep, changes=changes)
    return study, job


def answered(document: Any) -> bytes:
    """All quantities of a quick run in one answer; one that takes too long is a `SpecError` that says what to do."""
    study, job = asked(document)
    if not is_quick(job.arm, job.spec):
        raise SpecError(f"{study.name}.{job.arm.__name__} is trained: start it as a run.")
    stop = threading.Event()
    timer = threading.Timer(PATIENCE, stop.set)
    timer.daemon = True
    timer.start()
    try:
        found = find_or_run(study, job, Context(stop=stop), throw=False)
    except Stopped:
        raise SpecError(
            f"{study.name}.{job.arm.__name__} takes longer than {PATIENCE:g} s at these numbers: start it as a run."
        ) from None
    finally:
        timer.cancel()
    return _packed(without_a_mark_of_nothing(without_records(found.dataset, job.wanted.reduce)))


def carried_out(study: Study, job: Job, context: Context) -> str:
    """Run a job into the store; the id of the run."""
    return find_or_run(study, job, context).run_id


def told(study: Study, job: Job, document: Mapping[str, Any]) -> dict[str, Any]:
    """What a job is, for a list of jobs."""
    return {
        "study": study.name,
        "arm": job.arm.__name__,
        "preset": plain(document.get("preset")),
        "fields": plain(document.get("fields") or {}),
    }


def _packed(ds: xr.Dataset) -> bytes:
    """Several quantities behind one header; those that are too large are left out, and named."""
    arrays: list[np.ndarray] = []
    variables: list[dict[str, Any]] = []
    left_out: list[str] = []
    room = MOST_VALUES
    for name, x in ds.data_vars.items():
        if x.dtype.kind not in "biuf":
            continue
        data, times = _shown(x)
        if data.size > room:
            left_out.append(str(name))
            continue
        room -= data.size
        low, high = extremes(data)
        variables.append(
            {
                "name": str(name),
                "dims": [str(dim) for dim in x.dims],
                "shape": list(data.shape),
                "symbol": plain(str(x.attrs.get("symbol", ""))),
                "mathml": str(formula(str(x.attrs.get("symbol", "")))),
                "meaning": plain(str(x.attrs.get("long_name", ""))),
                "unit": plain(str(x.attrs.get("units", ""))),
                "min": low,
                "max": high,
                "times": times,
                "offset": sum(a.size for a in arrays),
            }
        )
        arrays.append(data)
    header = {
        "study": ds.attrs["study"],
        "arm": ds.attrs["arm"],
        "status": ds.attrs["status"],
        "dtype": "float64",
        "variables": variables,
        "left_out": left_out,
        "coords": {str(k): plain(x.values) for k, x in ds.coords.items() if x.ndim == 1},
        "phases": phases(ds),
        "theory": moments(ds),
    }
    return packed(header, *arrays)


def _shown(x: xr.DataArray) -> tuple[np.ndarray, list[float] | None]:
    """The numbers of a quantity at a bounded number of records, and their times."""
    axis = next((dim for dim in x.dims if dim in ("time", "stage_end")), None)
    if axis is None:
        return np.asarray(x.values, float), None
    first = np.asarray(x.transpose(axis, ...).values, float)
    thin = x.isel({axis: chosen_records(first, POINTS)})
    return np.asarray(thin.values, float), plain(np.asarray(thin[axis].values, float))
