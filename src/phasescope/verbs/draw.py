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
    """Draw the figures of some studies into files.

        >>> files = ps.draw("linear_modes", out="drawn", store=False)
        >>> [file.name for file in files]
        ['linear_modes-learning_curves.png']

    **Arguments:**

    - `studies`: names, paths of files or Studies; all installed ones if none is named.
    - `figure`: the id or name of one figure.
    - `out`: the folder.
    - `format`: png, pdf or svg, or several of them.
    - `full`: ask for full-size evidence.
    - `store`, `progress`: as for `run`.

    **Returns:** the files. A figure that cannot be drawn is a warning.

    **Raises:** `StudyNotFound` for an unknown study or figure, `SpecError` for an unknown format.
    """
    from .context import default_context
    from .draw_figures import draw_figures

    chosen = [find(s) for s in (studies or installed())]
    formats = (format,) if isinstance(format, str) else tuple(format)
    return draw_figures(
        chosen,
        default_context(store, progress),
        Path(out),
        None if figure is None else [figure],
        formats,
        full,
    )
