"""A small plot of any evidence: what moved, against time or along the table, one panel for each
quantity.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..figures.style import PALETTE, STYLE, shade_stages
from ..ledger.markup import visible
from ..plan.observables import stage_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 4  # quantities in a plot
LINES = 8  # curves in a panel
CROWD = 64  # a quantity with more curves is shown only if there is nothing else
POINTS = 4000  # points of a curve
DPI = 144
# Inches: a panel with its margins.
WIDE = 2.45
HIGH = 1.95
LEFT = 0.58
RIGHT = 0.12
TOP = 0.5
BOTTOM = 0.42


@dataclasses.dataclass(frozen=True)
class Panel:
    """Where one panel lies in the picture, so that a page can mark a time in it without drawing it
    again.
    """

    dim: str
    box: tuple[float, float, float, float]
    limits: tuple[float, float]
    log: bool

    def mark(self, at: Mapping[str, float]) -> float | None:
        """How far to the right these coordinates lie, if one of them is on this axis."""
        x = at.get(self.dim, np.nan)
        if not min(self.limits) <= x <= max(self.limits):
            return None
        scale = np.log if self.log else float
        low, high = (scale(limit) for limit in self.limits)
        left, _, right, _ = self.box
        return round(float(left + (scale(x) - low) / (high - low) * (right - left)), 1)


@dataclasses.dataclass(frozen=True)
class Plot:
    """A picture in pixels, and in words what it shows."""

    png: bytes
    size: tuple[int, int]
    panels: tuple[Panel, ...]
    says: str
    stages: tuple[str, ...] = ()


def plot(evidence: Any) -> Plot | None:
    """Up to four quantities of a dataset as small multiples.

    Nothing if there is no axis to draw along.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    ds = evidence.to_dataset(name="value") if isinstance(evidence, xr.DataArray) else evidence
    if not isinstance(ds, xr.Dataset) or not (shown := _quantities(ds)):
        return None
    dim = _axis(ds)
    across = WIDE * len(shown)
    down = HIGH
    small: Any = {
        "font.size": 7.5,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "lines.linewidth": 1.2,
    }
    with mpl.rc_context(STYLE | small):
        canvas = Canvas(figsize=(across, down), dpi=DPI)
        painter = FigureCanvasAgg(canvas)
        panels = []
        for k, name in enumerate(shown):
            box = (WIDE * k + LEFT, TOP, WIDE * (k + 1) - RIGHT, HIGH - BOTTOM)
            axes = canvas.add_axes(
                (
                    box[0] / across,
                    BOTTOM / down,
                    (box[2] - box[0]) / across,
                    1 - (TOP + BOTTOM) / down,
                )
            )
            log = _draw(ds, name, dim, axes)
            panels.append(Panel(dim, tuple(DPI * side for side in box), axes.get_xlim(), log))  # type: ignore[arg-type]
        buffer = io.BytesIO()
        painter.print_png(buffer, metadata={"Software": None})
    says = f"{', '.join(shown)} against {dim}"
    return Plot(
        png=buffer.getvalue(),
        size=(round(DPI * across), round(DPI * down)),
        panels=tuple(panels),
        says=says,
        stages=_stages(ds),
    )


def scalars(evidence: Any, most: int = 12) -> dict[str, float]:
    """The first single numbers of a dataset."""
    found = evidence.data_vars.items() if isinstance(evidence, xr.Dataset) else ()
    return dict(
        [(str(name), float(v)) for name, v in found if v.ndim == 0 and v.dtype.kind in "fiub"][
            :most
        ]
    )


def _axis(ds: xr.Dataset) -> str:
    return "time" if "time" in ds.sizes else str(next(iter(ds.sizes), ""))


def _stages(ds: xr.Dataset) -> tuple[str, ...]:
    """The names of the stages, if the dataset has one sequence of them."""
    if not _has_stages(ds):
        return ()
    return tuple(name.replace("_", " ") for name in stage_names(ds))


def _has_stages(ds: xr.Dataset) -> bool:
    return (
        "stage" in ds.coords
        and ds["stage"].dims == ("time",)
        and "flag_meanings" in ds["stage"].attrs
    )


def _quantities(ds: xr.Dataset) -> list[str]:
    """The quantities with the fewest curves; a crowd of them only if there is nothing else."""
    dim = _axis(ds)
    curves = {
        str(name): v.size // v.sizes[dim]
        for name, v in ds.data_vars.items()
        if dim in v.dims and v.size and v.dtype.kind in "fiub"
    }
    ranked = sorted(curves, key=lambda name: curves[name])
    return ([name for name in ranked if curves[name] <= CROWD] or ranked)[:PANELS]


def _draw(ds: xr.Dataset, name: str, dim: str, axes: Axes) -> bool:
    """One quantity; returns whether the axis is logarithmic."""
    x, words = _positions(ds, dim)
    log = words is None and _spans(x[x > 0], 100.0)
    values = ds[name].transpose(..., dim)
    curves = values.values.reshape(-1, x.size).astype(float)
    chosen = np.unique(np.linspace(0, len(curves) - 1, min(len(curves), LINES)).round().astype(int))
    points = np.unique(np.linspace(0, x.size - 1, min(x.size, POINTS)).round().astype(int))
    if log:
        points = points[x[points] > 0]
    colours = PALETTE[:1] if len(chosen) == 1 else _shades(len(chosen))
    for colour, curve in zip(colours, curves[chosen], strict=True):
        axes.plot(
            x[points],
            curve[points],
            color=colour,
            marker="o" if points.size <= 40 else None,
            ms=2.2,
        )
    _scale(axes, curves[np.ix_(chosen, points)], log)
    if words is not None:
        few = np.unique(np.linspace(0, x.size - 1, min(x.size, 5)).round().astype(int))
        axes.set_xticks(x[few], [words[i][:10] for i in few], parse_math=False)
    if dim == "time" and _has_stages(ds):
        shade_stages(ds, axes, label=False)
    axes.set_xlabel(visible(dim)[:40], parse_math=False, labelpad=2)
    label = {"transform": axes.transAxes, "va": "baseline", "parse_math": False}
    axes.text(0, 1.16, visible(name)[:32], fontsize=8.5, fontweight="bold", **label)
    axes.text(0, 1.045, _family(values, dim, len(chosen))[:48], fontsize=6.5, color="0.35", **label)
    return log


def _positions(ds: xr.Dataset, dim: str) -> tuple[np.ndarray, list[str] | None]:
    """Coordinates along the axis; words are numbered, and so is what does not run forward."""
    given = ds[dim].values if dim in ds.coords else np.arange(ds.sizes[dim])
    if given.dtype.kind in "fiu" and np.isfinite(given).all():
        return given.astype(float), None
    return np.arange(len(given), dtype=float), [visible(str(word)) for word in given]


def _family(values: xr.DataArray, dim: str, shown: int) -> str:
    """What tells the curves of one panel apart."""
    others = [str(d) for d in values.dims if d != dim]
    if values.size == values.sizes[dim]:
        return str(values.attrs.get("units", ""))
    if len(others) == 1 and others[0] in values.coords:
        ends = values[others[0]].values[[0, -1]]
        said = " to ".join(f"{end:.4g}" if ends.dtype.kind in "fiu" else str(end) for end in ends)
        family = f"{others[0]} {said}, dark to light"
    else:
        family = f"by {', '.join(others)}"
    total = values.size // values.sizes[dim]
    return visible(family if shown == total else f"{shown} of {total} curves, {family}")


def _scale(axes: Axes, values: np.ndarray, log: bool) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    known = values[np.isfinite(values)]

    def short(value: float, _: float | None) -> str:
        return f"{value:.4g}"

    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=5))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(short)
    if known.size and known.min() > 0 and _spans(known, 1000.0):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=5))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_formatter(short)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())


def _spans(x: np.ndarray, ratio: float) -> bool:
    return x.size > 1 and bool(x.max() / x.min() > ratio)


def _shades(count: int) -> list[Any]:
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0.0, 0.88, count)))
