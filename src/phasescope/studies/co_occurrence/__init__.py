"""How a transformer learns to recognise that two words occur together: attention and a linear MLP, in two phases."""

import phasescope as ps

from .claims import claims
from .figures import figures
from .spec import default, presets
from .theory import gram, orthogonal, population, six_families, weight_flow
from .training import gram_descent, weights

study = ps.Study(
    "co_occurrence",
    default,
    paper=(
        "Yang, Kailkhura, Wang & Liang, Training Dynamics of Transformers to Recognize Word Co-occurrence "
        "via Gradient Flow Analysis (NeurIPS 2024)"
    ),
    presets=presets,
    arms=(weights, weight_flow, six_families, gram, gram_descent, orthogonal, population),
    claims=claims,
    figures=figures,
)
