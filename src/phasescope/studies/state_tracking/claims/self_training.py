"""Claims about self-training on fresh chains, against a control of as many updates: ours, for stages of 3,000 updates are
not the paper's until convergence."""

from __future__ import annotations

import xarray as xr

import phasescope as ps
from phasescope import claim, on

from . import recorded
from .comparing import (
    HALF_OCTAVE,
    ahead,
    ends_of_stages,
    ends_somewhere,
    moves_right,
    not_ahead,
    reach,
    solved,
)
from .premises import theorems

PAGE = (
    "Section 7, Figure 1b; 8,000 updates on fresh chains, then stages of 3,000, layer normalisation"
)

taught, control = recorded.stages.values()


@claim(
    "ours, on Figure 1b: stages of 3,000 updates",
    on("training", taught),
    id="ours-stages-right",
    aliases=("F1b",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{k+1}(L) \ge \mathrm{Acc}_k(L), \quad L \ge 2 L_k",
    page=PAGE,
    assumes=theorems,
)
def self_training_moves_the_curve_right(taught: xr.Dataset) -> ps.Verdict:
    """After each stage on self-labelled chains of length 10, 20 and 40, S5 is solved at twice that length and beyond as
    often as before the stage or more (slack 0.02), and after all three it reaches further than before."""
    ends = ends_of_stages(taught)
    further = ahead(
        reach(ends[-1].accuracy), reach(ends[0].accuracy), "reach after - before self-training"
    )
    return further & moves_right(taught) & solved(taught, "S5")


@claim(
    "ours, on Figure 1b: the control",
    on("training", taught, control),
    id="ours-stages-control",
    aliases=("F1b-control",),
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{\text{self-training}} - \mathrm{Acc}_{\text{control}} < \tfrac12 \text{ octave}",
    page=PAGE,
    assumes=theorems,
)
def self_training_does_hardly_better_than_its_control(
    taught: xr.Dataset, control: xr.Dataset
) -> ps.Verdict:
    """After as many updates, self-training reaches less than half an octave further than going on at the first length with true
    labels."""
    a, b = (reach(run.accuracy.isel(time=-1)) for run in (taught, control))
    apart = not_ahead(a, b, "reach, control - self-training", HALF_OCTAVE)
    both = solved(control, "control") & solved(taught, "self-training")
    return apart & both & ends_somewhere(a, b)


claims = (self_training_moves_the_curve_right, self_training_does_hardly_better_than_its_control)
