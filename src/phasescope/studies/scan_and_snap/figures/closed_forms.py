"""Figures 8 and 9 of the appendix: the decoder and the growth of attention in closed form."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..phases import snap_time
from .panels import FORMULA, listed


@ps.figure("Figure 8", evidence.figure_8, size=(4.2, 3.0))
def figure_8(table, axes):
    """A class's decoder in unit steps, M h* (stairs), and as a flow, M h (dashed), at M = 1000:
    M h*(10) = {steps:s} and M h(10) = {flow:s} for eta_Y = 0.5, 1, 2. Growth is linear up to ln M
    (dotted), then logarithmic. The gap is largest, {least:.2f} to {most:.2f} eta_Y, at {first:.1f} to
    {last:.1f} ln M / eta_Y, a tenth of the lemma's bound, and closes like 1/s."""
    for eta, color in zip(table.eta_Y.values, ps.shades(3), strict=True):
        lane = table.sel(eta_Y=eta)
        axes.step(
            lane.s,
            lane.steps,
            where="post",
            color=color,
            lw=2.0,
            alpha=0.55,
            label=rf"$Mh^*$, $\eta_Y = {eta:g}$",
        )
        axes.plot(lane.s, lane.flow, ls="--", lw=1.1, color=color)
    axes.plot([], [], ls="--", lw=1.1, color="0.3", label="$Mh$")
    axes.axhline(np.log(float(table.outputs)), **FORMULA, zorder=0)
    axes.text(
        59,
        np.log(float(table.outputs)) - 0.15,
        r"$\ln M$",
        ha="right",
        va="top",
        fontsize=8,
        color=FORMULA["color"],
    )
    axes.set(
        xlabel="visits $s$ of the class",
        ylabel=r"$M h^*(s)$, $M h(s)$",
        xlim=(0, 60),
        ylim=(0, 12.5),
    )
    ps.legend(axes, loc="lower right")
    at_10 = table.sel(s=10)
    gap = table.steps - table.flow
    size = gap.max("s") / table.eta_Y
    place = gap.idxmax("s") * table.eta_Y / np.log(float(table.outputs))
    return {
        "steps": listed(at_10.steps, ".4f"),
        "flow": listed(at_10.flow, ".4f"),
        "least": float(size.min()),
        "most": float(size.max()),
        "first": float(place.min()),
        "last": float(place.max()),
    }


@ps.figure("Figure 9", evidence.figure_9, panels=(1, 2), size=(7.2, 2.9))
def figure_9(sweep, axes):
    """B_n in closed form at eta_Y / eta_Z = 2 (K = 10, M = 1000, rho_0 = 1), dots at t_0 (dotted). (a)
    B_n(t_0) = {snap:.3f} for every eta_Z, and B_n(1000) = {end:s}. (b)
    Against eta_Y t all are one curve, so that a larger rate is a faster clock and no larger
    limit."""
    left, right = axes
    dots = []
    for eta, start, color in zip(
        sweep.eta_Z.values, snap_time(sweep).values, ps.shades(4), strict=True
    ):
        curve = sweep.B_n.sel(eta_Z=eta)
        dot = float(curve.sel(time=start, method="nearest"))
        dots.append(dot)
        for panel, unit in ((left, 1.0), (right, 2 * eta)):
            wide = 1.6 if panel is left else 1.0 + 5.0 * (1 - eta)
            panel.plot(
                curve.time[1:] * unit, curve[1:], color=color, lw=wide, label=rf"$\eta_Z = {eta:g}$"
            )
            panel.plot([start * unit], [dot], "o", color=color, ms=5)
        left.axvline(start, ls=":", lw=1, color=color)
    for panel in axes:
        panel.plot([], [], "o:" if panel is left else "o", color="0.4", ms=5, lw=1, label="$t_0$")
    left.set(xlabel="batch-1 steps $t$", ylabel="$B_n$", xlim=(0, 1000), ylim=(1.0, 2.5))
    right.set(xlabel=r"$\eta_Y t$", ylabel="$B_n$", xscale="log", xlim=(1, 2000), ylim=(0, 2.5))
    ps.legend(left, loc="lower right", bbox_to_anchor=(0.9, 0.0))  # left of the last t_0
    ps.legend(right, loc="lower right")
    return {"snap": float(np.mean(dots)), "end": listed(sweep.B_n.sel(time=1000), ".4f")}


figures = (figure_8, figure_9)
