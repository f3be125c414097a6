"""The errata sheet as a LaTeX document.

Texts of a study are escaped. Of the Markdown of its page formulas, code and emphasis are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .appearance import caveats, place, said
from .errata_markdown import NO_ROW, PREFACE, found, role, title, why
from .latex import escape, formula
from .markdown import cited

if TYPE_CHECKING:
    from .errata import ErrataSheet, Erratum
    from .ledger import Row

PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{amsmath,amssymb}
\usepackage[margin=25mm]{geometry}
\setlength{\parindent}{0pt}
\sloppy
\begin{document}"""
# What Markdown sets apart: a formula, code, strong words, stressed words.
_PIECE = re.compile(r"\$(?P<math>[^$]+)\$|`(?P<code>[^`]+)`|\*\*(?P<b>[^*]+)\*\*|\*(?P<i>[^*]+)\*")


def errata_latex(sheet: ErrataSheet) -> str:
    """A heading, what the words mean, and the entries."""
    lines = [PREAMBLE, rf"\section*{{Errata: {escape(sheet.paper or sheet.study)}}}"]
    lines.append(
        f"Study {code(sheet.study)} of phasescope {escape(sheet.version)}. {from_markdown(PREFACE)}"
    )
    if sheet.counts:
        lines += ["", f"The paper's statements that have a row: {escape(sheet.counts)}."]
    if not len(sheet):
        lines += ["", "Nothing is listed, and no row disputes a statement."]
    for entry in sheet:
        lines += _entry(entry, sheet)
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _entry(entry: Erratum, sheet: ErrataSheet) -> Iterator[str]:
    yield rf"\subsection*{{{escape(title(entry))}}}"
    if entry.text:
        yield from_markdown(entry.text)
    if not entry.rows:
        yield from ("", NO_ROW)
        return
    yield r"\begin{itemize}"
    for row in entry.rows:
        yield from _row(row, entry, sheet)
    yield r"\end{itemize}"


def _row(row: Row, entry: Erratum, sheet: ErrataSheet) -> Iterator[str]:
    begin = rf"\item \textbf{{{role(row)}}} ({escape(cited(row))}):"
    first = sheet.first_with(row)
    if first is not entry:
        yield f"{begin} {escape(said(row))}, see {escape(title(first))}."
        return
    marks = "".join(f", {escape(note.word)}" for note in caveats(row))
    shown = f"{formula(row.tex)}. " if row.tex else ""
    yield rf"{begin} {shown}{escape(row.statement)}\par"
    yield rf"\textbf{{{escape(said(row))}}}, {escape(place(row))}{marks}: {escape(found(row))}."
    if why(row):
        yield f"Why: {escape(why(row)).rstrip('.')}."
    if row.answer is not None:
        yield rf"\par Authors: {escape(str(row.answer))}."
    yield rf"\par See it: {code(sheet.command(row))}"


def from_markdown(text: str) -> str:
    """Words of a page in LaTeX."""
    line = " ".join(text.split())
    parts = []
    position = 0
    for piece in _PIECE.finditer(line):
        parts.append(escape_between(line[position : piece.start()]))
        parts.append(_set(piece))
        position = piece.end()
    return "".join([*parts, escape_between(line[position:])])


def _set(piece: re.Match[str]) -> str:
    kind = piece.lastgroup or ""
    inside = piece[kind]
    if kind == "math":
        return formula(inside)
    if kind == "code":
        return code(inside)
    return rf"\{'textbf' if kind == 'b' else 'emph'}{{{escape(inside)}}}"


def escape_between(text: str) -> str:
    """Escaped text that keeps a space at its ends, where a formula or code goes on."""
    if not text.strip():
        return " " if text else ""
    before = " " if text[0].isspace() else ""
    after = " " if text[-1].isspace() else ""
    return f"{before}{escape(text)}{after}"


def code(text: str) -> str:
    """Words of a command line: two hyphens stay two."""
    return rf"\texttt{{{escape(text).replace('--', '-{}-')}}}"
