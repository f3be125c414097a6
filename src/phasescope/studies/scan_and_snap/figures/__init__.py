"""One function per figure: those of the paper, and what it could not draw."""

from .attention import figure_2, figure_4, figure_5
from .closed import figure_3, figure_8, figure_9
from .levels import four_levels
from .rates import figure_6, momentum, ratio_and_time

figures = (four_levels, figure_2, figure_3, figure_4, figure_5, figure_6, figure_8, figure_9, ratio_and_time, momentum)
