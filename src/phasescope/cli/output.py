"""What the commands print: tables for people, or JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..ledger.markup import visible
from .terminal import PlainConsole, plain_table, show_line
from .terminal import emit as emit

if TYPE_CHECKING:
    from ..ledger.ledger import Ledger
    from ..report import Report


def show_check_cost(rows: list[dict[str, Any]]) -> None:
    """What a check would run."""
    table = plain_table("study", "runs needed", "missing", "computing expected", "disk")
    for row in rows:
        seconds = "unknown: nothing was run yet"
        disk = ""
        if row["seconds"] is not None:
            seconds = f"{row['seconds']:g} s"
            disk = f"{row['megabytes']:g} MB"
        for device, taken in row["recorded"].items():
            seconds += f"; recorded evidence took {taken:g} on {device}, and such a device is meant"
        table.add_row(row["study"], str(row["needed"]), str(row["missing"]), seconds, disk)
    show_line(table)


def show_ledger(ledger: Ledger, why: bool = False, traceback: bool = False) -> None:
    """The ledger, its counts by word, and what differs. `why` adds the reasons, `traceback` what
    went wrong in checks that could not be carried out.
    """
    from ..ledger.text import ledger_table, sums

    show_line(ledger_table(ledger, why, PlainConsole().width))
    for line in sums(ledger):
        show_line(line)
    show_line(_in_sum(ledger))
    if traceback:
        show_tracebacks(ledger)


def _in_sum(ledger: Ledger) -> str:
    """How many rows there are, and how many are not as established."""
    rows = "1 row" if len(ledger) == 1 else f"{len(ledger)} rows"
    errors = len(ledger.errors)
    changed = len(ledger.surprises) - errors
    if not changed and not errors:
        return f"{rows}, every word as established."
    parts = []
    if changed:
        parts.append("1 word differs" if changed == 1 else f"{changed} words differ")
        parts[-1] += " from the established one" + ("" if changed == 1 else "s")
    if errors:
        checks = "1 check" if errors == 1 else f"{errors} checks"
        parts.append(f"{checks} could not be carried out (--traceback says where)")
    return f"{rows}; {'; '.join(parts)}."


def show_claim(ledger: Ledger, cards: Iterable[str], traceback: bool = False) -> None:
    """One claim in full, of every study that has it."""
    for text in cards:
        print(text, end="\n\n")
    show_line(_in_sum(ledger))
    if traceback:
        show_tracebacks(ledger)


def show_tracebacks(ledger: Ledger) -> None:
    """Where the checks that could not be carried out went wrong."""
    from ..ledger.appearance import place

    for row in ledger.errors:
        show_line(f"\n{visible(row.claim)}, {place(row)}:")
        for line in row.traceback.splitlines():
            print(visible(line))


def show_report(made: Report) -> None:
    """Where the report lies."""
    show_ledger(made.ledger)
    show_line(f"report: {made.html}\nfigures: {made.figures}", soft_wrap=True)


def show_repair(summary: dict[str, Any]) -> None:
    """Damage by name, and where it is now."""
    index = "the index is rebuilt" if summary["indexed"] else "the index could not be written"
    show_line(f"{summary['intact']} runs are intact; {index}.")
    for kind in ("damaged", "newer"):
        for problem in summary[kind]:
            moved = f" It was moved to {problem['moved']}." if problem["moved"] else ""
            show_line(f"{kind}: {problem['message']}{moved}", soft_wrap=True)
    for leftover in summary["cleared"]:
        show_line(f"cleared: {leftover}")
    for pair in summary["identical"]:
        show_line(f"identical records under different identities: {', '.join(map(str, pair))}")
