"""How one-layer transformers learn regular languages: even pairs and parity, in two phases."""

import phasescope as ps

from .claims import claims
from .figures import figures
from .spec import default, presets
from .theory import frozen, log_flow
from .training import exhaustive, handover, symmetric

study = ps.Study(
    "regular_language",
    default,
    paper=(
        "Huang, Liang & Yang, How Transformers Learn Regular Language Recognition: "
        "A Theoretical Study on Training Dynamics and Implicit Bias (ICML 2025)"
    ),
    presets=presets,
    arms=(exhaustive, symmetric, log_flow, frozen, handover),
    claims=claims,
    figures=figures,
)
