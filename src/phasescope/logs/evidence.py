"""A dataset as evidence: with the attributes and coordinates that a run has, and with where it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr

from ..errors import SpecError
from ..plan.observables import flag_word
from .origin import LOGGED, Origin, told
from .times import TIME


def as_evidence(
    ds: xr.Dataset,
    origins: Sequence[Origin],
    *,
    unit: float = 1.0,
    arm: str | None = None,
    numbers: Mapping[str, Any] | None = None,
    end: float | None = None,
) -> xr.Dataset:
    """The dataset with the attributes and coordinates of a run, and where it came from; the rest as for `logged`."""
    if not isinstance(unit, Real) or not np.isfinite(unit) or unit <= 0:
        raise SpecError(f"unit is how much time one step is, a number above 0, got unit={unit!r}.")
    words = {"symbol": "t", "long_name": "time"} | ({"units": "steps"} if unit == 1 else {})
    times = [float(f"{t:.15g}") for t in ds[TIME].values * unit]  # as the times of runs are
    coords: dict[str, Any] = {TIME: (TIME, times, words)}
    if "stage" not in ds.variables:
        flags = {"flag_values": [0], "flag_meanings": flag_word("training")}
        coords["stage"] = (TIME, np.zeros(ds.sizes[TIME], np.int32), flags)
    said: dict[str, Any] = {
        LOGGED: told(origins),
        "records": ds.sizes[TIME],
        "time_per_step": float(unit),
    }
    if arm is not None:
        said["arm"] = arm
    if numbers is not None:
        said["spec"] = json.dumps(_plain(numbers), sort_keys=True)
    if end is not None:
        said["planned_end"] = float(end)
    return ds.assign_coords(coords).assign_attrs(said)


def _plain(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Spec as plain values; numbers of NumPy and torch are numbers."""
    plain = {
        name: x.item() if hasattr(x, "item") and not getattr(x, "ndim", 0) else x
        for name, x in numbers.items()
    }
    for name, x in plain.items():
        try:
            json.dumps(x)
        except (TypeError, ValueError):
            raise SpecError(
                f"numbers has values of fields of a Spec, as a run is asked for with; {name} has {type(x).__name__}."
            ) from None
    return plain
