"""Figure 1a: how far decoders extrapolate, by updates and by training set."""

from __future__ import annotations

import phasescope as ps

from ..claims import recorded_requests as kept
from .decoder_panels import COLORS, over_lengths

norm = tuple(kept.norm.values())
SHADES = ("#9ecae1", "#4292c6", "#08519c", "#000000")  # from few to many


@ps.figure("Figure 1a", *norm, kept.fixed["sets_C6"], id="figure_1a", panels=(1, 2), size=(7.4, 3.0))
def accuracy_over_length(cyclic, symmetric, sets, axes):
    """All values right, over the length of the chain; trained at length 5, mean and range of 5 seeds. Left: fresh chains,
    20,000 updates (dashed: 5,000). At equal updates C6 is not ahead of S5: 0.28 against 0.55 at L = 80. Right: C6 on fixed
    training sets, 20,000 updates; 50,000 chains do as well as fresh ones, 2,000 do not (0.25 against 0.86 at L = 40)."""
    for name, run in (("C6", cyclic), ("S5", symmetric)):
        over_lengths(axes[0], run.accuracy.isel(time=-1), f"{name}, 20,000 updates", COLORS[name])
        axes[0].plot(run.length, run.accuracy.sel(time=5000).mean("seed"), "--", lw=1, color=COLORS[name])
    for size, color in zip(sets.dataset.values, SHADES, strict=False):
        over_lengths(axes[1], sets.accuracy.isel(time=-1).sel(dataset=size), f"{int(size):,} chains", color)
    axes[0].set(ylabel="accuracy", title="fresh chains")
    axes[1].set(ylabel="accuracy", title="C6, fixed training set")
    for panel in axes:
        panel.legend(loc="lower left", fontsize=7)


reach_figures = (accuracy_over_length,)
