"""Figure: a citation, a request for evidence, and a drawing. The same form as a claim; matplotlib loads when drawn."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..claims.requests import Request
from .style import PALETTE, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


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
