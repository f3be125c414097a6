"""What the figures share: colours, and the two phases behind an axis of time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import phasescope as ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = ps.PALETTE
PHASES = (ORANGE, SKY)

DATA = {"lw": 2.6, "alpha": 0.6, "solid_capstyle": "round"}
THEORY = {"ls": "--", "lw": 1.1, "color": "0.1"}
LEGEND = {
    "fontsize": 7, "handlelength": 1.7, "labelspacing": 0.3, "borderaxespad": 0.3, "borderpad": 0.3, "frameon": True,
    "framealpha": 0.8, "edgecolor": "none",
}  # fmt: skip


def shade_phases(axes: Axes, border: float, label: bool = True) -> None:
    """Phase 1 up to the border, phase 2 from there on; call it when the limits of the axis are set."""
    low, high = axes.get_xlim()
    for start, end, color, name in ((low, border, PHASES[0], "phase 1"), (border, high, PHASES[1], "phase 2")):
        axes.axvspan(start, end, color=color, alpha=0.09, lw=0, zorder=0)
        if label:
            middle = (start * end) ** 0.5 if axes.get_xscale() == "log" else 0.5 * (start + end)
            axes.text(
                middle,
                1.0,
                name,
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=8,
                color="0.3",
            )
    axes.axvline(border, color="0.35", lw=1, ls="--")
    axes.set_xlim(low, high)


def letter(panels: Iterable[Axes]) -> None:
    """(a), (b), ... above the labels of each panel's y axis."""
    for panel, name in zip(panels, "abcdef", strict=False):
        panel.text(-0.1, 1.05, f"({name})", transform=panel.transAxes, ha="right", va="bottom", fontsize=9)
