"""What `runs` prints: the store's table of contents, a line or two for each run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from rich.padding import Padding
from rich.text import Text

from ..ledger.markup import visible
from .terminal import show_line

_UNKNOWN = object()  # differs from every number


def show_runs(rows: list[dict[str, Any]]) -> None:
    """Every run: its id on a line of its own, then what became of it and what differs from the defaults."""
    if not rows:
        show_line("The store is empty: `phasescope run STUDY ARM` fills it.")
        return
    defaults = defaults_of({row["id"].partition("/")[0] for row in rows})
    for row in rows:
        study = row["id"].partition("/")[0]
        show_line(Text(visible(row["id"]), style="bold"), soft_wrap=True)
        words = f"{_became(row)}; {_asked(row, defaults.get(study, {}))}"
        show_line(Padding(Text(visible(words)), (0, 0, 0, 4), expand=False))
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    total = ", ".join(f"{count} {status}" for status, count in counts.items())
    show_line(f"{total}. In Python: ps.stored(), ps.open(ID).", style="dim")


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


def _became(row: dict[str, Any]) -> str:
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


def _asked(row: dict[str, Any], defaults: Mapping[str, Any]) -> str:
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
