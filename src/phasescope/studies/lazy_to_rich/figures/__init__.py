"""One function per figure: those of the paper, and what it could not draw."""

from . import durations, experiments, four_phases, maps, text

figures = (
    *four_phases.figures,
    *experiments.figures,
    *durations.figures,
    *maps.figures,
    *text.figures,
)
