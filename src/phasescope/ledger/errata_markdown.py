"""The errata sheet as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .appearance import caveats, measured, place, required, said, symbol
from .errata import is_disputed
from .latex import is_mathematics
from .markdown import cited, md
from .text import one_line

if TYPE_CHECKING:
    from .errata import ErrataSheet, Erratum
    from .ledger import Row

PREFACE = (
    "Each entry says what is printed, what was found, and how to see it again. *False* is a "
    "counter-example inside the assumptions or a derivation, *against* a trend away from an asymptotic "
    "statement, *vacuous* that the premises exclude each other, *not reproduced* that a figure or a "
    "number does not come out. What misreads the paper is ours to correct: an answer of the authors is "
    "printed beside the row."
)
UNNAMED = "Found by a check"
NO_ROW = "Seen in the text; nothing was measured for it."


def errata_markdown(sheet: ErrataSheet) -> str:
    """A heading, what the words mean, and the entries."""
    lines = [f"# Errata: {md(sheet.paper or sheet.study)}", ""]
    lines += [f"Study `{sheet.study}` of phasescope {sheet.version}. {PREFACE}", ""]
    if sheet.counts:
        lines += [f"The paper's statements that have a row: {md(sheet.counts)}.", ""]
    if not len(sheet):
        lines += ["Nothing is listed, and no row disputes a statement."]
    for entry in sheet:
        lines += _entry(entry, sheet)
    return "\n".join(lines).rstrip() + "\n"


def _entry(entry: Erratum, sheet: ErrataSheet) -> Iterator[str]:
    yield f"## {md(title(entry))}"
    yield ""
    if entry.text:
        yield from (one_line(entry.text), "")
    for row in entry.rows:
        yield from _row(row, entry, sheet)
    if not entry.rows:
        yield NO_ROW
    yield ""


def title(entry: Erratum) -> str:
    """The label; without one, where the paper has it."""
    return entry.label or f"{UNNAMED}: {entry.rows[0].cites}"


def role(row: Row) -> str:
    """What a row is to an erratum: the statement as printed, as corrected, or something else."""
    if is_disputed(row):
        return "Printed"
    return "Corrected" if row.whose == "corrected" else "Checked"


def _row(row: Row, entry: Erratum, sheet: ErrataSheet) -> Iterator[str]:
    marks = "".join(f", {note.word}" for note in caveats(row))
    first = sheet.first_with(row)
    if first is not entry:
        yield f"* **{role(row)}** ({md(cited(row))}): {md(said(row))}, see {md(title(first))}."
        return
    yield f"* **{role(row)}** ({md(cited(row))}): {_statement(row)}"
    yield f"  {symbol(row)} **{md(said(row))}**, {md(place(row))}{marks}: {md(found(row))}."
    if why(row):
        yield f"  Why: {md(why(row)).rstrip('.')}."
    if row.answer is not None:
        yield f"  Authors: {md(str(row.answer))}."
    yield f"  See it: {_code(sheet.command(row))}"


def _code(text: str) -> str:
    return f"`{one_line(text).replace('`', '')}`"


def found(row: Row) -> str:
    """What was measured, what was required, and where."""
    where = f"; at {row.where}" if row.where else ""
    return f"{measured(row)}; required: {required(row)}{where}"


def why(row: Row) -> str:
    """The reason that the study gives, without repeating all that was measured; empty if there is none."""
    stated = "; ".join(filter(None, (row.because, row.missing)))
    return stated.replace(row.measured, "as above") if row.measured else stated


def _statement(row: Row) -> str:
    """The formula, if there is one, and the statement in words."""
    tex = " ".join(row.tex.split())
    shown = f"${tex}$. " if tex and is_mathematics(tex) else ""
    return f"{shown}{md(row.statement)}"
