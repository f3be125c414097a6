"""What a store holds, and what repairing it found, as plain values that can be printed as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files import Document
from ..store import Entry, Identity, Store, Unfinished
from ..store.entries import FORK
from ..store.values import ends, run_count

UNREADABLE = "cannot be read"


def unreadable_row(id: str, folder: Path, why: str) -> Document:
    """A row for what cannot be read."""
    return {"id": id, "status": UNREADABLE, "problem": why, "folder": str(folder)}


def finished_row(entry: Entry) -> Document:
    """The row of a finished run."""
    told = entry.manifest.get(FORK)
    fork = {FORK: told} if isinstance(told, str) else {}
    return {
        "id": entry.id,
        "status": entry.status,
        "created": entry.created,
        "seconds": entry.manifest.get("seconds"),
        **_asked(entry.identity),
        **fork,
        "folder": str(entry.folder),
    }


def unfinished_row(run: Unfinished) -> Document:
    """A run in the making; without its numbers, if it has no checkpoint yet."""
    if run.identity is None and not run.running:
        why = "its checkpoints are damaged, or were written by another version: it begins anew when asked for."
        return unreadable_row(run.id, run.folder, why)
    asked = {} if run.identity is None else _asked(run.identity)
    return {
        "id": run.id,
        "status": "running" if run.running else "unfinished",
        "position": _position(run.position),
        **asked,
        "folder": str(run.folder),
    }


def _asked(identity: Identity) -> Document:
    """What a run was asked for. Swept fields have their first and last value; in `spec`, that of the first lane."""
    columns = identity.lanes or {}
    return {
        "spec": dict(identity.spec),
        "seed": identity.seed,
        "lanes": run_count(list(columns.values())),
        "swept": {name: ends(values) for name, values in columns.items() if len(values)},
        "at": None if identity.at is None else len(identity.at),
    }


def _position(position: Document | None) -> Document | None:
    """How far a run came, without where it was made."""
    if position is None:
        return None
    return {k: v for k, v in position.items() if k != "provenance"}


def repair(store: Store) -> Document:
    """Repair the store; returns what was intact, damaged, too new, cleared and identical, and
    whether the index could be written.
    """
    found = store.repair()
    return {
        "intact": found.checked - len(found.damaged) - len(found.newer),
        "damaged": [_problem(p) for p in found.damaged],
        "newer": [_problem(p) for p in found.newer],
        "cleared": [str(path) for path in found.cleared],
        "identical": [list(group) for group in found.alike],
        "indexed": found.indexed,
    }


def _problem(problem: Any) -> Document:
    moved = None if problem.moved is None else str(problem.moved)
    return {"id": problem.id, "message": problem.message, "moved": moved}
