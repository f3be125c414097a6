"""Token scanning and snapping in a one-layer attention model: what the theorems say, and what
the gradient does."""

import phasescope as ps

from . import theory, training
from .claims import claims
from .figures import figures
from .spec import default, presets

study = ps.Study(
    "scan_and_snap",
    default,
    paper=(
        "Tian, Wang, Chen & Du, Scan and Snap: Understanding Training Dynamics and Token Composition "
        "in 1-layer Transformer (NeurIPS 2023)"
    ),
    presets=presets,
    arms=(
        training.sampled,
        training.population,
        training.symmetric,
        theory.decoupled,
        theory.theory,
        theory.memoryless,
        theory.closed_form,
    ),
    claims=claims,
    figures=figures,
)
