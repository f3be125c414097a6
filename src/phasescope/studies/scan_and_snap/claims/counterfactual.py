"""Section 6: memory measured against the decoder that the present attention would have made.

`lag` divides by the part of the pull in the span of the current directions f_n: it misses what memory does inside of that
span. `lag_present` divides by the velocity under Y = F(t) S(t), the decoder that the present attention would have made of
the residuals that training has met; the control without memory is trained with it. Both are 1 if the attention never moved.
"""

from __future__ import annotations

import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import late, moving
from . import evidence
from .freezing import have_fallen
from .premises import one_common_token

WHAT = "velocity / that of the present attention's decoder"


def late_present(run: xr.Dataset) -> xr.DataArray:
    """At 1000 units of time."""
    return late(moving(run)).lag_present


def begins_at_one(run: xr.Dataset) -> ps.Verdict:
    """At the first record after the start there is nothing to remember."""
    first = moving(run).lag_present.isel(time=1)
    near = ps.chosen(0.1, "a hundredth of a unit of time")
    return ps.guard(ps.agree(first, 1.0, atol=near, what=f"{WHAT}, at first"))


@claim(
    "Section 6: memory, by the decoder of the present attention (ours)",
    on(
        "population",
        *evidence.inside_residuals,
        expect="false",
        because="where the decoder is ten times as fast or more, memory takes less than half: {measured}",
    ),
    on("population", *evidence.inside_residuals_fast),
    id="ours-memory-counterfactual",
    kind="order",
    whose="ours",
    tex=r"\dot z_{CT} < \tfrac12 \dot z_{CT}[Y = F(t) S(t)]",
    page="Section 6, Assumption 1 (c)",
    assumes=one_common_token,
    varies=("eta_Z",),
)
def training_has_less_than_half_of_the_present_velocity(*runs):
    """At 1000 units of time the common token moves with less than half of the velocity that it would have if the present
    attention had made the decoder of the same residuals."""
    half = ps.chosen(0.5, "more of it is memory than not")
    found = [ps.negative(late_present(run) - half, f"{WHAT}, less 1/2") for run in runs]
    begins = ps.all_of(map(begins_at_one, runs))
    return ps.all_of(found) & begins & ps.all_of(map(have_fallen, runs))


@claim(
    "Section 6: two measures of memory in Syn-Small (ours)",
    on("population", evidence.small_residuals),
    id="ours-memory-measures",
    kind="order",
    whose="ours",
    tex=r"\dot z_{CT} / \dot z_{CT}[Y = F(t) S(t)] < \mathrm{lag}",
    page="Section 6, Assumption 1 (c)",
    assumes=one_common_token,
)
def the_projection_misses_a_part_of_the_memory(run):
    """In Syn-Small at 1000 units of time the velocity over that of the present attention's decoder is below the lag at every
    rate, and falls with eta_Z / eta_Y from 0.01 to 10 as the lag does."""
    present = late_present(run)
    lag = late(moving(run)).lag
    return (
        ps.positive(lag - present, "lag - velocity / that of the present attention's decoder")
        & ps.decreasing(present, WHAT, along="eta_Z")
        & ps.guard(ps.positive(present, WHAT))
        & ps.guard(ps.decreasing(lag, "lag", along="eta_Z"))
        & begins_at_one(run)
        & have_fallen(run)
    )


@claim(
    "Section 6: two measures of memory in weak correlation (ours)",
    on(
        "population",
        *evidence.inside_residuals,
        expect="undecided",
        because="with the decoder only ten times as fast they part at the larger overlap: {parts[0].measured}; at the smaller "
        "one they agree: {parts[1].measured}",
    ),
    id="ours-memory-measures-weak",
    kind="approx",
    whose="ours",
    tex=r"\dot z_{CT} / \dot z_{CT}[Y = F(t) S(t)] \simeq \mathrm{lag}",
    page="Section 6, Assumptions 1 (c) and 2",
    assumes=one_common_token,
    varies=("eta_Z",),
)
def both_measures_agree_in_weak_correlation(*runs):
    """Inside the assumptions both measures agree within 5% at 1000 units of time, at eta_Z / eta_Y = 0.001, 0.01, 0.1."""
    near = ps.chosen(
        0.05, "a twentieth: what is left of the memory, one in ten, would be twice that"
    )
    found = [
        ps.agree(late_present(run), late(moving(run)).lag, rtol=near, what=f"{WHAT}, against lag")
        for run in runs
    ]
    begins = ps.all_of(map(begins_at_one, runs))
    return ps.all_of(found) & begins & ps.all_of(map(have_fallen, runs))


claims = (
    training_has_less_than_half_of_the_present_velocity,
    the_projection_misses_a_part_of_the_memory,
    both_measures_agree_in_weak_correlation,
)
