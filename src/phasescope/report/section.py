"""One study in the page: the paper, its ledger with the evidence behind every row, its figures, its
runs.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..ledger.appearance import caveats, expected, margin, measured, required
from ..ledger.card import check_line, checks
from ..ledger.html import badge, regime
from ..ledger.markup import Markup, safe_name, tag
from ..ledger.tally import Tally, counts
from ..verbs.draw import Drawing
from .thumbnails import DPI, Plot

if TYPE_CHECKING:
    from ..ledger.ledger import Row
    from ..study import Study

SCREEN = 96 / DPI  # plots are drawn finer than a screen shows them at its usual size


@dataclasses.dataclass(frozen=True)
class Exhibit:
    """One dataset that rows were judged on: what it is, and a plot or a few numbers of it."""

    anchor: str
    label: str
    plot: Plot | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Section:
    """A study in the report; `exhibits` has one entry for each row."""

    study: Study
    rows: tuple[Row, ...]
    exhibits: tuple[tuple[Exhibit, ...], ...]
    drawings: tuple[Drawing, ...]


def study_section(section: Section) -> Markup:
    """Everything about one study."""
    study = section.study
    tally = counts(section.rows).get(study.name, Tally())
    return tag(
        "section",
        tag("h2", study.name),
        tag("p", study.paper, class_="paper") if study.paper else None,
        tag("details", tag("summary", "BibTeX"), tag("pre", study.bibtex))
        if study.bibtex
        else None,
        tag("p", f"{tally}."),
        _plots(section),
        _ledger(section) if section.rows else tag("p", "It makes no claims."),
        _gallery(section),
        _runs(section),
        id=safe_name("study", study.name),
    )


def _ledger(section: Section) -> Markup:
    heads = ("regime", "word", "margin", "measured", "required", "where", "took")
    top = tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads)))
    bodies: dict[str, list[Markup]] = {}
    for row, exhibits in zip(section.rows, section.exhibits, strict=True):
        if row.claim not in bodies:
            told = tag(
                "div",
                tag("code", row.claim),
                tag("span", f" {_cited(row)}", class_="quiet"),
                tag("p", row.statement),
                tag("p", tag("code", row.tex)) if row.tex else None,
            )
            bodies[row.claim] = [
                tag("tr", tag("th", told, colspan=len(heads), scope="rowgroup"), class_="claim")
            ]
        seconds = f"{row.seconds:.3g} s"
        cells = (
            regime(row),
            badge(row),
            margin(row),
            measured(row),
            required(row),
            row.where,
            seconds,
        )
        bodies[row.claim].append(tag("tr", *(tag("td", cell) for cell in cells), id=_anchor(row)))
        bodies[row.claim].append(
            tag("tr", tag("td", _details(row, exhibits), colspan=len(heads)), class_="more")
        )
    table = tag("table", top, *(tag("tbody", *lines) for lines in bodies.values()), class_="ledger")
    return scrolling(table, f"ledger of {section.study.name}")


def _details(row: Row, exhibits: Iterable[Exhibit]) -> Markup:
    runs = [tag("a", tag("code", id), href=f"#{safe_name('run', id)}") for id in row.runs]
    facts = (
        ("expected", f"{expected(row)}, because {row.because}" if row.because else expected(row)),
        ("deciding number", None if row.value is None else f"{row.value:.6g}"),
        ("missing", row.missing or None),
        ("checks", _checks(row)),
        ("evidence", "; ".join(note.sentence for note in caveats(row)) or None),
        ("runs", between(runs) if runs else None),
    )
    listed = [tag("dt", name) + tag("dd", fact) for name, fact in facts if fact is not None]
    return tag(
        "details",
        tag("summary", "numbers and evidence"),
        tag("dl", *listed),
        *(_shown(e, row) for e in exhibits),
    )


def _checks(row: Row) -> Markup | None:
    lines = [tag("li", check_line(part)) for part in checks(row)]
    return tag("ul", *lines, class_="checks") if lines else None


def _shown(exhibit: Exhibit, row: Row) -> Markup:
    """The plot, which the page holds once however many rows point at it, with the worst case of
    this row marked in it.
    """
    if exhibit.plot is None:
        return tag("figure", _caption(exhibit.label, exhibit.note))
    wide, high = exhibit.plot.size
    marks = [
        tag(
            "line",
            tag("title", row.where),
            x1=x,
            x2=x,
            y1=panel.box[1],
            y2=panel.box[3],
            class_="mark",
        )
        for panel in exhibit.plot.panels
        if (x := panel.mark(row.at)) is not None
    ]
    size = {
        "viewBox": f"0 0 {wide} {high}",
        "width": round(wide * SCREEN),
        "height": round(high * SCREEN),
    }
    names = {"class": "plot", "role": "img", "aria-label": exhibit.plot.says}
    picture = tag("svg", tag("use", href=f"#{exhibit.anchor}"), *marks, **names, **size)
    caption = _caption(exhibit.label, exhibit.note, f"dashed: {row.where}" if marks else "")
    return tag("figure", scrolling(picture, exhibit.plot.says), caption)


def _caption(label: str, *notes: str) -> Markup:
    told = "; ".join(filter(None, notes))
    return tag("figcaption", label, Markup("<br>") + told if told else None)


def _plots(section: Section) -> Markup:
    distinct = {
        e.anchor: e.plot for exhibits in section.exhibits for e in exhibits if e.plot is not None
    }
    images = [
        tag("image", id=anchor, width=plot.size[0], height=plot.size[1], href=_inline(plot.png))
        for anchor, plot in distinct.items()
    ]
    return tag("svg", tag("defs", *images), class_="held", width=0, height=0, aria_hidden="true")


def _gallery(section: Section) -> Markup | None:
    if not section.drawings:
        return None
    shown = []
    for drawing in section.drawings:
        figure = drawing.figure
        id = safe_name("figure", section.study.name, figure.id)
        caption = tag(
            "figcaption", tag("b", figure.cites), f" {figure.caption} ", tag("code", figure.id)
        )
        if drawing.problem:
            shown.append(
                tag("figure", tag("p", f"! {drawing.problem}", class_="surprise"), caption, id=id)
            )
        else:
            alt = f"{figure.cites}: {figure.caption}"
            width = round(figure.size[0] * 96)
            picture = tag("img", src=_inline(drawing.png), alt=alt, width=width)
            shown.append(tag("figure", picture, caption, id=id))
    return tag("h3", "Figures") + tag("div", *shown, class_="gallery")


def _runs(section: Section) -> Markup | None:
    users: dict[str, list[Markup]] = {}
    for row in section.rows:
        for id in row.runs:
            users.setdefault(id, []).append(link(row))
    if not users:
        return None
    items = [
        tag("li", tag("code", id), ": ", between(links), id=safe_name("run", id))
        for id, links in users.items()
    ]
    heading = tag("summary", f"Runs ({len(users)}) and the claims that rest on them")
    return tag("details", heading, tag("ul", *items, class_="runs"))


def link(row: Row) -> Markup:
    return tag("a", tag("code", row.claim), href=f"#{_anchor(row)}")


def _anchor(row: Row) -> str:
    held_against = [row.on] if row.on else []
    return safe_name("row", row.study, row.claim, *held_against, row.regime)


def _cited(row: Row) -> str:
    """Citation, page, kind and whose statement it is."""
    return ", ".join(filter(None, (row.cites, row.page, row.kind, row.whose)))


def scrolling(inner: Markup, label: str) -> Markup:
    return tag("div", inner, class_="scrolling", role="region", aria_label=label, tabindex=0)


def between(parts: Iterable[Markup]) -> Markup:
    return Markup(", ".join(parts))


def _inline(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
