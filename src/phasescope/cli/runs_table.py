"""What `runs` prints: the store's table of contents, a line or two for each run."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from ..ledger.markup import visible
from .terminal import PlainConsole, show_line

AT_ONCE = 200  # runs that are printed together
INDENT = " " * 4
_UNKNOWN = object()  # differs from every number


def show_runs(rows: list[dict[str, Any]], text: str = "") -> None:
    """Every run: its id on a line of its own, then what became of it and what differs from the defaults."""
    if not rows and text:
        show_line(f"No run has all of these words: {text}. `phasescope runs` lists all.")
        return
    if not rows:
        show_line("The store is empty: `phasescope run STUDY ARM` fills it.")
        return
    defaults = defaults_of({row["id"].partition("/")[0] for row in rows})
    width = PlainConsole().width
    for begin in range(0, len(rows), AT_ONCE):
        show_line(_lines(rows[begin : begin + AT_ONCE], defaults, width), soft_wrap=True, end="")
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    total = ", ".join(f"{count} {status}" for status, count in counts.items())
    show_line(f"{total}. In Python: ps.stored(), ps.open(ID).", style="dim")


def _lines(
    rows: Sequence[Mapping[str, Any]], defaults: Mapping[str, Mapping[str, Any]], width: int
) -> Text:
    """Two lines or more for each run, wrapped: many runs as one text are printed far quicker than one by one."""
    shown = Text()
    for row in rows:
        study = row["id"].partition("/")[0]
        words = visible(f"{_became(row)}; {_asked(row, defaults.get(study, {}))}")
        shown.append(f"{visible(row['id'])}\n", style="bold")
        lines = textwrap.wrap(words, max(width - len(INDENT), 20), break_on_hyphens=False)
        shown.append("".join(f"{INDENT}{line}\n" for line in lines))
    return shown


def defaults_of(studies: set[str]) -> dict[str, dict[str, Any]]:
    """The default numbers of these studies, as far as they are installed and not broken."""
    from ..discovery import installed
    from ..errors import StudyNotFound
    from .catalogue import kept, make

    found = {}
    for name, point in installed().items():
        if name in studies:
            with contextlib.suppress(StudyNotFound):
                known = kept(point) or make(point)
                found[name] = {field: entry["default"] for field, entry in known["fields"].items()}
    return found


def _became(row: Mapping[str, Any]) -> str:
    """The status of a run, when it was made and how long it took; or how far it came."""
    if "problem" in row:
        return f"{row['status']}: {row['problem']}"
    if "created" in row:
        day, _, clock = row["created"].partition("T")
        return f"{row['status']} {day} {clock[:5]}, {row.get('seconds') or 0:.3g} s"
    return f"{row['status']}, {_position(row.get('position'))}"


def _position(position: Mapping[str, Any] | None) -> str:
    """How far an unfinished run came."""
    if not position:
        return "at its beginning"
    stage = position.get("stage", 0)
    where = "" if not isinstance(stage, int) else f" of stage {stage + 1}"
    return (
        f"came to {position.get('local', 0):g}{where}" if _is_number(position) else "came somewhere"
    )


def _is_number(position: Mapping[str, Any]) -> bool:
    return isinstance(position.get("local", 0), int | float)


def _asked(row: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """What differs from the defaults; every number, if they are not known."""
    if "problem" in row:
        return f"in {row['folder']}"
    if "spec" not in row:
        return "its numbers are not yet saved"
    swept = row.get("swept", {})
    given = {k: v for k, v in row["spec"].items() if k not in swept}
    fields = [f"{k}={v}" for k, v in given.items() if defaults.get(k, _UNKNOWN) != v]
    fields += [f"{k}={low:g}..{high:g}" for k, (low, high) in swept.items() if k != "seed"]
    words = [" ".join(fields) or "numbers at their defaults"]
    if "seed" in swept:
        words.append("seeds {:g}..{:g}".format(*swept["seed"]))
    elif row.get("seed"):
        words.append(f"seed {row['seed']}")
    if row.get("lanes", 1) > 1:
        words.append(f"{row['lanes']} lanes")
    if row.get("at") is not None:
        words.append(f"recorded at {row['at']} times")
    if "fork" in row:
        words.append(f"a fork, {row['fork']}")
    return ", ".join(words)
