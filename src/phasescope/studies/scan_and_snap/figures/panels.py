"""What the figures share: the colours and line styles of the four levels, and of formulas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import phasescope as ps

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = ps.PALETTE
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


def listed(values: Iterable[Any], form: str) -> str:
    """Numbers for a caption, with commas between them."""
    return ", ".join(format(float(value), form) for value in values)
