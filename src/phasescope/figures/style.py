"""The common style of figures: colours, lines, legends, letters, and bands behind an axis of time.

Colours are Okabe and Ito's: distinguishable with any kind of colour vision, and in grey.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plan.observables import stage_names

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
BANDS = (BLUE, ORANGE, GREEN, PURPLE)

STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "image.cmap": "viridis",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "mathtext.fontset": "cm",
}
LEGEND: dict[str, Any] = {
    "fontsize": 7,
    "handlelength": 1.7,
    "labelspacing": 0.3,
    "borderaxespad": 0.3,
    "borderpad": 0.3,
    "frameon": True,
    "framealpha": 0.8,
    "edgecolor": "none",
}


def legend(axes: Axes, **changes: Any) -> None:
    """A small legend that does not hide the curves.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> _ = axes.plot([1, 2], label="loss")
        >>> ps.legend(axes, loc="upper left")
        >>> [text.get_text() for text in axes.get_legend().get_texts()]
        ['loss']

    **Arguments:** `axes`: where. `changes`: go to matplotlib's `legend`.
    """
    axes.legend(**LEGEND | changes)


def letter(axes: Axes | Iterable[Axes] | np.ndarray) -> None:
    """(a), (b), ... in the corner above each panel.

        >>> from matplotlib.figure import Figure
        >>> panels = Figure().subplots(1, 2)
        >>> ps.letter(panels)
        >>> [panel.get_title(loc="left") for panel in panels]
        ['(a)', '(b)']

    **Arguments:** `axes`: one axes, or several in any arrangement.
    """
    panels = np.ravel(np.asarray(axes, dtype=object))
    for name, panel in zip("abcdefghijkl", panels, strict=False):
        panel.set_title(f"({name})", loc="left", fontsize=9)


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """Colours for something ordered, dark to light, readable on white.

        >>> len(ps.shades(5))
        5

    **Arguments:** `count`: how many.

    **Returns:** as many RGBA tuples.
    """
    from matplotlib import colormaps

    return [colormaps["viridis"](x) for x in np.linspace(0.0, 0.82, count)]


def shade_stages(ds: xr.Dataset, axes: Axes, *, label: bool = True) -> None:
    """Faint bands behind a time axis, one for each stage of the run.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ds = ps.run("linear_modes", "logistic", store=False)
        >>> ps.shade_stages(ds, axes)
        >>> [text.get_text() for text in axes.texts]
        ['training']

    **Arguments:** `ds`: a run. `axes`: where. `label`: whether the name of the stage stands above
    it.
    """
    stage = ds["stage"].values
    time = ds["time"].values
    for k, name in enumerate(stage_names(ds)):
        inside = time[stage == k]
        if not inside.size:
            continue
        start = time[stage < k].max() if (stage < k).any() else inside.min()
        shade(
            axes,
            start,
            inside.max(),
            name.replace("_", " ") if label else "",
            BANDS[k % len(BANDS)],
        )


def shade(axes: Axes, start: float, end: float, label: str = "", color: str = BLUE) -> None:
    """A faint band behind a time axis, with its name above it. Set the limits of the axis first.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ps.shade(axes, 1.0, 3.0, "phase 1")
        >>> axes.texts[0].get_text(), axes.texts[0].get_position()
        ('phase 1', (2.0, 1.0))

    **Arguments:** `axes`: where. `start`, `end`: on the axis of time. `label`: the name. `color`:
    of band and name.
    """
    axes.axvspan(start, end, color=color, alpha=0.08, lw=0, zorder=0)
    if label:
        middle = (
            (start * end) ** 0.5
            if axes.get_xscale() == "log" and start > 0
            else 0.5 * (start + end)
        )
        axes.text(
            middle,
            1.0,
            label,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=7.5,
            color=color,
        )


def mark(axes: Axes, time: float, label: str, *, color: str = "0.35") -> None:
    """A dashed vertical line at a time that the theory names.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ps.mark(axes, 2.5, "end of phase 1")
        >>> axes.texts[0].get_text()
        'end of phase 1'

    **Arguments:** `axes`: where. `time`: on the axis of time. `label`: beside the line. `color`: of
    both.
    """
    axes.axvline(time, ls="--", lw=1, color=color)
    axes.annotate(
        label,
        (time, 0.98),
        xycoords=("data", "axes fraction"),
        rotation=90,
        ha="right",
        va="top",
        fontsize=7.5,
        color=color,
    )
