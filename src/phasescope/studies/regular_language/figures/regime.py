"""The theorems' own regime, which the paper did not run: what happens there, and how long phase 1 must last instead."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..claims import requests as ask
from ..claims.even_pairs import margin_norm
from ..claims.ours import how_long_phase_1_must_last, long_phase_1
from ..phases import half_time, learned, spec_of, training_time
from ..spec import presets
from ..theory import log_flow
from ..training import symmetric
from . import panels
from .panels import BLUE, LEGEND, VERMILION


def _few_times(preset: str) -> list[float]:
    """The end of phase 1 and a few times after it: at N = 1024 each record costs the flow a step or two."""
    spec = presets[preset]
    return [0.0, spec.eta * spec.switch, *np.geomspace(0.01, spec.eta * spec.steps, 9)]


THEOREM = (
    ask.theorem_6, ask.theorem_16, ask.theorem_64, ask.theorem_256,
    ps.runs(log_flow, preset="theorem_1024", at=_few_times("theorem_1024")),
)  # fmt: skip
# The sizes of the claim, to half the loss; then larger ones with steps of 5, the last two until all strings are right.
LONG = (
    *how_long_phase_1_must_last.regimes[0].evidence,
    long_phase_1(256, 45_000.0, 5.0), long_phase_1(512, 3000.0, 5.0), long_phase_1(1024, 5500.0, 5.0),
)  # fmt: skip


@ps.figure("Theorems 4.1 to 4.5 (ours)", *THEOREM, *LONG, panels=(2, 2), size=(7.2, 5.4))
def theorem_regime(*evidence):
    r"""The theorems' regime, $\lambda = N^2$, phase 1 until $\tau_0 = 1/N$. (a) Nothing is learned by the last time $T$
    that the theorems speak about (dots): accuracy is $1/2 + 1/2N$. If phase 1 goes on (dashed), all $2^{N+1} - 2$ strings
    are right from $\tau = 67$ ($N = 6$) to 4285 ($N = 1024$) on. (b) The loss per length stays at chance by $T$, and falls
    long after all strings are right. (c) Phase 1 must last until $\tau \sim N^{0.81}$ for all strings to be right, and until
    $N^{1.46}$ to halve the loss; the theorems stop it at $1/N$. (d) Theorem 4.4 speaks about some time only if
    $14\|u^*\|^2 \le \eta T$; the two sides differ by $10^{15}$ at $N = 6$ and $10^{40}$ at $N = 1024$."""
    *runs, axes = evidence
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
    axes.set(xlabel="longest length $N$", ylabel=r"duration of phase 1, $\tau$", xscale="log", yscale="log", ylim=(3e-4, 3e7))
    panels.legend(axes, loc="upper left")


def draw_window(theorem, axes) -> None:
    """14 |u*|^2 / (eta T), which would have to be below 1."""
    N = np.array([spec_of(run).size for run in theorem], float)
    norm = np.array([margin_norm(run) for run in theorem])
    window = np.array([closed_forms.horizon(s.lam, s.eta, s.size) * s.eta for s in map(spec_of, theorem)])
    axes.plot(N, 14 * norm**2 / window, "o-", color=VERMILION, ms=4.5, lw=1, label=r"$14\,\|u^*\|^2/(\eta T)$")
    axes.plot(N, norm, "s-", color=BLUE, ms=4.5, lw=1, label=r"$\|u^*\|$ at $t_0$")
    axes.axhline(1, color="k", ls="--", lw=1.2, label="largest ratio with any content")
    axes.set(xlabel="longest length $N$", ylabel="size", xscale="log", yscale="log", ylim=(1e-3, 1e52))
    panels.legend(axes, loc="upper left")


SWITCHES = ask.log_steps(1, 10_000, 17)
_diagram = ps.sweeps(
    symmetric, switch=SWITCHES, lam=np.geomspace(1, 1e4, 64).tolist(), eta=0.1, steps=10_000,
    at=[0, *ask.log_steps(20, 10_000, 60)],
)  # fmt: skip


@ps.figure("Theorem 4.4 (ours)", _diagram, panels=(1, 2), size=(7.2, 3.0))
def phase_diagram(runs, axes):
    r"""diagram"""
    tau_0 = runs.switch * runs.attrs.get("eta", 0.1)
    time = learned(runs) * 0.1
    draw_map(axes[0], tau_0, runs.lam, np.log10(time), "log10 tau", {})
    draw_map(axes[1], tau_0, runs.lam, np.log10(runs.loss.isel(time=-1)), "loss", {})


def draw_map(axes, tau_0, lam, values, label, style) -> None:
    image = axes.pcolormesh(lam, tau_0, values.transpose("switch", "lam"), shading="nearest", rasterized=True, **style)
    axes.figure.colorbar(image, ax=axes, label=label)
    axes.set(xscale="log", yscale="log")
