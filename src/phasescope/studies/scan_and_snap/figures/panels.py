"""What the figures share: colours of the four levels, shades for ordered rates, letters, legends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from phasescope.figures.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
# The real gradient, the decoupled one, the closed theory, and the control without memory.
LEVELS = {
    "training": {"color": BLUE, "lw": 2.4, "alpha": 0.8},
    "decoupled": {"color": ORANGE, "lw": 1.5},
    "theory": {"color": VERMILION, "lw": 1.4, "ls": "--"},
    "memoryless": {"color": GREEN, "lw": 1.5, "ls": "-."},
}
NAMES = {
    "training": "training (L0)",
    "decoupled": "decoupled (L1)",
    "theory": "theory (L2)",
    "memoryless": "no memory (L0m)",
}
FORMULA = {"ls": ":", "lw": 1.3, "color": "0.1"}
LEGEND = {
    "fontsize": 7, "handlelength": 1.9, "labelspacing": 0.3, "borderaxespad": 0.3, "borderpad": 0.3,
    "frameon": True, "framealpha": 0.75, "edgecolor": "none",
}  # fmt: skip


def legend(axes: Axes, **place) -> None:
    axes.legend(**LEGEND | place)


def letter(axes: Iterable[Axes]) -> None:
    """(a), (b), ... in the corner above each panel."""
    for name, panel in zip("abcdefgh", np.ravel(np.asarray(axes, dtype=object)), strict=False):
        panel.set_title(f"({name})", loc="left", fontsize=9)


def shades(count: int) -> list:
    """Colours for something ordered, dark to light, readable on white."""
    from matplotlib import colormaps

    return [colormaps["viridis"](x) for x in np.linspace(0.0, 0.82, count)]
