"""`phasescope errata`."""

from __future__ import annotations

from ...errors import SpecError
from .. import flags
from ..names import check_ids


def errata(
    study: flags.StudyName,
    format: flags.SheetFormat = "markdown",
    full: flags.Full = False,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """What a paper's authors should know: errata with the rows that show them, as Markdown or LaTeX.

    Example: phasescope errata regular_language --format latex > errata.tex
    """
    if format not in ("markdown", "latex"):
        raise SpecError(f"--format is markdown or latex, got {format}.")
    check_ids([study])
    from ... import errata as errata_of
    from ..output import emit

    sheet = errata_of(study, full=full, store=store)
    text = sheet.to_latex() if format == "latex" else sheet.to_markdown()
    emit(sheet.to_json(), as_json, print, text, end="")
