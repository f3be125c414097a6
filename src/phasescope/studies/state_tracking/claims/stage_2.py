"""What the claims on stage 2, the training of the attention, share."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from . import evidence

PATHS = tuple(evidence.path.values())
ROUNDING = ps.chosen(1e-12, "rounding of 64-bit numbers")


def at_time(x: xr.DataArray, when: xr.DataArray) -> xr.DataArray:
    """Between two records."""
    dims = [[], ["time"], ["time"]]
    return xr.apply_ufunc(np.interp, when, x.time, x, input_core_dims=dims, vectorize=True)


def reaches_the_clip(sweep: xr.Dataset) -> ps.Verdict:
    """The runs go on until eps is below sigma_0."""
    last = sweep.epsilon.sel(step=2).isel(time=-1) * sweep.vocabulary**0.5
    return ps.guard(ps.within(last, 0.0, 1.0, "eps / sigma_0 at the end"))
