"""What the figures share: descent as a broad line, the exact flow dashed upon it, the four phases behind."""

from __future__ import annotations

import itertools
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
BANDS = (BLUE, ORANGE, GREEN, PURPLE)


def over(run: xr.Dataset, flow: xr.Dataset, name: str, axes: Axes, color: str, label: str) -> None:
    """An observable of descent, and of the flow upon it."""
    axes.plot(run.time, run[name], color=color, label=label, **DATA)
    axes.plot(flow.time, flow[name], **FLOW)


def phases(flow: xr.Dataset, axes: Iterable[Axes]) -> None:
    """Bands for the four phases of the flow, between the limits of the time axis, named above."""
    times = phase_times(flow)
    ends = [float(times[name]) for name in ENDS]
    for panel in axes:
        first, last = panel.get_xlim()
        spans = itertools.pairwise([first, *ends, last])
        for (start, end), name, color in zip(spans, NAMES, BANDS, strict=True):
            ps.shade(panel, start, end, name, color)
        panel.set_xlim(first, last)


def legend(axes: Axes, *, flow: str = "", **changes: Any) -> None:
    """The legend of the curves, with a line for the flow if it has a name; `changes` as for `ps.legend`."""
    if flow:
        axes.plot([], [], **FLOW, label=flow)
    ps.legend(axes, **changes)
