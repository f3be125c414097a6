r"""Evidence of Figure 2 at its published size, to be recorded on one GPU, two seeds a piece:

    python -m phasescope.cli.recording lazy_to_rich --out FOLDER --store FOLDER --data DIR [--within SECONDS]

300 of the 1500 epochs: in runs that were scaled down, slopes and scores had moved by then. Products of matrices are in
tf32, which takes half of the time of float32; both seeds are lanes of one program.
"""

from __future__ import annotations

from pathlib import Path

import phasescope as ps

from ..spec import BATCHES_OF_AN_EPOCH
from ..training import text_two_layer

FOLDER = Path(__file__).parent.parent / "recorded"
EPOCHS = 300
SEEDS = 2


def _piece(preset: str) -> ps.Request:
    request = ps.sweeps(
        text_two_layer,
        preset=preset,
        seeds=SEEDS,
        block=SEEDS,
        arithmetic="tf32",
        updates=EPOCHS * BATCHES_OF_AN_EPOCH,
        records=EPOCHS,
    )
    return ps.recorded(request, FOLDER / f"{preset}.zip")


figure_2 = _piece("figure_2")
figure_2_norm = _piece("figure_2_norm")

PIECES = {"figure_2": figure_2, "figure_2_norm": figure_2_norm}
