"""Datasets that theory computes directly, without a run."""

from __future__ import annotations

import functools
from collections.abc import Callable

import xarray as xr

from phasescope.engine.precision import exact_numbers

Table = Callable[..., xr.Dataset]


def exactly(function: Table) -> Table:
    """A table computed in 64-bit numbers, whatever the session's own are."""

    @functools.wraps(function)
    def in_64_bit(**arguments: object) -> xr.Dataset:
        with exact_numbers():
            return function(**arguments)

    return in_64_bit
