"""The report as one HTML page that needs no network: studies and their headlines, then rows, then the rest.

Everything can be read without the script, which only chooses and orders rows.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import importlib.resources
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ledger.markup import Markup, safe_name, tag
from . import closing
from .contents import contents, row_filter, summary
from .first_looks import first_looks
from .front import opening, study_card
from .gather import Section
from .row import row_html

if TYPE_CHECKING:
    from ..ledger.ledger import Row


def page(sections: Sequence[Section], now: datetime.datetime) -> str:
    """The whole report."""
    rows = [row for section in sections for row in section.rows]
    title = "Verdict ledger" if len(sections) != 1 else f"Verdict ledger: {sections[0].study.name}"
    style = asset("page.css")
    script = asset("report.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        tag("title", title),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        opening(title, rows, len(sections)),
        contents(sections),
        tag(
            "main",
            *(study_card(section) for section in sections),
            tag("section", tag("h2", "Rows by word"), summary(sections, rows), id="summary"),
            first_looks(sections, rows),
            _rows(sections, rows),
            closing.figures(sections),
            closing.vocabulary(),
            closing.papers(sections),
            closing.runs(sections),
        ),
        closing.made(now, page),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _rows(sections: Sequence[Section], rows: Sequence[Row]) -> Markup:
    """All rows, study by study, under the filter."""
    listed: list[Markup] = []
    for section in sections:
        listed.append(tag("h3", section.study.name, id=safe_name("rows", section.study.name)))
        if not section.rows:
            listed.append(tag("p", "It makes no claims."))
        for row, evidence in zip(section.rows, section.evidence, strict=True):
            listed.append(row_html(row, evidence, len(listed)))
    told = "Open a row for its statement, its checks with a plot of what was compared, and its evidence."
    return tag(
        "section",
        tag("h2", "All rows"),
        tag("p", told, class_="quiet"),
        row_filter(rows),
        tag("div", *listed, class_="rows"),
        id="rows",
    )


def asset(name: str) -> str:
    """A file of this package: the style sheet, the script."""
    return importlib.resources.files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """What the page may do: show pictures that it holds, use this style sheet, run this script."""
    allowed = {"style-src": _hash(style), "script-src": _hash(script), "img-src": "data:"}
    rules = [f"{what} {which}" for what, which in allowed.items()]
    return "; ".join(["default-src 'none'", *rules, "base-uri 'none'", "form-action 'none'"])


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
