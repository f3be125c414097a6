"""write_report: check, draw, and put it all into one folder."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..files import (
    ADVICE_OUT,
    make_out_folder,
    os_errors_as_store_errors,
    to_json,
    write_atomically,
)
from ..ledger.latex import ledger_latex
from ..ledger.markdown import ledger_markdown
from ..ledger.markup import safe_name, visible
from .evidence import describe as describe
from .gather import Files, Section, gather
from .kept import Kept
from .page import page

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..study import Study
    from ..verbs.context import Context


@dataclasses.dataclass(frozen=True)
class Report:
    """The files written, and the ledger that they show."""

    html: Path
    json: Path
    markdown: Path
    latex: Path
    figures: Path
    drawn: tuple[Path, ...]
    ledger: Ledger
    problems: tuple[str, ...]


def write_report(
    studies: Sequence[Study],
    context: Context,
    out: Path,
    full: bool = False,
    formats: Sequence[str] = ("png",),
) -> Report:
    """Check the studies, draw their figures, and write `index.html`, `ledger.json`, `ledger.md`, `ledger.tex`,
    `figures/`, and an errata sheet of every paper that has errata.

    A study of which nothing changed since the last time, neither code nor stored runs, is neither judged nor
    drawn again.
    """
    from ..ledger.ledger import Ledger
    from ..verbs.rows import chosen_claims

    out = Path(out)
    make_out_folder(out, "write the report into")
    wanted = tuple(dict.fromkeys(("png", *formats)))
    # What the code is, before anything runs: it may be edited meanwhile.
    kept = [Kept(study, context, full) for study in studies]
    drawn_into = Files(out / "figures", wanted)
    sections = []
    for number, study in enumerate(studies, 1):
        rows = len(chosen_claims(study))
        context.begin(study.name, number, len(studies), rows, len(study.figures))
        sections.append(gather(study, context, kept[number - 1], drawn_into, full))
    unchecked = {study.name: dict(study.unchecked) for study in studies if study.unchecked}
    ledger = Ledger(tuple(row for section in sections for row in section.rows), unchecked)
    drawings = [drawing for section in sections for drawing in section.drawings]
    files = {
        "index.html": page(sections, datetime.datetime.now(datetime.UTC)),
        "ledger.json": json.dumps(to_json(ledger.to_json()), indent=1, ensure_ascii=True) + "\n",
        "ledger.md": ledger_markdown(ledger),
        "ledger.tex": ledger_latex(ledger),
    }
    for section in sections:
        files |= _errata(section)
    with os_errors_as_store_errors(out, "write the report into", ADVICE_OUT):
        for name, text in files.items():
            write_atomically(out / name, text.encode(errors="backslashreplace"))
    return Report(
        html=out / "index.html",
        json=out / "ledger.json",
        markdown=out / "ledger.md",
        latex=out / "ledger.tex",
        figures=out / "figures",
        drawn=tuple(path for drawing in drawings for path in drawing.files),
        ledger=ledger,
        problems=tuple(
            f"{visible(drawing.study)}: {drawing.problem}"
            for drawing in drawings
            if drawing.problem
        ),
    )


def _errata(section: Section) -> dict[str, str]:
    """The errata sheet of a study in both forms, by file name."""
    from ..verbs.errata import errata_sheet

    sheet = errata_sheet(section.study, section.rows)
    if not len(sheet):
        return {}
    name = safe_name("errata", section.study.name)
    return {f"{name}.md": sheet.to_markdown(), f"{name}.tex": sheet.to_latex()}
