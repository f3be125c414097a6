"""Evidence of the decoder at full size: five seeds a row, computed on one GPU and recorded (see `decoder/recording.py`).

All have 200 variables, width 256, 1024 hidden neurons, batches of 256, Adam at 1e-4 and 500 test chains a length.
`plain` has neither residual stream nor layer normalisation, `norm` only the latter, `residual` both. `starts` is `plain`
with smaller embeddings at the start. These train on fresh chains, or for 20,000 updates on sets of several sizes.

`epochs` is the protocol of Section 7: 300 epochs over a fixed set, neither residual stream nor layer normalisation (the
paper's setting is "closely aligned" with its theory, which has neither). `few` has a fifth of the chains, `epochs_norm` has
layer normalisation (C6 only): what the paper does not state is looked at on both sides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import phasescope as ps

from ..spec import section_7
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


def _section_7(name: str, arm: Any, preset: str, **changes: Any):
    request = ps.sweeps(arm, preset=preset, seeds=SEEDS, block=SEEDS, **changes)
    return ps.recorded(request, FOLDER / f"{name}.zip")


FEW = section_7("C6", 10_000)
epochs = {
    f"epochs_{group}": _section_7(f"epochs_{group}", decoder, f"section_7_{group}")
    for group in GROUPS
}
epochs_stages = {
    "epochs_stages_S5": _section_7("epochs_stages_S5", self_training, "section_7_S5_stages")
}
few = {
    f"epochs_few_{group}": _section_7(
        f"epochs_few_{group}",
        decoder,
        f"section_7_{group}",
        dataset=FEW.dataset,
        steps=FEW.steps,
    )
    for group in GROUPS
}
epochs_norm = {
    "epochs_norm_C6": _section_7("epochs_norm_C6", decoder, "section_7_C6", layer_norm=True)
}

# In the order of their importance, should the machine be lost half-way.
SECTION_7 = epochs | few | epochs_stages | epochs_norm
PIECES = SECTION_7 | norm | fixed | plain | residual | stages | starts
