"""Parts that the decoder's figures share: curves over lengths, heat maps of attention, bands along chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

TRAINED = 5
GREY = "0.35"
COLORS = {"C6": ps.PALETTE[0], "S5": ps.PALETTE[1]}


def side_by_side(axes: Any, curves: Mapping[str, xr.DataArray], colors: Sequence[Any]) -> None:
    """Curves over the length, mean over seeds, with the range of all seeds as bars that stand beside each other."""
    count = len(curves)
    for place, ((label, accuracy), color) in enumerate(zip(curves.items(), colors, strict=False)):
        lengths = accuracy.test_length.values
        mean, low, high = accuracy.mean("seed"), accuracy.min("seed"), accuracy.max("seed")
        beside = lengths * 1.07 ** (place - (count - 1) / 2)
        axes.plot(beside, mean, "o-", ms=3, lw=1.4, color=color, label=label)
        axes.vlines(beside, low, high, color=color, lw=1.1, alpha=0.8)
        length_axis(axes, lengths)
    axes.set(ylim=(-0.03, 1.05), ylabel="accuracy")


def length_axis(axes: Any, lengths: Sequence[int] | np.ndarray) -> None:
    """Ticks at the lengths that were tested."""
    axes.set_xscale("log")
    axes.set_xticks(list(lengths), [str(n) for n in lengths])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("length $L$ of the chain")


def mark_training_length(axes: Any) -> None:
    """A dashed line at the length of the training chains, named beside it."""
    axes.axvline(TRAINED, ls="--", lw=1, color=GREY)
    axes.annotate(
        f"trained at {TRAINED}",
        (TRAINED, 0.58),
        xytext=(7, 0),  # beside the bars at this length
        textcoords="offset points",
        rotation=90,
        va="center",
        fontsize=7,
        color=GREY,
    )


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
    """A band of attention, at one time, over the relative position: mean over seeds with their range."""
    band = attention.sel(test_length=length).isel(step=slice(length))
    place = (np.arange(length) + first) / length
    ps.band(axes, place, band.min("seed"), band.max("seed"), color=color, within=(0, 1))
    axes.plot(place, band.mean("seed"), color=color, label=label, **style)
