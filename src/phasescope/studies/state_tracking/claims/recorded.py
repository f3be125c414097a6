"""Evidence of the decoder at full size: five seeds a row, computed on one GPU and recorded (see `decoder/recording.py`).

All have 200 variables, width 256, 1024 hidden neurons, batches of 256, Adam at 1e-4 and 500 test chains a length.
`plain` has neither residual stream nor layer normalisation, `norm` only the latter, `residual` both. `starts` is `plain`
with smaller embeddings at the start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import phasescope as ps

from ..training import control, decoder, self_training

FOLDER = Path(__file__).parent.parent / "recorded"
GROUPS = ("C6", "S5")
SETS = (2_000, 10_000, 50_000, 500_000)
VARIANTS = {
    "norm": {"layer_norm": True},
    "plain": {},
    "residual": {"layer_norm": True, "residual": True},
}
STARTS = (0.2, 0.5)
SEEDS = 5


def _piece(name: str, arm: Any, block: int = SEEDS, **changes: Any):
    request = ps.sweeps(arm, preset="figure_1a", seeds=SEEDS, block=block, samples=500, **changes)
    return ps.recorded(request, FOLDER / f"{name}.zip")


def _fresh(variant: str) -> dict[str, Any]:
    return {
        f"{variant}_{group}": _piece(
            f"{variant}_{group}", decoder, group=group, **VARIANTS[variant]
        )
        for group in GROUPS
    }


norm, plain, residual = (_fresh(variant) for variant in VARIANTS)
fixed = {
    f"sets_{group}": _piece(
        f"sets_{group}",
        decoder,
        SEEDS * len(SETS),
        group=group,
        dataset=list(SETS),
        layer_norm=True,
    )
    for group in GROUPS
}
stages = {
    f"{arm.__name__}_S5": _piece(
        f"{arm.__name__}_S5",
        arm,
        group="S5",
        layer_norm=True,
        steps=8000,
        stages=3,
        stage_steps=3000,
        records=2,
    )
    for arm in (self_training, control)
}
starts = {
    f"starts_{group}": _piece(
        f"starts_{group}", decoder, SEEDS * len(STARTS), group=group, embedding_scale=list(STARTS)
    )
    for group in GROUPS
}

# In the order of their importance, should the machine be lost half-way.
PIECES = norm | fixed | plain | residual | stages | starts
