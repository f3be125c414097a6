"""Evidence without structure, in the shape of a dataset: nothing may hold on it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

# How many noises a claim is shown; `make full` shows ten times as many. One in the old form, without a
# kind, is shown two.
NOISES = 20
FEW_NOISES = 2
MANY_NOISES = 200
CONSTANTS = (0.0, 1.0, 0.7)
# With fewer records than this, first and last are most of them.
FEW = 5


def noise_like(ds: xr.Dataset, seed: int = 0) -> xr.Dataset:
    """White noise in the shape of a dataset: evidence on which no claim may hold.

    A quantity is drawn when it is first looked at: a claim reads two or three of some twenty.
    """

    def draw(name: str, shape: tuple[int, ...]) -> _Drawn:
        return _Drawn(shape, (seed, zlib.crc32(name.encode())))

    return _filled(ds, draw)


def constant_like(ds: xr.Dataset, value: float = 1.0) -> xr.Dataset:
    """A constant in the shape of a dataset: evidence on which no claim about change may hold."""

    def fill(name: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, value)

    return _filled(ds, fill)


class _Drawn(BackendArray):
    """Standard normal numbers that are drawn when they are first read."""

    def __init__(self, shape: tuple[int, ...], seed: tuple[int, int]) -> None:
        self.shape = shape
        self.dtype = np.dtype(float)
        self._seed = seed

    @functools.cached_property
    def numbers(self) -> np.ndarray:
        return np.random.default_rng(self._seed).standard_normal(self.shape)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )

    def _read(self, index: tuple[int | slice, ...]) -> np.ndarray:
        return np.asarray(self.numbers[index])


def ends_of(ds: xr.Dataset) -> xr.Dataset:
    """The first and the last record only."""
    if ds.sizes.get("time", 0) < FEW:
        return ds
    return ds.isel(time=[0, -1])


def _filled(
    ds: xr.Dataset, fill: Callable[[str, tuple[int, ...]], np.ndarray | _Drawn]
) -> xr.Dataset:
    """Other floats in their place; whole numbers and names stay."""
    data = {}
    for name in ds.data_vars:
        variable = ds.variables[name]
        if not np.issubdtype(variable.dtype, np.floating):
            data[name] = variable.values
            continue
        filled = fill(str(name), variable.shape)
        data[name] = indexing.LazilyIndexedArray(filled) if isinstance(filled, _Drawn) else filled
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
