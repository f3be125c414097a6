"""What the figures share: descent as a broad line, the exact flow dashed upon it, the four phases behind."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import xarray as xr

from phasescope.figures.style import BANDS, PALETTE

from ..phases import phase_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
DATA = {"lw": 2.8, "alpha": 0.5, "solid_capstyle": "round"}
FLOW = {"ls": "--", "lw": 1.0, "color": "0.1"}
LEGEND = {
    "fontsize": 7, "handlelength": 1.7, "labelspacing": 0.3, "borderaxespad": 0.3, "borderpad": 0.3,
    "frameon": True, "framealpha": 0.8, "edgecolor": "none",
}  # fmt: skip
PHASES = ("T_I", "T_II", "T_III")
NAMES = ("I", "II", "III", "IV")


def over(run: xr.Dataset, flow: xr.Dataset, name: str, axes: Axes, color: str, label: str) -> None:
    """An observable of descent, and of the flow upon it."""
    axes.plot(run.time, run[name], color=color, label=label, **DATA)
    axes.plot(flow.time, flow[name], **FLOW)


def phases(flow: xr.Dataset, axes: Iterable[Axes]) -> None:
    """Bands for the four phases of the flow, between the limits of the time axis, named above."""
    times = phase_times(flow)
    for panel in axes:
        first, last = panel.get_xlim()
        edges = [first, *(float(times[name]) for name in PHASES), last]
        for k, (start, end) in enumerate(itertools.pairwise(edges)):
            panel.axvspan(start, end, color=BANDS[k], alpha=0.08, lw=0)
            panel.text(
                _middle(panel, start, end), 1.0, NAMES[k], transform=panel.get_xaxis_transform(), ha="center", va="bottom",
                fontsize=7.5, color=BANDS[k],
            )  # fmt: skip
        panel.set_xlim(first, last)


def _middle(axes: Axes, start: float, end: float) -> float:
    return (start * end) ** 0.5 if axes.get_xscale() == "log" else 0.5 * (start + end)


def legend(axes: Axes, *, flow: str = "", **place) -> None:
    """The legend of the curves, with a line for the flow if it has a name."""
    if flow:
        axes.plot([], [], **FLOW, label=flow)
    axes.legend(**LEGEND | place)


def letter(axes: Iterable[Axes]) -> None:
    """(a), (b), ... in the corner above each panel."""
    for name, panel in zip("abcdef", axes, strict=False):
        panel.set_title(f"({name})", loc="left", fontsize=9)
