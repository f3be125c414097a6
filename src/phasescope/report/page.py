"""The report as one HTML page that needs no network and no script: findings first, then study by
study.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import __version__
from ..ledger.appearance import SYMBOLS, expected, margin, measured, place, reason, required
from ..ledger.findings import BY_NUMBER, BY_WORD, CALM, about_number, findings
from ..ledger.html import badge, name_of
from ..ledger.markup import Markup, safe_name, tag
from ..ledger.tally import Tally, counts
from .section import Section, between, link, scrolling, study_section

if TYPE_CHECKING:
    from ..ledger.ledger import Row

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


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
        tag("main", _findings(sections, rows), *(study_section(section) for section in sections)),
        tag(
            "footer",
            f"Written by phasescope {__version__}. This file is complete: it loads nothing from elsewhere.",
        ),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _lede(rows: Sequence[Row]) -> Markup:
    surprises = sum(tally.surprises for tally in counts(rows).values())
    claims = len({(row.study, row.claim) for row in rows})
    if surprises == 0:
        verdict = "Every word is the established one."
    elif surprises == 1:
        verdict = "1 word differs from what was established."
    else:
        verdict = f"{surprises} words differ from what was established."
    return tag(
        "p", f"{_count(claims, 'claim')}, {_count(len(rows), 'verdict')}. {verdict}", class_="lede"
    )


def _count(number: int, word: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _summary(sections: Sequence[Section], rows: Sequence[Row]) -> Markup:
    """Counts by word: a line for the paper's statements, one for ours, one for what stands apart."""
    tallies = counts(rows)
    present = {
        word for tally in tallies.values() for found in tally.words.values() for word in found
    }
    words = [word for word in SYMBOLS if word in present]
    heads = ("study", "statements", *(f"{SYMBOLS[w]} {w.replace('_', ' ')}" for w in words))
    lines = []
    for section in sections:
        name = section.study.name
        for group, found in tallies.get(name, Tally()).words.items():
            named = tag("th", tag("a", name, href=f"#{safe_name('study', name)}"), scope="row")
            numbers = [tag("td", str(found.get(word, 0)), class_="number") for word in words]
            lines.append(tag("tr", named, tag("td", group), *numbers, tag("td", _bar(found))))
    top = tag("tr", *(tag("th", head, scope="col") for head in heads), Markup("<td></td>"))
    table = tag("table", tag("thead", top), tag("tbody", *lines), class_="summary")
    links = {"surprises": "Surprises"} | BY_WORD | {"regimes": "What depends on the regime"}
    nav = [tag("a", words, href=f"#{id}") for id, words in (links | BY_NUMBER).items()]
    return scrolling(table, "verdicts by study") + tag("nav", "Findings: ", between(nav))


def _bar(found: Mapping[str, int]) -> Markup:
    """The counts as a bar; the numbers beside it say the same."""
    left = 0.0
    parts = []
    for word, number in found.items():
        wide = 160 * number / max(sum(found.values()), 1)
        parts.append(
            tag(
                "rect",
                x=f"{left:.1f}",
                y=0,
                width=f"{max(wide - 1, 0):.1f}",
                height=10,
                class_=name_of(word),
            )
        )
        left += wide
    return tag(
        "svg", *parts, class_="bar", viewBox="0 0 160 10", width=160, height=10, aria_hidden="true"
    )


def _findings(sections: Sequence[Section], rows: Sequence[Row]) -> Markup:
    found = findings(rows)
    surprises = [_finding(row, _established(row)) for row in found.surprises]
    lists = [_finding_list("surprises", "Surprises", surprises, CALM)]
    for id, title in BY_WORD.items():
        items = [_finding(row, _why(row)) for row in getattr(found, id)]
        lists.append(_finding_list(id, title, items, "Nothing."))
    regime_bound = [_contrast(group) for group in found.regime_bound]
    lists.append(
        _finding_list("regimes", "What holds in some regimes only", regime_bound, "Nothing.")
    )
    for id, title in BY_NUMBER.items():
        items = [_numbered(row, about_number(id, row)) for row in getattr(found, id)]
        lists.append(_finding_list(id, title, items, "Nothing."))
    unchecked = [
        tag("li", f"{section.study.name}, {cites}: {why}")
        for section in sections
        for cites, why in section.study.unchecked.items()
    ]
    title = "Statements of the paper without a row"
    lists.append(_finding_list("unchecked", title, unchecked, "None is listed."))
    return tag("section", tag("h2", "Findings"), *lists, id="findings")


def _established(row: Row) -> str:
    if row.because:
        return f"Established: {expected(row)}, because {row.because}"
    return f"Established: {expected(row)}"


def _why(row: Row) -> str:
    return f"Why: {reason(row)}" if reason(row) else ""


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
    slack = f"; margin {margin(row)}" if margin(row) else ""
    numbers = f"measured: {measured(row)}; required: {required(row)}{where}{slack}"
    return tag(
        "li",
        badge(row),
        " ",
        link(row),
        _source(row, place(row)),
        row.statement,
        tag("p", why, class_="why") if why else None,
        tag("p", numbers, class_="numbers"),
    )


def _numbered(row: Row, number: str) -> Markup:
    return tag("li", badge(row), " ", link(row), _source(row, place(row)), number)


def _contrast(group: Sequence[Row]) -> Markup:
    first = group[0]
    regimes = [
        tag("li", badge(row), f" {place(row)}: {row.because or measured(row)}") for row in group
    ]
    return tag("li", link(first), _source(first), first.statement, tag("ul", *regimes))


def _source(row: Row, *more: str) -> Markup:
    return tag("span", f" {', '.join((row.study, row.cites, *more))}. ", class_="quiet")
