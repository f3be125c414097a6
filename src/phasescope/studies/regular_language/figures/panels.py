"""What the figures share: curves over training with the phases behind them and the theory upon them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import step_clock
from ..phases import spec_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = ps.PALETTE
# The paper's colours: the first token blue, then green and orange.
POSITIONS = {1: BLUE, 2: GREEN, 3: VERMILION}
# The end of phase 1, and the time when the read-out grows fastest in log time: lines and names.
T_0 = "0.25"
T_2 = "0.45"
# Closed forms are drawn up to this tau: they are the leading order, and a fifth off by then.
EARLY = 4.0

DATA = {"lw": 2.6, "alpha": 0.55, "solid_capstyle": "round"}
FLOW = {"ls": "--", "lw": 1.0, "color": "0.1"}
FORMULA = {"ls": ":", "lw": 1.3, "color": "0.1"}
BENEATH = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22)}  # a legend below the axes
THEORY = {"flow": (FLOW, "gradient flow"), "formula": (FORMULA, "closed form")}


def over(curve: xr.DataArray, flow: xr.DataArray, axes: Axes, color: str, label: str) -> None:
    """Descent as a broad line and gradient flow dashed upon it."""
    axes.plot(curve.time, curve, color=color, label=label, **DATA)
    axes.plot(flow.time, flow, **FLOW)


def losses_at(run: xr.Dataset, **times: float) -> dict[str, float]:
    """The loss at some times, for a caption."""
    return {name: value_at(run.loss, time) for name, time in times.items()}


def value_at(curve: xr.DataArray, time: float) -> float:
    """A curve at the record nearest to a time."""
    return float(curve.sel(time=time, method="nearest"))


def in_steps(flow: xr.Dataset) -> xr.Dataset:
    r"""A flow's records with $t = \tau / \eta$ for their time."""
    return flow.assign_coords(time=flow.time / spec_of(flow).eta)


def show_phases(run: xr.Dataset, axes: Iterable[Axes], t_2: float, *, phases: bool = True) -> None:
    """Bands for the two phases, if there are any, and lines at t_0 and t_2, named in the first panel.

    The lines are grey, since t_2 is no border of a phase. The limits of the time axis must be set: a name that would
    leave the panel on the right stands on the left.
    """
    t_0 = spec_of(run).switch
    for k, panel in enumerate(axes):
        if phases:
            ps.shade_stages(run, panel)
        panel.axvline(t_0, ls="--", lw=1, color=T_0)
        panel.axvline(t_2, ls="-.", lw=1, color=T_2)
        if k == 0:
            name_time(panel, "t_0", t_0, height=0.11, color=T_0)
            name_time(panel, "t_2", t_2, height=0.03, color=T_2)


def name_time(axes: Axes, name: str, time: float, *, height: float, color: str) -> None:
    """The name and value of a time beside its line, on the side where there is room."""
    pixels = axes.transData.transform((time, 1.0))
    fraction = axes.transAxes.inverted().transform(pixels)[0]
    if fraction > 0.75:
        side = {"ha": "right", "xytext": (-2, 0)}
    else:
        side = {"ha": "left", "xytext": (2, 0)}
    axes.annotate(
        f"${name} = {time:.0f}$",
        (time, height),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        fontsize=7,
        color=color,
        **side,
    )


def early(
    run: xr.Dataset, form: Callable[..., np.ndarray], until: float = EARLY
) -> tuple[np.ndarray, np.ndarray]:
    r"""Steps of a run up to some $\tau$, and a closed form (a function of the clock) there."""
    eta = spec_of(run).eta
    steps = np.unique(np.geomspace(2, until / eta, 40).round().astype(int))
    return steps, np.stack([form(step_clock(eta, int(t))) for t in steps])


def legend(axes: Axes, *theory: str, **changes: Any) -> None:
    """The legend of the curves, with a line for each kind of theory: "flow", "formula"."""
    for kind in theory:
        style, label = THEORY[kind]
        axes.plot([], [], **style, label=label)
    ps.legend(axes, **{"framealpha": 0.75} | changes)
