"""Which library an array belongs to, and what a pattern of attention must look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProbeError

Array = Any  # of NumPy or of JAX


def as_array(x: Any) -> Any:
    """The array itself if its library speaks the array standard (NumPy, JAX), else as one of NumPy."""
    return x if hasattr(x, "__array_namespace__") else np.asarray(x)


def library_of(x: Any) -> Any:
    """The functions of the library that an array belongs to."""
    return x.__array_namespace__()


def as_pattern(pattern: Any, name: str = "pattern") -> Any:
    """An array of attention, `[..., query, key]`."""
    found = as_array(pattern)
    if found.ndim < 2 or found.shape[-1] == 0 or found.shape[-2] == 0:
        raise ProbeError(
            f"{name} has the axes [..., query, key], got an array of shape {tuple(found.shape)}."
        )
    return found
