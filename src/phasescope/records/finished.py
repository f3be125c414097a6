"""The dataset of a run as it is stored and returned: its records, what is derived from them and what reductions found."""

from __future__ import annotations

import xarray as xr

from ..engine.job import Job
from .arrays import Records
from .choice import kept
from .dataset import assemble, counted_times
from .reduced import with_reductions


def finished(study: str, job: Job, records: Records, width: int) -> xr.Dataset:
    """All that is wanted of a run, as one dataset."""
    ds = assemble(study, job, records, width)
    if job.wanted.reduce:
        ds = with_reductions(ds, job, records, counted_times(job, records.while_finite()))
    return kept(ds, job)
