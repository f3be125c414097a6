"""Parts that the decoder's figures share: curves over lengths, heat maps of attention, bands along chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

COLORS = {"C6": ps.PALETTE[0], "S5": ps.PALETTE[1]}


def over_lengths(
    axes: Any, accuracy: xr.DataArray, label: str, color: Any, band: Any = None, **style: Any
) -> None:
    """Mean over seeds with the range of all of them, or a band given; the length on a log axis with its own ticks."""
    mean = accuracy.mean("seed")
    lengths = accuracy.test_length.values
    low, high = (accuracy.min("seed"), accuracy.max("seed")) if band is None else band
    axes.fill_between(lengths, low, high, color=color, alpha=0.13, lw=0)
    axes.plot(lengths, mean, "o-", ms=3, color=color, label=label, **style)
    length_axis(axes, lengths)
    axes.set(ylim=(-0.03, 1.03))


def length_axis(axes: Any, lengths: Sequence[int] | np.ndarray) -> None:
    """Ticks at the lengths that were tested."""
    axes.set_xscale("log")
    axes.set_xticks(list(lengths), [str(n) for n in lengths])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("length $L$ of the chain")


def heat_map(
    axes: Any, heat: xr.DataArray, title: str, left: str = "predicate", top: float = 0.55
) -> Any:
    """Rows are the answers that ask, upwards as in the paper; columns the predicates, then the answers."""
    L = heat.shape[0]
    image = axes.imshow(heat, origin="lower", vmin=0, vmax=top, cmap="viridis", aspect="auto")
    axes.axvline(L - 0.5, color="w", lw=1)
    places = list(range(L)) if L <= 5 else [0, L - 1]
    axes.set_xticks(
        [*places, *(L + p for p in places)],
        [*(str(p + 1) for p in places), *(str(p) for p in places)],
        fontsize=7,
    )
    axes.set_yticks(places, [str(p) for p in places])
    axes.set_xlabel(f"{left}  |  answer")
    axes.set_ylabel("answer that asks")
    axes.set_title(title)
    axes.grid(False)
    return image


def along(
    axes: Any,
    attention: xr.DataArray,
    length: int,
    color: Any,
    label: str,
    first: int,
    **style: Any,
) -> None:
    """A band of attention over the relative position, mean over seeds with their range."""
    band = attention.isel(time=-1).sel(test_length=length).isel(step=slice(length))
    place = (np.arange(length) + first) / length
    axes.fill_between(place, band.min("seed"), band.max("seed"), color=color, alpha=0.12, lw=0)
    axes.plot(place, band.mean("seed"), color=color, label=label, **style)
