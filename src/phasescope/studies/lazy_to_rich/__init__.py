"""From a 4-gram to an induction head: a two-layer ALiBi transformer of six scalars, lazy first and rich later."""

import phasescope as ps

from .claims import claims
from .figures import figures
from .spec import default, presets
from .theory import exact_flow, joint_flow, mean_field_flow, paper_flow, stage_one
from .training import high_dimensional, online_sgd

study = ps.Study(
    "lazy_to_rich",
    default,
    paper="How Transformers Get Rich: Training Dynamics Analysis (Workshop on High-dimensional Learning Dynamics, 2025)",
    presets=presets,
    arms=(
        stage_one,
        online_sgd,
        exact_flow,
        mean_field_flow,
        paper_flow,
        joint_flow,
        high_dimensional,
    ),
    claims=claims,
    figures=figures,
)
