"""Claims about Figure 1b: self-training on longer and longer chains, against a control of as many updates."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from . import recorded
from .comparing import ahead, ends_of_stages, moves_right, reach, solved

taught, control = recorded.stages.values()


@ps.claim("Figure 1b", ps.published(taught), id="F1b")
def self_training_moves_the_curve_right(taught: xr.Dataset) -> ps.Verdict:
    """After each stage on self-labelled chains of length 10, 20 and 40, S5 is solved at twice that length and beyond as
    often as before the stage or more (slack 0.02), and after all three it reaches further than before."""
    ends = ends_of_stages(taught)
    further = ahead(
        reach(ends[-1].accuracy), reach(ends[0].accuracy), "reach after - before self-training"
    )
    return further & moves_right(taught) & solved(taught, "S5")


@ps.claim(
    "ours, on Figure 1b",
    ps.published(
        taught,
        control,
        expect=ps.Outcome.FAILS,
        because="as many more updates at the first length with true labels do as well",
    ),
    id="F1b-control",
)
def self_training_does_better_than_its_control(
    taught: xr.Dataset, control: xr.Dataset
) -> ps.Verdict:
    """After as many updates, self-training reaches half an octave further than going on at the first length with true
    labels."""
    a, b = (reach(run.accuracy.isel(time=-1)) for run in (taught, control))
    return ahead(a, b, "reach, self-training - control", by=0.1) & solved(control, "control")


claims = (self_training_moves_the_curve_right, self_training_does_better_than_its_control)
