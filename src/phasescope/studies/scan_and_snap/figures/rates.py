"""What explains Figure 6: the ratio of the rates over long times (X2), and momentum (X3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..phases import entropy_of
from .panels import BLUE, GREEN, ORANGE, PURPLE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNLEARNED = 100.0  # this many classes are not learned by the first horizon


@ps.figure(
    "X2 (ours): the ratio over long times",
    evidence.medium,
    evidence.medium_memoryless,
    panels=(1, 3),
    size=(8.2, 2.9),
)
def ratio_and_time(true, forgetful, axes):
    """Entropy among distinct tokens of Syn-Medium (K = 20) in flow against eta_Y / eta_Z, at
    eta_Z t = 10^2 to 10^6. (a) In training it has a minimum (dots) at every horizon, and below
    it nothing is gained after 10^4. (b) If the decoder forgets old attention (note the scale),
    the minimum is gone from 10^4 on and a slower decoder is sparser, as the theory says: at 10^6
    it is {forgetful:.2f} at a ratio of {ratio:.1g}, where training (dashed) has {training:.3f}. (c)
    The sparsest ratio of training (of ten that were run) drifts up with the logarithm of time;
    curves coincide from 10^3 on, and K = 100 has not learned by 10^2 (not drawn)."""
    draw_horizons(true, axes[0], mark_minima=True)
    draw_horizons(forgetful, axes[1], mark_minima=False)
    last = true.dt_entropy.isel({"class": 0, "time": -1}).sel(classes=20.0)
    axes[1].plot(last.eta_Y, last, ls="--", lw=1.2, color="0.3", label="training, $10^6$")
    axes[0].plot([], [], "o", color="0.4", ms=4.5, label="minimum")
    ps.legend(axes[0], loc="upper right", fontsize=6.3)
    axes[0].set(title="training, $K = 20$", ylim=(2.01, 2.23))
    axes[1].set(title="no memory, $K = 20$", ylim=(0.85, 2.2))
    ps.legend(axes[1], loc="lower right", fontsize=6.3)
    draw_sparsest_ratios(true.dt_entropy.isel({"class": 0}).idxmin("eta_Y"), axes[2])
    slow = forgetful.dt_entropy.isel({"class": 0, "time": -1, "eta_Y": 0}).sel(classes=20.0)
    return {
        "forgetful": float(slow),
        "ratio": float(slow.eta_Y),
        "training": float(last.sel(eta_Y=float(slow.eta_Y), method="nearest")),
    }


def draw_horizons(run: xr.Dataset, axes: Axes, mark_minima: bool) -> None:
    """Entropy against the ratio of the rates, one curve for each horizon."""
    entropy = run.dt_entropy.isel({"class": 0}).sel(classes=20.0)
    for time, color in zip(run.time.values, ps.shades(run.sizes["time"]), strict=True):
        curve = entropy.sel(time=time)
        label = rf"$\eta_Z t = 10^{{{np.log10(time):.0f}}}$"
        axes.plot(curve.eta_Y, curve, color=color, lw=1.4, label=label)
        if mark_minima:
            axes.plot(curve.idxmin("eta_Y"), curve.min(), "o", color=color, ms=4.5)
    axes.set(xscale="log", xlabel=r"$\eta_Y / \eta_Z$", ylabel="entropy (nat)")


def draw_sparsest_ratios(best: xr.DataArray, axes: Axes) -> None:
    """The sparsest ratio against the horizon, thinner the larger K: curves that coincide lie upon each other."""
    colors = (BLUE, VERMILION, GREEN, PURPLE, ORANGE)
    for place, (K, color) in enumerate(zip(best.classes.values, colors, strict=True)):
        curve = best.sel(classes=K)
        if K == UNLEARNED:
            curve = curve.sel(time=slice(1e3, None))
        size = 11 - 2.0 * place
        width = 5.0 - place
        axes.plot(curve.time, curve, "o-", ms=size, lw=width, color=color, label=f"$K = {K:g}$")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel=r"horizon $\eta_Z t$",
        ylabel=r"sparsest $\eta_Y / \eta_Z$",
        ylim=(1, 20),
    )
    axes.set_yticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
    axes.minorticks_off()
    ps.legend(axes, loc="lower right", labelspacing=0.6)


@ps.figure(
    "X3 (ours): momentum",
    evidence.with_momentum,
    evidence.without_momentum,
    evidence.momentum_of_Y,
    evidence.momentum_of_Z,
    panels=(1, 2),
    size=(6.6, 2.9),
)
def momentum(inert, free, of_Y, of_Z, axes):
    """What makes "larger rates, sparser attention": endless sequences of Syn-Medium, 100
    updates, ratio 2, against the effective rate eta_Z / (1 - mu). With momentum 0.9 the entropy
    falls to {least_20:.3f} at K = 20 and {least_6:.3f} at K = 6; without, at the same effective rate,
    it stays ({free:.3f}, K = 20). Momentum on Y alone ({of_Y:.3f}) or on Z alone ({of_Z:.3f}) does not
    do it either: the logits must go on growing while the attention goes on moving. Where the rate
    is so small that 100 updates do not suffice, both fall."""
    for K, panel in zip((6.0, 20.0), axes, strict=True):
        for run, scale, color, label in (
            (inert, 10.0, VERMILION, r"$\mu = 0.9$"),
            (free, 1.0, BLUE, r"$\mu = 0$"),
        ):
            entropy = entropy_of(run).sel(classes=K, ratio=2.0)
            panel.plot(entropy.eta_Z * scale, entropy, "o-", ms=4, color=color, label=label)
        panel.set(
            title=f"$K = {K:g}$",
            xscale="log",
            xlabel=r"effective rate $\eta_Z / (1 - \mu)$",
            ylabel="entropy (nat)",
            ylim=(1.8, 2.16),
        )
    for run, mark, label in (
        (of_Y, "^", r"$\mu = 0.9$ on $Y$ only"),
        (of_Z, "s", r"$\mu = 0.9$ on $Z$ only"),
    ):
        axes[1].plot([30.0], [float(entropy_of(run))], mark, color=GREEN, ms=6, label=label)
    for panel in axes:
        ps.legend(panel, loc="lower left")
    with_it = entropy_of(inert).sel(ratio=2.0)
    without = entropy_of(free).sel(ratio=2.0, classes=20.0)
    sparsest = with_it.sel(classes=20.0).idxmin("eta_Z")
    return {
        "least_20": float(with_it.sel(classes=20.0).min()),
        "least_6": float(with_it.sel(classes=6.0).min()),
        "free": float(without.sel(eta_Z=10 * float(sparsest), method="nearest")),
        "of_Y": float(entropy_of(of_Y)),
        "of_Z": float(entropy_of(of_Z)),
    }


figures = (ratio_and_time, momentum)
