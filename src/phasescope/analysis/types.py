"""Names for what the words about datasets take. Nothing here imports more than NumPy and xarray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import xarray as xr


@runtime_checkable
class SupportsArray(Protocol):
    """Anything that `numpy.asarray` understands by itself: arrays of NumPy, JAX or xarray, and
    their scalars.
    """

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


# What can be compared, bounded or fitted. DataArrays bring names and coordinates; the rest is taken
# as it stands.
ArrayLike = xr.DataArray | np.ndarray | SupportsArray | Sequence[Any] | float
# True, false or (NaN) not known, at every record.
Condition = ArrayLike
# An axis by name or by number; None is the only one, or time.
Axis = str | int | None
# An entry of an array: its index by axis.
Index = dict[Any, int]
