"""Ways to spoil evidence: wrong sign, dropped factor, shuffled time, lost numbers, a run that broke off."""

from collections.abc import Callable

import numpy as np
import xarray as xr

Change = Callable[[list[xr.Dataset]], list[xr.Dataset]]


def last(change: Callable[[xr.Dataset], xr.Dataset], name: str) -> Change:
    """Spoil the last dataset only: one bad run must be enough."""
    spoil = lambda evidence: [*evidence[:-1], change(evidence[-1])]
    spoil.__name__ = name
    return spoil


def every(change: Callable[[xr.Dataset], xr.Dataset], name: str) -> Change:
    """Change all datasets."""
    spoil = lambda evidence: [change(ds) for ds in evidence]
    spoil.__name__ = name
    return spoil


def scaled(name: str, factor: float) -> Change:
    return last(lambda ds: ds.assign({name: factor * ds[name]}), f"{name}*{factor:g}")


def flipped(name: str) -> Change:
    return last(lambda ds: ds.assign({name: -ds[name]}), f"-{name}")


def shifted(name: str, by: float) -> Change:
    return last(lambda ds: ds.assign({name: ds[name] + by}), f"{name}+{by:g}")


def powered(name: str, power: float) -> Change:
    return last(lambda ds: ds.assign({name: ds[name] ** power}), f"{name}^{power:g}")


def swapped(a: str, b: str) -> Change:
    return last(lambda ds: ds.assign({a: ds[b], b: ds[a]}), f"{a}<->{b}")


def lost(name: str) -> Change:
    return last(lambda ds: ds.assign({name: ds[name] * np.nan}), f"{name}=nan")


def delayed(name: str) -> Change:
    """One record later than it was."""
    late = lambda x: x.copy(data=np.roll(x.transpose("time", ...).values, 1, 0)).where(
        x.time > x.time[0], x
    )
    return last(
        lambda ds: ds.assign({name: late(ds[name].transpose("time", ...))}),
        f"{name} one record late",
    )


def backwards(name: str, along: str) -> Change:
    flip = lambda x: x.copy(data=np.flip(x.values, x.get_axis_num(along)))
    return last(lambda ds: ds.assign({name: flip(ds[name])}), f"{name} backwards in {along}")


def stretched(factor: float) -> Change:
    return last(lambda ds: ds.assign_coords(time=ds.time * factor), f"time*{factor:g}")


def _shuffle(ds: xr.Dataset) -> xr.Dataset:
    order = np.random.default_rng(0).permutation(ds.sizes["time"])
    return ds.assign(
        {
            k: v.copy(data=v.isel(time=order).values)
            for k, v in ds.data_vars.items()
            if "time" in v.dims
        }
    )


def reordered(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Each dataset in another's place."""
    return evidence[::-1]


shuffled = last(_shuffle, "shuffled in time")
cut_short = last(lambda ds: ds.isel(time=slice(max(ds.sizes["time"] // 2, 1))), "broken off")
