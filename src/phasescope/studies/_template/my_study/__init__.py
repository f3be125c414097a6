"""One weight leaves a saddle: the paper's table of contents."""

import phasescope as ps

from .claims import (
    a_plateau_and_then_a_fast_rise,
    escape_time_is_logarithmic,
    flow_follows_the_closed_form,
    noise_leaves_the_saddle_earlier,
)
from .figures import the_escape
from .spec import default, figure_1, tiny
from .theory import closed_form, flow
from .training import descent, sgd

study = ps.Study(
    "my_study",
    default,
    paper="Authors, Title (venue, year)",
    presets={"tiny": tiny, "figure_1": figure_1},
    # Which preset is an experiment of the paper, what the paper states of it, and what we guessed.
    protocols={
        "figure_1": ps.protocol(
            "Figure 1", arms=("descent",), stated=("start", "eta"), guessed=("steps",)
        ),
    },
    arms=(descent, sgd, flow, closed_form),
    claims=(
        flow_follows_the_closed_form,
        escape_time_is_logarithmic,
        noise_leaves_the_saddle_earlier,
        a_plateau_and_then_a_fast_rise,
    ),
    figures=(the_escape,),
    # Statements of the paper that no claim is about, with the reason.
    unchecked={"Section 5": "an outlook, without a statement that could be checked"},
)
