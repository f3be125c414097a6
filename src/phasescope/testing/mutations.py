"""Mutations that a row must notice, by the kind of its statement.

A theta does not see a factor and an order does not see a clock, but every row notices something: an
identity two per cent, a sign its reversal, a rate another power.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import xarray as xr

from ..claims.statement import Kind

Evidence = Sequence[xr.Dataset]
Mutation = Callable[[xr.DataArray], xr.DataArray]

SMALL = 1.02
LARGE = 1.5
HUGE = 100.0


def scaled_by(factor: float) -> Mutation:
    """The observable times a factor."""

    def mutate(x: xr.DataArray) -> xr.DataArray:
        return x * factor

    return mutate


def reversed_sign(x: xr.DataArray) -> xr.DataArray:
    """The observable with the other sign."""
    return -x


def backwards(x: xr.DataArray) -> xr.DataArray:
    """The observable backwards in time, or along its first axis."""
    if x.ndim == 0:
        return -x
    dim = "time" if "time" in x.dims else x.dims[0]
    return x.copy(data=np.flip(x.values, x.get_axis_num(dim)))


def another_power(x: xr.DataArray) -> xr.DataArray:
    """The observable to the power 1.5, with its sign."""
    return x.copy(data=np.sign(x.values) * np.abs(x.values) ** LARGE)


def growing(x: xr.DataArray) -> xr.DataArray:
    """The observable times the square root of 1 + time, or of the position along its first axis."""
    if x.ndim == 0:
        return x * HUGE
    dim = "time" if "time" in x.dims else x.dims[0]
    start = x[dim] if dim in x.coords and x[dim].dtype.kind in "iuf" else xr.zeros_like(x[dim])
    return x * np.sqrt(1 + abs(start.astype(float)))


# For each kind the ways to change an observable; a row must notice one of them in some observable.
MUST_NOTICE: dict[Kind, tuple[Mutation, ...]] = {
    Kind.IDENTITY: (scaled_by(SMALL),),
    Kind.REGRESSION: (scaled_by(SMALL),),
    Kind.RELEASED: (scaled_by(LARGE),),
    Kind.APPROX: (scaled_by(LARGE),),
    Kind.SIGN: (reversed_sign,),
    Kind.ORDER: (backwards, reversed_sign),
    Kind.MONOTONE: (backwards, reversed_sign),
    Kind.UPPER: (scaled_by(HUGE), growing, another_power),
    Kind.LOWER: (scaled_by(1 / HUGE), reversed_sign),
    Kind.THETA: (scaled_by(HUGE), scaled_by(1 / HUGE), growing, another_power),
    Kind.RATE: (another_power, growing),
    Kind.LIMIT: (scaled_by(HUGE), growing),
    Kind.FIGURE: (scaled_by(LARGE), backwards, reversed_sign),
}


# Where a statement is about when something happens, it notices another clock instead: faster by a factor, or bent.
CLOCKS: dict[Kind, tuple[float, float]] = {
    Kind.IDENTITY: (SMALL, 1.0),
    Kind.REGRESSION: (SMALL, 1.0),
    Kind.RELEASED: (LARGE, 1.0),
    Kind.APPROX: (LARGE, 1.0),
    Kind.FIGURE: (LARGE, 1.0),
    Kind.THETA: (1.0, LARGE),
    Kind.RATE: (1.0, LARGE),
}


def mutated(
    kind: Kind, evidence: Evidence, text: str = ""
) -> Iterator[tuple[str, list[xr.Dataset]]]:
    """The evidence with one observable, or the clock, changed in the last dataset or in all; each with its name.

    Observables that the text of a check names come first: it is most likely to notice these.
    """
    names = sorted(_observables(evidence[-1]), key=lambda name: name not in text)
    for mutate in MUST_NOTICE[kind]:
        for name in names:
            yield f"{name} changed in one dataset", _change(evidence, name, mutate, only_last=True)
            if len(evidence) > 1:
                yield f"{name} changed in all", _change(evidence, name, mutate, only_last=False)
    if kind in CLOCKS:
        factor, power = CLOCKS[kind]
        moved = [_stretched(ds, factor, power) for ds in evidence]
        yield "another clock in one dataset", [*evidence[:-1], moved[-1]]
        yield "another clock in all", moved


def clock_changed(evidence: Evidence, factor: float = SMALL) -> list[xr.Dataset]:
    """The evidence with all clocks too fast or too slow; ends that were planned move along."""
    return [_stretched(ds, factor) for ds in evidence]


def _stretched(ds: xr.Dataset, factor: float, power: float = 1.0) -> xr.Dataset:
    if "time" not in ds.dims:
        return ds
    moved = ds.assign_coords(time=factor * ds["time"] ** power)
    if "planned_end" in ds.attrs:
        end = factor * float(ds.attrs["planned_end"]) ** power
        moved = moved.assign_attrs(planned_end=end)
    return moved


def _observables(ds: xr.Dataset) -> list[str]:
    return [str(n) for n in ds.data_vars if np.issubdtype(ds[n].dtype, np.floating)]


def _change(
    evidence: Evidence, name: str, mutate: Mutation, *, only_last: bool
) -> list[xr.Dataset]:
    out = []
    for i, ds in enumerate(evidence):
        is_last = i == len(evidence) - 1
        if name in ds and (is_last or not only_last):
            ds = ds.assign({name: mutate(ds[name]).assign_attrs(ds[name].attrs)})
        out.append(ds)
    return out
