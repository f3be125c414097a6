"""The ledger as Markdown: counts, findings, all rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .appearance import (
    SYMBOLS,
    caveats,
    footnotes,
    margin,
    measured,
    place,
    reason,
    required,
    said,
    surprise,
    symbol,
)
from .findings import BY_NUMBER, BY_WORD, CALM, about_number, findings, steadiness
from .tally import counts
from .text import one_line

if TYPE_CHECKING:
    from .ledger import Ledger, Row

HEADS = ("claim", "cites", "regime", "word", "margin", "measured", "required", "where")


def ledger_markdown(ledger: Ledger) -> str:
    """Counts, findings and the ledger of every study."""
    lines = ["# Verdict ledger", "", *_counts(ledger), "", "## Findings", *_findings(ledger)]
    if ledger.unchecked:
        lines += ["", "### Statements of the paper without a row", ""]
    for study, unchecked in ledger.unchecked.items():
        for cites, why in unchecked.items():
            lines.append(f"- {md(study)}, {md(cites)}: {md(why)}")
    lines += _answers(ledger)
    for study in dict.fromkeys(row.study for row in ledger):
        rows = [_cells(row) for row in ledger if row.study == study]
        lines += ["", f"## {md(study)}", "", *_table(HEADS, rows)]
    for note in footnotes(ledger):
        lines += ["", f"{md(note.mark)} {note.sentence}."]
    return "\n".join(lines) + "\n"


def _answers(ledger: Ledger) -> Iterator[str]:
    """What the authors say to claims, each once."""
    answered = {(row.study, row.claim): row for row in ledger if row.answer is not None}
    if answered:
        yield from ("", "### Answers of the authors", "")
        yield from (f"- {_name(row)}: {md(str(row.answer))}" for row in answered.values())


def _counts(ledger: Ledger) -> list[str]:
    """A line for each study and group, a column for each word that occurs."""
    tallies = counts(ledger)
    present = {
        word for tally in tallies.values() for found in tally.words.values() for word in found
    }
    words = [word for word in SYMBOLS if word in present]
    heads = ("study", "statements", *(word.replace("_", " ") for word in words))
    lines = []
    for study, tally in tallies.items():
        for group, found in tally.words.items():
            lines.append((md(study), str(group), *(str(found.get(word, 0)) for word in words)))
    return [*_table(heads, lines), *_steadiness(ledger)]


def _steadiness(ledger: Ledger) -> Iterator[str]:
    """What other tolerances would leave, for each study that has words."""
    for study in dict.fromkeys(row.study for row in ledger):
        said = steadiness(row for row in ledger if row.study == study)
        if said:
            yield from ("", f"{md(study)}: {said}.")


def _findings(ledger: Ledger) -> Iterator[str]:
    found = findings(ledger)
    yield from ("", "### Surprises", "")
    yield from [_item(row) for row in found.surprises] or [CALM]
    for name, title in BY_WORD.items():
        rows = getattr(found, name)
        if rows:
            yield from ("", f"### {title}", "")
            yield from (_item(row, reason(row)) for row in rows)
    if found.regime_bound:
        yield from ("", "### What holds in some regimes only", "")
        yield from map(_regimes, found.regime_bound)
    for name, title in BY_NUMBER.items():
        rows = getattr(found, name)
        if rows:
            yield from ("", f"### {title}", "")
            yield from (f"- {_name(row)}: {md(about_number(name, row))}" for row in rows)


def md(text: str) -> str:
    """Words of a study in Markdown: no mark-up, no link, no formula and no HTML can begin in them."""
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|$~#])", r"\\\1", escaped)


def _said(row: Row) -> str:
    word = f"{symbol(row)} {md(said(row))}"
    if row.surprising:
        word += f", **! {surprise(row)}**"
    return word


def _cells(row: Row) -> tuple[str, ...]:
    return (
        md(row.claim),
        md(cited(row)),
        " ".join([md(place(row)), *(md(note.mark) for note in caveats(row))]),
        _said(row),
        margin(row),
        md(measured(row)),
        md(required(row)),
        md(row.where),
    )


def cited(row: Row) -> str:
    """The citation with its page."""
    return ", ".join(filter(None, (row.cites, row.page)))


def _name(row: Row) -> str:
    return f"**{md(row.claim)}** ({md(row.study)}, {md(row.cites)}; {md(place(row))})"


def _item(row: Row, why: str = "") -> str:
    told = f" Why: {md(why).rstrip('.')}." if why else ""
    where = f", at {md(row.where)}" if row.where else ""
    return (
        f"- {_name(row)}: {_said(row)}."
        f"{told} Measured: {md(measured(row))}; required: {md(required(row))}{where}."
    )


def _regimes(group: tuple[Row, ...]) -> str:
    words = "; ".join(f"{md(place(row))}: {_said(row)}" for row in group)
    return f"- **{md(group[0].claim)}** ({md(group[0].study)}, {md(group[0].cites)}): {words}."


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    lines = [heads, ["---" for _ in heads], *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]
