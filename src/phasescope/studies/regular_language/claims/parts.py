"""What several modules of claims use: tolerances with their reasons, and entries of a run by size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import spec_of

EXACT = ps.chosen(1e-12, "rounding of float64: sums of a hundred terms over some hundred steps")
TAIL = slice(2, None)
# The constant of t_0 = c_0 / (eta N) is free: it is looked at over more than a decade.
C_0 = (0.5, 2.0, 8.0)


def told(x: xr.DataArray, where: xr.DataArray | None = None) -> np.ndarray:
    """The entries that a statement is about, in a row; what was lost among them stays lost."""
    if where is None:
        return x.values.ravel()
    x, marks = xr.broadcast(x, where)
    return x.values[marks.values]


def by_size(
    runs: Iterable[xr.Dataset], measure: Callable[[xr.Dataset], np.ndarray]
) -> dict[int, np.ndarray]:
    """Some entries for each longest length N."""
    return {spec_of(run).size: measure(run) for run in runs}


def until(run: xr.Dataset, c_0: float, first: int) -> xr.Dataset:
    """The records of phase 1 from update `first` on, up to c_0 / (eta N), rounded to a whole step."""
    spec = spec_of(run)
    return run.sel(time=slice(first, c_0 / (spec.eta * spec.size) + 0.5))


def while_phase_1_lasts(judge: Callable[[float], ps.Verdict]) -> ps.Verdict:
    """A statement about t <= c_0 / (eta N), for several values of the constant."""
    return ps.scan("c_0", C_0, judge, settles="small")


def moves(run: xr.Dataset) -> ps.Verdict:
    """The read-out grows and the loss falls: there is training to speak of."""
    return ps.guard(ps.increasing(run.u_norm, "|u_t|")) & ps.guard(ps.decreasing(run.loss, "loss"))
