"""What goes to a terminal: texts of stores and studies are shown, and none of them is obeyed.

Every text that is printed passes through here: control characters are spelled out, and brackets are brackets.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..ledger.markup import visible

# What JSON allows inside its texts, and what a terminal might obey: of control characters, those that `json` leaves.
_UNSEEN_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class PlainConsole(Console):
    """A console to which a text is a text: it may hold neither markup nor commands."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The text as it is shown; this is asked for every text, also those in the cells of a table."""
        plain = {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(visible(text), **{**options, **plain})

    def on_broken_pipe(self) -> NoReturn:
        """Nobody reads on, as with `| head`, which is no fault of the command."""
        self.quiet = True
        leave_broken_pipe()


def leave_broken_pipe() -> NoReturn:
    """End with 0, and without another attempt to write what nobody reads."""
    print_nowhere()
    sys.exit(0)


def print_nowhere() -> None:
    """Let go of what is printed from now on, and of what could not be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def show_line(*words: Any, **style: Any) -> None:
    """Print for people; the terminal is looked at now, not when this module is imported."""
    PlainConsole().print(*words, **style)


def show_json(document: Any) -> None:
    """Print one JSON document."""
    from ..files import to_json

    text = json.dumps(to_json(document), indent=1, ensure_ascii=False, allow_nan=False)
    print(_UNSEEN_IN_JSON.sub(_as_json_escape, text))


def show_problem(sentence: str) -> None:
    """Print one line about something that went wrong, on standard error; without one, as of a closed terminal, nothing."""
    with contextlib.suppress(OSError, ValueError):
        print(visible(" ".join(sentence.split())), file=sys.stderr)


def plain_table(*columns: str) -> Table:
    """A table without lines; its cells are texts."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def emit(
    document: Any, as_json: bool, show: Callable[..., None], *shown: Any, **options: Any
) -> None:
    """Print the document as JSON if that was asked for; else call `show` with what it shows."""
    try:
        if as_json:
            show_json(document)
        else:
            show(*shown, **options)
        sys.stdout.flush()
    except BrokenPipeError:
        leave_broken_pipe()


def _as_json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
