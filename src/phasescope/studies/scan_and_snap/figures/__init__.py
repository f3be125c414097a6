"""One function per figure: those of the paper, and what it could not draw."""

from . import closed_forms, experiments, growth, levels, maps, rates, text

figures = (
    *levels.figures,
    *growth.figures,
    *experiments.figures,
    *closed_forms.figures,
    *rates.figures,
    *maps.figures,
    *text.figures,
)
