"""Figures 4, 5 and 6: the experiments on Syn-Small and Syn-Medium."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence, released
from ..phases import entropy_of, over_seeds

# The means of the released runs, in the colour of their curve.
RELEASED = {"marker": "X", "ls": "", "ms": 6.5, "mfc": "w", "mew": 1.1, "zorder": 5}
COMMON = 10  # tokens that both classes share
TIMES = (0, 10, 48, 100)  # of the paper's rows, those that are named here


@ps.figure("Figure 4", evidence.figure_4, evidence.figure_4_right, panels=(2, 2), size=(7.4, 4.6))
def figure_4(left, right, axes):
    """Attention c_n of the two classes of Syn-Small at every update from 0 to 100 (sampled, momentum 0.9, batch 128, T
    = 128), one scale of colours for all. Only the tokens that a class has are drawn: the common ones (0 to 9) and,
    right of the white line, its own. (a, c) eta_Y = eta_Z = 1: the distinct part tilts to its most frequent token, from
    {start:.3f} to {tilted:.2f} after 100 updates, and common tokens fade from {all:.3f} to {faded:.2f} in sum. (b, d)
    eta_Y = 10: learned sooner and frozen denser, with {dense:.2f} and {kept:.2f}."""
    runs = ((left, r"$\eta_Y = 1$"), (right, r"$\eta_Y = 10$"))
    top = max(float(run.attn.max()) for run, _ in runs)
    for column, (run, name) in enumerate(runs):
        for n in (0, 1):
            panel = axes[n, column]
            own = [*range(COMMON), *range(COMMON * (n + 1), COMMON * (n + 2))]
            c = run.attn.isel({"class": n, "token": own}).transpose("time", "token")
            image = panel.imshow(
                c,
                aspect="auto",
                interpolation="nearest",
                vmin=0,
                vmax=top,
                cmap="magma",
                extent=(-0.5, len(own) - 0.5, float(c.time[-1]) + 0.5, float(c.time[0]) - 0.5),
            )
            panel.axvline(COMMON - 0.5, color="w", lw=1)
            ticks = [0, 5, 9, 10, 15, 19]
            panel.set_xticks(ticks, [str(own[k]) for k in ticks], fontsize=7.5)
            panel.set_yticks(TIMES)
            panel.set(xlabel="token", ylabel="updates", title=rf"$c_{n + 1}$, {name}, $\eta_Z = 1$")
            panel.grid(visible=False)
    axes[0, 0].figure.colorbar(image, ax=axes, label="attention $c_n$", pad=0.02)
    first = left.attn.isel({"class": 0})
    last = {"left": first.isel(time=-1), "right": right.attn.isel({"class": 0, "time": -1})}
    return {
        "start": float(first.isel(time=0).max()),
        "tilted": float(last["left"].max()),
        "all": float(first.isel(time=0)[:COMMON].sum()),
        "faded": float(last["left"][:COMMON].sum()),
        "dense": float(last["right"].max()),
        "kept": float(last["right"][:COMMON].sum()),
    }


@ps.figure("Figure 5", evidence.figure_5, evidence.figure_5_endless, panels=(1, 3), size=(8.2, 3.1))
def figure_5(sweep, endless, axes):
    """Attention on the ten distinct tokens of the first class of Syn-Small under Adam (rows: updates; colours: each map
    to its maximum). The favoured token (white; dashed: endless sequences, no noise) moves with the rate: number 3 or 4
    of 10 at 0.1, 6 or 7 at 0.5, the most frequent at 1. At 0.1 it has not settled: after 1000 updates it is the rarest."""
    from matplotlib.patheffects import Normal, Stroke

    outline = [Stroke(linewidth=3.4, foreground="k"), Normal()]
    for eta, panel in zip(sweep.eta_Z.values, axes, strict=True):
        c = sweep.c_dt.isel({"class": 0}).sel(eta_Z=eta)
        image = panel.pcolormesh(
            np.arange(1, 11),
            c.time,
            c.transpose("time", "distinct_token"),
            cmap="magma",
            shading="nearest",
            vmin=0,
            rasterized=True,
        )
        for run, style, label in (
            (sweep, "-", "favoured token"),
            (endless, "--", "endless sequences"),
        ):
            best = run.c_dt.isel({"class": 0}).sel(eta_Z=eta).argmax("distinct_token") + 1
            changed = np.flatnonzero(np.diff(best, prepend=0))
            best = best.isel(time=np.union1d(changed, best.sizes["time"] - 1))
            panel.plot(
                best,
                best.time,
                color="w",
                ls=style,
                lw=1.6,
                drawstyle="steps-pre",
                path_effects=outline,
                label=label,
            )
        panel.invert_yaxis()
        panel.grid(visible=False)
        panel.set(
            xlabel="distinct token, by frequency",
            title=rf"$\eta_Y = \eta_Z = {eta:g}$",
            xticks=range(1, 11),
        )
        panel.set_ylabel("updates" if panel is axes[0] else " ")
        words = "attention on the token" if panel is axes[-1] else ""
        panel.figure.colorbar(image, ax=panel, pad=0.02, label=words)
    below = {"loc": "outside lower center", "ncols": 2, "fontsize": 7, "handlelength": 2.6}
    axes[0].figure.legend(*axes[0].get_legend_handles_labels(), **below)


@ps.figure("Figure 6", *evidence.figure_6.values(), evidence.twin, panels=(1, 4), size=(8.4, 3.1))
def figure_6(two, six, ten, twenty, twin, axes):
    """Entropy among distinct tokens after 100 updates of Syn-Medium against the ratio of rates (sampled, momentum 0.9,
    random start): mean and standard error over ten seeds, for K = 2, 6, 10, 20, all on one scale. Crosses: means of the
    released runs, all 64, each in the colour of its eta_Z. Dotted: endless sequences from zero. Entropy falls with
    eta_Z, and for K above 2 is least near a ratio of 2. The largest distance of a released mean from ours is {far:.2f},
    at K = {far_K:d}."""
    table = released.figure_6()
    farthest = (0.0, 0)
    lowest = min(
        float(table["mean"].min()),
        *(float(over_seeds(entropy_of(x))[0].min()) for x in (two, six, ten, twenty)),
    )
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
            panel.plot(theirs.ratio, theirs, color=color, **RELEASED)
            apart = float(abs(theirs - mean.sel(at)).max())
            farthest = max(farthest, (apart, int(K)))
        panel.set(
            title=f"$K = {K}$",
            xlabel=r"$\eta_Y / \eta_Z$",
            xscale="log",
            xticks=[0.5, 1, 2, 5, 10],
            xlim=(0.45, 12),
            ylim=(lowest - 0.06, 2.13),
        )
        panel.set_xticklabels(["0.5", "1", "2", "5", "10"])
        panel.minorticks_off()
        panel.set_ylabel("entropy among distinct tokens (nat)" if panel is axes[0] else " ")
        if panel is not axes[0]:
            panel.tick_params(labelleft=False)
    axes[-1].plot([], [], color="0.3", label="released", **RELEASED)
    axes[-1].plot([], [], ls=":", lw=1, color="0.3", label="endless, from 0")
    ps.legend(axes[-1], loc="lower right")
    return {"far": farthest[0], "far_K": farthest[1]}


figures = (figure_4, figure_5, figure_6)
