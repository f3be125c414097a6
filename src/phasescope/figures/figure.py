"""Figure: a citation, a request for evidence, and a drawing.

The same form as a claim; matplotlib loads when drawn.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..claims.requests import Maps, Request
from .style import PALETTE, STYLE, letter

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# A number in a caption that the drawing fills in, with its format: {peak:.2f}.
NUMBER = re.compile(r"\{(\w+):([^{}]*)\}")
# A power of ten as Python writes it: 4e-05 and 2e+15 are 4e-5 and 2e15 in a caption.
POWER = re.compile(r"(?<=\d)e(?:\+|(-))0*(\d+)$")


@dataclasses.dataclass(frozen=True)
class Figure:
    """`draw(*evidence, axes)` fills the axes: one, or an array of them, with letters, if `panels`
    asks for several.
    """

    id: str
    cites: str
    evidence: tuple[Request | Maps, ...]
    draw: Callable[..., Mapping[str, Any] | None]
    panels: tuple[int, int]
    size: tuple[float, float]

    @property
    def name(self) -> str:
        return self.draw.__name__

    @property
    def caption(self) -> str:
        """What is seen, with dots for the numbers that only a drawing knows."""
        return NUMBER.sub("...", self._words)

    @property
    def _words(self) -> str:
        return " ".join((inspect.getdoc(self.draw) or "").split())

    def render(self, *evidence: Any) -> Canvas:
        """The drawn figure; its label is the caption, with the numbers that the drawing found.

        No global state is touched.
        """
        import matplotlib as mpl
        from cycler import cycler
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        style: Any = STYLE | {"axes.prop_cycle": cycler(color=PALETTE)}
        with mpl.rc_context(style):
            canvas = Canvas(figsize=self.size, layout="constrained")
            FigureCanvasAgg(canvas)
            axes = canvas.subplots(*self.panels, squeeze=True)
            if self.panels != (1, 1):
                letter(axes)
            numbers = self.draw(*evidence, axes)
        canvas.set_label(_filled(self._words, numbers if isinstance(numbers, Mapping) else {}))
        return canvas


def figure(
    cites: str,
    *evidence: Request | Maps,
    id: str = "",
    panels: tuple[int, int] = (1, 1),
    size: tuple[float, float] | None = None,
) -> Callable[[Callable[..., Mapping[str, Any] | None]], Figure]:
    """Make a drawing a figure of the study.

        >>> def decay():
        ...     t = np.arange(1.0, 10.0)
        ...     return xr.Dataset({"loss": ("time", 1 / t)}, {"time": t})
        >>> @ps.figure("Figure 1", ps.tables(decay), id="figure_1")
        ... def loss_falls(table, axes):
        ...     "The loss against time."
        ...     table.loss.plot(ax=axes)
        >>> loss_falls.id, loss_falls.caption, loss_falls.size
        ('figure_1', 'The loss against time.', (4.0, 3.0))

    **Arguments:** `cites`: the figure of the paper. `evidence`: requests, handed to the function in
    this order. `id`: the name of the file; the function's name if not given. `panels`: rows and
    columns of axes. `size`: width and height in inches.

    **Returns:** a decorator that makes the function, whose docstring is the caption, a `Figure`. It
    is called as `draw(*evidence, axes)` with one axes, or an array of them if there are several
    panels; those are lettered (a), (b), ... for the caption to speak of. Where the caption says
    `{peak:.2f}`, the number is the one that the function returns under the name `peak`, if it
    returns a mapping: so a caption says what is true of what was drawn.
    """
    inches = size or (3.6 * panels[1] + 0.4, 2.8 * panels[0] + 0.2)

    def decorate(draw: Callable[..., Mapping[str, Any] | None]) -> Figure:
        return Figure(
            id=id or draw.__name__,
            cites=cites,
            evidence=evidence,
            draw=draw,
            panels=panels,
            size=inches,
        )

    return decorate


def _filled(words: str, numbers: Mapping[str, Any]) -> str:
    """The caption with every number that the drawing returned in its place."""

    def fill(found: re.Match[str]) -> str:
        name, form = found.groups()
        if name not in numbers:
            return found.group()
        return POWER.sub(r"e\1\2", format(numbers[name], form))

    return NUMBER.sub(fill, words)
