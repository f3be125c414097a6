"""The report as one HTML page that needs no network and no script: findings first, then study by
study.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import __version__
from ..ledger.findings import Tally, counts, findings, is_vacuous
from ..ledger.html import outcome
from ..ledger.markup import Markup, safe_name, tag
from .section import Section, between, link, scrolling, study_section

if TYPE_CHECKING:
    from ..ledger.ledger import Row

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
KINDS = ("holds", "fails", "undecided", "surprises")


def page(sections: Sequence[Section]) -> str:
    """The whole report."""
    rows = [row for section in sections for row in section.rows]
    title = "Verdict ledger" if len(sections) != 1 else f"Verdict ledger: {sections[0].study.name}"
    css = (
        importlib.resources.files(__package__ or "")
        .joinpath("page.css")
        .read_text(encoding="utf-8")
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        tag("title", title),
        tag("style", Markup(css)),
    )
    body = tag(
        "body",
        tag("header", tag("h1", title), _lede(rows), _summary(sections, rows)),
        tag("main", _findings(rows), *(study_section(section) for section in sections)),
        tag(
            "footer",
            f"Written by phasescope {__version__}. This file is complete: it loads nothing from elsewhere.",
        ),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _lede(rows: Sequence[Row]) -> Markup:
    total = sum(counts(rows).values(), Tally())
    claims = len({(row.study, row.claim) for row in rows})
    if total.surprises == 0:
        verdict = "Every outcome is the established one."
    elif total.surprises == 1:
        verdict = "1 outcome differs from what was established."
    else:
        verdict = f"{total.surprises} outcomes differ from what was established."
    return tag(
        "p", f"{_count(claims, 'claim')}, {_count(len(rows), 'verdict')}. {verdict}", class_="lede"
    )


def _count(number: int, word: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _summary(sections: Sequence[Section], rows: Sequence[Row]) -> Markup:
    tallies = counts(rows)
    heads = ("study", "hold", "fail as expected", "undecided as expected", "surprises")
    lines = []
    for section in sections:
        name = section.study.name
        tally = tallies.get(name, Tally())
        numbers = [tag("td", str(getattr(tally, kind)), class_="number") for kind in KINDS]
        named = tag("th", tag("a", name, href=f"#{safe_name('study', name)}"), scope="row")
        lines.append(tag("tr", named, *numbers, tag("td", _bar(tally))))
    top = tag("tr", *(tag("th", head, scope="col") for head in heads), Markup("<td></td>"))
    table = tag("table", tag("thead", top), tag("tbody", *lines), class_="summary")
    links = (
        ("surprises", "surprises"),
        ("failures", "what fails"),
        ("regimes", "what depends on the regime"),
    )
    nav = [
        tag("a", words, href=f"#{id}") for id, words in (*links, ("undecided", "what is undecided"))
    ]
    return scrolling(table, "verdicts by study") + tag("nav", "Findings: ", between(nav))


def _bar(tally: Tally) -> Markup:
    """The tally as a bar; the numbers beside it say the same."""
    left = 0.0
    parts = []
    for kind in KINDS:
        wide = 160 * getattr(tally, kind) / max(tally.total, 1)
        parts.append(
            tag(
                "rect",
                x=f"{left:.1f}",
                y=0,
                width=f"{max(wide - 1, 0):.1f}",
                height=10,
                class_=kind,
            )
        )
        left += wide
    return tag(
        "svg", *parts, class_="bar", viewBox="0 0 160 10", width=160, height=10, aria_hidden="true"
    )


def _findings(rows: Sequence[Row]) -> Markup:
    found = findings(rows)
    calm = "None: every outcome is the established one."
    surprises = [_finding(row, _established(row)) for row in found.surprises]
    failures = [_finding(row, _why(row)) for row in found.failures]
    regime_bound = [_contrast(group) for group in found.regime_bound]
    undecided = [_finding(row, _why(row)) for row in found.undecided]
    return tag(
        "section",
        tag("h2", "Findings"),
        _finding_list("surprises", "Surprises", surprises, calm),
        _finding_list("failures", "What fails, as established", failures, "Nothing."),
        _finding_list("regimes", "What holds in some regimes only", regime_bound, "Nothing."),
        _finding_list("undecided", "Undecided or vacuous", undecided, "Nothing."),
        id="findings",
    )


def _established(row: Row) -> str:
    if row.because:
        return f"Established: {row.expected}, because {row.because}"
    return f"Established: {row.expected}"


def _why(row: Row) -> str:
    if row.because:
        return f"Why: {row.because}"
    if is_vacuous(row):
        return "Holds, but vacuously."
    return ""


def _finding_list(id: str, name: str, items: Sequence[Markup], empty: str) -> Markup:
    """A heading with the number of items, and the items.

    `empty` says what to say if there are none.
    """
    if not items:
        return tag("h3", name, id=id) + tag("p", empty, class_="quiet")
    number = Markup(" ") + tag("small", str(len(items)))
    return tag("h3", name, number, id=id) + tag("ul", *items, class_="findings")


def _finding(row: Row, why: str) -> Markup:
    where = f", at {row.where}" if row.where else ""
    return tag(
        "li",
        outcome(row),
        " ",
        link(row),
        _source(row, row.regime),
        row.statement,
        tag("p", why, class_="why") if why else None,
        tag("p", f"measured: {row.measured}; required: {row.required}{where}", class_="numbers"),
    )


def _contrast(group: Sequence[Row]) -> Markup:
    first = group[0]
    regimes = [
        tag("li", outcome(row), f" {row.regime}: {row.because or row.measured}") for row in group
    ]
    return tag("li", link(first), _source(first), first.statement, tag("ul", *regimes))


def _source(row: Row, *more: str) -> Markup:
    return tag("span", f" {', '.join((row.study, row.cites, *more))}. ", class_="quiet")
