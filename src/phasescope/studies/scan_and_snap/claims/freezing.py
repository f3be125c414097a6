"""Section 6: what freezes the attention.

The `lag` is the velocity of the common tokens' logits over the one that the decoder's pull would
give if it lay in the span of the current directions f_n, as (9) says it does: the pull is projected
on them by least squares. It is 1 if the attention never moved. What is left of the pull comes from
attention as it was when the decoder learned: memory.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import drop, late, moving, top_logit
from . import evidence
from .bounds import kept, last_digit
from .closed_theory import by_ratio
from .premises import one_common_token

WHAT = "velocity / that of the pull on the current F"


def have_fallen(run: xr.Dataset) -> ps.Verdict:
    """The common tokens have lost attention at every rate."""
    return ps.guard(ps.positive(drop(moving(run)).isel(time=-1), "-z_CT at the end"))


def begins_without_memory(run: xr.Dataset) -> ps.Verdict:
    """At the first record after the start there is nothing to remember."""
    first = moving(run).lag.isel(time=1)
    near = ps.chosen(0.1, "a hundredth of a unit of time")
    return ps.guard(ps.agree(first, 1.0, atol=near, what=f"{WHAT}, at first"))


def late_lag(run: xr.Dataset) -> xr.DataArray:
    """At 1000 units of time."""
    return late(moving(run)).lag


@claim(
    "Section 6: the decay of gamma freezes the attention",
    on("population", *evidence.inside_true),
    on(
        "population",
        *evidence.inside_fast,
        expect="outside",
        because="where the attention is as fast as the decoder, the decoder's memory slows it down: {measured}",
    ),
    id="sec6-cause",
    aliases=("6.5",),
    kind="approx",
    tex=r"\dot z_l \simeq -\eta_Z\gamma\sum_n (1 - f_{nl}^2)\sum_{n'}\beta_{nn'}f_n^\top f_{n'}",
    page="Section 6 with (9) and (10): the pull is in the span of the current f_n, and its decay is gamma's",
    as_=("eta_Y/eta_Z", "inf"),
    assumes=one_common_token,
    varies=("eta_Z",),
)
def the_decay_of_gamma_alone_freezes_attention(*runs):
    """At 1000 units of time the logit of the common token moves as a pull in the span of the current
    directions alone would make it, in the limit of a fast decoder."""
    tenth = ps.chosen(0.1, "a tenth")

    def judge(run):
        lag = by_ratio(late_lag(run))
        if lag.sizes["ratio"] < 3:
            return ps.agree(lag, 1.0, atol=tenth, what=WHAT)
        return ps.tends_to(lag, 1.0, along="ratio", within=tenth, what=WHAT)

    return ps.all_of(map(judge, runs)) & ps.all_of(map(have_fallen, runs))


@claim(
    "Section 6: memory freezes the attention (ours)",
    on(
        "population",
        *evidence.inside_true,
        expect="false",
        because="where the decoder is ten times as fast or more, memory takes less than half: {measured}",
    ),
    on("population", *evidence.inside_fast),
    id="ours-memory",
    kind="order",
    whose="ours",
    tex=r"\dot z_{CT} < \tfrac12 \dot z_{CT}[F(t)]",
    page="Section 6, Assumption 1 (c)",
    assumes=one_common_token,
    varies=("eta_Z",),
)
def memory_freezes_attention(*runs):
    """At 1000 units of time the common token moves with less than half of the velocity that a pull in
    the span of the current directions would give it."""
    half = ps.chosen(0.5, "more of it is memory than not")
    found = [ps.negative(late_lag(run) - half, f"{WHAT}, less 1/2") for run in runs]
    begins = ps.all_of(map(begins_without_memory, runs))
    return ps.all_of(found) & begins & ps.all_of(map(have_fallen, runs))


@claim(
    "Section 6: memory in Syn-Small (ours)",
    on("population", evidence.small),
    id="ours-memory-small",
    kind="monotone",
    whose="ours",
    tex=r"\partial\,\mathrm{lag}/\partial\eta_Z < 0",
    page="Section 6, Assumption 1 (c)",
    assumes=one_common_token,
)
def memory_grows_with_the_attentions_rate(run):
    """In Syn-Small the velocity of the common tokens, over that of a pull in the span of the current
    directions, falls with eta_Z / eta_Y from 0.01 to 10 at 1000 units of time."""
    found = late_lag(run)
    return (
        ps.decreasing(found, WHAT, along="eta_Z")
        & ps.guard(ps.positive(found, WHAT))
        & begins_without_memory(run)
        & have_fallen(run)
    )


@claim(
    "Section 6: the lag (ours)",
    on("population", evidence.one, evidence.small),
    id="ours-lag-numbers",
    aliases=("6.5-lag",),
    kind="regression",
    whose="ours",
    tex=r"0.9925, 0.8298, 0.1860, 0.0212;\ 0.92, 0.48, 0.05",
    page="Section 6",
)
def the_lag_over_the_ratio_of_rates(one, small):
    """The lag at 1000 units of time is 0.9925, 0.8298, 0.1860, 0.0212 at eta_Z / eta_Y = 0.01, 0.1, 1,
    10 in Syn-Small, and 0.92, 0.48, 0.05 at 0.1, 1, 10 for K = 10, M = 1000, rho_0 = 0.01."""
    weak = late(evidence.at_rho(one)).lag.sel(eta_Z=[0.1, 1.0, 10.0])
    strong = late_lag(small)
    before = np.array([0.9925, 0.8298, 0.1860, 0.0212])
    return ps.agree(
        weak, np.array([0.92, 0.48, 0.05]), atol=last_digit(0.01), what=WHAT
    ) & ps.agree(strong, before, atol=last_digit(1e-4), what=WHAT)


def late_tops(*runs: xr.Dataset) -> list[xr.DataArray]:
    """z_l0 at 1000 units of time, where the attention moves."""
    return [late(moving(run)).z_dt.isel({"class": 0, "distinct_token": -1}) for run in runs]


CONTROL = (evidence.small, evidence.small_memoryless, evidence.small_theory)


@claim(
    "Section 6: the control without memory (ours)",
    on("population", *CONTROL),
    id="ours-control",
    kind="order",
    whose="ours",
    tex=r"|z_{l_0}^{memoryless} - z_{l_0}^{(10)}| < |z_{l_0} - z_{l_0}^{(10)}|",
    page="Section 6",
)
def without_memory_attention_is_nearer_to_the_theory(true, forgetful, closed):
    """A decoder that forgets old attention is nearer to (10) than training is, at every rate: the top
    logit of Syn-Small at 1000 units of time, eta_Z / eta_Y = 0.01, 0.1, 1, 10."""
    z, without, predicted = late_tops(true, forgetful, closed)
    nearer = abs(z - predicted) - abs(without - predicted)
    rises = ps.guard(ps.increasing(predicted, "z_l0 of (10)", along="eta_Z"))
    positive = ps.guard(ps.positive(without, "z_l0 without memory"))
    tenth = ps.chosen(0.1, "of the same order as (10)")
    like = ps.guard(ps.at_least(z / predicted, tenth, "training over (10)"))
    return (
        ps.positive(nearer, "distance of training, less that without memory")
        & rises
        & positive
        & like
    )


@claim(
    "Section 6: the control against the theory (ours)",
    on(
        "population",
        *CONTROL,
        expect="undecided",
        because="at the slowest rate there is nothing to forget, and the force is not that of (10): {measured}",
    ),
    id="ours-control-close",
    aliases=("6.5-control",),
    kind="approx",
    whose="ours",
    tex=r"z_{l_0}^{memoryless} \simeq z_{l_0}^{(10)}",
    page="Section 6",
)
def without_memory_attention_grows_as_the_theory_says(true, forgetful, closed):
    """A decoder that forgets old attention brings back the growth of (10): the top logit of Syn-Small
    at 1000 units of time is that of (10) within 12%, at eta_Z / eta_Y = 0.01, 0.1, 1, 10."""
    z, without, predicted = late_tops(true, forgetful, closed)
    near = ps.chosen(0.12, "an eighth: far less than the factor 3 of training")
    rises = ps.guard(ps.increasing(predicted, "z_l0 of (10)", along="eta_Z"))
    off = ps.guard(ps.positive(abs(z - without), "training is not a copy"))
    return ps.agree(without, predicted, rtol=near, what="z_l0 without memory") & rises & off


@claim(
    "Section 6: the control, numbers (ours)",
    on("population", *CONTROL),
    id="ours-control-numbers",
    kind="regression",
    whose="ours",
    tex=r"0.0945, 0.541, 1.728, 2.790;\ 0.061, 0.550, 1.920, 2.833",
    page="Section 6",
)
def top_logits_with_and_without_memory(true, forgetful, closed):
    """In Syn-Small at 1000 units of time z_l0 is 0.0945, 0.541, 1.728, 2.790 without memory, 0.0962,
    0.493, 0.655, 0.611 in training and 0.061, 0.550, 1.920, 2.833 by (10), at eta_Z / eta_Y = 0.01,
    0.1, 1, 10."""
    z, without, predicted = late_tops(true, forgetful, closed)
    digit = last_digit(1e-4)
    coarse = last_digit(1e-3)
    before = {
        "without memory": np.array([0.0945, 0.5413, 1.7283, 2.7896]),
        "training": np.array([0.0962, 0.4933, 0.6550, 0.6111]),
    }
    return (
        ps.agree(without, before["without memory"], atol=digit, what="z_l0, without memory")
        & ps.agree(z, before["training"], atol=digit, what="z_l0, training")
        & ps.agree(
            predicted, np.array([0.061, 0.550, 1.920, 2.833]), atol=coarse, what="z_l0, (10)"
        )
    )


@claim(
    "Section 6, snapping in training (ours)",
    on("population", evidence.small),
    id="ours-growth-numbers",
    aliases=("C26-true",),
    kind="regression",
    whose="ours",
    tex=r"z_{l_0}(1000\bar t_0)/z_{l_0}(\bar t_0) = 4.50, 1.83",
    page="Section 6",
)
def training_grows_slower_than_the_theory(run):
    """In Syn-Small training z_l0 grows from 1 to 1000 units of time by a factor 4.504 at eta_Z =
    eta_Y and 1.827 at ten times that; in the last factor 10 of time by 7.4% and less."""
    z = top_logit(run).sel(eta_Z=[1.0, 10.0])
    top = {"class": 0, "distinct_token": -1}
    found = late(run).z_dt.isel(top) / late(run, 1.0).z_dt.isel(top)
    last = z.isel(time=-1) / z.sel(time=100 * evidence.UNIT_SMALL, method="nearest")
    low = kept(0.98)
    high = kept(1.075)
    before = np.array([4.504, 1.827])
    return (
        ps.agree(found.sel(eta_Z=[1.0, 10.0]), before, rtol=kept(1e-3), what="growth")
        & ps.within(last, low, high, "z_l0 at the end over a tenth of the time")
        & ps.reached(run)
    )


claims = (
    the_decay_of_gamma_alone_freezes_attention,
    memory_freezes_attention,
    memory_grows_with_the_attentions_rate,
    the_lag_over_the_ratio_of_rates,
    without_memory_attention_is_nearer_to_the_theory,
    without_memory_attention_grows_as_the_theory_says,
    top_logits_with_and_without_memory,
    training_grows_slower_than_the_theory,
)
