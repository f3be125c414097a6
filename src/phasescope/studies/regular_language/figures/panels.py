"""What the figures share: curves over training with the phases behind them and the theory upon them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import step_clock
from ..phases import spec_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = ps.PALETTE
POSITIONS = {1: BLUE, 2: GREEN, 3: VERMILION}  # the paper's colours: the first token blue, then green and orange
EARLY = 4.0  # closed forms are drawn up to this tau: they are the leading order, and a fifth off by then

DATA = {"lw": 2.6, "alpha": 0.55, "solid_capstyle": "round"}
FLOW = {"ls": "--", "lw": 1.0, "color": "0.1"}
FORMULA = {"ls": ":", "lw": 1.3, "color": "0.1"}
LEGEND = {
    "fontsize": 7, "handlelength": 1.7, "labelspacing": 0.3, "borderaxespad": 0.3, "borderpad": 0.3,
    "frameon": True, "framealpha": 0.75, "edgecolor": "none",
}  # fmt: skip


def over(curve: xr.DataArray, flow: xr.DataArray, axes: Axes, color: str, label: str) -> None:
    """Descent as a broad line and gradient flow dashed upon it."""
    axes.plot(curve.time, curve, color=color, label=label, **DATA)
    axes.plot(flow.time, flow, **FLOW)


def in_steps(flow: xr.Dataset) -> xr.Dataset:
    r"""A flow's records with $t = \tau / \eta$ for their time."""
    return flow.assign_coords(time=flow.time / spec_of(flow).eta)


def phases(run: xr.Dataset, axes: Iterable[Axes], t_2: float) -> None:
    """Bands for the two phases, a blue line at t_0 and an orange one at t_2, named in the first panel.

    The limits of the time axis must be set: a name that would leave the panel on the right stands on the left.
    """
    for k, panel in enumerate(axes):
        ps.shade_stages(run, panel)
        for name, time, color, height in (("t_0", spec_of(run).switch, BLUE, 0.11), ("t_2", t_2, ORANGE, 0.03)):
            panel.axvline(time, ls="--", lw=1, color=color)
            if k == 0:
                place = panel.transAxes.inverted().transform(panel.transData.transform((time, 1.0)))[0]
                side = {"ha": "right", "xytext": (-2, 0)} if place > 0.75 else {"ha": "left", "xytext": (2, 0)}
                panel.annotate(
                    f"${name} = {time:.0f}$", (time, height), xycoords=("data", "axes fraction"),
                    textcoords="offset points", fontsize=7, color=color, **side,
                )  # fmt: skip


def early(run: xr.Dataset, form: Callable[..., np.ndarray], until: float = EARLY) -> tuple[np.ndarray, np.ndarray]:
    r"""Steps of a run up to some $\tau$, and a closed form (a function of the clock) there."""
    eta = spec_of(run).eta
    steps = np.unique(np.geomspace(2, until / eta, 40).round().astype(int))
    return steps, np.stack([form(step_clock(eta, int(t))) for t in steps])


def legend(axes: Axes, *theory: str, **place) -> None:
    """The legend of the curves, with a line for each kind of theory: "flow", "formula"."""
    styles = {"flow": (FLOW, "gradient flow"), "formula": (FORMULA, "closed form")}
    for kind in theory:
        axes.plot([], [], **styles[kind][0], label=styles[kind][1])
    axes.legend(**LEGEND | place)


def letter(axes: Iterable[Axes]) -> None:
    """(a), (b), ... in the corner above each panel."""
    for name, panel in zip("abcdef", axes, strict=False):
        panel.set_title(f"({name})", loc="left", fontsize=9)


def shades(count: int) -> list:
    """Colours for something ordered, dark to light, readable on white."""
    from matplotlib import colormaps

    return [colormaps["viridis"](x) for x in np.linspace(0.0, 0.82, count)]
