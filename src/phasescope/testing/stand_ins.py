"""Evidence that stands in for a run in the tests of claims: cheaper, but labelled as the run would be."""

from __future__ import annotations

import xarray as xr

from ..analysis.lanes import mark_swept
from ..claims.requests import Runs, Sweeps
from ..records.dataset import clock, spec_text
from ..study import Study
from ..verbs.validate import requested_job


def labelled_like(ds: xr.Dataset, study: Study, request: Runs | Sweeps) -> xr.Dataset:
    """`ds` with what the dataset of a requested run says of itself; nothing runs.

        >>> from phasescope.testing import labelled_like
        >>> study = ps.find("linear_modes")
        >>> ds = xr.Dataset({"loss": ("time", [1.0, 0.0])}, {"time": [0.0, 15.0]})
        >>> made_up = labelled_like(ds, study, ps.runs(study.arm("logistic")))
        >>> made_up.attrs["arm"], made_up.attrs["planned_end"]
        ('logistic', 15.0)

    **Arguments:** `ds`: made up, or the result of something cheaper. `study`: whose run is asked for.
    `request`: what it stands in for.

    **Returns:** the dataset with the study, the arm, the numbers that its runs share, where they are
    planned to end and, where all stages count steps, how much time one is; the axes of a sweep are marked
    as its lanes.
    """
    axes = [name for name, _ in request.axes] if isinstance(request, Sweeps) else []
    job = requested_job(study, request.arm, preset=request.preset, changes=dict(request.changes))
    return mark_swept(ds, axes).assign_attrs(
        study=study.name,
        arm=job.arm.__name__,
        spec=spec_text(job),
        status="finished",
        records=ds.sizes.get("time", 0),
        **clock(job.plan()),
    )
