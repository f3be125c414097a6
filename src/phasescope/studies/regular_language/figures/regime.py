"""The theorems' own regime, which the paper did not run: what happens there, and how long phase 1 must last instead."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..claims import evidence
from ..phases import half_time, learned, margin_norm, phase_1, spec_of, training_time
from ..training import symmetric
from . import panels
from .panels import BLUE, VERMILION

THEOREM = (*evidence.theorem_sizes, evidence.theorem_1024)
# The sizes of the claim, to half the loss; then larger ones with steps of 5, the last two until all strings are right.
LONG = (
    *evidence.to_half_the_loss,
    evidence.long_phase_1(256, 45_000.0, 5.0),
    evidence.long_phase_1(512, 3000.0, 5.0),
    evidence.long_phase_1(1024, 5500.0, 5.0),
)


@ps.figure("Theorems 4.1 to 4.5 (ours)", *THEOREM, *LONG, panels=(2, 2), size=(7.2, 5.4))
def theorem_regime(*shown):
    """The theorems' own regime: lam = N^2, phase 1 until tau_0 = 1 / N. (a) Nothing is learned by the last time T that
    they speak about (dots): accuracy is 1/2 + 1/2N. If phase 1 goes on (dashed, for N = 6, 256 and 1024), all 2^(N+1) -
    2 strings are right from tau = {right_6:.0f} (N = 6), {right_256:.0f} (256), {right_1024:.0f} (1024). (b) At T the
    loss per length is at chance; it falls long after all strings are right. (c) Phase 1 must last like
    N^{right_exponent:.2f} for all strings to be right and like N^{half_exponent:.2f} to halve the loss; the theorems stop
    it at 1 / N. (d) Theorem 4.4 speaks about some time only if 14 |u*|^2 <= eta T; the two sides differ by a factor
    {sides_6:.1e} at N = 6, {sides_256:.0e} at N = 256 and {sides_1024:.0e} at N = 1024."""
    *runs, axes = shown
    theorem = runs[: len(THEOREM)]
    long = runs[len(THEOREM) :]
    sizes = sorted({spec_of(run).size for run in theorem})
    color = dict(zip(sizes, ps.shades(len(sizes)), strict=True))
    draw_learning(theorem, long, axes[0, 0], axes[0, 1], color)
    numbers = draw_times(long, axes[1, 0])
    draw_window(theorem, axes[1, 1])
    for run in long:
        numbers[f"right_{spec_of(run).size}"] = float(learned(run)) * spec_of(run).eta
    for run in theorem:
        numbers[f"sides_{spec_of(run).size}"] = 14 * norm_at_t_0(run) ** 2 / window_of(run)
    return numbers


def draw_learning(theorem, long, accuracy, loss, color) -> None:
    """Up to T with the theorems' phase 1, and with a phase 1 that goes on."""
    for run in (*theorem, *long):
        spec = spec_of(run)
        N = spec.size
        if N not in color:
            continue
        tau = training_time(run)
        to_T = spec.switch < spec.steps
        if to_T:
            style = {"lw": 1.8, "label": f"$N = {N}$"}
        else:
            style = {"lw": 1.1, "ls": "--"}
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
    panels.legend(loss, handles=handles[-2:], labels=names[-2:], loc="lower left")


def draw_times(long, axes) -> dict[str, float]:
    """How long phase 1 must last, over N; returns the fitted exponents."""
    exponents = {}
    N = np.array([spec_of(run).size for run in long])
    cases = (
        (half_time, VERMILION, "s", "loss halved"),
        (learned, BLUE, "o", "all strings right"),
    )
    for time, color, marker, what in cases:
        tau = np.array([float(time(run)) * spec_of(run).eta for run in long])
        known = np.isfinite(tau)
        fit = ps.exponent(N[known], tau[known])
        factor = np.exp(np.mean(np.log(tau[known] / N[known] ** fit.value)))
        line = factor * N**fit.value
        exponents["half_exponent" if time is half_time else "right_exponent"] = fit.value
        label = rf"{what}: $N^{{{fit.value:.2f}}}$"
        axes.plot(N[known], tau[known], marker, ms=4.5, color=color, label=label)
        axes.plot(N[known], line[known], color=color, lw=1)
    axes.plot(N, 1 / N, "k--", lw=1.2, label=r"the theorems' $\tau_0 = 1/N$")
    axes.set(xlabel="longest length $N$", xscale="log")
    axes.set(ylabel=r"duration of phase 1, $\tau$", yscale="log", ylim=(3e-4, 3e7))
    panels.legend(axes, loc="upper left")
    return exponents


def draw_window(theorem, axes) -> None:
    """14 |u*|^2 / (eta T), which would have to be below 1."""
    N = np.array([spec_of(run).size for run in theorem], float)
    norm = np.array([norm_at_t_0(run) for run in theorem])
    window = np.array([window_of(run) for run in theorem])
    style = {"ms": 4.5, "lw": 1}
    ratio = r"$14\,\|u^*\|^2/(\eta T)$"
    axes.plot(N, 14 * norm**2 / window, "o-", color=VERMILION, label=ratio, **style)
    axes.plot(N, norm, "s-", color=BLUE, label=r"$\|u^*\|$ at $t_0$", **style)
    axes.axhline(1, color="k", ls="--", lw=1.2, label="Theorem 4.4 needs a ratio below 1")
    axes.set(xlabel="longest length $N$", xscale="log")
    axes.set(ylabel=r"norm of $u^*$, and the ratio", yscale="log", ylim=(1e-3, 1e52))
    panels.legend(axes, loc="upper left")


def window_of(run) -> float:
    """eta T, the end of what the theorems speak about."""
    spec = spec_of(run)
    return closed_forms.horizon(spec.lam, spec.eta, spec.size) * spec.eta


def norm_at_t_0(run) -> float:
    """|u*|, by its closed form where phase 1 has no record."""
    spec = spec_of(run)
    if phase_1(run).time.size:
        return margin_norm(run)
    tau_0 = np.sqrt(closed_forms.step_clock(spec.eta, spec.switch).second)
    return closed_forms.early_margin_norm(tau_0, spec.lam, spec.size)


ETA = 0.1
STEPS = 10_000
DIAGRAM = ps.sweeps(
    symmetric,
    switch=evidence.log_steps(1, STEPS, 41),
    lam=np.geomspace(1, 1e4, 64).tolist(),
    eta=ETA,
    steps=STEPS,
    at=[0, *evidence.log_steps(20, STEPS, 60)],
)


@ps.figure("Theorem 4.4 (ours)", DIAGRAM, panels=(1, 3), size=(8.2, 3.3))
def phase_diagram(runs, axes):
    """Even pairs, N = 6, up to tau = 1000, for any duration of phase 1 and any scale lam. (a) From when all strings are
    right (grey: not by then). A short phase 1 changes nothing, and learning ends at lam = {last:.0f} or so, since plain
    descent takes a time in proportion to lam; from tau_0 = 10 on, a longer phase 1 extends it. At the theorems' point
    (star: tau_0 = 1 / N, lam = N^2) all strings are right from tau = {star:.0f} on, long after the theorems' T =
    {theorem:.1f}. (b) The loss. (c) The read-out is closest to the max-margin direction where least is learned; at the
    paper's lam = 2 the attention moves on and the cosine falls to {cosine:.2f}. (Grey: one step of phase 1 leaves the
    attention uniform, and no margin.)"""
    runs = runs.transpose("switch", "lam", ...)
    N = runs.sizes["length"]
    end = runs.isel(time=-1)
    left, middle, right = axes
    since: xr.DataArray = xr.apply_ufunc(np.log10, ETA * learned(runs))
    loss = end.loss / ((N - 1) * np.log(2))
    at_end = rf"at $\tau = {ETA * STEPS:.0f}$"
    draw_map(since, left, r"all strings right from $\log_{10}\tau$", (1, 3), "viridis_r")
    draw_map(loss, middle, rf"loss $/\,(N-1)\log 2$ {at_end}", (0, 1))
    draw_map(end.margin_cosine, right, rf"$\cos(u, u^*)$ {at_end}", (0.9, 1), "cividis")
    for panel in axes:
        mark_settings(panel, N)
        panel.set(xscale="log", yscale="log", xlabel=r"scale of the scores $\lambda$")
        panel.grid(False)
    left.set(ylabel=r"duration of phase 1, $\tau_0 = \eta t_0$")
    beneath = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.24), "ncols": 3}
    panels.legend(middle, columnspacing=1.2, **beneath)
    star = {"switch": 1 / (N * ETA), "lam": N**2, "method": "nearest"}
    experiment = {"switch": 100, "lam": 2.0, "method": "nearest"}
    return {
        "last": float(since.lam.where(since.isel(switch=0).notnull()).max()),
        "star": 10.0 ** float(since.sel(**star)),
        "theorem": closed_forms.horizon(N**2, ETA, N) * ETA,
        "cosine": float(end.margin_cosine.sel(**experiment)),
    }


def draw_map(
    values, axes, label: str, limits: tuple[float, float], colors: str | None = None
) -> None:
    """A quantity over lam and the duration of phase 1; grey where it is not known."""
    axes.set_facecolor("0.85")
    image = axes.pcolormesh(
        values.lam,
        ETA * values.switch,
        values,
        shading="nearest",
        rasterized=True,
        vmin=limits[0],
        vmax=limits[1],
        cmap=colors,
    )
    axes.figure.colorbar(image, ax=axes, label=label, location="top", aspect=25)


def mark_settings(axes, N: int) -> None:
    """The theorems' point, a star where its two lines cross, and the paper's experiments."""
    axes.axhline(1 / N, color=VERMILION, ls="--", lw=1.2)
    axes.axvline(N**2, color=VERMILION, ls="--", lw=1.2)
    axes.plot([], [], color=VERMILION, ls="--", lw=1.2, label=r"$\tau_0 = 1/N$, $\lambda = N^2$")
    star = {"ms": 11, "color": VERMILION, "mec": "w", "label": "theorems"}
    dots = {"ms": 4.5, "mfc": "w", "mec": "k", "label": "Figs. 2, 4, 5"}
    axes.plot(N**2, 1 / N, "*", mew=0.8, ls="", **star)
    axes.plot([2, 10, 18], [10, 10, 10], "o", mew=0.8, ls="", **dots)


figures = (theorem_regime, phase_diagram)
