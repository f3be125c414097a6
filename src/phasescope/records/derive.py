"""What a plan derives from its records, lane by lane where it must be: a lane that fails does not take others along."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import xarray as xr

from ..analysis.align import exact_joins

Derive = Callable[[xr.Dataset], xr.Dataset]
# A coordinate that is there if `derive` failed somewhere: True for the runs that lack what is derived.
UNDERIVED = "underived"
WHY = "underived_because"  # the attribute that tells how


def derived(derive: Derive, ds: xr.Dataset) -> xr.Dataset:
    """The records with what follows from them; runs for which `derive` raises are marked and have NaN instead.

    A copy of a sound lane stands in for every lane that fails, so that `derive` meets a block of the same shape and
    the sound lanes keep their bits. If every lane fails, the records come back without anything derived.
    """
    with exact_joins():
        try:
            return derive(ds)
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}"
            if "lane" not in ds.dims:
                return _marked(ds, np.asarray(True), reason)
            failing = np.array([_fails(derive, ds.isel(lane=[i])) for i in range(ds.sizes["lane"])])
            if failing.all() or not failing.any() or _fails(derive, _with_stand_ins(ds, failing)):
                return _marked(ds, np.ones_like(failing), reason)
            return _marked(_of_sound_lanes(derive, ds, failing), failing, reason)


def is_underived(ds: xr.Dataset) -> bool:
    """Whether any run in the dataset lacks what should be derived from it."""
    return UNDERIVED in ds.coords


def warn_of_underived(who: str, ds: xr.Dataset) -> None:
    """One warning for all runs of a dataset that lack what is derived."""
    if is_underived(ds):
        marks = ds[UNDERIVED].values
        warnings.warn(
            f"{who}: `derive` failed in {int(marks.sum())} of {marks.size} runs, which are marked by the coordinate "
            f"`{UNDERIVED}` and lack what is derived ({ds.attrs.get(WHY, 'for several reasons')}).",
            stacklevel=3,
        )


def _fails(derive: Derive, ds: xr.Dataset) -> bool:
    try:
        derive(ds)
    except Exception:
        return True
    return False


def _with_stand_ins(ds: xr.Dataset, failing: np.ndarray) -> xr.Dataset:
    """The block with a copy of its first sound lane in place of every lane that fails."""
    lanes = np.arange(failing.size)
    return ds.isel(lane=np.where(failing, lanes[~failing][0], lanes))


def _of_sound_lanes(derive: Derive, ds: xr.Dataset, failing: np.ndarray) -> xr.Dataset:
    """All records, and what is derived of the sound lanes; NaN in the others."""
    given = _with_stand_ins(ds, failing)
    found = derive(given)
    sound = xr.Variable("lane", ~failing)
    restored = {}
    for name, array in found.variables.items():
        if "lane" not in array.dims:
            continue
        if name in given.variables and array.identical(given.variables[name]):
            restored[name] = ds.variables[name]
        else:
            numbers = array.astype(float) if array.dtype.kind == "b" else array
            restored[name] = numbers.where(sound).transpose(*array.dims)
    coords = {name: array for name, array in restored.items() if name in found.coords}
    return found.assign({k: v for k, v in restored.items() if k not in coords}).assign_coords(
        coords
    )


def _marked(ds: xr.Dataset, failing: np.ndarray, reason: str) -> xr.Dataset:
    dims = ("lane",) if failing.ndim else ()
    return ds.assign_coords({UNDERIVED: (dims, failing)}).assign_attrs({WHY: reason})
