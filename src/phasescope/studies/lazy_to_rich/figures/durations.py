"""How long the phases last: Theorem 4 by the printed equations and by the true model."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..phases import emergence, phase_times
from . import panels
from .panels import BLUE, VERMILION

AXES = ("length $L$", r"$1 + \alpha^\star$", r"$1/\sigma$", r"$w^\star$")


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
    w*/sigma, which puts the exponent at -1.9); the constants differ by 2.4."""
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
        panel.set(xlabel=name, xscale="log", yscale="linear" if "sigma" in name else "log")
        panels.legend(panel, loc="best")
    for panel, ticks in ((axes[1], (4, 6, 10, 16)), (axes[3], (0.08, 0.12, 0.16, 0.24))):
        panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.set_xticks([], minor=True)
    axes[0].set(ylabel=r"$T_{II}$ (open), $T_{III}$ (filled)")


@ps.figure(
    "sharpness of emergence (ours)",
    evidence.diagram_true,
    evidence.diagram_paper,
    panels=(1, 2),
    size=(7.4, 3.1),
)
def phase_diagram(true, paper, axes):
    """Over the start sigma and the target w*, L = 40, alpha = 1. Left: sharpness (T_III - T_II) / T_II of the true model.
    Emergence is shorter than the plateau only below the full line; the logistic law puts it at sigma = 0.0017 w* (dashed).
    Figure 1 (star) has 2.6: its emergence lasts longer than its plateau. Right: how many times too early the printed
    equations end the emergence: from 2.1 for small w* to more than 3 as w* nears 1/sqrt(2), where they cease to exist.
    Every cell has its number: both times are located between records to 1e-6."""
    from matplotlib.colors import TwoSlopeNorm

    times = phase_times(true)
    printed = phase_times(paper)
    left, right = axes
    sharp = np.log2(times.sharpness.transpose("sigma", "w_star"))
    mesh = left.pcolormesh(
        true.w_star,
        true.sigma,
        sharp,
        cmap="RdBu_r",
        norm=TwoSlopeNorm(0.0, -2.5, 5.0),
        shading="nearest",
    )
    left.contour(true.w_star, true.sigma, sharp, levels=[0.0], colors="k", linewidths=1.2)
    left.plot(true.w_star, 0.0017 * true.w_star, "k--", lw=1)
    bar = left.figure.colorbar(mesh, ax=left, label="sharpness", ticks=[-2, -1, 0, 1, 2, 3, 4, 5])
    bar.ax.set_yticklabels(["1/4", "1/2", "1", "2", "4", "8", "16", "32"])
    ratio = (times.T_III / printed.T_III).transpose("sigma", "w_star")
    mesh = right.pcolormesh(true.w_star, true.sigma, ratio, cmap="viridis", shading="nearest")
    lines = right.contour(
        true.w_star, true.sigma, ratio, levels=[2.1, 2.25, 2.5, 3.0], colors="w", linewidths=0.8
    )
    right.clabel(lines, fontsize=6.5, fmt="%g")
    right.figure.colorbar(mesh, ax=right, label=r"$T_{III}$ true / printed")
    for panel in axes:
        panel.plot(0.49, 0.01, "*", ms=9, mfc="w", mec="k")
        panel.set(xlabel=r"target $w^\star$", ylabel=r"start $\sigma$", yscale="log")
        panel.grid(visible=False)


figures = (scaling, phase_diagram)
