"""Chain-of-thought state tracking: how a transformer learns to follow a group action along a chain."""

import phasescope as ps

from .claims import claims
from .figures import figures
from .oracle import theory_model
from .spec import default, presets
from .theory import features, routing
from .training import control, decoder, self_training

study = ps.Study(
    "state_tracking",
    default,
    paper=(
        "Huang, Wen, Singh, Chi & Chen, Transformers Provably Learn Chain-of-Thought Reasoning "
        "with Length Generalization (NeurIPS 2025)"
    ),
    presets=presets,
    arms=(theory_model, features, routing, decoder, self_training, control),
    claims=claims,
    figures=figures,
)
