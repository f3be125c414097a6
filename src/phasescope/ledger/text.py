"""The ledger for terminals.

Texts of studies are shown as they are: they cannot command a terminal.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .appearance import (
    COLOURS,
    SURPRISE,
    caveats,
    footnotes,
    key,
    margin,
    measured,
    place,
    reason,
    required,
    said,
    surprise,
    symbol,
)
from .findings import steadiness, turned_rows
from .markup import visible
from .tally import counts, in_words, surprises_in_words

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from .ledger import Ledger, Row

HEADS = ("regime", "word", "margin", "measured", "required", "where")
CLAIM = 14  # signs of a claim's name that stand on one line
ROOMY = 116  # signs of a terminal in which a table fits whose columns have their least widths


def ledger_text(ledger: Ledger, width: int | None = None) -> str:
    """The ledger as plain text, as wide as the terminal."""
    from rich.console import Console

    if not len(ledger):
        return "The ledger is empty: no claim was checked."
    page = io.StringIO()
    wide = width or max(shutil.get_terminal_size((120, 40)).columns, 80)
    # In a notebook a console would show the table at once, beside the form that the notebook asks for.
    console = Console(
        file=page, width=wide, color_system=None, legacy_windows=False, force_jupyter=False
    )
    console.print(ledger_table(ledger, width=wide))
    return "\n".join([*(line.rstrip() for line in page.getvalue().splitlines()), *sums(ledger)])


def sums(ledger: Ledger) -> Iterator[str]:
    """How many rows have which word, study by study; and the statements that have no row."""
    for study, tally in counts(ledger).items():
        yield f"{one_line(study)}: {surprises_in_words(tally.surprises)}"
        for group, words in tally.words.items():
            yield f"  {group}: {in_words(words)}"
        rows = [row for row in ledger if row.study == study]
        yield from _turned(rows)
        yield from _errors(rows)
    for study, unchecked in ledger.unchecked.items():
        yield f"{one_line(study)}, not checked:"
        for cites, why in unchecked.items():
            yield f"  {one_line(cites)}: {one_line(why)}"


def _turned(rows: list[Row]) -> Iterator[str]:
    """What other tolerances would leave, and the rows that they would turn."""
    said = steadiness(rows)
    names = [f"{one_line(row.claim)} ({place(row)})" for row in turned_rows(rows)]
    if said:
        yield f"  {said}" + (f"; they turn {', '.join(names)}" if names else "")


def _errors(rows: list[Row]) -> Iterator[str]:
    """What went wrong in checks that could not be carried out, each fault once: a column of the table is narrow."""
    faults: dict[str, list[str]] = {}
    for row in rows:
        if row.error:
            faults.setdefault(one_line(row.measured), []).append(
                f"{one_line(row.claim)} ({place(row)})"
            )
    for fault, names in faults.items():
        yield f"  ! {', '.join(names)} {fault}"


def ledger_table(ledger: Ledger, why: bool = False, width: int | None = None) -> Table:
    """The ledger for a terminal; words and symbols as well as colours. `why` adds the reasons.

    Where it would be wider than `width`, cells are folded until it fits: a table that does not fit is cut off.
    """
    from rich.console import Console

    table = _table(ledger, why)
    if width is None or width >= ROOMY or Console(width=10**6).measure(table).maximum <= width:
        return table
    return _table(ledger, why, width)


def _table(ledger: Ledger, why: bool, narrow: int | None = None) -> Table:
    """The table; for a narrow terminal of so many signs without least widths, and with one space between columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    studies = list(dict.fromkeys(row.study for row in ledger))
    caption = "\n".join(f"{note.mark} {note.sentence}" for note in footnotes(ledger)) or None
    table = Table(
        box=SIMPLE_HEAD,
        caption=caption,
        caption_justify="left",
        pad_edge=False,
        collapse_padding=True,
        padding=(0, 1 if narrow is None else 0),
    )
    longest = max((len(row.claim) for row in ledger), default=0)
    if narrow is None:
        table.add_column("claim", overflow="fold", min_width=min(longest, CLAIM))
    else:
        table.add_column("claim", overflow="fold", width=min(longest, max(CLAIM, narrow // 6)))
    for name in HEADS:
        least = 6 if name == "margin" else 9
        table.add_column(name, overflow="fold", min_width=least if narrow is None else None)
    for study in studies:
        if len(studies) > 1:
            table.add_row(Text(one_line(study), style="bold"))
        for row in ledger:
            if row.study == study:
                table.add_row(*_cells(row, why))
        table.add_section()
    return table


def _cells(row: Row, why: bool) -> Iterator[Text]:
    from rich.text import Text

    found = Text("see under the table" if row.error else one_line(measured(row)))
    if why and reason(row):
        found.append(f"\nwhy: {one_line(reason(row))}", style="italic")
    yield Text(one_line(row.claim))
    yield Text(" ".join([place(row), *(note.mark for note in caveats(row))]))
    yield _word(row)
    yield Text(margin(row))
    yield found
    yield Text("" if row.error else one_line(required(row)))
    yield Text(one_line(row.where))


def _word(row: Row) -> Text:
    from rich.text import Text

    text = Text(f"{symbol(row)} {one_line(said(row))}", style=COLOURS[key(row)])
    if row.surprising:
        text.append(f"\n! {surprise(row)}", style=f"bold {SURPRISE}")
    return text


def one_line(text: str) -> str:
    """Text on one line, without what could command a terminal."""
    return visible(" ".join(text.split()))
