"""The ledger as HTML: a fragment for notebooks, and the cells that the report uses too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .appearance import (
    COLOURS,
    SURPRISE,
    caveats,
    key,
    margin,
    measured,
    place,
    required,
    said,
    surprise,
    symbol,
)
from .markup import Markup, join, tag
from .tally import counts

if TYPE_CHECKING:
    from .ledger import Ledger, Row


def ledger_html(ledger: Ledger) -> str:
    """The ledger in a notebook: a fragment with its own few rules of style."""
    heads = ("claim", "regime", "word", "margin", "measured", "required", "where")
    lines = []
    for row in ledger:
        cells = (
            row.claim,
            regime(row),
            badge(row),
            margin(row),
            measured(row),
            required(row),
            row.where,
        )
        lines.append(tag("tr", *(tag("td", cell) for cell in cells)))
    sums = [tag("p", tag("b", name), f": {tally}.") for name, tally in counts(ledger).items()]
    table = tag(
        "table", tag("thead", tag("tr", *(tag("th", head) for head in heads))), tag("tbody", *lines)
    )
    told = sums or [tag("p", "The ledger is empty.")]
    return tag("div", tag("style", Markup(_style())), *told, table, class_="phasescope-ledger")


def _style() -> str:
    """Rules of the fragment: a colour for each word."""
    scope = ".phasescope-ledger"
    rules = [f"{scope} td,{scope} th{{text-align:left;vertical-align:top}}"]
    rules += [f"{scope} .{name_of(w)} b{{color:{colour}}}" for w, colour in COLOURS.items()]
    rules.append(f"{scope} .surprise{{color:{SURPRISE};font-weight:bold}}")
    return "".join(rules)


def name_of(word: str) -> str:
    """The class of a word in style sheets."""
    return word.replace("_", "-")


def badge(row: Row) -> Markup:
    """Symbol, word and colour; and what was expected instead, if it was."""
    word = tag(
        "span",
        tag("b", symbol(row), aria_hidden="true"),
        f" {said(row)}",
        class_=f"word {name_of(key(row))}",
        title=row.word.meaning if row.word is not None else None,
    )
    if not row.surprising:
        return word
    return join((word, tag("span", f"! {surprise(row)}", class_="surprise")))


def regime(row: Row) -> Markup:
    """What the statement was held against, the regime, and what to know of its evidence."""
    notes = [Markup("<br>") + tag("small", note.word, title=note.sentence) for note in caveats(row)]
    return join((place(row), *notes))
