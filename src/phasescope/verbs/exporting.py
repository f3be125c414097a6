"""Datasets as files for others to read: netCDF, or the zarr archive that the store uses."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from ..errors import SpecError, StoreError
from ..files import os_errors_as_store_errors, write_atomically
from ..records.evidence_file import words_as_numbers

NETCDF = ".nc"
ZARR = ".zarr.zip"


def check_file(file: Path) -> None:
    """Refuse a file that could not be written, before anything runs for it."""
    if not file.name.endswith((NETCDF, ZARR)):
        raise SpecError(
            f"a dataset is written as {NETCDF} (netCDF) or {ZARR} (zarr 3 in one file), got {file}."
        )
    if not file.absolute().parent.is_dir():
        raise StoreError(
            f"there is no folder {file.parent} to write {file.name} into. Make it first."
        )


def export(ds: xr.Dataset, file: Path) -> None:
    """Write the dataset; the end of the file's name says how.

    netCDF is version 3, which needs no further library: it has whole numbers of 32 bits and no
    complex ones. The zarr archive keeps every array as it is.
    """
    check_file(file)
    if file.name.endswith(ZARR):
        from ..store.recordfile import pack

        data = pack(words_as_numbers(ds))
    else:
        data = _netcdf(ds, file)
    with os_errors_as_store_errors(file, "write"):
        write_atomically(file, data)


def _netcdf(ds: xr.Dataset, file: Path) -> bytes:
    for name, x in ds.variables.items():
        if x.dtype.kind == "c" or _is_too_large(x):
            raise StoreError(
                f"cannot write {file}: {name} holds numbers that netCDF 3 does not have (complex ones, or "
                f"whole ones beyond 32 bits). Write {ZARR}."
            )
    return bytes(ds.to_netcdf(engine="scipy"))


def _is_too_large(x: xr.Variable) -> bool:
    if x.dtype.kind not in "iu" or not x.size:
        return False
    return bool(x.values.max() >= 2**31 or x.values.min() < -(2**31))
