"""What the figures share: colours, styles of lines, and the two phases behind an axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import phasescope as ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = ps.PALETTE

DATA = {"lw": 2.6, "alpha": 0.6, "solid_capstyle": "round"}
THEORY = {"ls": "--", "lw": 1.1, "color": "0.1"}


def shade_phases(axes: Axes, border: float) -> None:
    """Phase 1 up to the border, phase 2 from there on; call it when the limits of the axis are set."""
    ps.shade_phases(axes, [border])
