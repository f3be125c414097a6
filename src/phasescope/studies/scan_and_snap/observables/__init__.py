"""What the theorems talk about: its names, how it is measured on a state, and what follows from
the records."""

from .derive import derive
from .measure import (
    measure_full,
    measure_memoryless,
    measure_symmetric,
    measure_theory,
    measure_with_residuals,
)
from .observed import AXES, Observed

__all__ = [
    "AXES",
    "Observed",
    "derive",
    "measure_full",
    "measure_memoryless",
    "measure_symmetric",
    "measure_theory",
    "measure_with_residuals",
]
