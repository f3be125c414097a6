"""How long the phases last: Theorem 4 by the printed equations and by the true model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..phases import emergence, phase_times
from . import panels
from .panels import BLUE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = ("length $L$", r"$1 + \alpha^*$", r"$1/\sigma$", r"$w^*$")


def durations(fraction: float, *sweeps) -> list[np.ndarray]:
    """When the loss is at a fraction of its plateau, over each of the four axes."""
    alphas, sigmas, targets, lengths = sweeps
    return [emergence(runs, fraction).values for runs in (lengths, alphas, sigmas, targets)]


def abscissas(*sweeps) -> list[np.ndarray]:
    """What the durations are drawn over, on each of the four axes."""
    alphas, sigmas, targets, lengths = sweeps
    return [
        lengths.length.values.astype(float),
        1 + alphas.alpha.values,
        1 / sigmas.sigma.values,
        targets.w_star.values,
    ]


def law(name: str, x: np.ndarray, times: np.ndarray) -> str:
    """The fitted exponent with its interval; over 1/sigma, which enters as a logarithm, the slope."""
    if "sigma" in name:
        return rf"${ps.slope(np.log(x), times):.0f}\,\ln(1/\sigma)$"
    fit = ps.exponent(x, times)
    return rf"${fit.value:.3f} \pm {fit.high - fit.value:.3f}$"


@ps.figure(
    "Theorem 4, durations (ours)", *evidence.PAPER, *evidence.TRUE, panels=(1, 4), size=(8.4, 2.7)
)
def scaling(p_alpha, p_sigma, p_target, p_length, t_alpha, t_sigma, t_target, t_length, axes):
    """End of the plateau (T_II, open) and of the emergence (T_III, filled) over the length, 1 + alpha, 1/sigma and w* (at
    sigma = 1e-7), for the printed equations and for the true model, with the fitted exponents of T_III and their 95 %
    intervals. Both scale like L (1 + alpha)^2 ln(1/sigma) / w*^2, as Theorem 4 says (over w* the logarithm is that of
    w*/sigma, which puts the exponent at {over_target:.1f}); at the same sigma and w* the
    constants differ by {least:.1f} to {most:.1f}."""
    printed = (p_alpha, p_sigma, p_target, p_length)
    true = (t_alpha, t_sigma, t_target, t_length)
    for runs, color, label in ((printed, VERMILION, "printed"), (true, BLUE, "true")):
        values = abscissas(*runs)
        early = durations(0.99, *runs)
        late = durations(0.01, *runs)
        for panel, name, x, start, end in zip(axes, AXES, values, early, late, strict=True):
            panel.plot(x, end, "o-", color=color, ms=4, lw=1, label=f"{label}: {law(name, x, end)}")
            panel.plot(x, start, "o--", color=color, ms=4, lw=0.8, mfc="white")
    for panel, name in zip(axes, AXES, strict=True):
        linear = "sigma" in name
        panel.set(xlabel=name, xscale="log", yscale="linear" if linear else "log")
        low, high = panel.get_ylim()
        panel.set_ylim(low, 1.3 * high if linear else high * (high / low) ** 0.3)  # for the legend
        panel.set_yticks([], minor=True)
        panels.legend(panel, loc="upper left", handlelength=1.2)
    for panel, ticks in ((axes[1], (4, 8, 16, 30)), (axes[3], (0.08, 0.12, 0.24))):
        panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.set_xticks([], minor=True)
    axes[2].plot([], [], "o-", color="0.4", ms=4, lw=1, label="$T_{III}$")
    axes[2].plot([], [], "o--", color="0.4", ms=4, lw=0.8, mfc="white", label="$T_{II}$")
    panels.legend(axes[2], loc="upper left", handlelength=1.6)
    axes[0].set(ylabel=r"duration $T_{II}$, $T_{III}$")
    axes[3].set_yticks([2e4, 5e4, 1e5, 2e5], ["20k", "50k", "100k", "200k"])
    slow = durations(0.01, *true)
    fast = durations(0.01, *printed)
    factors = np.concatenate([slow[k] / fast[k] for k in (2, 3)])  # where both have the same values
    return {
        "over_target": ps.exponent(abscissas(*true)[3], slow[3]).value,
        "least": float(factors.min()),
        "most": float(factors.max()),
    }


SUDDEN = (
    0.0017  # sigma over w* below which the logistic law has the emergence shorter than the plateau
)

LEVELS = (2.1, 2.2, 2.3, 2.4, 2.6, 2.8)  # of the ratio of the true T_III to the printed one


@ps.figure(
    "sharpness of emergence (ours)",
    evidence.diagram_true,
    evidence.diagram_paper,
    panels=(1, 2),
    size=(7.6, 3.5),
)
def phase_diagram(true, paper, axes):
    """Over the start sigma and the target w*, L = 40, alpha = 1, {across:d} by {down:d} runs. (a) Sharpness, the
    duration of the emergence over that of the plateau, (T_III - T_II) / T_II, of the true model. Emergence is shorter
    than the plateau (blue) only below the full line; the logistic law puts it at sigma = 0.0017 w* (dashed). Figure 1
    (star) has {sharpness:.1f}: its emergence lasts longer than its plateau. (b) How many times too early the printed
    equations end the emergence: from {least:.1f} for small w* to {most:.1f} as w* nears 1/sqrt(2), where they cease to
    exist. Every cell has its number: both times are located between records to 1e-6."""
    times = phase_times(true)
    printed = phase_times(paper)
    sharp = np.log2(times.sharpness.transpose("sigma", "w_star"))
    ratio = (times.T_III / printed.T_III).transpose("sigma", "w_star")
    for panel in axes:
        panel.set(xlabel=r"target $w^*$", ylabel=r"start $\sigma$", yscale="log")
        panel.grid(visible=False)
    draw_sharpness(sharp, axes[0])
    draw_ratio(ratio, axes[1])
    for panel in axes:
        panel.plot(0.49, 0.01, "*", ms=9, ls="", mfc="w", mec="k", label="Figure 1")
        panel.set_ylim(float(true.sigma[0]), float(true.sigma[-1]))
        beneath = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17)}
        panels.legend(panel, ncols=3, columnspacing=1.0, **beneath)
    return {
        "across": ratio.sizes["w_star"],
        "down": ratio.sizes["sigma"],
        "sharpness": 2.0 ** sharpness_between(sharp, sigma=0.01, w_star=0.49),
        "least": float(ratio.min()),
        "most": float(ratio.max()),
        "cells": int(ratio.notnull().sum()),
    }


def sharpness_between(sharp: xr.DataArray, *, sigma: float, w_star: float) -> float:
    """The logarithm of the sharpness between the cells of the map, over log sigma and w*."""
    by_logarithm = sharp.assign_coords(sigma=np.log(sharp.sigma.values))
    return float(by_logarithm.interp(sigma=np.log(sigma), w_star=w_star))


def draw_sharpness(sharp: xr.DataArray, axes: Axes) -> None:
    """The logarithm of the sharpness, with the line where it is 1 and the one that the logistic law puts there."""
    from matplotlib.colors import TwoSlopeNorm

    norm = TwoSlopeNorm(0.0, -2.5, 5.0)
    style = {"cmap": "RdBu_r", "norm": norm, "shading": "nearest", "rasterized": True}
    mesh = axes.pcolormesh(sharp.w_star, sharp.sigma, sharp, **style)
    axes.contour(sharp.w_star, sharp.sigma, sharp, levels=[0.0], colors="k", linewidths=1.2)
    axes.plot([], [], "k-", lw=1.2, label="sharpness 1")
    axes.plot(sharp.w_star, SUDDEN * sharp.w_star, "k--", lw=1, label="1 by the logistic law")
    words = r"sharpness $(T_{III} - T_{II})\,/\,T_{II}$"
    bar = axes.figure.colorbar(mesh, ax=axes, label=words, ticks=range(-2, 6))
    bar.ax.set_yticklabels(["1/4", "1/2", "1", "2", "4", "8", "16", "32"])


def draw_ratio(ratio: xr.DataArray, axes: Axes) -> None:
    """T_III of the true model over that of the printed equations, with lines of equal ratio."""
    style = {"cmap": "viridis", "shading": "nearest", "rasterized": True}
    mesh = axes.pcolormesh(ratio.w_star, ratio.sigma, ratio, **style)
    lines = axes.contour(
        ratio.w_star, ratio.sigma, ratio, levels=LEVELS, colors="w", linewidths=0.8
    )
    row = ratio.sel(sigma=3e-4, method="nearest")
    places = [(float(np.interp(level, row, row.w_star)), float(row.sigma)) for level in LEVELS]
    axes.clabel(lines, fontsize=6.5, fmt="%g", manual=places)
    axes.figure.colorbar(mesh, ax=axes, label=r"$T_{III}$ true / printed")


figures = (scaling, phase_diagram)
