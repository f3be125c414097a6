"""`phasescope draw`."""

from __future__ import annotations

from pathlib import Path

from .. import flags
from ..chosen import formats_in, look_for_corpora_in, studies_named
from ..names import check_ids


def draw(
    studies: flags.Studies = None,
    figure: flags.FigureId = None,
    format: flags.Format = "png",
    out: flags.OutDir = Path("phasescope-figures"),
    full: flags.Full = False,
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
    as_json: flags.Json = False,
) -> None:
    """The figures, as files.

    Example: phasescope draw regular_language --figure figure_2 --format pdf
    """
    check_ids(studies or [], figure=figure)
    look_for_corpora_in(corpora)
    from ... import draw as draw_studies
    from ..output import emit

    formats = formats_in(format)
    paths = draw_studies(
        *studies_named(studies), figure=figure, out=out, format=formats, full=full, store=store
    )
    shown = paths or ["No figure was drawn."]
    emit({"files": [str(p) for p in paths]}, as_json, print, *shown, sep="\n")
