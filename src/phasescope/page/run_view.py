"""One run for the page: what it was, its axes and quantities, its phases; and the numbers of one quantity."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..errors import SpecError, nearest
from ..report.mathematics import formula
from ..verbs.run_index import Query, RunIndex
from .level_of_detail import chosen_records
from .wire import extremes, packed, plain

MOST_VALUES = 2**20  # numbers in one answer
MOST_COORDINATES = 20_000
MOST_VARIABLES = 1000
MOST_ALIKE = 2000  # runs of other arms that are looked through
TIMES = ("time", "stage_end")
HIDDEN = ("stage", "diverged_at")


def described(ds: xr.Dataset, row: dict[str, Any], index: RunIndex) -> dict[str, Any]:
    """A stored run without its numbers."""
    return {
        **described_records(ds),
        "id": row["id"],
        "kind": row.get("kind"),
        "when": plain(row.get("created")),
        "status": row.get("status"),
        "swept": plain(row.get("swept", {})),
        "arms": alike(row, index),
    }


def described_records(ds: xr.Dataset) -> dict[str, Any]:
    """What records say of themselves, stored or not."""
    numeric = [(name, x) for name, x in ds.data_vars.items() if _is_numeric(x)][:MOST_VARIABLES]
    named = [(name, x) for name, x in ds.coords.items() if x.ndim <= 1][:MOST_VARIABLES]
    return {
        "study": plain(ds.attrs.get("study")),
        "arm": plain(ds.attrs.get("arm")),
        "spec": plain(_document(ds.attrs.get("spec"))),
        "seed": plain(ds.attrs.get("seed")),
        "provenance": plain(_document(ds.attrs.get("provenance"))),
        "time_per_step": plain(ds.attrs.get("time_per_step")),
        "dims": {str(name): int(size) for name, size in ds.sizes.items()},
        "coords": {str(name): _coordinate(str(name), x) for name, x in named},
        "variables": [_variable(name, x) for name, x in numeric],
        "phases": phases(ds),
        "theory": moments(ds),
    }


def phases(ds: xr.Dataset) -> list[dict[str, Any]]:
    """The stages of training, from the record where each begins to the one where it ends."""
    if "stage" not in ds.coords or ds["stage"].dims != ("time",) or not ds.sizes["time"]:
        return []
    if ds["stage"].dtype.kind not in "iu" or not _is_numeric(ds["time"]):
        return []
    stage = np.asarray(ds["stage"].values)
    times = np.asarray(ds["time"].values, float)
    values = np.atleast_1d(ds["stage"].attrs.get("flag_values", []))
    meanings = str(ds["stage"].attrs.get("flag_meanings", "")).split()
    words = dict(zip(values.tolist(), meanings, strict=False))
    begins = np.append(np.flatnonzero(np.diff(stage, prepend=stage[0] - 1)), len(stage))
    return [
        {
            "name": plain(str(words.get(int(stage[a]), stage[a])).replace("_", " ")),
            "start": plain(times[max(a - 1, 0)]),
            "end": plain(times[b - 1]),
        }
        for a, b in itertools.pairwise(begins)
    ]


def moments(ds: xr.Dataset) -> list[dict[str, Any]]:
    """Moments that the dataset names: numbers without an axis that say of themselves that they are a time."""
    found = []
    for name, x in ds.data_vars.items():
        said = str(x.attrs.get("long_name", "")).lower()
        if x.ndim == 0 and _is_numeric(x) and (said.startswith("time ") or "resolution" in x.attrs):
            found.append({"name": plain(str(name)), "at": plain(float(x)), "meaning": plain(said)})
    return found


def alike(row: dict[str, Any], index: RunIndex) -> list[str]:
    """The runs of other arms of the study at the same numbers, as far as both arms read them."""
    study, own, _ = row["id"].split("/")
    _, rows = index.select(Query(study=study, limit=MOST_ALIKE))
    spec = row.get("spec", {})
    found = []
    for other in rows:
        theirs = other.get("spec")
        if theirs is None or other["id"].split("/")[1] == own:
            continue
        same = all(theirs[k] == v for k, v in spec.items() if k in theirs)
        if same and other.get("swept") == row.get("swept") and other.get("seed") == row.get("seed"):
            found.append(other["id"])
    return found[:50]


def values(ds: xr.Dataset, name: str, points: int | None, lanes: Sequence[int] | None) -> bytes:
    """The numbers of one quantity, at as many records as asked for, as `packed` sends them."""
    if name not in ds.variables or not _is_numeric(ds[name]):
        known = [str(k) for k, x in ds.data_vars.items() if _is_numeric(x)]
        raise SpecError(f'the run has no quantity "{name[:100]}". {nearest(name[:100], known)}')
    x = ds[name]
    if lanes is not None and "lane" in x.dims:
        x = x.isel(lane=[lane for lane in lanes if 0 <= lane < x.sizes["lane"]])
    axis = next((dim for dim in x.dims if dim in TIMES), None)
    thinned = x if axis is None else _thinned(x, str(axis), points)
    data = np.asarray(thinned.values, float)
    if data.size > MOST_VALUES:
        raise SpecError(
            f"{name} has {data.size} numbers, more than {MOST_VALUES} in one answer: ask for fewer lanes."
        )
    low, high = extremes(np.asarray(x.values, float))
    header = {
        "name": name,
        "dims": [str(dim) for dim in thinned.dims],
        "shape": list(data.shape),
        "dtype": "float64",
        "min": low,
        "max": high,
        "times": None if axis is None else plain(times_of(thinned, str(axis))),
        "records": None if axis is None else int(x.sizes[axis]),
    }
    return packed(header, data)


def times_of(x: xr.DataArray, axis: str) -> np.ndarray:
    """When the records were made; by their numbers where the axis has words or dates."""
    labels = x[axis]
    return (
        np.asarray(labels.values, float) if _is_numeric(labels) else np.arange(float(labels.size))
    )


def _thinned(x: xr.DataArray, axis: str, points: int | None) -> xr.DataArray:
    """At fewer records: as asked for, and never more numbers than one answer may have."""
    others = max(x.size // max(x.sizes[axis], 1), 1)
    most = max(MOST_VALUES // others, 4)
    wanted = most if points is None else min(max(points, 4), most)
    if wanted >= x.sizes[axis]:
        return x
    first = x.transpose(axis, ...)
    return x.isel({axis: chosen_records(np.asarray(first.values, float), wanted)})


def _coordinate(name: str, x: xr.DataArray) -> Any:
    """The values of a coordinate; of a long one, only as many as are of use in a list."""
    if name in TIMES and x.dims == (name,):
        return plain(times_of(x, name)[:MOST_COORDINATES])
    return plain(x.values[:MOST_COORDINATES] if x.ndim else x.values.item())


def _variable(name: Any, x: xr.DataArray) -> dict[str, Any]:
    return {
        "name": str(name),
        "dims": [str(dim) for dim in x.dims],
        "shape": [int(size) for size in x.shape],
        "symbol": plain(str(x.attrs.get("symbol", ""))),
        "mathml": str(formula(str(x.attrs.get("symbol", "")))),
        "meaning": plain(str(x.attrs.get("long_name", ""))),
        "unit": plain(str(x.attrs.get("units", ""))),
        "log_hint": _spans_decades(x),
    }


def _spans_decades(x: xr.DataArray) -> bool:
    """Positive throughout, and over more than three decades: best seen on a logarithmic axis."""
    flat = np.asarray(x.values).ravel()
    some = np.asarray(flat[:: max(flat.size // 10_000, 1)], float)
    known = some[np.isfinite(some)]
    return bool(known.size and known.min() > 0 and known.max() / known.min() > 1e3)


def _is_numeric(x: xr.DataArray) -> bool:
    return x.dtype.kind in "biuf"


def _document(text: Any) -> Any:
    if isinstance(text, str):
        with contextlib.suppress(ValueError):
            return json.loads(text)
    return {}
