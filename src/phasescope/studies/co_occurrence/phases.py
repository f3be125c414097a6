"""Where the two phases begin and end, by the paper's own criteria, and how to read records between two of them.

All times are natural ones, $\\tau = \\kappa t$, whatever a run's clock counts; between two records a straight line in
$s = \\log(1 + \\tau)$ is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

import phasescope as ps

from .spec import Spec

TARGETS = (1, 2)
COMMON = 3
# The scores and overlaps that the theorems name, as (key, query), with the direction in which they say it moves.
SCORES = {(1, 2): 1.0, (2, 1): 1.0, (3, 1): -1.0, (3, 2): -1.0}
OVERLAPS = {(1, 2): 1.0, (1, 3): -1.0, (2, 3): -1.0}


spec_of = Spec.of


def ran_to_the_end(*runs: xr.Dataset) -> ps.Verdict:
    """Undecided if a run broke off: what it would have shown later is unknown."""
    return ps.all_of(ps.reached(run) for run in runs)


def first_phase_end(ds: xr.Dataset, margin: float = 0.0) -> xr.DataArray:
    r"""$\kappa T_1$: from here on every training sample has more than `margin`; NaN if that is so never, or always."""
    return last_crossing(ds.margin_min - margin, ds.s).rename("kappa T_1")


def turning_time(ds: xr.Dataset, margin: float = 0.0) -> xr.DataArray:
    r"""$\kappa T_{0.5}$: from here on $-\dot G(\mu_3)$ exceeds $\dot G(\mu_1)$ and $\dot G(\mu_2)$, 1 + `margin` times."""
    fastest = (1 + margin) * ds.Gdot.sel(word=list(TARGETS)).max("word", skipna=False)
    return last_crossing(-ds.Gdot.sel(word=COMMON, drop=True) - fastest, ds.s).rename("kappa T_0.5")


def last_crossing(x: xr.DataArray, s: xr.DataArray) -> xr.DataArray:
    """The natural time at which x becomes positive for good; NaN if it ends otherwise or was positive all along.

    `ps.crossing` gives the first such time, and takes a record at zero for one beyond it; here zero is not
    yet positive, and every lane has its own clock `s`.
    """

    def last(values: np.ndarray, at: np.ndarray) -> float:
        known = np.isfinite(values)
        values = values[known]
        at = at[known]
        below = np.flatnonzero(values <= 0)
        if not below.size or below[-1] + 1 >= values.size:
            return np.nan
        i = below[-1]
        part = -values[i] / (values[i + 1] - values[i])
        return float(np.expm1(at[i] + part * (at[i + 1] - at[i])))

    return xr.apply_ufunc(
        last, x, s, input_core_dims=[["time"], ["time"]], vectorize=True, output_dtypes=[float]
    )


def at_time(x: xr.DataArray, ds: xr.Dataset, tau: xr.DataArray | float) -> xr.DataArray:
    """x at a natural time that may differ from lane to lane; NaN beyond the records."""

    def read(values: np.ndarray, at: np.ndarray, wanted: float) -> float:
        return float(np.interp(np.log1p(wanted), at, values, left=np.nan, right=np.nan))

    found = xr.apply_ufunc(
        read,
        x,
        ds.s,
        tau,
        input_core_dims=[["time"], ["time"], []],
        vectorize=True,
        output_dtypes=[float],
    )
    return found.rename(x.name)


def after(ds: xr.Dataset, tau: xr.DataArray | float) -> xr.DataArray:
    """Marks the records later than a natural time; none where that time never came."""
    return ds.tau > tau


def at_the_end(x: xr.DataArray) -> xr.DataArray:
    """The last record."""
    return x.isel(time=-1, drop=True)


def signed(x: xr.DataArray, directions: dict[tuple[int, int], float]) -> xr.DataArray:
    """Entries of a matrix over the special words, each times the sign that it is said to have."""
    parts = [
        sign * x.sel(key=key, query=query, drop=True) for (key, query), sign in directions.items()
    ]
    names = xr.Variable("entry", [f"{key}{query}" for key, query in directions])
    return xr.concat(parts, names)


def side_by_side(runs: Sequence[xr.Dataset], *names: str) -> xr.Dataset:
    """Some observables of several runs (where the attention is trained and frozen: trained) along one more axis.

    The axis is `width` if that is what differs. The times of the phases can be found in what comes out.
    """
    widths = [spec_of(run).width for run in runs]
    if len(set(widths)) == len(runs):
        axis = xr.Variable("width", widths)
    else:
        axis = xr.Variable("run", range(len(runs)))
    wanted = list(dict.fromkeys([*names, "margin_min", "s", "tau"]))
    parts = [trained(run)[wanted].reset_coords(drop=True) for run in runs]
    return xr.concat(parts, axis, combine_attrs="override")


def log_slope(x: xr.DataArray, ds: xr.Dataset) -> xr.DataArray:
    r"""$d \log x / d \log\tau$ at every record; NaN at the ends of the records and where x is not positive."""

    def slopes(values: np.ndarray, tau: np.ndarray) -> np.ndarray:
        out = np.full(values.shape, np.nan)
        good = np.isfinite(values) & (tau > 0)
        good[good] = values[good] > 0
        if good.sum() > 2:
            out[good] = np.gradient(np.log(values[good]), np.log(tau[good]))
            out[np.flatnonzero(good)[[0, -1]]] = np.nan
        return out

    core = [["time"], ["time"]]
    found = xr.apply_ufunc(
        slopes,
        x,
        ds.tau,
        input_core_dims=core,
        output_core_dims=[["time"]],
        vectorize=True,
        output_dtypes=[float],
    )
    return found.rename("slope")


def trained(ds: xr.Dataset) -> xr.Dataset:
    """Of a sweep with the attention trained and frozen, the runs that train it."""
    return ds.sel(attention=1.0, drop=True) if "attention" in ds.dims else ds


def frozen(ds: xr.Dataset) -> xr.Dataset:
    """Of such a sweep, the runs that do not."""
    return ds.sel(attention=0.0, drop=True)
