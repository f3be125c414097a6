"""One function per figure: the paper's, and what it could not draw."""

from .paper import figure_1, figure_1_literal
from .theory import late_laws, sample_threshold, universal_first_phase, where_attention_matters

figures = (
    figure_1,
    figure_1_literal,
    universal_first_phase,
    late_laws,
    sample_threshold,
    where_attention_matters,
)
