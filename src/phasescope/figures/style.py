"""The common style of figures: colours, lines, legends, letters, ranges around a curve.

Colours are Okabe and Ito's: distinguishable with any kind of colour vision, and in grey.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#000000"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)

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
    "savefig.dpi": 200,
    "image.cmap": "viridis",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "mathtext.fontset": "dejavusans",  # as large as the words beside it
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
    """(a), (b), ... above the upper left corner of each panel; titles and phases have the rest.

        >>> from matplotlib.figure import Figure
        >>> panels = Figure().subplots(1, 2)
        >>> ps.letter(panels)
        >>> [panel.get_title(loc="left") for panel in panels]
        ['(a)', '(b)']

    **Arguments:** `axes`: one axes, or several in any arrangement.
    """
    panels = np.ravel(np.asarray(axes, dtype=object))
    for name, panel in zip("abcdefghijkl", panels, strict=False):
        panel.set_title(f"({name})", loc="left", ha="right", fontsize=9)


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """Colours for something ordered, dark to light, readable on white.

        >>> len(ps.shades(5))
        5

    **Arguments:** `count`: how many.

    **Returns:** as many RGBA tuples.
    """
    from matplotlib import colormaps

    return [colormaps["viridis"](x) for x in np.linspace(0.0, 0.82, count)]


def band(
    axes: Axes,
    x: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    color: Any,
    within: tuple[float, float] = (-np.inf, np.inf),
    **changes: Any,
) -> None:
    """A faint range around a curve, never beyond the values that are possible.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ps.band(axes, [5, 10], [0.7, -0.1], [1.0, 0.4], color="k", within=(0, 1))
        >>> float(axes.collections[0].get_paths()[0].vertices[:, 1].min())
        0.0

    **Arguments:** `axes`: where. `x`, `low`, `high`: the range over x. `color`: of the curve.
    `within`: the least and the greatest value that there can be, (0, 1) for an accuracy. `changes`:
    go to matplotlib's `fill_between`.
    """
    least, greatest = (np.clip(np.asarray(edge, float), *within) for edge in (low, high))
    style = {"color": color, "alpha": 0.13, "lw": 0} | changes
    axes.fill_between(np.asarray(x), least, greatest, **style)
