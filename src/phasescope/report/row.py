"""One row in the page: a line, which opens to the statement, every check with its plot, and the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..analysis.verdict import Verdict
from ..ledger.appearance import (
    SYMBOLS,
    caveats,
    expected,
    key,
    margin,
    measured,
    number,
    place,
    required,
)
from ..ledger.card import checks
from ..ledger.html import badge, name_of
from ..ledger.markup import Markup, join, safe_name, tag
from .anchors import anchor, between, command, scrolling
from .mathematics import formula
from .plot import plot

if TYPE_CHECKING:
    from ..analysis.sources import Source
    from ..claims.assumptions import Met
    from ..ledger.ledger import Row

# Of a row with many checks so many are shown, those that are nearest to the limit first; and so many are drawn.
SHOWN = 60
DRAWN = 4
RUNS = 8


def row_html(row: Row, evidence: Sequence[str], position: int) -> Markup:
    """A row that opens; its facts stand in attributes, for the filter."""
    facts = {
        "data-study": row.study,
        "data-word": key(row),
        "data-kind": str(row.kind or "untyped"),
        "data-whose": str(row.whose or "untyped"),
        "data-regime": str(row.regime),
        "data-on": str(row.on or ""),
        "data-margin": "" if row.margin is None else f"{row.margin:.6g}",
        "data-at": position,
    }
    inner = tag("div", *_opened(row, evidence), class_="opened")
    return tag("details", _line(row), inner, class_="row", id=anchor(row), **facts)


def _line(row: Row) -> Markup:
    slack = margin(row)
    return tag(
        "summary",
        tag("span", badge(row), class_="is"),
        tag(
            "span",
            tag("code", row.claim),
            " ",
            tag("span", row.cites, class_="quiet"),
            class_="who",
        ),
        tag("span", row.statement, class_="says"),
        tag("span", tag("span", f"{row.study}: ", class_="of"), place(row), class_="where quiet"),
        tag("span", f"margin {slack}" if slack else "", class_="slack quiet"),
    )


def _opened(row: Row, evidence: Sequence[str]) -> Iterable[Markup]:
    yield tag("p", row.statement, class_="statement")
    if row.tex:
        told = formula(row.tex, display=True)
        yield tag("div", scrolling(told, "formula"), class_="formula")
    yield _listed(_facts(row))
    yield from _checks(row)
    yield _listed(_basis(row, evidence))


def _listed(facts: Iterable[tuple[str, Markup | str]]) -> Markup:
    return tag("dl", *(tag("dt", name) + tag("dd", fact) for name, fact in facts))


def _facts(row: Row) -> Iterable[tuple[str, Markup | str]]:
    """What the word is, why, and how far it is from turning."""
    word = f" {row.word.meaning}" if row.word is not None else ""
    yield "word", join([badge(row), word])
    if row.surprising:
        yield "expected", expected(row)
    if row.because:
        yield "why", row.because
    if row.missing:
        yield "missing", row.missing
    if row.answer is not None:
        yield "the authors", str(row.answer)
    if not checks(row):
        yield "measured", measured(row)
        yield "required", required(row)
    if row.where:
        yield "worst at", row.where
    if row.margin is not None:
        turned = (
            f"; a factor of {row.flips_at:.3g} on the tolerance turns it" if row.flips_at else ""
        )
        yield "margin", f"{number(row.margin)}{turned}"


def _assumption(met: Met) -> str:
    how = "met" if met.met else "broken"
    ratio = f"; the ratio that must be at least 1 is {met.low:.3g}" if met.low is not None else ""
    if met.free:
        how = "the paper leaves its constant free"
    return f"{met.name} ({met.scope}): {how}{ratio}"


def _basis(row: Row, evidence: Sequence[str]) -> Iterable[tuple[str, Markup | str]]:
    """What sort of statement it is, what the row rests on, and how to make it again."""
    about = (row.study, row.cites, row.page, row.kind, row.whose)
    yield "statement", ", ".join(dict.fromkeys(str(part) for part in about if part))
    if row.erratum:
        yield "erratum", row.erratum
    if row.assumptions:
        broken = sum(not met.met and not met.free for met in row.assumptions)
        told = f"{len(row.assumptions)} assumptions, {broken or 'none'} of them broken"
        listed = tag("ul", *(tag("li", _assumption(met)) for met in row.assumptions))
        yield "assumes", tag("details", tag("summary", told), listed)
    if row.sources:
        yield "bounds", tag("ul", *(tag("li", _bound(source)) for source in row.sources))
    if evidence:
        yield "evidence", tag("ul", *(tag("li", label) for label in evidence))
    notes = "; ".join(note.sentence for note in caveats(row))
    if notes:
        yield "note", notes
    if row.asked:
        yield "compared", f"{row.compared} of {row.asked} records"
    if row.runs:
        yield "runs", _runs(row.runs)
    yield "reproduce", tag("code", command(row), class_="command")


def _bound(source: Source) -> str:
    of = "" if math.isnan(source.number) else f"{source.number:g} "
    return f"{of}{source.kind}: {source.text or 'without a reason'}"


def _runs(runs: Sequence[str]) -> Markup:
    links = [tag("a", tag("code", id), href=f"#{safe_name('run', id)}") for id in runs[:RUNS]]
    if len(runs) > RUNS:
        links.append(join([f"and {len(runs) - RUNS} more"]))
    return between(links)


def _checks(row: Row) -> Iterable[Markup]:
    """Every check with number, bound, margin and plot; of many, those nearest to the limit."""
    found = checks(row)
    if not found or row.verdict is None:
        return
    ranked = sorted(found, key=lambda part: _rank(part, row))
    shown = found if len(found) <= SHOWN else ranked[:SHOWN]
    drawn = {id(part) for part in ranked[:DRAWN]}
    whole = plot(row.verdict.trace) if row.verdict.parts else None
    if whole is not None:
        yield whole
    heads = ("", "check", "measured", "required", "margin")
    top = tag("tr", *(tag("th", head, scope="col") for head in heads))
    lines = [_check(part, id(part) in drawn, len(heads)) for part in shown]
    table = tag("table", tag("thead", top), *lines, class_="checks")
    yield scrolling(table, f"checks of {row.claim}")
    if len(found) > len(shown):
        told = f"The {len(shown)} of {len(found)} checks that are nearest to their limit; "
        yield tag("p", told, tag("code", command(row)), " shows all.", class_="quiet")


def _rank(part: Verdict, row: Row) -> tuple[bool, bool, float]:
    """Checks that decide first, then those nearest to their limit; guards last."""
    nearness = math.inf if part.margin is None else part.margin
    return part.outcome != row.outcome, part.is_guard, nearness


def _check(part: Verdict, drawn: bool, columns: int) -> Markup:
    word = tag("b", SYMBOLS[part.outcome], title=str(part.outcome), class_=name_of(part.outcome))
    name = f"{part.check or 'check'} (guard)" if part.is_guard else part.check or "check"
    where = f", at {part.where}" if part.where else ""
    cells = (word, name, f"{part.measured}{where}", part.required, number(part.margin))
    line = tag("tr", *(tag("td", cell) for cell in cells))
    picture = plot(part.trace) if drawn else None
    if picture is not None:
        line += tag("tr", tag("td", picture, colspan=columns), class_="drawn")
    return tag("tbody", line)
