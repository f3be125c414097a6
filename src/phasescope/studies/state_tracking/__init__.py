"""Chain-of-thought state tracking: how a transformer learns to follow a group action along a chain."""

import phasescope as ps

from . import theory, training
from .claims import claims
from .figures import figures
from .spec import default, presets

study = ps.Study(
    "state_tracking",
    default,
    paper=(
        "Huang, Wen, Singh, Chi & Chen, Transformers Provably Learn Chain-of-Thought Reasoning "
        "with Length Generalization (NeurIPS 2025)"
    ),
    presets=presets,
    arms=(
        theory.theory_model,
        theory.features,
        theory.routing,
        training.decoder,
        training.self_training,
        training.control,
    ),
    claims=claims,
    figures=figures,
)
