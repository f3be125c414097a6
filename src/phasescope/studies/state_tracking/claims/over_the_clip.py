"""What the claims on recursion share: sweeps over C_B, and where a stage of the proof ends."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..phases import stage_ends
from . import evidence

STRONG = (evidence.strong["S3"], evidence.strong["S4"])
C_1 = 1.005  # c_1 = 1.005 log d / B = 1.005 / C_B


def each_clip(sweep: xr.Dataset) -> list[xr.Dataset]:
    """The runs of a sweep over C_B, each as a run of its own."""
    found = []
    for clip in np.atleast_1d(sweep["clip"].values):
        found.append(sweep.sel(clip=clip))
    return found


def ended_stages(run: xr.Dataset) -> xr.Dataset:
    """The last record of every stage, if the stage came down to the loss at which it ends."""
    ends = stage_ends(run)
    threshold = float(run["clip"]) - 6.05
    return ends.where(ends.stage_exponent >= threshold)
