"""Several sizes: along which axis they lie, which they are, and whether they are enough for a trend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from .align import axis
from .types import ArrayLike

# A ratio that grows more slowly than size^0.05 is taken as bounded: 25% over two decades.
FLAT = 0.05
# What a trend needs: so many sizes, or so wide a range of at least three.
SIZES = 4
DECADES = 100.0
# An array over an axis of sizes, or one array for each size.
BySize = ArrayLike | Mapping[Any, ArrayLike]


def axis_of_sizes(x: xr.DataArray, along: str) -> str:
    """The axis of this name; the only one, if it has no name."""
    if x.dims == ("index",):
        return "index"
    return axis(x, along)


def sizes_along(x: xr.DataArray, along: str) -> list[float]:
    """The sizes along an axis, in its order; 1, 2, 3 of one without coordinates."""
    values = x[along].values if along in x.coords else np.arange(1, x.sizes[along] + 1)
    return [float(v) for v in values]


def distinct_sizes(x: xr.DataArray, along: str) -> tuple[float, ...]:
    """The sizes along an axis, each once, in rising order."""
    return tuple(sorted(set(sizes_along(x, along))))


def too_few(sizes: np.ndarray) -> str:
    """What is missing for a trend; nothing if there is enough."""
    count = np.unique(sizes).size
    if count >= SIZES or (count >= 3 and sizes.min() > 0 and sizes.max() >= DECADES * sizes.min()):
        return ""
    return f"{count} sizes; a trend needs {SIZES}, or 3 over two decades"


def band(values: np.ndarray) -> str:
    """From the smallest to the largest of some numbers, in words."""
    if values.size == 1:
        return f"{values[0]:.4g}"
    return f"{values.min():.4g} to {values.max():.4g}"
