"""Figures 7 and 10: attention on a text."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import recorded
from ..claims.text import lowest

BLUE, VERMILION, GREEN, *_ = ps.PALETTE
NAMES = ("one layer", "three layers")


@ps.figure("Figure 7", recorded.one_layer, recorded.three_layers, panels=(2, 5), size=(8.5, 4.0))
def figure_7(one, three, axes):
    """Attention of the lowest layer on one training sequence (rows are queries; black is the largest weight of a map), with
    one layer (a to d) and with three (f to i), and by numbers (e, j), mean and range over seeds: its entropy over the start,
    and its drift, the total variation in {apart:.0f} updates. At the end {entropy:.0%} of the entropy is left with one layer
    and {entropy_three:.0%} with three, and the drift is {late:.0%} and {late_three:.0%} of the largest: attention is sparse,
    and where it looks goes on changing. It would be frozen if the drift were small."""
    told = {}
    for row, run, name in zip(axes.reshape(2, 5), (one, three), NAMES, strict=True):
        maps = run.shown_map.isel(head=0, seed=0)
        for panel, moment in zip(row[:4], maps.shown_time.values, strict=True):
            panel.imshow(maps.sel(shown_time=moment), cmap="Greys", aspect="equal", vmin=0)
            panel.set(xticks=[], yticks=[], xlabel="key")
            panel.set_title(f"{name}, {moment:.0f}", fontsize=8)
        row[0].set_ylabel("query")
        entropy = lowest(run.attention_entropy)
        left = entropy / entropy.isel(time=0)
        drift = lowest(run.attention_drift).isel(time=slice(1, None))
        for curve, color, label in ((left, BLUE, "entropy / start"), (drift, VERMILION, "drift")):
            _mean_and_range(row[4], curve, color, label)
        row[4].set(xlabel="update", ylabel="share", ylim=(0, 1.05))
        ps.legend(row[4])
        late = drift.isel(time=slice(-5, None)).mean("time") / drift.max("time")
        told |= {name: (float(left.isel(time=-1).mean("seed")), float(late.mean("seed")))}
    return {
        "apart": float(one.time[1] - one.time[0]),
        "entropy": told["one layer"][0],
        "entropy_three": told["three layers"][0],
        "late": told["one layer"][1],
        "late_three": told["three layers"][1],
    }


def _mean_and_range(axes, curve, color, label) -> None:
    axes.plot(curve.time, curve.mean("seed"), color=color, label=label, lw=1.2)
    ps.band(axes, curve.time, curve.min("seed"), curve.max("seed"), color=color, within=(0, 1))


@ps.figure("Figure 10", recorded.rates, panels=(1, 2), size=(7.0, 2.8))
def figure_10(runs, axes):
    """(a) The entropy of the lowest layer's attention on validation text at the end, against the rate: mean over seeds and
    one standard deviation. At {rate_0:g}, {rate_1:g}, {rate_2:g} and {rate_3:g} it is {end_0:.2f}, {end_1:.2f}, {end_2:.2f}
    and {end_3:.2f} nats; uniform attention has {uniform:.2f}, one position 0. (b) The same over time, a line a rate: up to
    update {until:.0f} a larger rate has the lower entropy, and not after that. Curves that still move have not converged."""
    entropy = lowest(runs.attention_entropy)
    ends = entropy.isel(time=-1)
    spread = ends.std("seed", ddof=1)
    axes[0].errorbar(
        runs.rate,
        ends.mean("seed"),
        spread,
        color=BLUE,
        marker="o",
        ms=3,
        capsize=2,
        label="mean, s.d.",
    )
    axes[0].set(xscale="log", xlabel="rate", ylabel="entropy (nats)")
    axes[0].set_xticks(runs.rate.values, [f"{rate:g}" for rate in runs.rate.values])
    axes[0].minorticks_off()
    ps.legend(axes[0])
    for rate, color in zip(runs.rate.values, ps.shades(runs.sizes["rate"]), strict=True):
        curve = entropy.sel(rate=rate).mean("seed")
        axes[1].plot(curve.time, curve, color=color, lw=1.2, label=f"rate {rate:g}")
    axes[1].set(xlabel="update", ylabel="entropy (nats)")
    axes[1].locator_params(axis="x", nbins=4)
    ps.legend(axes[1])
    context = int(ps.number(runs, "context"))
    means = entropy.mean("seed")
    ordered = (means.isel(time=slice(1, None)).diff("rate") < 0).all("rate")
    begins = int(ordered.cumprod("time").sum())
    return {
        **{f"rate_{i}": float(rate) for i, rate in enumerate(runs.rate.values)},
        **{f"end_{i}": float(end) for i, end in enumerate(ends.mean("seed").values)},
        "until": float(runs.time[begins]),
        "uniform": float(np.log(np.arange(1, context + 1)).mean()),
    }


figures = (figure_7, figure_10)
