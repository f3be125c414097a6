"""Figures 4, 5 and 6: the experiments on Syn-Small and Syn-Medium."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence, released
from ..phases import entropy_of, over_seeds
from .panels import SKY

ROWS = (0, 2, 4, 6, 8, 10, 48, 100)


@ps.figure("Figure 4", evidence.figure_4, evidence.figure_4_right, panels=(2, 2), size=(7.4, 4.2))
def figure_4(left, right, axes):
    """Attention c_n of the two classes of Syn-Small (rows: updates; sampled, momentum 0.9, batch
    128, T = 128). Left: eta_Y = eta_Z = 1; the distinct part (10 to 19, 20 to 29) tilts to its
    most frequent token, from 0.065 to 0.19 after 100 updates, and common tokens (0 to 9) fade
    from 0.645 to 0.38: over a third is still there. Right: eta_Y = 10; learned sooner and frozen
    denser, 0.103 and 0.54."""
    for column, (run, name) in enumerate(((left, r"$\eta_Y = 1$"), (right, r"$\eta_Y = 10$"))):
        for n in (0, 1):
            panel = axes[n, column]
            c = run.attn.isel({"class": n}).sel(time=list(ROWS))
            image = panel.imshow(
                c,
                aspect="auto",
                interpolation="nearest",
                vmin=0,
                vmax=float(c.max()),
                cmap="magma",
            )
            panel.set_yticks(range(len(ROWS)), [str(t) for t in ROWS], fontsize=7)
            panel.set(xlabel="token", ylabel="updates", title=rf"$c_{n + 1}$, {name}, $\eta_Z = 1$")
            panel.grid(visible=False)
            panel.figure.colorbar(image, ax=panel, pad=0.02)


@ps.figure("Figure 5", evidence.figure_5, evidence.figure_5_endless, panels=(1, 3), size=(8.2, 2.9))
def figure_5(sweep, endless, axes):
    """Attention on the ten distinct tokens of the first class of Syn-Small under Adam (rows:
    updates; colours: each map to its maximum). The favoured token (blue line; dashed: endless
    sequences, no noise) moves with the rate: number 3 or 4 of 10 at 0.1, 6 or 7 at 0.5, the most
    frequent at 1. At 0.1 it has not settled: after 1000 updates it is the rarest."""
    for eta, panel in zip(sweep.eta_Z.values, axes, strict=True):
        c = sweep.c_dt.isel({"class": 0}).sel(eta_Z=eta)
        image = panel.pcolormesh(
            np.arange(1, 11),
            c.time,
            c.transpose("time", "distinct_token"),
            cmap="magma",
            shading="nearest",
            vmin=0,
        )
        for run, style in ((sweep, "-"), (endless, "--")):
            best = run.c_dt.isel({"class": 0}).sel(eta_Z=eta).argmax("distinct_token") + 1
            panel.plot(best, best.time, color=SKY, ls=style, lw=1.5)
        panel.invert_yaxis()
        panel.grid(visible=False)
        panel.set(
            xlabel="distinct token, by frequency",
            title=rf"$\eta_Y = \eta_Z = {eta:g}$",
            xticks=range(1, 11),
        )
        panel.set_ylabel("updates" if panel is axes[0] else " ")
        panel.figure.colorbar(image, ax=panel, pad=0.02)


@ps.figure("Figure 6", *evidence.figure_6.values(), evidence.twin, panels=(1, 4), size=(8.4, 2.9))
def figure_6(two, six, ten, twenty, twin, axes):
    """Entropy among distinct tokens after 100 updates of Syn-Medium against the ratio of rates
    (sampled, momentum 0.9, random start): mean and standard error over ten seeds, for K = 2, 6,
    10, 20. Crosses: means of the released runs, all 64. Dotted: endless sequences from
    zero. Entropy falls with eta_Z, and for K above 2 is least near a ratio of 2."""
    table = released.figure_6()
    for sweep, K, panel in zip((two, six, ten, twenty), evidence.figure_6, axes, strict=True):
        mean, error = over_seeds(entropy_of(sweep))
        for eta, color in zip(sweep.eta_Z.values, ps.shades(4), strict=True):
            at = {"eta_Z": eta}
            panel.errorbar(
                mean.ratio.values,
                mean.sel(at).values,
                error.sel(at).values,
                color=color,
                capsize=2,
                lw=1.4,
                label=rf"$\eta_Z = {eta:g}$",
            )
            limit = entropy_of(twin).sel(classes=float(K), **at)
            panel.plot(limit.ratio, limit, ls=":", lw=1, color=color)
            theirs = table["mean"].sel(K=K, eta_Z=eta)
            panel.plot(theirs.ratio, theirs, "x", color="k", ms=4, mew=0.9, zorder=5)
        panel.set(
            title=f"$K = {K}$",
            xlabel=r"$\eta_Y / \eta_Z$",
            xscale="log",
            xticks=[1, 2, 5, 10],
            xlim=(0.45, 12),
        )
        panel.set_xticklabels(["1", "2", "5", "10"])
        panel.minorticks_off()
        panel.set_ylabel("entropy among distinct tokens (nat)" if panel is axes[0] else " ")
    axes[0].set_ylim(axes[0].get_ylim()[0] - 0.35, None)  # room for the legend
    axes[0].plot([], [], "x", color="k", ls="none", label="released")
    axes[0].plot([], [], ls=":", lw=1, color="0.3", label="endless, from 0")
    ps.legend(axes[0], loc="lower right", fontsize=6.3)


figures = (figure_4, figure_5, figure_6)
