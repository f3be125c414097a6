"""One line of the index: what is written down of a run, and what changes whenever the run does."""

from __future__ import annotations

import json
import os
import stat
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..store import Entry
from ..store.entries import FORK
from ..store.run_document import read_run
from .store_contents import UNREADABLE, finished_row, unreadable_row

# Nanoseconds after which the time of a file is believed: clocks of file systems are coarse.
SETTLED = 2e9
LONGEST_WORDS = 4000  # characters of a run in which words are looked for
MOST_WORDS = 8
LARGEST = 2**62


def kind_of(entry: Entry) -> str:
    """What an entry is: `run`, `sweep` (a block of one) or `fork`."""
    if entry.manifest.get(FORK):
        return "fork"
    return "sweep" if entry.lanes else "run"


def line_of(id: str, root: Path) -> list[Any] | None:
    """The line of one run in the table; of one that cannot be read, why. None if there is none, or a link."""
    study, arm, digest = id.split("/")
    folder = root / study / arm / digest
    stamp, settled = stamp_of(f"{folder}/run.json")
    if not _is_folder(folder):
        return None
    try:
        entry, document = read_run(folder, root)
    except StoreError as problem:
        row = unreadable_row(id, folder, str(problem))
        columns = ["", "", UNREADABLE, 0.0, 0, words_of(row)]
    else:
        size = sum(listed["size"] for listed in document["files"].values())
        row = finished_row(entry) | {"size": size, "kind": kind_of(entry)}
        columns = [row["kind"], entry.created, entry.status, *_bounded(row), words_of(row)]
    del row["folder"]
    told = json.dumps(row)
    total = zlib.crc32(told.encode())
    texts = [x.encode("utf-8", "replace").decode() if isinstance(x, str) else x for x in columns]
    return [id, arm, *texts, told, total, stamp if settled else ""]


def _is_folder(path: Path) -> bool:
    """Whether there is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _bounded(row: Mapping[str, Any]) -> tuple[float, int]:
    """The seconds and the size of a run, as numbers that a table can hold, whatever a document says."""
    seconds = row["seconds"] or 0
    return float(max(min(seconds, LARGEST), -LARGEST)), max(min(row["size"], LARGEST), 0)


def words_of(row: Mapping[str, Any]) -> str:
    """What words are looked for in: all that a row of the store's table of contents says, in small letters."""
    fields = " ".join(f"{k}={v}" for k, v in row.get("spec", {}).items())
    swept = " ".join(row.get("swept", {}))
    words = (
        f"{row['id']} {row.get('kind', '')} {row['status']} seed={row.get('seed')} {swept} {fields}"
    )
    return words[:LONGEST_WORDS].lower()


def wanted_words(text: str) -> list[str]:
    """The words of a query, in small letters; of a very long one the first."""
    return text.lower().split()[:MOST_WORDS]


def stamp_of(path: str) -> tuple[str, bool]:
    """What changes with a file or folder, and whether its times lie far enough back to be believed.

    It is empty if it cannot be looked at.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return "", False
    latest = found.st_mtime_ns if os.name == "nt" else found.st_ctime_ns
    stamp = (
        f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_size} {found.st_ino} {found.st_mode}"
    )
    return stamp, time.time_ns() - latest > SETTLED
