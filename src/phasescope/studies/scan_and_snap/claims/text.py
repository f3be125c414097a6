"""Figures 7 and 10: attention of the lowest layer on WikiText-2. The checks were written before any run at this size existed, but
for two of ours, which are post hoc: `ours-fig10-early`, and `ours-fig7-released`, which replaced a check that was registered.

Whether attention is frozen is judged by its drift, the total variation on fixed sequences between two records, 50 updates
apart in Figure 7 and 500 in Figure 10; a picture of a map cannot tell.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from . import recorded

HALF = ps.chosen(0.5, "of the entropy at the start")
QUARTER = ps.chosen(0.25, "of the largest drift")
LATE = 5  # records at the end
EARLY = 2000  # updates
NAMES = ("one layer", "three layers")


def lowest(x: xr.DataArray) -> xr.DataArray:
    """Of the lowest layer, mean over heads."""
    return x.isel(layer=0).mean("head", skipna=False)


def learns(run: xr.Dataset) -> ps.Verdict:
    """The loss falls by a tenth, and attention and its drift are those of weights."""
    left = run.validation_loss.isel(time=-1) / run.validation_loss.isel(time=0)
    fallen = ps.chosen(0.9, "a tenth of the loss was learned")
    most = float(np.log(ps.number(run, "context")))
    drift = run.attention_drift.isel(time=slice(1, None))
    several = ps.chosen(10.0, "records, so that the ends alone say nothing")
    return (
        ps.guard(ps.at_least(float(run.sizes["time"]), several, "records"))
        & ps.guard(ps.positive(run.validation_loss, "validation loss"))
        & ps.guard(ps.at_most(left, fallen, "validation loss left"))
        & ps.guard(ps.within(run.attention_entropy, 0.0, most, "entropy"))
        & ps.guard(ps.within(drift, 0.0, 1.0, "drift"))
        & ps.reached(run)
    )


@claim(
    "Figure 7, attention becomes sparse",
    on("training", recorded.one_layer, recorded.three_layers),
    id="fig7-sparse",
    kind="figure",
    tex=r"H(t_{end}) < \tfrac12 H(0)",
    page="Section 7, Figure 7: attention becomes sparse over training",
)
def attention_becomes_sparse(one, three):
    """The entropy of the lowest layer's attention is at less than half of its start at the end, with one layer and with three."""
    found = []
    for name, run in zip(NAMES, (one, three), strict=True):
        entropy = lowest(run.attention_entropy)
        left = entropy.isel(time=-1) / entropy.isel(time=0)
        found += [ps.at_most(left, HALF, f"{name}: entropy left"), learns(run)]
    return ps.all_of(found)


@claim(
    "Figure 7, attention freezes",
    on(
        "training",
        recorded.one_layer,
        recorded.three_layers,
        expect="undecided",
        because="it becomes sparse and goes on moving: at the end its drift is up to {parts[0].value:.2g} of the largest with "
        "one layer, and {parts[7].value:.2g} with three",
    ),
    id="fig7-freezes",
    kind="figure",
    tex=r"\mathrm{TV}(A_t, A_{t-50}) < \tfrac14 \max_s \mathrm{TV}(A_s, A_{s-50})",
    page="Section 7: attention of the first layer freezes at some point, even if the learning rate remains the same",
)
def attention_freezes(one, three):
    """Over the last five records the drift of the lowest layer's attention is less than a quarter of the largest, which comes in
    the first two thirds, with one layer and with three."""
    return ps.all_of([*_frozen(one, NAMES[0]), *_frozen(three, NAMES[1])])


def _frozen(run: xr.Dataset, name: str) -> list[ps.Verdict]:
    """The drift has been large, not only of late, and is small at the end."""
    early = ps.chosen(2 / 3, "of the run: a burst at its end is no freezing")
    drift = lowest(run.attention_drift).isel(time=slice(1, None))
    late = drift.isel(time=slice(-LATE, None)).mean("time", skipna=False) / drift.max("time")
    peak = drift.fillna(-np.inf).idxmax("time") / float(run.time[-1])
    return [
        ps.at_most(late, QUARTER, f"{name}: late drift over the largest"),
        ps.at_most(peak, early, f"{name}: when the drift is largest, over the run"),
        learns(run),
    ]


@claim(
    "Figure 10, entropy against the rate",
    on(
        "training",
        recorded.rates,
        expect="undecided",
        because="at the end the order of the three smaller rates is the other one ({parts[0].measured}); at the largest rate "
        "attention has collapsed to one position",
    ),
    id="fig10-entropy",
    kind="figure",
    tex=r"\eta < \eta' \Rightarrow H_\eta > H_{\eta'}",
    page="Appendix E.2, Figure 10: a higher learning rate leads to lower entropy",
)
def entropy_falls_with_the_rate(runs):
    """The entropy of attention at the end, mean over seeds, falls from each of the four rates to the next."""
    entropy = lowest(runs.attention_entropy).isel(time=-1).mean("seed", skipna=False)
    return ps.decreasing(entropy, "entropy", along="rate") & learns(runs)


@claim(
    "Figure 10, early (ours)",
    on("training", recorded.rates),
    id="ours-fig10-early",
    kind="monotone",
    whose="ours",
    tex=r"\eta < \eta' \Rightarrow H_\eta(t) > H_{\eta'}(t),\ 0 < t \le 2000",
    page="Appendix E.2, Figure 10: a higher learning rate leads to lower entropy",
)
def entropy_falls_with_the_rate_early(runs):
    """At each record of the first 2,000 updates the entropy of attention, mean over seeds, falls from each of the four rates to
    the next."""
    entropy = lowest(runs.attention_entropy).mean("seed", skipna=False)
    early = entropy.where((entropy.time > 0) & (entropy.time <= EARLY), drop=True)
    return ps.decreasing(early, "entropy", along="rate") & learns(runs)


@claim(
    "Figure 10, further along (ours)",
    on(
        "training",
        recorded.rates,
        expect="false",
        because="at the smaller rates the entropy has been lowest early and rises again, by {value:.2g} of the least distance "
        "between two rates in the second half",
    ),
    id="ours-fig10-settled",
    kind="order",
    whose="ours",
    tex=r"|H_\eta(t_{end}) - H_\eta(t_{end}/2)| < \tfrac12 \min |H_\eta - H_{\eta'}|",
    page="Appendix E.2: trained until convergence",
)
def entropies_have_settled(runs):
    """From half of the updates on the entropy at each rate changes by less than half of the distance to its neighbour: what
    differs between rates is not only how far they have come."""
    entropy = lowest(runs.attention_entropy).mean("seed", skipna=False)
    half = entropy.isel(time=entropy.sizes["time"] // 2)
    last = entropy.isel(time=-1)
    least = abs(last.diff("rate")).min("rate")
    moved = abs(last - half).max("rate") / least
    return ps.at_most(moved, HALF, "change since half time over the least distance") & learns(runs)


@claim(
    "Figure 7, the released rates (ours)",
    on("training", recorded.one_layer, recorded.released),
    id="ours-fig7-released",
    kind="order",
    whose="ours",
    tex=r"H(t_{end}) < \tfrac1{10} H(0) \text{ with FFN } 5 \text{ and } 10",
    page="Figure 7: the caption has a rate of 5, the released code 10 for the feed-forward layer",
)
def attention_is_as_sparse_at_the_released_rate(caption, released):
    """Less than a tenth of the entropy is left at the end in each seed, at the caption's rate and with the feed-forward layer at
    twice that rate, as released."""
    # The check that was registered asked both means to agree to a fifth. They did, by a hair, which says nothing: seeds of one
    # setting differ by a factor of two.
    found = []
    for name, run in (("caption", caption), ("released", released)):
        entropy = lowest(run.attention_entropy)
        left = entropy.isel(time=-1) / entropy.isel(time=0)
        tenth = ps.chosen(0.1, "of the entropy at the start")
        found += [ps.at_most(left, tenth, f"{name}: entropy left"), learns(run)]
    return ps.all_of(found)


claims = (
    attention_becomes_sparse,
    attention_freezes,
    entropy_falls_with_the_rate,
    entropy_falls_with_the_rate_early,
    entropies_have_settled,
    attention_is_as_sparse_at_the_released_rate,
)
