"""A study as the report needs it: judged and drawn, or found again where nothing changed since the last time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..claims.requests import Maps
from ..errors import PhasescopeError, SpecError, nearest
from ..files import make_folders, os_errors_as_store_errors, write_atomically
from ..ledger.markup import safe_name
from ..logs.origin import is_log
from ..verbs.draw import METADATA, Drawing, draw_all
from ..verbs.errata import page_of
from .evidence import describe
from .kept import Kept, Made, figure_digest
from .kept_maps import KeptMaps
from .prose import About, about

if TYPE_CHECKING:
    from ..claims.requests import Request
    from ..figures.figure import Figure
    from ..ledger.ledger import Row
    from ..study import Study
    from ..verbs.context import Context
    from ..verbs.evidence import Evidence


@dataclasses.dataclass(frozen=True)
class Files:
    """Where figures are written, and as what."""

    folder: Path
    formats: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Section:
    """A study in the report: its rows, in words what each rests on, its figures, and what its README.md says."""

    study: Study
    rows: tuple[Row, ...]
    evidence: tuple[tuple[str, ...], ...]
    drawings: tuple[Drawing, ...]
    about: About

    @property
    def cover(self) -> Drawing | None:
        """The picture that stands for the study: the first of its figures that could be drawn."""
        return next((drawing for drawing in self.drawings if drawing.png), None)


def gather(study: Study, context: Context, kept: Kept, files: Files, full: bool) -> Section:
    """The section of a study; its figures are written."""
    for format in files.formats:
        if format not in METADATA:
            raise SpecError(f'figures cannot be drawn as "{format}". {nearest(format, METADATA)}')
    found = _found_again(study, kept, files)
    rows, evidence, drawings = found or _made(study, context, kept, files, full)
    return Section(
        study, rows, evidence, drawings, about(page_of(study), study.paper, study.bibtex)
    )


CAPTION = "caption"  # kept beside the images of a figure

Parts = tuple[tuple["Row", ...], tuple[tuple[str, ...], ...], tuple[Drawing, ...]]


def _found_again(study: Study, kept: Kept, files: Files) -> Parts | None:
    """Everything as it was the last time; None if something changed or is not there."""
    made = kept.made()
    if made is None or set(made.figures) != {figure.id for figure in study.figures}:
        return None
    drawings = []
    for figure in study.figures:
        drawing = _drawn_before(figure, study, made.figures[figure.id], kept, files)
        if drawing is None:
            return None
        drawings.append(drawing)
    return made.rows, made.evidence, tuple(drawings)


def _made(study: Study, context: Context, kept: Kept, files: Files, full: bool) -> Parts:
    """Verdicts and figures of the same evidence, which is obtained once."""
    from ..verbs.evidence import Evidence
    from ..verbs.judge import judge_all
    from ..verbs.rows import chosen_claims

    wanted = chosen_claims(study)
    with Evidence(study, context, full) as evidence:
        evidence.ask(request for one in wanted for request in one.regime.evidence)
        evidence.ask(request for figure in study.figures for request in figure.evidence)
        rows = tuple(judge_all(wanted, evidence))
        labels = tuple(_labels(one.regime.evidence, evidence) for one in wanted)
        digests = {figure.id: _digest(figure, evidence) for figure in study.figures}
        _keep_maps(study, context, evidence)
        logs = any(row.logs for row in rows) or _draws_logs(study, evidence)
        drawings = _drawings(study, evidence, digests, kept, files)
    if not any(drawing.problem for drawing in drawings) and not logs:
        kept.keep(Made(rows, labels, digests))
    return rows, labels, drawings


def _keep_maps(study: Study, context: Context, evidence: Evidence) -> None:
    """Keep the maps of figures, which the page shows beside those that were asked for."""
    if context.store is None:
        return
    kept = KeptMaps(context.store.root)
    for request in dict.fromkeys(r for figure in study.figures for r in figure.evidence):
        if isinstance(request, Maps):
            with contextlib.suppress(
                PhasescopeError
            ):  # evidence that is not there: the drawing says why
                kept.keep(evidence.get(request)[0], study)


def _labels(requests: Sequence[Request], evidence: Evidence) -> tuple[str, ...]:
    return tuple(dict.fromkeys(describe(evidence.at_size(request)) for request in requests))


def _draws_logs(study: Study, evidence: Evidence) -> bool:
    """Whether a figure rests on a log, which may be another file the next time."""
    for figure in study.figures:
        for request in figure.evidence:
            with contextlib.suppress(Exception):  # evidence that is not there: the drawing says why
                if any(map(is_log, evidence.get(request)[1])):
                    return True
    return False


def _digest(figure: Figure, evidence: Evidence) -> str:
    try:
        return figure_digest(figure, [evidence.get(request)[0] for request in figure.evidence])
    except Exception:  # evidence that is not there: the drawing says why
        return ""


def _drawings(
    study: Study,
    evidence: Evidence,
    digests: dict[str, str],
    kept: Kept,
    files: Files,
) -> tuple[Drawing, ...]:
    """The figures, of which only those are drawn whose function or evidence changed."""
    found = {
        figure.id: _drawn_before(figure, study, digests[figure.id], kept, files)
        for figure in study.figures
    }
    missing = [figure for figure in study.figures if found[figure.id] is None]
    for drawing in draw_all(missing, evidence, files.folder, files.formats):
        found[drawing.figure.id] = drawing
        if not drawing.problem:
            for format, file in zip(files.formats, drawing.files, strict=True):
                kept.keep_image(digests[drawing.figure.id], format, file.read_bytes())
            kept.keep_image(digests[drawing.figure.id], CAPTION, drawing.caption.encode())
    return tuple(drawing for drawing in found.values() if drawing is not None)


def _drawn_before(
    figure: Figure, study: Study, digest: str, kept: Kept, files: Files
) -> Drawing | None:
    """A figure of the last time in all formats, written once more."""
    images = {format: kept.image(digest, format) for format in files.formats} if digest else {}
    caption = kept.image(digest, CAPTION)
    if not images or caption is None or any(image is None for image in images.values()):
        return None
    written = []
    with os_errors_as_store_errors(files.folder, "write figures into"):
        make_folders(files.folder)
        for format, image in images.items():
            path = files.folder / f"{safe_name(study.name, figure.id)}.{format}"
            write_atomically(path, image or b"")
            written.append(path)
    png = images["png"] or b""
    return Drawing(study.name, figure, tuple(written), png, caption=caption.decode())
