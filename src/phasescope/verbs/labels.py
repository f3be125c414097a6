"""What the coordinates of a dataset say of themselves: symbol, meaning and unit, so that plots are labelled.

Labels are attributes. No number of a run depends on them, nor does its identity.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import xarray as xr

from ..plan.observables import caption
from ..study import Study

DIVERGED = "diverged_at"
_ALWAYS = {
    "stage": {"long_name": "stage of training"},
    "stage_end": {"symbol": "t", "long_name": "time at the end of a stage"},
    "seed": {"long_name": "seed of all random numbers"},
    DIVERGED: {"long_name": "time at which the run left the finite numbers"},
}


def label(ds: xr.Dataset, study: Study) -> xr.Dataset:
    """Label the time, the fields and the axes of the study among the coordinates of a run or a sweep, in place.

    What a coordinate says already is kept. The attribute `block` is the lanes of a block, 1 for a run.
    Returns the dataset.
    """
    axes = {name: {"long_name": meaning} for name, meaning in study.axes.items()}
    said: dict[str, dict[str, str]] = _ALWAYS | axes | field_labels(study)
    said["time"] = time_label(ds)
    for name, words in said.items():
        if name in ds.coords:
            attrs = ds[name].attrs
            attrs.update({k: v for k, v in words.items() if k not in attrs})
    if "width" in ds.attrs:  # of a block; `block` is what the verbs call it
        ds.attrs["block"] = ds.attrs.pop("width")
    return ds


def field_labels(study: Study) -> dict[str, dict[str, str]]:
    """Symbol, meaning and unit of every field of the study, as attributes that xarray reads."""
    return {f.name: _label(f) for spec in study.defaults for f in dataclasses.fields(spec)}


def _label(field: dataclasses.Field[Any]) -> dict[str, str]:
    """The caption of a field: a plot shows what is said up to the first semicolon, `comment` all of it."""
    words = caption(field.metadata)
    meaning, semicolon, _ = words.get("long_name", "").partition(";")
    if semicolon:
        words |= {"long_name": meaning, "comment": words["long_name"]}
    return words


def time_label(ds: xr.Dataset) -> dict[str, str]:
    """What the time of a run counts: steps, or units of which a step is so many, where all stages agree."""
    label = {"symbol": "t", "long_name": "time"}
    step = ds.attrs.get("time_per_step")
    if step is None or _is_swept(ds, step):
        return label
    if step == 1:
        return label | {"units": "steps"}
    return label | {"long_name": f"time, {step:g} a step"}


def without_a_mark_of_nothing(ds: xr.Dataset) -> xr.Dataset:
    """A run that stayed finite, without the coordinate that says so: plots would be titled by it."""
    if DIVERGED in ds.coords and ds[DIVERGED].ndim == 0 and np.isnan(ds[DIVERGED].values):
        return ds.drop_vars(DIVERGED)
    return ds


def _is_swept(ds: xr.Dataset, step: Any) -> bool:
    """Whether a swept field begins with this number: the step may then be another in every lane."""
    lanes = [x for name, x in ds.coords.items() if name != "time" and x.ndim == 1 and x.size]
    return any(x.dtype.kind == "f" and x.values[0] == step for x in lanes)
