"""One function per figure: the paper's, and what it could not draw."""

from . import maps, paper, theory

figures = (*paper.figures, *theory.figures, *maps.figures)
