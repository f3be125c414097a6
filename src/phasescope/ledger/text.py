"""The ledger for terminals and for Markdown.

Texts of studies are shown as they are: they cannot command either.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .findings import SYMBOLS, Tally, caveats, counts, findings, footnotes, surprise
from .markup import visible

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from .ledger import Ledger, Row

# Okabe and Ito's palette, those of its colours that can be read on black and on white.
COLOURS = {
    "holds": "#009E73",
    "fails": "#D55E00",
    "undecided": "#56B4E9",
    "surprise": "bold #CC79A7",
}


def ledger_text(ledger: Ledger, width: int | None = None) -> str:
    """The ledger as plain text, as wide as the terminal."""
    from rich.console import Console

    if not len(ledger):
        return "The ledger is empty: no claim was checked."
    page = io.StringIO()
    wide = width or max(shutil.get_terminal_size((120, 40)).columns, 80)
    Console(file=page, width=wide, color_system=None, legacy_windows=False).print(
        ledger_table(ledger)
    )
    sums = [f"{_line(study)}: {tally}." for study, tally in counts(ledger).items()]
    return "\n".join([*(line.rstrip() for line in page.getvalue().splitlines()), *sums])


def ledger_table(ledger: Ledger) -> Table:
    """The ledger for a terminal; outcomes are words and symbols as well as colours."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    studies = list(counts(ledger))
    caption = "\n".join(f"{note.mark} {note.sentence}" for note in footnotes(ledger)) or None
    table = Table(
        box=SIMPLE_HEAD,
        caption=caption,
        caption_justify="left",
        pad_edge=False,
        collapse_padding=True,
    )
    longest = max((len(row.claim) for row in ledger), default=0)
    table.add_column("claim", overflow="fold", min_width=min(longest, 16))
    for name in ("regime", "outcome", "measured", "required", "where"):
        table.add_column(name, overflow="fold", min_width=9)
    for study in studies:
        if len(studies) > 1:
            table.add_row(Text(_line(study), style="bold"))
        for row in ledger:
            if row.study == study:
                regime = " ".join([row.regime, *(note.mark for note in caveats(row))])
                cells = (row.claim, regime, _outcome(row), row.measured, row.required, row.where)
                table.add_row(
                    *(Text(_line(cell)) if isinstance(cell, str) else cell for cell in cells)
                )
        table.add_section()
    return table


def ledger_markdown(ledger: Ledger) -> str:
    """Counts, findings and the ledger of every study."""
    tallies = counts(ledger)
    found = findings(ledger)
    heads = ("study", "holds", "fails as expected", "undecided as expected", "surprises")
    lines = [
        "# Verdict ledger",
        "",
        *_table(heads, [_counted(name, tally) for name, tally in tallies.items()]),
    ]
    lines += ["", "## Findings", "", "### Surprises", ""]
    lines += [_item(row) for row in found.surprises] or [
        "None: every outcome is the established one."
    ]
    lines += ["", "### What fails, as established", ""]
    lines += [_item(row, row.because) for row in found.failures] or ["Nothing."]
    lines += ["", "### What holds in some regimes only", ""]
    lines += [_regimes(group) for group in found.regime_bound] or ["Nothing."]
    lines += ["", "### Undecided or vacuous", ""]
    lines += [_item(row, row.because) for row in found.undecided] or ["Nothing."]
    for study in tallies:
        rows = [_cells(row) for row in ledger if row.study == study]
        heads = ("claim", "cites", "regime", "outcome", "measured", "required", "where")
        lines += ["", f"## {_md(study)}", "", *_table(heads, rows)]
    for note in footnotes(ledger):
        lines += ["", f"{_md(note.mark)} {note.sentence}."]
    return "\n".join(lines) + "\n"


def _outcome(row: Row) -> Text:
    from rich.text import Text

    text = Text(f"{SYMBOLS[row.outcome]} {row.outcome}", style=COLOURS[row.outcome])
    if row.surprising:
        text.append(f"\n! {surprise(row)}", style=COLOURS["surprise"])
    return text


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _md(text: str) -> str:
    """Words of a study in Markdown: no mark-up, no link, no formula and no HTML can begin in them."""
    escaped = _line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|$~#])", r"\\\1", escaped)


def _said(row: Row) -> str:
    said = f"{SYMBOLS[row.outcome]} {row.outcome}"
    if row.surprising:
        said += f", **! {surprise(row)}**"
    return said


def _cells(row: Row) -> tuple[str, ...]:
    regime = " ".join([_md(row.regime), *(_md(note.mark) for note in caveats(row))])
    return (
        _md(row.claim),
        _md(row.cites),
        regime,
        _said(row),
        _md(row.measured),
        _md(row.required),
        _md(row.where),
    )


def _counted(name: str, tally: Tally) -> tuple[str, ...]:
    return (
        _md(name),
        *(str(n) for n in (tally.holds, tally.fails, tally.undecided, tally.surprises)),
    )


def _item(row: Row, why: str = "") -> str:
    reason = f" Why: {_md(why).rstrip('.')}." if why else ""
    where = f", at {_md(row.where)}" if row.where else ""
    return (
        f"- **{_md(row.claim)}** ({_md(row.study)}, {_md(row.cites)}; {_md(row.regime)}): {_said(row)}."
        f"{reason} Measured: {_md(row.measured)}; required: {_md(row.required)}{where}."
    )


def _regimes(group: tuple[Row, ...]) -> str:
    said = "; ".join(f"{_md(row.regime)}: {_said(row)}" for row in group)
    return f"- **{_md(group[0].claim)}** ({_md(group[0].study)}, {_md(group[0].cites)}): {said}."


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    lines = [heads, ["---" for _ in heads], *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]
