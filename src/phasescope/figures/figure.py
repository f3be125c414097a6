"""Figure: a citation, a request for evidence, and a drawing. The same form as a claim; matplotlib loads when drawn."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..claims.requests import Request

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Okabe and Ito's palette: distinguishable with any kind of colour vision, and in grey.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BANDS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")

STYLE: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 9.5, "axes.labelsize": 9, "legend.fontsize": 8, "legend.frameon": False,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6,
    "lines.linewidth": 1.6, "figure.dpi": 150, "savefig.dpi": 150, "image.cmap": "viridis", "svg.fonttype": "none",
    "pdf.fonttype": 42, "mathtext.fontset": "cm",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Figure:
    """`draw(*evidence, axes)` fills the axes: one, or an array of them if `panels` asks for several."""

    id: str
    cites: str
    evidence: tuple[Request, ...]
    draw: Callable[..., None]
    panels: tuple[int, int]
    size: tuple[float, float]

    @property
    def name(self) -> str:
        return self.draw.__name__

    @property
    def caption(self) -> str:
        return " ".join((inspect.getdoc(self.draw) or "").split())

    def render(self, *evidence: Any) -> Canvas:
        """The drawn figure; no global state is touched."""
        import matplotlib as mpl
        from cycler import cycler
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        style: Any = STYLE | {"axes.prop_cycle": cycler(color=PALETTE)}
        with mpl.rc_context(style):
            canvas = Canvas(figsize=self.size, layout="constrained")
            FigureCanvasAgg(canvas)
            axes = canvas.subplots(*self.panels, squeeze=True)
            self.draw(*evidence, axes)
        return canvas


def figure(
    cites: str,
    *evidence: Request,
    id: str = "",
    panels: tuple[int, int] = (1, 1),
    size: tuple[float, float] | None = None,
) -> Callable[[Callable[..., None]], Figure]:
    """Make a drawing a figure of the study."""
    inches = size or (3.6 * panels[1] + 0.4, 2.8 * panels[0] + 0.2)
    return lambda draw: Figure(id or draw.__name__, cites, evidence, draw, panels, inches)


def shade_stages(ds: xr.Dataset, axes: Axes, *, label: bool = True) -> None:
    """Faint bands behind a time axis, one for each stage of the run."""
    from ..plan.observables import stage_names

    names, stage, time = stage_names(ds), ds["stage"].values, ds["time"].values
    for k, name in enumerate(names):
        inside = time[stage == k]
        if not inside.size:
            continue
        start = time[stage < k].max() if (stage < k).any() else inside.min()
        axes.axvspan(start, inside.max(), color=BANDS[k % len(BANDS)], alpha=0.07, lw=0)
        if label:
            axes.text(
                0.5 * (start + inside.max()), 1.0, name.replace("_", " "), transform=axes.get_xaxis_transform(),
                ha="center", va="bottom", fontsize=7.5, color=BANDS[k % len(BANDS)],
            )  # fmt: skip


def mark(axes: Axes, time: float, label: str, *, color: str = "0.35") -> None:
    """A dashed vertical line at a time that the theory names."""
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
