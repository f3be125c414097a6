"""draw: the figures of some studies, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..discovery import installed
from ..study import Study, find


def draw(
    *studies: str | Study,
    figure: str | None = None,
    out: str | Path = "phasescope-figures",
    format: str | Sequence[str] = "png",
    full: bool = False,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
) -> list[Path]:
    """Draw the figures of some studies (all installed ones if none is named) and return the files."""
    from .context import default_context
    from .draw_figures import draw_figures

    chosen = [find(s) for s in (studies or installed())]
    formats = (format,) if isinstance(format, str) else tuple(format)
    return draw_figures(
        chosen, default_context(store, progress), Path(out), None if figure is None else [figure], formats, full
    )
