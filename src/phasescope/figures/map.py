"""draw_map: a map of a claim, or of any quantity over two numbers, drawn into axes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from .style import BLUE, VERMILION, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ZERO = "zero_line"
ASSUMPTION = "assumption_"
FEW = 9  # whole numbers on an axis
UNKNOWN = "0.85"  # the grey of cells without a margin
DASHES: list[Any] = ["--", ":", "-.", (0, (5, 1, 1, 1))]


def draw_map(
    values: xr.Dataset | xr.DataArray,
    axes: Axes,
    *,
    levels: Sequence[float] = (),
    ends: Mapping[str, xr.DataArray] | None = None,
    label: str = "",
    **changes: Any,
) -> None:
    """Draw a map of a claim, or any quantity over one or two numbers.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> m = ps.map("linear_modes", "stronger_modes_are_learnt_first", epsilon="1e-4:2:6:log")
        >>> ps.draw_map(m, axes)
        >>> axes.get_xlabel(), axes.get_xscale()
        ('epsilon', 'log')

    Of a claim: the margin in colours (blue: it holds, red: it fails, grey: undecided), the line on which
    it is 0, and a dashed line where an assumption ends, hatched where it is broken.

    **Arguments:**

    - `values`: what `ps.map` returned, or an array over one or two numbers; the first is drawn to the right.
    - `axes`: where.
    - `levels`: of an array, the values at which to draw a line.
    - `ends`: of an array, where assumptions end: by name a ratio over the same numbers, which is 1 on the dashed line.
    - `label`: beside the colours; by default what the array says of itself.
    - `changes`: go to matplotlib's `pcolormesh` (to `plot` if there is one number).

    **Raises:** `ValueError` for more than two numbers: choose some with `sel`.
    """
    claim = isinstance(values, xr.Dataset)
    shown = values["margin"] if isinstance(values, xr.Dataset) else values
    if shown.ndim not in (1, 2):
        raise ValueError(f"a map is drawn over one or two numbers, got {shown.dims}: choose some.")
    scales = [_scale(shown[dim].values) for dim in shown.dims]
    axes.set_xscale(scales[0])
    _tick(shown[shown.dims[0]].values, axes.xaxis)
    axes.set_xlabel(_name(shown[shown.dims[0]]))
    words = label or ("margin" if claim else _name(shown))
    if shown.ndim == 1:
        _draw_curve(shown, axes, words, claim, **changes)
        return
    axes.set_yscale(scales[1])
    _tick(shown[shown.dims[1]].values, axes.yaxis)
    axes.set_ylabel(_name(shown[shown.dims[1]]))
    axes.grid(False)
    axes.set_facecolor(UNKNOWN)
    mesh = _draw_cells(shown, axes, claim, **changes)
    if axes.figure is not None:
        axes.figure.colorbar(mesh, ax=axes, label=words, pad=0.02)
    if isinstance(values, xr.Dataset):
        _draw_lines(values, axes)
        return
    _draw_ends(shown, ends or {}, axes, hatched=False)
    inside = [level for level in sorted(levels) if float(shown.min()) < level < float(shown.max())]
    if inside:
        x, y = (shown[dim].values for dim in shown.dims)
        numbers = np.ma.masked_invalid(shown.values.T)
        lines = axes.contour(x, y, numbers, levels=inside, colors="k", linewidths=1)
        axes.clabel(lines, fontsize=7, fmt=lambda level: f"{level:.3g}")


def _draw_curve(shown: xr.DataArray, axes: Axes, label: str, claim: bool, **changes: Any) -> None:
    along = shown[shown.dims[0]].values
    axes.plot(along, np.clip(shown.values, -1, 1) if claim else shown.values, **changes)
    axes.set_ylabel(label)
    if claim:
        axes.axhline(0, color="k", lw=1)


def _draw_cells(shown: xr.DataArray, axes: Axes, claim: bool, **changes: Any) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    x, y = (_edges(shown[dim].values) for dim in shown.dims)
    options: dict[str, Any] = {"rasterized": True}
    numbers = shown.values.T
    if claim:
        # It jumps at 0: on which side a cell lies is seen where the margin is small, too.
        colors = [(0.0, VERMILION), (0.5, "#FBE6D9"), (0.5, "#D9EAF4"), (1.0, BLUE)]
        sides = LinearSegmentedColormap.from_list("sides", colors)
        options |= {"cmap": sides, "vmin": -1, "vmax": 1}
        numbers = np.clip(numbers, -1, 1)
    return axes.pcolormesh(x, y, np.ma.masked_invalid(numbers), **options | changes)


def _draw_lines(ds: xr.Dataset, axes: Axes) -> None:
    """The zero line, and where assumptions end."""
    from matplotlib.collections import LineCollection

    first, second = ds["margin"].dims
    x = ds[first].values
    y = ds[second].values
    margin = np.clip(ds["margin"].values.T, -1, 1)
    entries = []
    if ZERO in ds:
        ends = ds[ZERO].values[ds[f"{ZERO}_segments"].values]
        axes.add_collection(LineCollection(list(ends), colors="k", linewidths=1.4))
        entries.append(axes.plot([], [], "k-", lw=1.4, label="margin 0")[0])
    elif np.nanmin(margin, initial=1) < 0 < np.nanmax(margin, initial=-1):
        axes.contour(x, y, np.ma.masked_invalid(margin), levels=[0], colors="k", linewidths=1.4)
        entries.append(axes.plot([], [], "k-", lw=1.4, label="margin 0")[0])
    named = [str(name) for name in ds.data_vars if str(name).startswith(ASSUMPTION)]
    words = {name.removeprefix(ASSUMPTION).replace("_", " "): ds[name] for name in named}
    entries += _draw_ends(ds["margin"], words, axes, hatched=True)
    if entries:
        legend(axes, handles=entries, loc="best")


def _draw_ends(
    shown: xr.DataArray, ends: Mapping[str, xr.DataArray], axes: Axes, hatched: bool
) -> list[Any]:
    """Where assumptions end, dashed, and perhaps hatched where they are broken; the entries of a legend."""
    x, y = (shown[dim].values for dim in shown.dims)
    entries = []
    for (name, over), dashes in zip(ends.items(), itertools.cycle(DASHES), strict=False):
        numbers = over.transpose(*shown.dims).values.T
        ratio = np.ma.array(numbers, mask=np.isnan(numbers))  # where it is none, nobody knows
        if not (ratio < 1).any() or not (ratio >= 1).any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.clip(np.log(np.maximum(ratio, 1e-300)), -700, 700)
        axes.contour(x, y, logs, levels=[0], colors="0.25", linestyles=[dashes], linewidths=1.2)
        if hatched:
            axes.contourf(x, y, logs, levels=[-1e9, 0], colors="none", hatches=["///"])
        entries += axes.plot([], [], color="0.25", ls=dashes, lw=1.2, label=f"{name} ends")
    return entries


def _name(x: xr.DataArray) -> str:
    """What an axis says of itself: its symbol and its meaning."""
    symbol = x.attrs.get("symbol", "")
    meaning = x.attrs.get("long_name", "").partition(":")[0]
    sign = f"${symbol}$" if symbol else ""
    return ", ".join(filter(None, [sign, meaning])) or str(x.name or "")


def _scale(values: np.ndarray) -> str:
    """Whether an axis is spaced evenly in its logarithms, or more so than in its numbers (they may be rounded)."""
    numbers = np.asarray(values, float)
    if numbers.size < 3 or numbers.min() <= 0:
        return "linear"
    places = np.arange(numbers.size)
    straight, curved = (np.corrcoef(places, x)[0, 1] for x in (numbers, np.log(numbers)))
    return "log" if abs(curved) > abs(straight) else "linear"


def _tick(values: np.ndarray, axis: Any) -> None:
    """A few whole numbers are named one by one."""
    if values.dtype.kind in "iu" and values.size <= FEW:
        axis.set_ticks(values, [f"{value:g}" for value in values])
        axis.set_ticks([], minor=True)


def _edges(values: np.ndarray) -> np.ndarray:
    """The edges of cells around these numbers."""
    log = _scale(values) == "log"
    numbers = np.log(np.asarray(values, float)) if log else np.asarray(values, float)
    middle = (numbers[1:] + numbers[:-1]) / 2
    ends = 2 * numbers[[0, -1]] - middle[[0, -1]]
    edges = np.concatenate([ends[:1], middle, ends[1:]])
    return np.exp(edges) if log else edges
