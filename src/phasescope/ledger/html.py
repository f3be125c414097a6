"""The ledger as HTML: a fragment for notebooks, and the cells that the report uses too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .findings import SYMBOLS, caveats, counts, surprise
from .markup import Markup, join, tag

if TYPE_CHECKING:
    from .ledger import Ledger, Row


def ledger_html(ledger: Ledger) -> str:
    """The ledger in a notebook: a fragment with its own few rules of style."""
    heads = ("claim", "regime", "outcome", "measured", "required", "where")
    lines = []
    for row in ledger:
        cells = (row.claim, regime(row), outcome(row), row.measured, row.required, row.where)
        lines.append(tag("tr", *(tag("td", cell) for cell in cells)))
    sums = [tag("p", tag("b", name), f": {tally}.") for name, tally in counts(ledger).items()]
    style = (
        ".phasescope-ledger td,.phasescope-ledger th{text-align:left;vertical-align:top}"
        ".phasescope-ledger .holds b{color:#009E73}.phasescope-ledger .fails b{color:#D55E00}"
        ".phasescope-ledger .undecided b{color:#56B4E9}.phasescope-ledger .surprise{color:#CC79A7;font-weight:bold}"
    )
    table = tag(
        "table", tag("thead", tag("tr", *(tag("th", head) for head in heads))), tag("tbody", *lines)
    )
    said = sums or [tag("p", "The ledger is empty.")]
    return tag("div", tag("style", Markup(style)), *said, table, class_="phasescope-ledger")


def outcome(row: Row) -> Markup:
    """Symbol, word and colour; and what was expected instead, if it was."""
    badge = tag(
        "span",
        tag("b", SYMBOLS[row.outcome], aria_hidden="true"),
        f" {row.outcome}",
        class_=f"outcome {row.outcome}",
    )
    if not row.surprising:
        return badge
    return join((badge, tag("span", f"! {surprise(row)}", class_="surprise")))


def regime(row: Row) -> Markup:
    """The regime, and what to know of its evidence."""
    notes = [Markup("<br>") + tag("small", note.word, title=note.sentence) for note in caveats(row)]
    return join((row.regime, *notes))
