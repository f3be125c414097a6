"""Evidence without structure, in the shape of a dataset: nothing may hold on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import xarray as xr

# How many noises a claim is shown; `make full` shows ten times as many. One in the old form, without a
# kind, is shown two.
NOISES = 20
FEW_NOISES = 2
MANY_NOISES = 200
CONSTANTS = (0.0, 1.0, 0.7)
# With fewer records than this, first and last are most of them.
FEW = 5


def noise_like(ds: xr.Dataset, seed: int = 0) -> xr.Dataset:
    """White noise in the shape of a dataset: evidence on which no claim may hold."""
    return _filled(ds, np.random.default_rng(seed).standard_normal)


def constant_like(ds: xr.Dataset, value: float = 1.0) -> xr.Dataset:
    """A constant in the shape of a dataset: evidence on which no claim about change may hold."""

    def fill(shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, value)

    return _filled(ds, fill)


def ends_of(ds: xr.Dataset) -> xr.Dataset:
    """The first and the last record only."""
    if ds.sizes.get("time", 0) < FEW:
        return ds
    return ds.isel(time=[0, -1])


def _filled(ds: xr.Dataset, fill: Callable[[tuple[int, ...]], np.ndarray]) -> xr.Dataset:
    """Other floats in their place; whole numbers and names stay."""
    data = {}
    for name in ds.data_vars:
        variable = ds.variables[name]
        is_float = np.issubdtype(variable.dtype, np.floating)
        data[name] = fill(variable.shape) if is_float else variable.values
    return ds.copy(data=data)


def noises(
    evidence: Sequence[xr.Dataset], count: int = NOISES
) -> Iterator[tuple[str, list[xr.Dataset]]]:
    """Noises in the shape of the evidence, each with its name."""
    for seed in range(count):
        made = [noise_like(ds, 100 * seed + i) for i, ds in enumerate(evidence)]
        yield f"noise of seed {seed}", made


def structureless(
    evidence: Sequence[xr.Dataset], count: int = NOISES
) -> Iterator[tuple[str, list[xr.Dataset]]]:
    """Noises, constants and lost numbers in the shape of the evidence, each with its name."""
    yield from noises(evidence, count)
    for value in CONSTANTS:
        yield constant_name(value), [constant_like(ds, value) for ds in evidence]
    yield "numbers that were lost", [constant_like(ds, np.nan) for ds in evidence]


def constant_name(value: float) -> str:
    """What `structureless` calls a constant."""
    return f"the constant {value:g}"
