"""Figure 7: a small GPT on Shakespeare. The checks were written before any run of ours at this size was recorded.

The theorems' two phases are: attention grows and makes the data separable, then it is as good as frozen while the read-out
grows. Here attention is the bilinear form of a head's scores, the read-out the matrix of the logits, and frozen is what has a
small drift for the rate at which it is trained.
"""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on
from phasescope.networks import TextSpec

from ..phases import ran_to_the_end
from . import recorded

PAGE = "Appendix E, Figure 7: the two-phase learning dynamics persist when training with NanoGPT"
RUNS = (recorded.page, recorded.config)
NAMES = ("page", "config")
QUARTER = ps.chosen(0.25, "of the largest drift")
EARLY = ps.chosen(2 / 3, "of the run: a burst at its end is no freezing")
LATE = 5  # records at the end


def grown(x: xr.DataArray) -> xr.DataArray:
    """How much of its way to the largest norm something has come, from its start."""
    begun = x - x.isel(time=0)
    return begun / begun.max("time")


def attention(run: xr.Dataset) -> xr.DataArray:
    """The norm of the scores, mean over layers and heads."""
    return run.head_score_norm.mean(("layer", "head"), skipna=False)


def rate(run: xr.Dataset) -> xr.DataArray:
    """The learning rate, mean over the updates since the record before."""
    spec = TextSpec.of(run)
    t = np.arange(int(run.time[-1]))
    part = np.clip((t - spec.warm_up) / max(spec.cosine - spec.warm_up, 1), 0, 1)
    fall = spec.last_rate + 0.5 * (1 - spec.last_rate) * (1 + np.cos(np.pi * part))
    rising = (t + 1) / (spec.warm_up + 1)
    each = spec.rate * np.where(t < spec.warm_up, rising, fall if spec.cosine else 1.0)
    ends = run.time.values.astype(int)
    means = [each[a:b].mean() for a, b in itertools.pairwise(ends)]
    return xr.DataArray(means, {"time": run.time[1:]}, "time")


def learns(run: xr.Dataset) -> ps.Verdict:
    """The loss falls by a quarter, norms and drift are those of weights that grew."""
    left = run.validation_loss.isel(time=-1) / run.validation_loss.isel(time=0)
    fallen = ps.chosen(0.75, "a quarter of the loss was learned")
    drift = run.attention_drift.isel(time=slice(1, None))
    more = ps.chosen(1.5, "has grown by half")
    ends = [x.isel(time=-1) / x.isel(time=0) for x in (attention(run), run.readout_norm)]
    several = ps.chosen(10.0, "records, so that the ends alone say nothing")
    return (
        ps.guard(ps.at_least(float(run.sizes["time"]), several, "records"))
        & ps.guard(ps.positive(run.validation_loss, "validation loss"))
        & ps.guard(ps.at_most(left, fallen, "validation loss left"))
        & ps.guard(ps.positive(run.head_score_norm, "norms of the scores"))
        & ps.guard(ps.positive(run.readout_norm, "norm of the read-out"))
        & ps.guard(ps.at_least(ends[0], more, "growth of the scores"))
        & ps.guard(ps.at_least(ends[1], more, "growth of the read-out"))
        & ps.guard(ps.within(drift, 0.0, 1.0, "drift"))
        & ran_to_the_end(run)
    )


@claim(
    "Figure 7, attention first",
    on(
        "training",
        *RUNS,
        expect="undecided",
        because="the read-out is half way before the scores are, in both settings: {parts[0].measured}",
    ),
    id="fig7-attention-first",
    kind="figure",
    tex=r"t[\|W_Q^\top W_K\| \text{ half way}] < t[\|u\| \text{ half way}]",
    page=PAGE,
)
def attention_grows_before_the_read_out(*runs):
    """The scores have come half of their way before the read-out has, in both settings."""
    found = []
    for name, run in zip(NAMES, runs, strict=True):
        first = ps.crossing(grown(attention(run)), 0.5, "up")
        second = ps.crossing(grown(run.readout_norm), 0.5, "up")
        found += [ps.ordered(first, second, what=f"{name}: scores, read-out"), learns(run)]
    return ps.all_of(found)


@claim(
    "Figure 7, then frozen",
    on(
        "training",
        *RUNS,
        expect="undecided",
        because="the drift falls with the learning rate and not by itself: {parts[0].measured}",
    ),
    id="fig7-frozen",
    kind="figure",
    tex=r"\mathrm{TV}/\eta \big|_{t_{end}} < \tfrac14 \max_t \mathrm{TV}/\eta",
    page=PAGE,
)
def attention_is_frozen_in_the_second_phase(*runs):
    """Over the last five records the drift of attention, divided by the learning rate, is less than a quarter of the largest,
    which comes in the first two thirds, in both settings."""
    found = []
    for name, run in zip(NAMES, runs, strict=True):
        drift = run.attention_drift.mean(("layer", "head"), skipna=False).isel(time=slice(1, None))
        paced = drift / rate(run)
        late = paced.isel(time=slice(-LATE, None)).mean("time", skipna=False) / paced.max("time")
        peak = paced.fillna(-np.inf).idxmax("time") / float(run.time[-1])
        found += [
            ps.at_most(late, QUARTER, f"{name}: late drift over the largest"),
            ps.at_most(peak, EARLY, f"{name}: when the drift is largest, over the run"),
            learns(run),
        ]
    return ps.all_of(found)


@claim(
    "Figure 7, the read-out first (ours)",
    on("training", *RUNS),
    id="ours-fig7-readout-first",
    kind="order",
    whose="ours",
    tex=r"t[\mathcal L \text{ half way}] < t[\|W_Q^\top W_K\| \text{ a tenth of its way}]",
    page=PAGE,
)
def half_of_the_loss_falls_before_attention_has_moved(*runs):
    """Half of the fall of the validation loss is over before the scores have come a tenth of their way, in both settings: the
    read-out of single characters is learned first."""
    found = []
    for name, run in zip(NAMES, runs, strict=True):
        loss = run.validation_loss
        half = (loss.isel(time=0) + loss.min("time")) / 2
        fallen = ps.crossing(loss, half, "down")
        moved = ps.crossing(grown(attention(run)), 0.1, "up")
        found += [ps.ordered(fallen, moved, what=f"{name}: loss, scores"), learns(run)]
    return ps.all_of(found)


claims = (
    attention_grows_before_the_read_out,
    attention_is_frozen_in_the_second_phase,
    half_of_the_loss_falls_before_attention_has_moved,
)
