"""One function per figure: those of the paper, and what it could not draw."""

from .early import early_laws
from .late import late_time
from .paper import attention_scores, figure_2, figure_3, figure_4, figure_5, figure_6, overview
from .regime import phase_diagram, theorem_regime
from .thought import chain_of_thought, parity_stairs

figures = (
    overview,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    attention_scores,
    early_laws,
    theorem_regime,
    phase_diagram,
    late_time,
    parity_stairs,
    chain_of_thought,
)
