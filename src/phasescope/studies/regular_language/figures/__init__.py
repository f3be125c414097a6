"""One function per figure: those of the paper, and what it could not draw."""

from . import early, late, maps, paper, regime, text, thought

figures = (
    *paper.figures,
    *early.figures,
    *regime.figures,
    *late.figures,
    *thought.figures,
    *maps.figures,
    *text.figures,
)
