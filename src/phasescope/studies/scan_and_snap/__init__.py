"""Token scanning and snapping in a one-layer attention model: what the theorems say, and what the gradient does."""

import phasescope as ps

from .claims import claims
from .figures import figures
from .spec import default, presets
from .theory import closed_form, decoupled, memoryless, theory
from .training import population, sampled, symmetric

study = ps.Study(
    "scan_and_snap",
    default,
    paper=(
        "Tian, Wang, Chen & Du, Scan and Snap: Understanding Training Dynamics and Token Composition "
        "in 1-layer Transformer (NeurIPS 2023)"
    ),
    presets=presets,
    arms=(sampled, population, symmetric, decoupled, theory, memoryless, closed_form),
    claims=claims,
    figures=figures,
)
