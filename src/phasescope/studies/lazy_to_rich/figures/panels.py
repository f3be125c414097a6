"""What the figures share: descent as a broad line, the exact flow dashed upon it, the four phases behind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import xarray as xr

import phasescope as ps

from ..phases import phase_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = ps.PALETTE
DATA = {"lw": 2.8, "alpha": 0.5, "solid_capstyle": "round"}
FLOW = {"ls": "--", "lw": 1.0, "color": "0.1"}
ENDS = ("T_I", "T_II", "T_III")  # of the first three phases
NAMES = ("I", "II", "III", "IV")
PARAMETERS = (
    ("p", BLUE, "$p$"),
    ("g", GREEN, "$g$"),
    ("h", PURPLE, "$h$"),
    ("w_kq", VERMILION, "$w_{KQ}$"),
)


def over(run: xr.Dataset, flow: xr.Dataset, name: str, axes: Axes, color: str, label: str) -> None:
    """An observable of descent, and of the flow upon it."""
    axes.plot(run.time, run[name], color=color, label=label, **DATA)
    axes.plot(flow.time, flow[name], **FLOW)


def phases(flow: xr.Dataset, axes: Iterable[Axes]) -> None:
    """Bands for the four phases of the flow, between the limits of the time axis, named above."""
    times = phase_times(flow)
    ends = [float(times[name]) for name in ENDS]
    for panel in axes:
        ps.shade_phases(panel, ends, NAMES)


def legend(axes: Axes, *, flow: str = "", **changes: Any) -> None:
    """The legend of the curves, with a line for the flow if it has a name; `changes` as for `ps.legend`."""
    if flow:
        axes.plot([], [], **FLOW, label=flow)
    ps.legend(axes, **changes)


def four_phases(run, flow, axes, tokens: str) -> None:
    """Total loss, partial losses and parameters of Stage II over log time, and when its phases end."""
    total, partial, weights = axes[:3]
    ends = ", ".join(f"{float(phase_times(flow)[name]):.0f}" for name in ENDS)
    total.figure.suptitle(f"{tokens} tokens; phases I, II, III end at {ends}", fontsize=9.5)
    over(run, flow, "loss", total, BLACK, "total loss")
    over(run, flow, "loss_g4", partial, BLUE, "4-gram")
    over(run, flow, "loss_ih", partial, VERMILION, "induction head")
    for name, color, label in PARAMETERS:
        over(run, flow, name, weights, color, label)
    for panel in axes:
        panel.set(
            xlabel=r"time $t = \eta \times$ steps",
            xscale="log",
            yscale="log",
            xlim=(1, flow.time[-1]),
        )
    phases(flow, axes)
    total.set(ylabel="total loss", ylim=(3e-5, 0.3))
    partial.set(ylabel="partial loss", ylim=(1e-8, 0.3))
    weights.set(ylabel="parameter", ylim=(7e-3, 30))
    legend(total, flow="exact flow", loc="lower left")
    legend(partial, loc="lower left")
    legend(weights, loc="upper left", ncols=2)


def ratios(flow: xr.Dataset, other: xr.Dataset, axes: Axes) -> None:
    """Losses and the weight of one flow over those of another, up to the end of its emergence."""
    for name, color, label in (
        ("loss_g4", BLUE, r"$\mathcal{L}_{G4}$"),
        ("loss_ih", VERMILION, r"$\mathcal{L}_{IH}$"),
        ("w_kq", GREEN, "$w_{KQ}$"),
    ):
        ratio = (flow[name] / other[name]).where(flow.time <= float(phase_times(other).T_III))
        axes.plot(flow.time, ratio, color=color, lw=1.4, label=label)
    axes.axhline(1, color="0.4", lw=0.8)
    legend(axes, loc="upper left")
