"""What follows from the records, on the host."""

from __future__ import annotations

import numpy as np
import xarray as xr

TABLES_UP_TO = 2048  # entries of the attention table that are kept at every record time


def derive(ds: xr.Dataset) -> xr.Dataset:
    r"""Add $\chi$, the defect of Theorem 3's gain law, and the attention table if it is small."""
    chi = np.exp(2 * (ds.z_dt - ds.z_dt.isel(time=0, drop=True)))
    ds = ds.assign(
        chi=chi.assign_attrs(symbol=r"\chi", long_name="growth of the squared attention weight")
    )
    gain = relative_gain(ds)
    predicted = gain.isel(time=0, drop=True) * chi.isel(distinct_token=-1, drop=True)
    defect = (gain / predicted.where(predicted != 0) - 1).assign_attrs(
        symbol=r"r / (r_0 \chi) - 1",
        long_name="gain of the top token over another, against the law of Theorem 3",
    )
    ds = ds.assign(gain_defect=defect)
    K = ds.sizes["class"]
    C = ds.sizes["common_token"]
    D = ds.sizes["distinct_token"]
    if K * (C + K * D) > TABLES_UP_TO:
        return ds
    return ds.assign(attn=_table(ds, C, D))


def relative_gain(ds: xr.Dataset) -> xr.DataArray:
    r"""$r_{l_0/l'|n} = c_{l_0}^2/c_{l'}^2 - 1$ of the most frequent distinct token over the
    others."""
    return (ds.c_dt.isel(distinct_token=-1, drop=True) / ds.c_dt) ** 2 - 1


def _table(ds: xr.Dataset, C: int, D: int) -> xr.DataArray:
    """$c_n$ over all context tokens."""
    lead = ds.c_dt.dims[:-2]
    own = ds.c_dt.transpose(..., "class", "distinct_token").values
    shared = ds.c_ct.transpose(..., "class", "common_token").values
    K = own.shape[-2]
    distinct = (own[..., None, :] * np.eye(K)[:, :, None]).reshape(*own.shape[:-1], K * D)
    values = np.concatenate([shared, distinct], axis=-1)
    coords = {"token": np.arange(C + K * D)}
    return xr.DataArray(
        values,
        dims=(*lead, "class", "token"),
        coords=coords,
        attrs={"symbol": "c_n", "long_name": "attention on a token"},
    )
