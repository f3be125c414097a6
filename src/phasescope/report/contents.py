"""Contents, the counts by word, and the filter of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..ledger.appearance import SYMBOLS, key
from ..ledger.html import name_of
from ..ledger.markup import Markup, join, safe_name, tag
from ..ledger.tally import Tally, counts
from .anchors import scrolling
from .gather import Section

if TYPE_CHECKING:
    from ..ledger.ledger import Row

PLACES = {
    "findings": "What to look at first",
    "rows": "All rows",
    "figures": "Figures",
    "vocabulary": "Vocabulary",
    "papers": "Papers",
    "runs": "Runs",
    "made": "How this was made",
}


def contents(sections: Sequence[Section]) -> Markup:
    """Where everything is."""
    studies = [
        tag("a", section.study.name, href=f"#{safe_name('study', section.study.name)}")
        for section in sections
    ]
    places = [tag("a", name, href=f"#{id}") for id, name in PLACES.items()]
    return tag("nav", *(tag("span", one) for one in (*studies, *places)), aria_label="Contents")


def summary(sections: Sequence[Section], rows: Sequence[Row]) -> Markup:
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
    return scrolling(table, "rows by study and word")


def _bar(found: Mapping[str, int]) -> Markup:
    """The counts as a bar; the numbers beside it say the same."""
    left = 0.0
    parts = []
    for word, number in found.items():
        wide = 160 * number / max(sum(found.values()), 1)
        size = {"x": f"{left:.1f}", "y": 0, "width": f"{max(wide - 1, 0):.1f}", "height": 10}
        parts.append(tag("rect", **size, class_=name_of(word)))
        left += wide
    return tag(
        "svg", *parts, class_="bar", viewBox="0 0 160 10", width=160, height=10, aria_hidden="true"
    )


def row_filter(rows: Sequence[Row]) -> Markup:
    """Controls that choose and order the rows; the script shows them, for without it they do nothing."""
    present = {key(row) for row in rows}
    choices = {
        "study": list(dict.fromkeys(row.study for row in rows)),
        "word": [word for word in SYMBOLS if word in present],
        "kind": sorted({str(row.kind or "untyped") for row in rows}),
        "whose": sorted({str(row.whose or "untyped") for row in rows}),
        "regime": list(dict.fromkeys(str(row.regime) for row in rows)),
    }
    text = tag(
        "input",
        type="search",
        name_="text",
        placeholder="search   /",
        aria_label="search in rows",
        autocomplete="off",
        spellcheck="false",
    )
    order = tag(
        "select",
        tag("option", "in the paper's order", value="paper"),
        tag("option", "smallest margin first", value="smallest"),
        tag("option", "largest margin first", value="largest"),
        tag("option", "nearest to turning first", value="nearest"),
        name_="order",
    )
    controls = [_select(name, values) for name, values in choices.items()]
    return tag(
        "form",
        text,
        *controls,
        tag("label", "order ", order),
        tag("button", "clear", type="reset"),
        tag("output", f"{len(rows)} rows", aria_live="polite"),
        id="filter",
        hidden=True,
    )


def _select(name: str, values: Sequence[str]) -> Markup:
    options = [tag("option", "all", value="")]
    options += [tag("option", _plain(value), value=value) for value in values]
    return tag("label", f"{name} ", tag("select", *options, name_=name))


def _plain(value: str) -> str:
    symbol = SYMBOLS.get(value, "")
    return join([f"{symbol} {value.replace('_', ' ')}".strip()])
