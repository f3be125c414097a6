"""What a reader should look at first: surprises, then rows by word, and what hangs on a number that was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ledger.appearance import expected, measured, place, reason
from ..ledger.findings import BY_NUMBER, BY_WORD, CALM, about_number, findings
from ..ledger.html import badge
from ..ledger.markup import Markup, tag
from .anchors import link
from .gather import Section

if TYPE_CHECKING:
    from ..ledger.ledger import Row


def first_looks(sections: Sequence[Section], rows: Sequence[Row]) -> Markup:
    """Lists that open; surprises are open already."""
    found = findings(rows)
    surprises = [_item(row, _established(row)) for row in found.surprises]
    lists = [_list("surprises", "Surprises", surprises, CALM, is_open=True)]
    for id, title in BY_WORD.items():
        items = [_item(row, _why(row)) for row in getattr(found, id)]
        lists.append(_list(id, title, items))
    contrasts = [_contrast(group) for group in found.regime_bound]
    lists.append(_list("regimes", "What holds in some regimes only", contrasts))
    for id, title in BY_NUMBER.items():
        items = [_item(row, about_number(id, row)) for row in getattr(found, id)]
        lists.append(_list(id, title, items))
    unchecked = [
        tag("li", f"{section.study.name}, {cites}: {why}")
        for section in sections
        for cites, why in section.study.unchecked.items()
    ]
    lists.append(_list("unchecked", "Statements of the paper without a row", unchecked))
    return tag("section", tag("h2", "What to look at first"), *lists, id="findings")


def _list(
    id: str, name: str, items: Sequence[Markup], empty: str = "None.", is_open: bool = False
) -> Markup:
    """A heading with the number of items, which opens to them; if there are none, `empty`."""
    if not items:
        return tag("p", tag("b", name), f": {empty}", id=id, class_="quiet")
    heading = tag("summary", tag("b", name), " ", tag("small", str(len(items))))
    return tag("details", heading, tag("ul", *items, class_="findings"), id=id, open=is_open)


def _item(row: Row, why: str) -> Markup:
    source = tag("span", f" {', '.join((row.study, row.cites, place(row)))}. ", class_="quiet")
    told = tag("span", why, class_="why") if why else None
    return tag("li", badge(row), " ", link(row), source, told)


def _contrast(group: Sequence[Row]) -> Markup:
    first = group[0]
    lines = [
        tag("li", badge(row), f" {place(row)}: {row.because or measured(row)}") for row in group
    ]
    source = tag("span", f" {first.study}, {first.cites}. ", class_="quiet")
    return tag("li", link(first), source, first.statement, tag("ul", *lines))


def _established(row: Row) -> str:
    because = f", because {row.because}" if row.because else ""
    return f"Established: {expected(row)}{because}. Measured: {measured(row)}"


def _why(row: Row) -> str:
    return f"Why: {reason(row)}" if reason(row) else ""
