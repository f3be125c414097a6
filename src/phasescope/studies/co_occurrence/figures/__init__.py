"""One function per figure: the paper's, and what it could not draw."""

from . import paper, theory

figures = (*paper.figures, *theory.figures)
