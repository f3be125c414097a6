r"""Evidence of Figures 7 and 10 at their published size, to be recorded on one GPU, five seeds a piece:

    python -m phasescope.cli.recording scan_and_snap --out FOLDER --store FOLDER --data DIR [--within SECONDS]

All runs of a piece are lanes of one program. `figure_10` runs ten times as long as Figure 7 shows ("until convergence" is all
that is said), at four rates of our choice, with products of matrices in tf32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import phasescope as ps

from ..training import text_attention

FOLDER = Path(__file__).parent.parent / "recorded"
SEEDS = 5
RATES = (0.5, 1.0, 2.0, 5.0)


def _piece(preset: str, block: int = SEEDS, **axes: Any) -> ps.Request:
    request = ps.sweeps(text_attention, preset=preset, seeds=SEEDS, block=block, **axes)
    return ps.recorded(request, FOLDER / f"{preset}.zip")


one_layer = _piece("figure_7")
released = _piece("figure_7_released")
three_layers = _piece("figure_7_three_layers")
rates = _piece("figure_10", block=SEEDS * len(RATES), rate=RATES, arithmetic="tf32")

PIECES = {
    "figure_7": one_layer,
    "figure_7_three_layers": three_layers,
    "figure_10": rates,
    "figure_7_released": released,
}
