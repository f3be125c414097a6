"""draw: the figures of some studies, as files; the same bytes whenever they are drawn from the same evidence."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from ..claims.requests import Request, Tables
from ..discovery import installed
from ..errors import SpecError, nearest, unknown_to_all
from ..figures.figure import Figure
from ..figures.style import STYLE
from ..files import as_folder, make_out_folder, os_errors_as_store_errors, write_atomically
from ..ledger.markup import safe_name, visible
from ..study import Study, find
from .own_evidence import Own, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from .context import Context
    from .evidence import Evidence

# Without these, every file would carry the date on which it was drawn.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure that was drawn, or the reason why it was not."""

    study: str
    figure: Figure
    files: tuple[Path, ...] = ()
    png: bytes = b""
    problem: str = ""
    caption: str = ""

    @property
    def words(self) -> str:
        """The caption, with the numbers that the drawing found if it was drawn."""
        return self.caption or self.figure.caption


def draw(
    *studies: str | Study,
    figure: str | None = None,
    out: str | Path = "phasescope-figures",
    format: str | Sequence[str] = "png",
    evidence: Own | Sequence[Own] | None = None,
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
    - `evidence`: datasets (of runs, or from `ps.logged`) or requests of your own, of which one figure is
      drawn in place of its own evidence, in the order in which it takes them.
    - `full`: ask for full-size evidence.
    - `store`, `progress`: as for `run`.

    **Returns:** the files. A figure that cannot be drawn is a warning.

    **Raises:** `StudyNotFound` for an unknown study, `NameNotFound` for an unknown figure, `SpecError` for
    an unknown format or if evidence is given and no figure is named.
    """
    from .context import default_context

    chosen = [find(s) for s in (studies or installed())]
    if evidence is not None:
        chosen = [_with_own_evidence(study, figure, evidence) for study in chosen]
    return draw_figures(
        chosen,
        default_context(store, progress),
        as_folder(out, "out"),
        None if figure is None else [figure],
        format,
        full,
    )


def _formats(asked: str | Sequence[str]) -> tuple[str, ...]:
    """The formats that were asked for, each of which a figure can be drawn in."""
    formats: tuple[Any, ...] = tuple(asked) if isinstance(asked, list | tuple) else (asked,)
    for format in formats:
        if not isinstance(format, str):
            raise SpecError(
                f"the format of a figure is a word, such as png, got format={format!r}."
            )
        if format not in METADATA:
            raise SpecError(f'figures cannot be drawn as "{format}". {nearest(format, METADATA)}')
    return formats


def _with_own_evidence(study: Study, figure: str | None, given: Own | Sequence[Own]) -> Study:
    """The study with one figure, drawn of evidence of the caller's."""
    if figure is None:
        raise SpecError("evidence=... is for one figure: name it with figure=...")
    [(_, found)] = _chosen([study], [figure])
    asked = tuple(_as_request(one) for one in listed(given))
    figures = tuple(dataclasses.replace(one, evidence=asked) for one in found)
    return dataclasses.replace(study, figures=figures)


def _as_request(own: Own) -> Request:
    """A dataset as a request that is answered by it."""
    return Tables(lambda: own, ()) if isinstance(own, xr.Dataset) else own


def draw_figures(
    studies: Iterable[Study],
    context: Context,
    out: Path,
    ids: Sequence[str] | None = None,
    formats: str | Sequence[str] = ("png",),
    full: bool = False,
) -> list[Path]:
    """Draw the figures (those of some ids, if given) and return the files. One that cannot be drawn is warned of."""
    from .evidence import Evidence

    paths: list[Path] = []
    formats = _formats(formats)
    chosen = _chosen(list(studies), ids)
    make_out_folder(out, "write figures into")
    for study, figures in chosen:
        with Evidence(study, context, full) as evidence:
            evidence.ask(request for figure in figures for request in figure.evidence)
            for drawing in draw_all(figures, evidence, out, formats):
                paths += drawing.files
                if drawing.problem:
                    warnings.warn(f"{visible(study.name)}: {drawing.problem}", stacklevel=2)
    return paths


def draw_all(
    figures: Sequence[Figure], evidence: Evidence, out: Path, formats: Sequence[str]
) -> Iterator[Drawing]:
    """Each figure in turn; one whose evidence or drawing fails is named and does not stop the rest."""
    from ..engine.precision import exact_numbers

    study = evidence.study.name
    make_out_folder(out, "write figures into")
    with evidence.context.meter(f"{study}: drawing", len(figures)) as tick:
        for figure in figures:
            try:
                found = [evidence.get(request)[0] for request in figure.evidence]
                with exact_numbers():
                    canvas = figure.render(*found)
                images = {
                    format: _image(canvas, format) for format in dict.fromkeys(("png", *formats))
                }
            except Exception as problem:
                why = f"figure {figure.id} could not be drawn: {type(problem).__name__}: {problem}"
                yield Drawing(study, figure, problem=visible(why))
            else:
                files = {
                    format: out / f"{safe_name(study, figure.id)}.{format}"
                    for format in dict.fromkeys(formats)
                }
                for format, path in files.items():
                    with os_errors_as_store_errors(path, "write"):
                        write_atomically(path, images[format])
                caption = str(canvas.get_label())
                yield Drawing(study, figure, tuple(files.values()), images["png"], caption=caption)
            tick(1)


def draw_canvas(canvas: Canvas, out: Path, name: str, formats: Sequence[str]) -> list[Path]:
    """A drawn figure as files `out/name.format`."""
    make_out_folder(out, "write figures into")
    files = []
    for format in dict.fromkeys(formats):
        path = out / f"{safe_name(name)}.{format}"
        with os_errors_as_store_errors(path, "write"):
            write_atomically(path, _image(canvas, format))
        files.append(path)
    return files


def _image(canvas: Canvas, format: str) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    same: Any = {"svg.hashsalt": "phasescope"}
    with (
        mpl.rc_context(STYLE | same),
        _hushed("fontTools"),
    ):  # it remarks on the age of matplotlib's own fonts
        canvas.savefig(buffer, format=format, metadata=METADATA[format])
    return buffer.getvalue()


@contextlib.contextmanager
def _hushed(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _chosen(studies: list[Study], ids: Sequence[str] | None) -> list[tuple[Study, list[Figure]]]:
    """Figures by study. An id that no study knows is an error; one that some of them know is theirs."""
    if ids is None:
        return [(study, list(study.figures)) for study in studies]
    known = {
        name for study in studies for figure in study.figures for name in (figure.id, figure.name)
    }
    for id in ids:
        if not isinstance(id, str):
            raise SpecError(f"the id of a figure is a word, got figure={id!r}.")
        if id not in known:
            raise unknown_to_all("figure", id, known, [study.name for study in studies])
    return [
        (study, [f for f in study.figures if f.id in ids or f.name in ids]) for study in studies
    ]
