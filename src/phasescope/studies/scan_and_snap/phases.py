"""Where phases begin and end, by the paper's own criteria, and the quantities that its theorems
compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

from . import closed_forms
from .spec import Spec


def rate_Y(ds: xr.Dataset) -> Any:
    r"""$\eta_Y$, given itself or by its ratio to $\eta_Z$."""
    ratio = ps.number(ds, "ratio")
    return ps.number(ds, "eta_Y") if ratio is None else ratio * ps.number(ds, "eta_Z")


def classes_of(ds: xr.Dataset) -> Any:
    """$K$."""
    return ds["classes"] if "classes" in ds.coords else Spec.of(ds).K


def outputs_of(ds: xr.Dataset) -> Any:
    """$M$."""
    if "vocabulary" in ds.coords:
        return ds["vocabulary"]
    spec = Spec.of(ds)
    return spec.replace(classes=float(ds["classes"])).M if "classes" in ds.coords else spec.M


def linear_end(ds: xr.Dataset):
    r"""$t_0' = K\ln M/\eta_Y$: up to here the speed of the attention is said to grow linearly."""
    return closed_forms.t_linear(classes_of(ds), outputs_of(ds), rate_Y(ds))


def snap_time(ds: xr.Dataset):
    r"""$t_0 = 2(1+\omega_1)K\ln M/\eta_Y$: from here on the attention is said to be frozen."""
    return closed_forms.t_snap(classes_of(ds), outputs_of(ds), rate_Y(ds))


def time_unit(ds: xr.Dataset):
    r"""$\bar t_0 = 2K\ln M/\eta_Y$, in which late times are counted."""
    return closed_forms.t_bar(classes_of(ds), outputs_of(ds), rate_Y(ds))


def top_logit(ds: xr.Dataset) -> xr.DataArray:
    """$z_{l_0}$ of the first class: the logit of its most frequent distinct token."""
    return ds.z_dt.isel({"class": 0, "distinct_token": -1}, drop=True)


def held_attention(ds: xr.Dataset) -> xr.Dataset:
    """The run whose attention does not move, if the attention's rate was swept."""
    return ds.sel(eta_Z=0.0) if "eta_Z" in ds.dims else ds


def moving(ds: xr.Dataset) -> xr.Dataset:
    """The runs whose attention moves, if the attention's rate was swept."""
    return ds.sel(eta_Z=slice(1e-9, None)) if "eta_Z" in ds.dims else ds


def late(ds: xr.Dataset, units: float = 1e3) -> xr.Dataset:
    r"""The record at some units of time $\bar t_0$; a run that does not hold it is an error."""
    time = units * float(time_unit(ds))
    return ds.sel(time=time, method="nearest", tolerance=1e-6 * time)


def on(time: xr.DataArray, form: Callable[..., Any], *numbers: Any) -> xr.DataArray:
    """A closed form of time, at these times."""
    with ps.exact_numbers():
        values = np.asarray(form(time.values, *map(float, numbers)))
    return time.copy(data=values).rename(form.__name__)


def after_start(x: xr.DataArray) -> xr.DataArray:
    """All records but that of the start; numbers that are no run's have none."""
    if "time" not in x.dims:
        return x
    return x.isel(time=slice(1, None))


def force_ratio(run: xr.Dataset) -> xr.DataArray:
    """beta / iota: how much of the pull is discriminative."""
    run = run.isel(time=slice(1, None))
    return (run.beta / run.iota).isel({"class": 0, "other_class": 0}, drop=True)


def drop(run: xr.Dataset) -> xr.DataArray:
    """-z of the first common token."""
    return -run.z_ct.isel(last=0, common_token=0, drop=True)


def entropy_of(sweep: xr.Dataset) -> xr.DataArray:
    """Mean over classes of the entropy among distinct tokens, at the end."""
    return sweep.dt_entropy.isel(time=-1).mean("class", skipna=False)


def over_seeds(x: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean and standard error."""
    spread = x.std("seed", ddof=1, skipna=False)
    return x.mean("seed", skipna=False), spread / np.sqrt(x.sizes["seed"])
