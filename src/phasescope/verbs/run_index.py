"""The index of a store: a SQLite file that lists and filters many runs quickly, and may be deleted at any time.

It lies in the user's cache folder, never in the store, and is made of `run.json` files alone. What was added or
removed is found by the times of the folders; `thorough` also looks at every `run.json`. Several processes may use
it at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from ..engine.cache import VARIABLE
from ..errors import StoreError
from ..records.dataset import FORK
from ..store import Entry, Store
from ..store.entries import DIGEST, NAME
from ..store.folders import walk
from ..store.run_document import read_run
from .store_contents import finished_row, unreadable_row

VERSION = 1  # of the tables; another one is made anew
BUSY = 10.0  # seconds to wait for another process that writes
SETTLED = 2e9  # nanoseconds after which the time of a folder is believed: clocks of file systems are coarse
BATCH = 500  # runs that are read before they are written down
SORTS = ("when", "id", "study", "arm", "kind", "status", "size", "seconds")
TABLES = """
CREATE TABLE IF NOT EXISTS runs (
  id TEXT PRIMARY KEY, study TEXT, arm TEXT, digest TEXT, kind TEXT, "when" TEXT, status TEXT, seconds REAL,
  size INTEGER, words TEXT, row TEXT, stamp TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_arm ON runs (study, arm);
CREATE INDEX IF NOT EXISTS by_when ON runs ("when", id);
CREATE TABLE IF NOT EXISTS folders (folder TEXT PRIMARY KEY, stamp INTEGER);
"""


@dataclasses.dataclass(frozen=True)
class Query:
    """Which runs are wanted: every word of `text` occurs in the id, the status or a `field=value` of the run.

    `sort` is one of `SORTS`, with a minus before it for the other direction.
    """

    text: str = ""
    study: str = ""
    arm: str = ""
    kind: str = ""
    sort: str = "-when"
    offset: int = 0
    limit: int = 100


def index_file(root: Path) -> Path | None:
    """Where the index of a store lies: in `PHASESCOPE_CACHE/index`, else in the user's cache; None if that is 0."""
    named = os.environ.get(VARIABLE, "")
    if named == "0":
        return None
    top = Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("phasescope"))
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    return top / "index" / f"{digest}.sqlite"


class RunIndex:
    """The index of one store. A file that is damaged is made anew; without a file, it is kept in memory."""

    def __init__(self, store: Store, file: Path | None = None) -> None:
        self.store = store
        self.file = index_file(store.root) if file is None else file
        self._lock = threading.RLock()
        self._tables = self._opened()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._tables.close()

    def refresh(self, thorough: bool = False) -> None:
        """Take in what was added to the store, changed or removed."""
        with self._lock:
            try:
                self._refresh(thorough)
            except sqlite3.DatabaseError:
                self._begin_anew()
                self._refresh(thorough)

    def select(self, query: Query) -> tuple[int, list[dict[str, Any]]]:
        """How many runs fit, and those from `offset` on, as rows of the store's table of contents."""
        where, values = _condition(query)
        field = query.sort.removeprefix("-")
        order = field if field in SORTS else "when"
        direction = "DESC" if query.sort.startswith("-") else "ASC"
        ask = f'SELECT row FROM runs{where} ORDER BY "{order}" {direction}, id LIMIT ? OFFSET ?'
        with self._lock:
            total = self._tables.execute(f"SELECT count(*) FROM runs{where}", values).fetchone()[0]
            found = self._tables.execute(ask, [*values, query.limit, query.offset]).fetchall()
        return total, [self._row(text) for (text,) in found]

    def get(self, id: str) -> dict[str, Any] | None:
        """The row of one run, or None if the store has none of this id."""
        with self._lock:
            found = self._tables.execute("SELECT row FROM runs WHERE id = ?", [id]).fetchone()
        return None if found is None else self._row(found[0])

    def _row(self, text: str) -> dict[str, Any]:
        row = json.loads(text)
        return row | {"folder": str(self.store.root / row["id"])}

    def _opened(self) -> sqlite3.Connection:
        if self.file is not None:
            with contextlib.suppress(OSError, sqlite3.DatabaseError):
                self.file.parent.mkdir(parents=True, exist_ok=True)
                return _connection(self.file)
            with contextlib.suppress(OSError, sqlite3.DatabaseError):
                self.file.unlink(missing_ok=True)
                return _connection(self.file)
        return _connection(":memory:")

    def _begin_anew(self) -> None:
        self._tables.close()
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.unlink(missing_ok=True)
        self._tables = self._opened()

    def _refresh(self, thorough: bool) -> None:
        folders = walk(self.store.root, NAME, NAME)[0]
        known = dict(self._tables.execute("SELECT folder, stamp FROM folders").fetchall())
        present = set()
        for folder in folders:
            name = "/".join(folder.parts[-2:])
            present.add(name)
            stamp = _stamp_of_folder(folder)
            if thorough or stamp is None or known.get(name) != stamp:
                self._refresh_arm(folder, thorough)
                settled = stamp is not None and time.time_ns() - stamp > SETTLED
                self._tables.execute(
                    "INSERT OR REPLACE INTO folders VALUES (?, ?)", [name, stamp if settled else 0]
                )
        for name in known.keys() - present:
            study, _, arm = name.partition("/")
            self._tables.execute("DELETE FROM runs WHERE study = ? AND arm = ?", [study, arm])
            self._tables.execute("DELETE FROM folders WHERE folder = ?", [name])
        self._tables.commit()

    def _refresh_arm(self, folder: Path, thorough: bool) -> None:
        study, arm = folder.parts[-2:]
        ask = "SELECT digest, stamp FROM runs WHERE study = ? AND arm = ?"
        known = dict(self._tables.execute(ask, [study, arm]).fetchall())
        present = set(_digests(folder))
        gone = [[f"{study}/{arm}/{digest}"] for digest in known.keys() - present]
        self._tables.executemany("DELETE FROM runs WHERE id = ?", gone)
        look = present if thorough else present - known.keys()
        changed = [d for d in look if known.get(d) != _stamp(f"{folder}/{d}/run.json")]
        for begin in range(0, len(changed), BATCH):
            rows = [self._read(folder / digest) for digest in changed[begin : begin + BATCH]]
            marks = ", ".join("?" * 12)
            self._tables.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", rows)
            self._tables.commit()

    def _read(self, folder: Path) -> Sequence[Any]:
        """The line of one run in the table; of one that cannot be read, why."""
        study, arm, digest = folder.parts[-3:]
        id = f"{study}/{arm}/{digest}"
        stamp = _stamp(f"{folder}/run.json")
        try:
            entry, document = read_run(folder, self.store.root)
        except StoreError as problem:
            row = unreadable_row(id, folder, str(problem))
            del row["folder"]
            told = json.dumps(row)
            return [id, study, arm, digest, "", "", row["status"], 0.0, 0, id, told, stamp]
        size = sum(listed["size"] for listed in document["files"].values())
        row = finished_row(entry) | {"size": size, "kind": kind_of(entry)}
        del row["folder"]
        fields = " ".join(f"{k}={v}" for k, v in entry.spec.items())
        swept = " ".join(row["swept"])
        words = f"{id} {row['kind']} {entry.status} {fields} seed={entry.seed} {swept}".lower()
        return [
            id, study, arm, digest, row["kind"], entry.created, entry.status, row["seconds"] or 0.0, size, words,
            json.dumps(row), stamp,
        ]  # fmt: skip


def kind_of(entry: Entry) -> str:
    """What an entry is: `run`, `sweep` (a block of one) or `fork`."""
    if entry.manifest.get(FORK):
        return "fork"
    return "sweep" if entry.lanes else "run"


def _connection(file: Path | str) -> sqlite3.Connection:
    tables = sqlite3.connect(file, timeout=BUSY, check_same_thread=False)
    try:
        version = tables.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError("the index is of another version")
        tables.execute("PRAGMA journal_mode = WAL")
        tables.execute("PRAGMA synchronous = OFF")  # it can be made again
        tables.executescript(TABLES)
        tables.execute(f"PRAGMA user_version = {VERSION}")
        tables.commit()
    except sqlite3.DatabaseError:
        tables.close()
        raise
    return tables


def _condition(query: Query) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for column in ("study", "arm", "kind"):
        if getattr(query, column):
            parts.append(f"{column} = ?")
            values.append(getattr(query, column))
    for word in query.text.lower().split()[:8]:
        parts.append("instr(words, ?) > 0")
        values.append(word)
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


def _digests(folder: Path) -> Iterator[str]:
    """The names of run folders; links are none."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as found:
        for entry in found:
            if DIGEST.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.name


def _stamp(path: str) -> str:
    """What changes with a file: empty if it cannot be looked at."""
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        return f"{found.st_mtime_ns} {found.st_size} {found.st_mode}"
    return ""


def _stamp_of_folder(folder: Path) -> int | None:
    with contextlib.suppress(OSError):
        return os.lstat(folder).st_mtime_ns
    return None
