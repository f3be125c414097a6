"""One function per figure: those of the paper, and what it could not draw."""

from .paper import figure_1, figure_3, figure_4
from .truth import paper_against_truth, phase_diagram, scaling

figures = (figure_1, paper_against_truth, figure_3, figure_4, scaling, phase_diagram)
