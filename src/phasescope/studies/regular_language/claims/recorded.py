r"""Evidence of Figure 7 at its published size, five seeds a piece, which was recorded on a CPU:

python -m phasescope.cli.recording regular_language --out FOLDER --store FOLDER --data DIR [--within SECONDS]
"""

from __future__ import annotations

from pathlib import Path

import phasescope as ps

from ..training import text_gpt

FOLDER = Path(__file__).parent.parent / "recorded"
SEEDS = 5


def _piece(preset: str) -> ps.Request:
    request = ps.sweeps(text_gpt, preset=preset, seeds=SEEDS, block=1)
    return ps.recorded(request, FOLDER / f"{preset}.zip")


page = _piece("figure_7")
config = _piece("figure_7_config")

PIECES = {"figure_7": page, "figure_7_config": config}
