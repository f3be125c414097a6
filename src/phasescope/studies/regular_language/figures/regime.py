"""The theorems' own regime, which the paper did not run: what happens there, and how long phase 1 must last instead."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..claims import evidence
from ..claims.ours import how_long_phase_1_must_last, long_phase_1
from ..claims.phase_2 import margin_norm, nothing_is_learned_by_T
from ..phases import half_time, learned, phase_1, spec_of, training_time
from ..training import symmetric
from . import panels
from .panels import BLUE, LEGEND, VERMILION

THEOREM = nothing_is_learned_by_T.regimes[0].evidence
# The sizes of the claim, to half the loss; then larger ones with steps of 5, the last two until all strings are right.
LONG = (
    *how_long_phase_1_must_last.regimes[0].evidence,
    long_phase_1(256, 45_000.0, 5.0), long_phase_1(512, 3000.0, 5.0), long_phase_1(1024, 5500.0, 5.0),
)  # fmt: skip


@ps.figure("Theorems 4.1 to 4.5 (ours)", *THEOREM, *LONG, panels=(2, 2), size=(7.2, 5.4))
def theorem_regime(*shown):
    """The theorems' own regime: lam = N^2, phase 1 until tau_0 = 1 / N. (a) Nothing is learned by the last time T that
    they speak about (dots): accuracy is 1/2 + 1/2N. If phase 1 goes on (dashed), all 2^(N+1) - 2 strings are right from
    tau = 67 (N = 6), 1405 (256), 4310 (1024). (b) At T the loss per length is at chance; it falls long after all
    strings are right. (c) Phase 1 must last like N^0.80 for all strings to be right and like N^1.46 to halve the loss;
    the theorems stop it at 1 / N. (d) Theorem 4.4 speaks about some time only if 14 |u*|^2 <= eta T; the two sides
    differ by a factor 1.8e15 at N = 6, 4e33 at N = 256 and 4e40 at N = 1024."""
    *runs, axes = shown
    theorem, long = runs[: len(THEOREM)], runs[len(THEOREM) :]
    sizes = sorted({spec_of(run).size for run in theorem})
    color = dict(zip(sizes, panels.shades(len(sizes)), strict=True))
    draw_learning(theorem, long, axes[0, 0], axes[0, 1], color)
    draw_times(long, axes[1, 0])
    draw_window(theorem, axes[1, 1])
    panels.letter(axes.ravel())


def draw_learning(theorem, long, accuracy, loss, color) -> None:
    """Up to T with the theorems' phase 1, and with a phase 1 that goes on."""
    for run in (*theorem, *long):
        N, tau = spec_of(run).size, training_time(run)
        if N not in color:
            continue
        to_T = spec_of(run).switch < spec_of(run).steps
        style = {"lw": 1.8, "label": f"$N = {N}$"} if to_T else {"lw": 1.1, "ls": "--"}
        per_length = run.loss / ((N - 1) * np.log(2))
        for panel, curve in ((accuracy, run.accuracy), (loss, per_length)):
            curve = curve.assign_coords(time=tau.values).sel(time=slice(1e-3, None))
            panel.plot(curve.time, curve, color=color[N], **style)
            if to_T:
                panel.plot(curve.time[-1], curve[-1], "o", ms=4.5, color=color[N])
    accuracy.set(ylabel="accuracy on all strings", ylim=(0.45, 1.04))
    loss.set(ylabel=r"loss $/\,(N-1)\log 2$", ylim=(0, 1.3))
    for panel in (accuracy, loss):
        panel.set(xlabel=r"training time $\tau = \eta t$", xscale="log")
    panels.legend(accuracy, loc="upper left")
    loss.plot([], [], color="0.4", lw=1.8, marker="o", ms=4.5, label=r"phase 1 until $1/N$, to $T$")
    loss.plot([], [], color="0.4", lw=1.1, ls="--", label="phase 1 goes on")
    handles, names = loss.get_legend_handles_labels()
    loss.legend(handles[-2:], names[-2:], **LEGEND, loc="lower left")


def draw_times(long, axes) -> None:
    """How long phase 1 must last, over N."""
    N = np.array([spec_of(run).size for run in long])
    for time, color, marker, what in (
        (half_time, VERMILION, "s", "loss halved"), (learned, BLUE, "o", "all strings right"),
    ):  # fmt: skip
        tau = np.array([float(time(run)) * spec_of(run).eta for run in long])
        known = np.isfinite(tau)
        fit = ps.exponent(N[known], tau[known])
        line = np.exp(np.mean(np.log(tau[known] / N[known] ** fit.value))) * N**fit.value
        axes.plot(N[known], tau[known], marker, ms=4.5, color=color, label=rf"{what}: $N^{{{fit.value:.2f}}}$")
        axes.plot(N[known], line[known], color=color, lw=1)
    axes.plot(N, 1 / N, "k--", lw=1.2, label=r"the theorems' $\tau_0 = 1/N$")
    axes.set(
        xlabel="longest length $N$", ylabel=r"duration of phase 1, $\tau$", xscale="log", yscale="log", ylim=(3e-4, 3e7)
    )
    panels.legend(axes, loc="upper left")


def draw_window(theorem, axes) -> None:
    """14 |u*|^2 / (eta T), which would have to be below 1."""
    N = np.array([spec_of(run).size for run in theorem], float)
    norm = np.array([_norm_at_t_0(run) for run in theorem])
    window = np.array([closed_forms.horizon(s.lam, s.eta, s.size) * s.eta for s in map(spec_of, theorem)])
    axes.plot(N, 14 * norm**2 / window, "o-", color=VERMILION, ms=4.5, lw=1, label=r"$14\,\|u^*\|^2/(\eta T)$")
    axes.plot(N, norm, "s-", color=BLUE, ms=4.5, lw=1, label=r"$\|u^*\|$ at $t_0$")
    axes.axhline(1, color="k", ls="--", lw=1.2, label="Theorem 4.4 needs a ratio below 1")
    axes.set(xlabel="longest length $N$", ylabel="size", xscale="log", yscale="log", ylim=(1e-3, 1e52))
    panels.legend(axes, loc="upper left")


def _norm_at_t_0(run) -> float:
    """|u*|, by its closed form where phase 1 has no record."""
    spec = spec_of(run)
    if phase_1(run).time.size:
        return margin_norm(run)
    tau_0 = np.sqrt(closed_forms.step_clock(spec.eta, spec.switch).second)
    return closed_forms.early_margin_norm(tau_0, spec.lam, spec.size)


ETA, STEPS = 0.1, 10_000
_diagram = ps.sweeps(
    symmetric, switch=evidence.log_steps(1, STEPS, 17), lam=np.geomspace(1, 1e4, 64).tolist(), eta=ETA, steps=STEPS,
    at=[0, *evidence.log_steps(20, STEPS, 60)],
)  # fmt: skip


@ps.figure("Theorem 4.4 (ours)", _diagram, panels=(1, 3), size=(8.2, 3.0))
def phase_diagram(runs, axes):
    """Even pairs, N = 6, up to tau = 1000, for any duration of phase 1 and any scale lam. Left: from when all strings
    are right (grey: not by then). A short phase 1 changes nothing, and learning ends at lam = 170 or so, since plain
    descent takes a time in proportion to lam; from tau_0 = 10 on, a longer phase 1 extends it. At the theorems' point
    (star: tau_0 = 1 / N, lam = N^2) all strings are right from tau = 280 on, long after the theorems' T = 1.1. Middle:
    the loss. Right: the read-out is closest to the max-margin direction where least is learned; at the paper's lam = 2
    the attention moves on and the cosine falls to 0.92. (Grey: one step of phase 1 leaves the attention uniform, and no
    margin.)"""
    N, runs = runs.sizes["length"], runs.transpose("switch", "lam", ...)
    when, end, at_end = ETA * learned(runs), runs.isel(time=-1), rf"at $\tau = {ETA * STEPS:.0f}$"
    maps = (
        (np.log10(when), r"all strings right from $\log_{10}\tau$", {"vmin": 1, "vmax": 3, "cmap": "viridis_r"}),
        (end.loss / ((N - 1) * np.log(2)), rf"loss $/\,(N-1)\log 2$ {at_end}", {"vmin": 0, "vmax": 1}),
        (end.margin_cosine, rf"$\cos(u, u^*)$ {at_end}", {"vmin": 0.9, "vmax": 1, "cmap": "cividis"}),
    )
    for panel, (values, label, style) in zip(axes, maps, strict=True):
        panel.set_facecolor("0.85")
        image = panel.pcolormesh(runs.lam, ETA * runs.switch, values, shading="nearest", rasterized=True, **style)
        panel.figure.colorbar(image, ax=panel, label=label, location="top", aspect=25)
        panel.axhline(1 / N, color=VERMILION, ls="--", lw=1.2)
        panel.axvline(N**2, color=VERMILION, ls="--", lw=1.2)
        panel.plot(N**2, 1 / N, "*", ms=11, color=VERMILION, mec="w", mew=0.8, ls="", label="theorems")
        panel.plot([2, 10, 18], [10, 10, 10], "o", ms=4.5, mfc="w", mec="k", mew=0.8, ls="", label="Figs. 2, 4, 5")
        panel.set(xscale="log", yscale="log", xlabel=r"scale of the scores $\lambda$")
        panel.grid(False)
    axes[0].set(ylabel=r"duration of phase 1, $\tau_0 = \eta t_0$")
    axes[0].legend(**LEGEND | {"handlelength": 1.0, "framealpha": 0.0, "handletextpad": 0.4}, loc="center right")
