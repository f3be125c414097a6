"""One function per figure: those of the paper, and what it could not draw."""

from .paper import attention_scores, figure_2, figure_3, figure_4, figure_5, figure_6, overview
from .regime import phase_diagram, theorem_regime

figures = (overview, figure_2, figure_3, figure_4, figure_5, figure_6, attention_scores, theorem_regime, phase_diagram)
