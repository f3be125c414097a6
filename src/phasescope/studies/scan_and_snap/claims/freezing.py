"""Section 6: how slowly the attention grows in the end, and what freezes it."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import (
    after_start,
    classes_of,
    drop,
    late,
    moving,
    outputs_of,
    top_logit,
)
from ..spec import Spec
from . import evidence


def derivative(x: xr.DataArray, clock: xr.DataArray) -> xr.DataArray:
    """By central differences, at all records but the first and the last."""
    return x.copy(data=np.gradient(x.values, clock.values)).isel(time=slice(1, -1))


@ps.claim("Section 6, snapping", ps.theory(evidence.speed), id="C26")
def growth_is_logarithmic_and_then_doubly_so(run):
    """B_n grows like ln t / 2 before the transition (slope 0.48 to 0.5 in 20 <= t <= 80), and
    like ln ln t / 2 after it: slope against ln ln(M eta_Y t / K) 0.5070 at eta_Y t = 10^4,
    falling, and 0.5001 at 10^6 (K = 10, M = 1000, equal rates)."""
    spec = Spec.of(run)
    K = classes_of(run)
    M = outputs_of(run)
    B = after_start(run.B_n)
    doubly = np.log(np.log(M * spec.eta_Y * B.time / K))
    before = derivative(B, np.log(B.time)).sel(time=slice(20, 80))
    after = derivative(B, doubly).sel(time=slice(3e3, None))
    early, last = (after.sel(time=x / spec.eta_Y, method="nearest") for x in (1e4, 1e6))
    return (
        ps.within(before, 0.48, 0.5, "d B / d ln t before")
        & ps.decreasing(after, "d B / d ln ln t, late")
        & ps.agree(early, 0.5070, atol=6e-5, what="d B / d ln ln t at 10^4")
        & ps.agree(last, 0.5001, atol=6e-5, what="d B / d ln ln t at 10^6")
        & ps.reached(run)
    )


@ps.claim("Section 6, snapping (ours): training", ps.published(evidence.small), id="C26-true")
def training_grows_slower_than_the_theory(run):
    """In Syn-Small training z_l0 grows from 1 to 1000 units of time by a factor 4.50 at eta_Z =
    eta_Y and 1.83 at ten times that; in the last factor 10 of time by 7.4% and less."""
    z = top_logit(run).sel(eta_Z=[1.0, 10.0])
    top = {"class": 0, "distinct_token": -1}
    found = late(run).z_dt.isel(top) / late(run, 1.0).z_dt.isel(top)
    last = z.isel(time=-1) / z.sel(time=100 * evidence.UNIT_SMALL, method="nearest")
    return (
        ps.agree(found.sel(eta_Z=[1.0, 10.0]), np.array([4.504, 1.827]), rtol=1e-3, what="growth")
        & ps.within(last, 0.98, 1.075, "z_l0 at the end over a tenth of the time")
        & ps.reached(run)
    )


_MEMORY = "the decoder remembers old attention: the ratio is 0.83, 0.19, 0.02 at eta_Z / eta_Y = 0.1, 1, 10 in Syn-Small"


@ps.claim(
    "Section 6, cause of the snap",
    ps.theory(evidence.one),
    ps.published(evidence.small, expect=ps.Outcome.FAILS, because=_MEMORY),
    id="6.5",
)
def the_decay_of_gamma_alone_freezes_attention(run):
    """At 1000 units of time the logits of common tokens move as the current attention F alone
    would make them: the ratio of the two velocities is within 10% of 1 (theory: eta_Z / eta_Y up
    to 0.1, weak correlation; published: up to 10)."""
    if "p_common" in run.dims:
        run = evidence.at_rho(run)
        found = late(run).lag.sel(eta_Z=[1e-3, 0.1])
    else:
        found = late(moving(run)).lag
    moved = drop(run).isel(time=-1).sel(eta_Z=0.1)
    same = ps.within(found, 0.9, 1.1, "velocity / that of the current F")
    return same & ps.positive(moved, "-z_CT at the end")


@ps.claim(
    "Section 6, cause of the snap (ours)",
    ps.theory(evidence.one),
    ps.published(evidence.small),
    id="6.5-lag",
)
def memory_freezes_attention(run):
    """The ratio of the two velocities falls with eta_Z / eta_Y: 0.992, 0.830, 0.186, 0.021 at
    0.01, 0.1, 1, 10 in Syn-Small, 0.92, 0.48, 0.05 at 0.1, 1, 10 for K = 10, M = 1000, rho_0 =
    0.01."""
    what = "velocity / that of the current F"
    if "p_common" in run.dims:
        found = late(evidence.at_rho(run)).lag.sel(eta_Z=[0.1, 1.0, 10.0])
        return ps.agree(found, np.array([0.92, 0.48, 0.05]), atol=0.006, what=what)
    found = late(moving(run)).lag
    return ps.agree(found, np.array([0.9925, 0.8298, 0.1860, 0.0212]), atol=1e-4, what=what)


@ps.claim(
    "Section 6, control (ours)",
    ps.published(evidence.small, evidence.small_memoryless, evidence.small_theory),
    id="6.5-control",
)
def without_memory_attention_grows_as_the_theory_says(true, forgetful, closed):
    """A decoder that forgets old attention brings back the theory's growth: in Syn-Small at 1000
    units of time z_l0 is 0.0945, 0.541, 1.728, 2.790 without memory, within 60% of the theory's,
    and 0.0962, 0.493, 0.655, 0.611 in training."""
    top = {"class": 0, "distinct_token": -1}
    z, without, predicted = (late(moving(run)).z_dt.isel(top) for run in (true, forgetful, closed))
    in_training = np.array([0.0962, 0.4933, 0.6550, 0.6111])
    without_memory = np.array([0.0945, 0.5413, 1.7283, 2.7896])
    fast = {"eta_Z": [1.0, 10.0]}
    same = "z_l0 without memory and by the theory"
    return (
        ps.agree(without, without_memory, atol=6e-5, what="z_l0, without memory")
        & ps.agree(z, in_training, atol=6e-5, what="z_l0, training")
        & ps.agree(without.sel(fast), predicted.sel(fast), rtol=0.12, what=same)
        & ps.at_most(z.sel(fast) / predicted.sel(fast), 0.35, "training / theory")
    )


claims = (
    growth_is_logarithmic_and_then_doubly_so,
    training_grows_slower_than_the_theory,
    the_decay_of_gamma_alone_freezes_attention,
    memory_freezes_attention,
    without_memory_attention_grows_as_the_theory_says,
)
