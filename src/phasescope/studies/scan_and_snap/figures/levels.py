"""X1: the real gradient, the decoupled one, the closed theory and the memoryless control side by
side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..claims import evidence
from ..phases import drop, force_ratio, held_attention, on, time_unit, top_logit
from ..spec import Spec
from .panels import FORMULA, LEVELS, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@ps.figure(
    "X1 (ours): four levels",
    evidence.small,
    evidence.small_decoupled,
    evidence.small_theory,
    evidence.small_memoryless,
    evidence.one,
    evidence.one_decoupled,
    evidence.one_theory,
    evidence.one_memoryless,
    panels=(2, 2),
    size=(7.4, 5.4),
)
def four_levels(
    true, decoupled, closed, forgetful, one, one_decoupled, one_closed, one_forgetful, axes
):
    """Time in units of 2 K ln M / eta_Y. (a) Syn-Small at equal rates, the logit of the top
    token: training ends at {training:.3f}, the theory at {theory:.2f}, the control without memory at
    {memoryless:.2f}. (b)
    One common token in weak correlation (K = 10, M = 1000, rho_0 = 0.01): how far its logit
    falls. Training is ten times behind the theory from the start; dotted, the closed forms with
    exponents 4 and 2. (c) Held attention: beta / iota, the discriminative share of the pull, in
    Syn-Small and in weak correlation, where it is 1/M (dotted) and not E'. (d) Velocity of the
    common tokens' logits over that of the pull projected on the current directions: the decoder's
    memory slows attention down, the more the faster it moves (ratios 0.01, 0.1, 1, 10)."""
    (a, b), (c, d) = axes
    draw_top_logits((true, decoupled, closed, forgetful), a)
    draw_drops((one, one_decoupled, one_closed, one_forgetful), b)
    draw_closed_forms(evidence.at_rho(one).sel(eta_Z=1.0), b)
    draw_force_ratios(true, one, LEVELS["training"], c)
    draw_force_ratios(decoupled, one_decoupled, LEVELS["decoupled"], c)
    c.axhline(1e-3, **FORMULA)
    c.text(900, 9e-4, "$1/M$", fontsize=8, ha="right", va="top", color=FORMULA["color"])
    c.text(0.012, 0.42, "Syn-Small, $\\rho = 0.72$", fontsize=7.5)
    c.text(0.012, 5.5e-3, "weak, $\\rho = 0.01$", fontsize=7.5)
    draw_lags(true, d)
    a.set(ylabel="$z_{l_0}$, Syn-Small", xscale="log", xlim=(0.01, 1e3))
    b.set(
        ylabel="$-z_{CT}$, one common token",
        xscale="log",
        yscale="log",
        xlim=(0.01, 1e3),
        ylim=(1e-6, 1),
    )
    c.set(
        ylabel=r"$\beta / \iota$, held attention",
        xscale="log",
        yscale="log",
        xlim=(0.01, 1e3),
        ylim=(5e-4, 2),
    )
    d.set(
        ylabel=r"$\dot z_{CT}$ / $\dot z_{CT}$ of the current $F$",
        xscale="log",
        xlim=(0.01, 1e3),
        ylim=(0, 1.25),
    )
    for panel in (a, b, c, d):
        panel.set_xlabel(r"$t \,/\, (2K\ln M/\eta_Y)$")
    ps.legend(a, loc="upper left")
    ps.legend(b, loc="lower right")
    ps.legend(d, loc="lower left")
    ends = [float(top_logit(run.sel(eta_Z=1.0))[-1]) for run in (true, closed, forgetful)]
    return {"training": ends[0], "theory": ends[1], "memoryless": ends[2]}


def draw_top_logits(runs: Iterable[xr.Dataset], axes: Axes) -> None:
    """One curve for each level, at equal rates."""
    for run, (name, style) in zip(runs, LEVELS.items(), strict=True):
        run = run.sel(eta_Z=1.0)
        axes.plot(run.time / time_unit(run), top_logit(run), label=NAMES[name], **style)


def draw_drops(runs: Iterable[xr.Dataset], axes: Axes) -> None:
    """How far the common token falls, one curve for each level, at equal rates."""
    for run, style in zip(runs, LEVELS.values(), strict=True):
        run = evidence.at_rho(run).sel(eta_Z=1.0)
        axes.plot(run.time[1:] / float(time_unit(run)), drop(run)[1:], **style)


def draw_force_ratios(
    small: xr.Dataset, one: xr.Dataset, style: dict[str, Any], axes: Axes
) -> None:
    """beta / iota on held attention, in strong and in weak correlation."""
    strong = force_ratio(held_attention(small))
    axes.plot(strong.time / evidence.UNIT_SMALL, strong, **style)
    weak = force_ratio(evidence.at_rho(one).sel(eta_Z=1e-3))
    axes.plot(weak.time / evidence.UNITS[10.0], weak, **style)


def draw_lags(run: xr.Dataset, axes: Axes) -> None:
    """One curve for each ratio of the rates."""
    for eta, color in zip((0.01, 0.1, 1.0, 10.0), ps.shades(4), strict=True):
        lag = run.lag.sel(eta_Z=eta)[1:]
        label = rf"$\eta_Z / \eta_Y = {eta:g}$"
        axes.plot(lag.time / evidence.UNIT_SMALL, lag, color=color, label=label)


def draw_closed_forms(run: xr.Dataset, axes: Axes) -> None:
    """Exponent 4 with E', and exponent 2 with 1/M."""
    K = float(run.classes)
    M = Spec.of(run).M
    rho = float(run.rho[0])
    strength = on(run.time, closed_forms.Gamma, K, M, 1.0, 1.0)[1:] / K
    time = run.time[1:] / float(time_unit(run))
    axes.plot(time, np.log1p(4 * (K - 1) * rho**2 * strength) / 4, **FORMULA, label="closed forms")
    axes.plot(time, np.log1p(2 * (K - 1) / M * rho * strength) / 2, **FORMULA)


figures = (four_levels,)
