"""Curves in log time: where they are flat, and how steep they are. The time axis is taken away by `plateau` only."""

from __future__ import annotations

import numpy as np
import xarray as xr

from .phase_words import known, name_of, needs


def plateau(
    da: xr.DataArray, flatness: float = 0.1, decades: float = 0.3, along: str = "time"
) -> xr.Dataset:
    """Start, end and level of the longest flat stretch in log time.

        >>> t = np.geomspace(1.0, 1000.0, 31)
        >>> loss = xr.DataArray(np.where(t < 10, 5.0, 0.5), {"time": t}, "time")
        >>> found = ps.plateau(loss)
        >>> round(float(found.start), 6), round(float(found.end), 6), float(found.level)
        (10.0, 1000.0, 0.5)

    **Arguments:** `da`: one run, or the lanes of a sweep. `flatness`: over the stretch, da varies
    by at most this fraction of its largest size there. `decades`: a shorter stretch is none.
    `along`: the axis of time.

    **Returns:** a dataset with `start`, `end` and `level` for each lane; NaN where there is no
    plateau.

    **Raises:** `ValueError` if `flatness` is not between 0 and 1, or if there is no such axis.
    """
    if not 0 < flatness < 1:
        raise ValueError(f"flatness must lie between 0 and 1, got {flatness}.")

    def longest(t: np.ndarray, x: np.ndarray) -> tuple[float, float, float]:
        t, x = known(t, x, t > 0)
        s = np.log10(t)
        best = (0, 0)
        i = 0
        for j in range(t.size):
            # Every part of a flat stretch is flat (flatness < 1), so its start never moves back.
            while np.ptp(x[i : j + 1]) > flatness * np.abs(x[i : j + 1]).max():
                i += 1
            if s[j] - s[i] > s[best[1]] - s[best[0]]:
                best = (i, j)
        i, j = best
        if t.size < 2 or s[j] - s[i] < decades:
            return np.nan, np.nan, np.nan
        return float(t[i]), float(t[j]), float(np.median(x[i : j + 1]))

    needs(da, along)
    found = xr.apply_ufunc(
        longest,
        da[along].astype(float),
        da.astype(float),
        input_core_dims=[[along], [along]],
        output_core_dims=[[], [], []],
        vectorize=True,
        output_dtypes=[float] * 3,
    )
    says = f"longest stretch of {name_of(da)} flat within {100 * flatness:.4g}%, {decades:.4g} decades at least"
    units = {k: v for k, v in da[along].attrs.items() if k == "units"}
    start, end, level = found
    start.attrs = {"long_name": f"time at which the plateau of {name_of(da)} begins"} | units
    end.attrs = {"long_name": f"time at which the plateau of {name_of(da)} ends"} | units
    level.attrs = dict(da.attrs)
    return xr.Dataset({"start": start, "end": end, "level": level}, attrs={"long_name": says})


def local_slope(da: xr.DataArray, along: str = "time") -> xr.DataArray:
    """d ln da / d ln t at every record: the exponent of the moment.

        >>> t = np.geomspace(1.0, 100.0, 50)
        >>> loss = xr.DataArray(t**-0.5, {"time": t}, "time")
        >>> bool(np.allclose(ps.local_slope(loss), -0.5))
        True

    **Arguments:** `da`: one run, or the lanes of a sweep. `along`: the axis of time.

    **Returns:** an array like `da`; NaN where da or t is not positive.

    **Raises:** `ValueError` if there is no such axis.
    """

    def slopes(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        good = np.isfinite(x) & (t > 0)
        good[good] = x[good] > 0
        out = np.full(x.shape, np.nan)
        if good.sum() > 1:
            out[good] = np.gradient(np.log(x[good]), np.log(t[good]))
        return out

    needs(da, along)
    found = xr.apply_ufunc(
        slopes,
        da[along].astype(float),
        da.astype(float),
        input_core_dims=[[along], [along]],
        output_core_dims=[[along]],
        vectorize=True,
        output_dtypes=[float],
    )
    return (
        found.transpose(*da.dims)
        .rename("local_slope")
        .assign_attrs(long_name=f"d ln {name_of(da)} / d ln {along}")
    )
