"""Figures 2, 4 and 5: the attention itself, token by token."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import requests as ask
from . import panels
from .panels import BLUE, ORANGE, SKY

ROWS = (0, 2, 4, 6, 8, 10, 48, 100)


@ps.figure("Figure 2", ask.figure_4, panels=(1, 4), size=(8.2, 2.4))
def figure_2(run, axes):
    """Unnormalised attention P(l|n) exp(z_l) of the first class of Syn-Small at four times of training (sampled, SGD
    with momentum, both rates 1). At the start it is the frequency. Common tokens (0 to 9) lose, distinct ones (10 to
    19) gain, the frequent ones most: the top one has 0.065, 0.093, 0.152, 0.200 at 0, 10, 20 and 100 updates. The loss
    is 0.013 at 10 updates, when most of the tilt is still to come, and from 50 on it moves by 1%."""
    one = run.isel({"class": 0, "last": 0})
    start = one.isel(time=0, drop=True)
    common, distinct = start.c_ct * np.exp(one.z_ct), start.c_dt * np.exp(one.z_dt)
    for time, panel in zip((0, 10, 20, 100), axes, strict=True):
        c, d = common.sel(time=time).values, distinct.sel(time=time).values
        panel.bar(np.arange(c.size), c, color=ORANGE, width=0.85, label="common")
        panel.bar(c.size + np.arange(d.size), d, color=BLUE, width=0.85, label="distinct")
        panel.set(title=f"$t = {time}$", xlabel="token $l$", ylim=(0, 1.08 * float(distinct.max())))
        panel.set_ylabel(r"$\tilde c_l = P(l|n)\,e^{z_l}$" if panel is axes[0] else " ")
        panel.grid(axis="x", visible=False)
    panels.legend(axes[0], loc="upper left")


@ps.figure("Figure 4", ask.figure_4, ask.figure_4_right, panels=(2, 2), size=(7.4, 4.2))
def figure_4(left, right, axes):
    """Attention c_n of the two classes of Syn-Small (rows: updates; sampled, momentum 0.9, batch 128, T = 128). Left:
    eta_Y = eta_Z = 1; the distinct part (10 to 19, 20 to 29) tilts to its most frequent token, from 0.065 to 0.19
    after 100 updates, and common tokens (0 to 9) fade from 0.645 to 0.38: over a third is still there. Right: eta_Y =
    10; learned sooner and frozen denser, 0.103 and 0.54."""
    for column, (run, name) in enumerate(((left, r"$\eta_Y = 1$"), (right, r"$\eta_Y = 10$"))):
        for n in (0, 1):
            panel, c = axes[n, column], run.attn.isel({"class": n}).sel(time=list(ROWS))
            image = panel.imshow(c, aspect="auto", interpolation="nearest", vmin=0, vmax=float(c.max()), cmap="magma")
            panel.set_yticks(range(len(ROWS)), [str(t) for t in ROWS], fontsize=7)
            panel.set(xlabel="token", ylabel="updates", title=rf"$c_{n + 1}$, {name}, $\eta_Z = 1$")
            panel.grid(visible=False)
            panel.figure.colorbar(image, ax=panel, pad=0.02)


@ps.figure("Figure 5", ask.figure_5, ask.figure_5_endless, panels=(1, 3), size=(8.2, 2.9))
def figure_5(sweep, endless, axes):
    """Attention on the ten distinct tokens of the first class of Syn-Small under Adam (rows: updates; colours: each
    map to its maximum). The favoured token (blue line; dashed: endless sequences, no noise) moves with the rate:
    number 3 or 4 of 10 at 0.1, 6 or 7 at 0.5, the most frequent at 1. At 0.1 it has not settled: after 1000 updates
    it is the rarest."""
    for eta, panel in zip(sweep.eta_Z.values, axes, strict=True):
        c = sweep.c_dt.isel({"class": 0}).sel(eta_Z=eta)
        image = panel.pcolormesh(
            np.arange(1, 11), c.time, c.transpose("time", "distinct_token"), cmap="magma", shading="nearest", vmin=0
        )
        for run, style in ((sweep, "-"), (endless, "--")):
            best = run.c_dt.isel({"class": 0}).sel(eta_Z=eta).argmax("distinct_token") + 1
            panel.plot(best, best.time, color=SKY, ls=style, lw=1.5)
        panel.invert_yaxis()
        panel.grid(visible=False)
        panel.set(xlabel="distinct token, by frequency", title=rf"$\eta_Y = \eta_Z = {eta:g}$", xticks=range(1, 11))
        panel.set_ylabel("updates" if panel is axes[0] else " ")
        panel.figure.colorbar(image, ax=panel, pad=0.02)
