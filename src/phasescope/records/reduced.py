"""What reductions have found, as variables of a dataset: numbers of records become times, and say how closely they are known."""

from __future__ import annotations

from collections.abc import Collection

import jax
import numpy as np
import xarray as xr

from ..analysis.phase_words import told_crossing, told_sustained
from ..engine.job import Job, observed
from ..plan.observables import axes, caption, fields_of
from ..plan.reductions import NONE, Crossing, Extreme, Final, Reduction, Reductions, Sustained
from .arrays import Arrays, Records

OF = "reduced_from"  # the attribute of a variable that names the observable


def with_reductions(ds: xr.Dataset, job: Job, records: Records, times: np.ndarray) -> xr.Dataset:
    """The dataset with the results of the job's reductions; `times` are those of the records that count."""
    if not job.wanted.reduce:
        return ds
    seen = observed(job)[0]
    dims = axes(seen)
    known_as = fields_of(seen)
    lead = ("lane",) if job.is_block else ()
    coords = job.plan().coords
    found = {}
    for name, one in job.wanted.reduce:
        values = result(one, records.reduced[name], times)
        if job.is_block:
            values = np.moveaxis(values, -1, 0)
        own = dims[one.observable]
        words = {OF: one.observable} | caption(known_as[one.observable])
        found[name] = xr.Variable((*lead, *own), values, words)
        for axis, size in zip(own, values.shape[len(lead) :], strict=True):
            if axis not in ds.coords:
                ds = ds.assign_coords({axis: np.asarray(coords.get(axis, np.arange(size)))})
    return tell_reductions(ds.assign(found), job.wanted.reduce)


def result(one: Reduction, carried: Arrays, times: np.ndarray) -> np.ndarray:
    """The result of a reduction from what it carried through the run."""
    if isinstance(one, Crossing):
        return _between(one, carried, times)
    if isinstance(one, Sustained):
        return _at(carried["since"], times)
    return np.asarray(carried["value"])


def _at(index: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The times of records by their numbers; NaN where there is none."""
    padded = np.append(np.asarray(times, float), np.nan)
    return np.asarray(padded[np.where(index == NONE, len(times), index)])


def _between(one: Crossing, carried: Arrays, times: np.ndarray) -> np.ndarray:
    """The time of a crossing on the straight line between two records, as `ps.crossing` has it."""
    before = _at(carried["before"], times)
    after = _at(carried["after"], times)
    below = np.asarray(carried["below"])
    part = -below / (np.asarray(carried["above"]) - below)
    found = before + part * (after - before)
    if one.log_time:
        later = before > 0
        ratio = np.divide(after, before, out=np.ones_like(after), where=later)
        found = np.where(later, before * ratio**part, found)
    return np.where(part >= 1, after, found)


def tell_reductions(ds: xr.Dataset, reductions: Reductions) -> xr.Dataset:
    """The dataset, in which the results of reductions say what they are, and how closely the records place a time."""
    told = {}
    for name, one in reductions:
        found = ds[name].copy(deep=False)
        of = one.observable
        if isinstance(one, Crossing):
            found = told_crossing(found, of, ds["time"], one.level, one.direction, one.last)
        elif isinstance(one, Sustained):
            found = told_sustained(found, of, ds["time"])
        else:
            found.attrs = _of_value(found, one)
        told[name] = found.assign_attrs({OF: of})
    return ds.assign(told)


def _of_value(found: xr.DataArray, one: Reduction) -> dict[str, str]:
    where = "at the last record" if isinstance(one, Final) else "at any record"
    if isinstance(one, Extreme):
        where = f"{'largest' if one.largest else 'smallest'} value {where}"
    said = {k: v for k, v in found.attrs.items() if k not in ("long_name", OF)}
    name = str(found.attrs.get("long_name", one.observable)).removesuffix(f", {where}")
    return said | {"long_name": f"{name}, {where}"}


def without_records(ds: xr.Dataset, reductions: Collection[object]) -> xr.Dataset:
    """The results of reductions, if there are any, without the times of records, if no record is kept."""
    if not reductions or any("time" in x.dims for x in ds.data_vars.values()):
        return ds
    return ds.drop_dims("time")


def on_the_host(carried: object) -> dict[str, Arrays]:
    """What reductions carry, by name, as arrays of numpy."""
    running = getattr(carried, "running", {})
    return {name: jax.device_get(parts) for name, parts in running.items()}
