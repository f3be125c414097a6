"""What the theorems talk about, measured in every arm: in Gram matrices, and in the reductions by symmetry."""

from .gram_matrices import at_end, measure_grams
from .neurons import measure_neurons
from .observed import AXES, AtEnd, Observed, coordinates, derive
from .population_flow import measure_population
from .symmetric_words import measure_symmetric_words

__all__ = [
    "AXES",
    "AtEnd",
    "Observed",
    "at_end",
    "coordinates",
    "derive",
    "measure_grams",
    "measure_neurons",
    "measure_population",
    "measure_symmetric_words",
]
