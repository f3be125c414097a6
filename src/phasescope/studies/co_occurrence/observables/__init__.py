"""What the theorems talk about, measured in every arm: in Gram matrices, and in the reductions by symmetry."""

from .by_symmetry import measure_population, measure_sectors
from .observed import TYPE_NAMES, AtEnd, Observed, at_end, coordinates, derive, measure_grams

__all__ = [
    "TYPE_NAMES",
    "AtEnd",
    "Observed",
    "at_end",
    "coordinates",
    "derive",
    "measure_grams",
    "measure_population",
    "measure_sectors",
]
