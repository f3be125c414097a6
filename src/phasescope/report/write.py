"""write_report: check, draw, and put it all into one folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..claims.requests import Recorded, Request, Runs, Sweeps, Tables
from ..files import (
    ADVICE_OUT,
    make_out_folder,
    os_errors_as_store_errors,
    to_json,
    write_atomically,
)
from ..ledger.markdown import ledger_markdown
from ..ledger.markup import safe_name, visible
from ..verbs.draw import draw_all
from .page import page
from .section import Exhibit, Section
from .thumbnails import plot, scalars

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..study import Study
    from ..verbs.context import Context
    from ..verbs.evidence import Evidence, Plain


@dataclasses.dataclass(frozen=True)
class Report:
    """The files written, and the ledger that they show."""

    html: Path
    json: Path
    markdown: Path
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
    """Check the studies, draw their figures, and write `index.html`, `ledger.json`, `ledger.md`,
    `figures/`, and an errata sheet of every paper that has errata.
    """
    from ..ledger.ledger import Ledger
    from ..verbs.check import chosen_claims

    out = Path(out)
    make_out_folder(out, "write the report into")
    wanted = tuple(dict.fromkeys(("png", *formats)))
    sections = []
    for number, study in enumerate(studies, 1):
        rows = len(chosen_claims(study))
        context.begin(study.name, number, len(studies), rows, len(study.figures))
        sections.append(_section(study, context, out / "figures", full, wanted))
    unchecked = {study.name: dict(study.unchecked) for study in studies if study.unchecked}
    ledger = Ledger(tuple(row for section in sections for row in section.rows), unchecked)
    drawings = [drawing for section in sections for drawing in section.drawings]
    files = {
        "index.html": page(sections),
        "ledger.json": json.dumps(to_json(ledger.to_json()), indent=1, ensure_ascii=True) + "\n",
        "ledger.md": ledger_markdown(ledger),
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


def _section(
    study: Study, context: Context, out: Path, full: bool, formats: Sequence[str]
) -> Section:
    """One study. Verdicts, plots and figures are made of the same evidence, which is obtained once."""
    from ..verbs.check import chosen_claims, judge_all
    from ..verbs.evidence import Evidence

    wanted = chosen_claims(study)
    rows = []
    exhibits = []
    plotted: dict[Request, Exhibit] = {}
    with Evidence(study, context, full) as evidence:
        evidence.ask(request for one in wanted for request in one.regime.evidence)
        evidence.ask(request for figure in study.figures for request in figure.evidence)
        for one, row in zip(wanted, judge_all(wanted, evidence), strict=True):
            rows.append(row)
            requests = dict.fromkeys(one.regime.evidence)
            exhibits.append(tuple(_exhibit(request, evidence, plotted) for request in requests))
        drawings = tuple(draw_all(study.figures, evidence, out, formats))
        return Section(study, tuple(rows), tuple(exhibits), drawings)


def _exhibit(request: Request, evidence: Evidence, seen: dict[Request, Exhibit]) -> Exhibit:
    """What a row was judged on, plotted once for all rows that share it."""
    asked = evidence.at_size(request)
    if asked not in seen:
        seen[asked] = _exhibited(
            asked, evidence, safe_name("plot", evidence.study.name, str(len(seen)))
        )
    return seen[asked]


def _exhibited(request: Plain, evidence: Evidence, anchor: str) -> Exhibit:
    label = describe(request)
    try:
        found = evidence.get(request)[0]
    except Exception as problem:
        return Exhibit(
            anchor, label, note=f"could not be obtained: {type(problem).__name__}: {problem}"
        )
    notes = [f"{name} = {value:.6g}" for name, value in scalars(found).items()]
    try:
        picture = plot(found)
    except Exception as problem:
        return Exhibit(
            anchor, label, note=f"could not be plotted: {type(problem).__name__}: {problem}"
        )
    if picture is not None and len(picture.stages) > 1:
        notes.append(f"shaded: {', then '.join(picture.stages)}")
    return Exhibit(anchor, label, picture, "; ".join(notes))


def describe(request: Plain) -> str:
    """A request for evidence in one line: `symmetric, lam = 10, figure_2, seed 0`."""
    if isinstance(request, Recorded):
        return f"recorded {describe(request.request)}"
    if isinstance(request, Tables):
        return ", ".join(
            [
                f"table {request.function.__name__}",
                *(f"{k} = {_short(v)}" for k, v in request.arguments),
            ]
        )
    words = [f"preset {request.preset}"] if request.preset else []
    words += [f"{k} = {_short(v)}" for k, v in request.changes]
    if isinstance(request, Runs):
        words = [f"run of {request.arm.__name__}", *words, f"seed {request.seed}"]
    else:
        axes = " and ".join(_axes(request))
        words = [f"sweep of {request.arm.__name__} over {axes or 'seeds'}", *words]
        if request.seeds > 1:
            words.append(f"{request.seeds} seeds")
    if request.at:
        words.append(f"at {_short(request.at)}")
    return ", ".join(words)


def _axes(request: Sweeps) -> list[str]:
    """The axes of a sweep in words; fields that move together are one axis."""
    values = {name: f"{name} = {_short(given)}" for name, given in request.axes}
    tied = [" with ".join(values.pop(name) for name in names) for names in request.ties]
    return [*tied, *values.values()]


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        words = [_short(v) for v in value]
        if len(words) > 6:
            words = [*words[:3], "...", words[-1]]
        return ", ".join(words)
    return f"{value:g}" if isinstance(value, float) else str(value)
