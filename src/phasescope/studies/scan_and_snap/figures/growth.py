"""Figures 2 and 3: how attention grows, token by token in training, and as a factor in closed
form."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..phases import snap_time
from .panels import BLUE, ORANGE, listed


@ps.figure("Figure 2", evidence.figure_4, panels=(1, 4), size=(8.2, 2.4))
def figure_2(run, axes):
    """Unnormalised attention P(l|n) exp(z_l) of the first class of Syn-Small at four times of training (sampled, SGD
    with momentum, both rates 1). At the start it is the frequency. Common tokens (0 to 9) lose, distinct ones (10 to
    19) gain, the frequent ones most: the top one has {top:s} at 0, 10, 20 and 100 updates. The loss is {loss:.3f} at 10
    updates, when most of the tilt is still to come."""
    one = run.isel({"class": 0, "last": 0})
    start = one.isel(time=0, drop=True)
    common = start.c_ct * np.exp(one.z_ct)
    distinct = start.c_dt * np.exp(one.z_dt)
    times = (0, 10, 20, 100)
    for time, panel in zip(times, axes, strict=True):
        c = common.sel(time=time).values
        d = distinct.sel(time=time).values
        panel.bar(np.arange(c.size), c, color=ORANGE, width=0.85, label="common")
        panel.bar(c.size + np.arange(d.size), d, color=BLUE, width=0.85, label="distinct")
        panel.set(title=f"$t = {time}$", xlabel="token $l$", ylim=(0, 1.08 * float(distinct.max())))
        panel.set_ylabel(r"$\tilde c_l = P(l|n)\,e^{z_l}$" if panel is axes[0] else " ")
        panel.grid(axis="x", visible=False)
    ps.legend(axes[0], loc="upper left")
    tops = [float(distinct.sel(time=time).max()) for time in times]
    return {"top": listed(tops, ".3f"), "loss": float(run.loss.sel(time=10))}


@ps.figure("Figure 3", evidence.figure_3, size=(4.2, 3.0))
def figure_3(sweep, axes):
    """Growth factor chi = exp(2 B_n) in closed form (K = 10, M = 1000, eta_Z = 0.5, rho_0 = 1),
    dotted: the transition time t_0. A slower decoder snaps later (t_0 = {snap:s}) and with more
    growth: chi(1000) = {end:s}. Before t_0 the curves cross: at t = 100 the largest is that of
    eta_Y = {largest:g}."""
    for eta, start, color in zip(
        sweep.eta_Y.values, snap_time(sweep).values, ps.shades(5), strict=True
    ):
        curve = sweep.chi_closed.sel(eta_Y=eta)
        axes.plot(curve.time, curve, color=color, label=rf"$\eta_Y = {eta:g}$")
        axes.axvline(start, ls=":", lw=1.1, color=color)
    axes.set(
        xlabel="batch-1 steps $t$",
        ylabel=r"growth factor $\chi = e^{2B_n}$",
        xlim=(0, 1000),
        ylim=(0, 165),
    )
    axes.plot([], [], ls=":", lw=1.1, color="0.4", label="$t_0$")
    ps.legend(axes, loc="upper left", ncols=3, bbox_to_anchor=(0.0, 1.14), columnspacing=1.0)
    chi = sweep.chi_closed
    return {
        "snap": listed(snap_time(sweep), ".1f"),
        "end": listed(chi.sel(time=1000), ".1f"),
        "largest": float(chi.sel(time=100).idxmax("eta_Y")),
    }


figures = (figure_2, figure_3)
