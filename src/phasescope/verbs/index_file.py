"""The file of an index: SQLite tables that may be deleted at any time, and are remade if they are not sound.

It lies in the user's cache folder, never in the store. Its name has the machine's, so that a home folder that several
machines share has one for each: the locks of SQLite hold within a machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ..files import cache_folder

VERSION = 2  # of the tables; another one is made anew
# Written into the file, so that a database of another program is told from an index.
OURS = 0x70687363
BUSY = 10.0  # seconds to wait for another process that writes
TABLES = """
CREATE TABLE IF NOT EXISTS runs (
  id TEXT PRIMARY KEY, arm TEXT, kind TEXT, "when" TEXT, status TEXT, seconds REAL, size INTEGER, words TEXT,
  row TEXT, sum INTEGER, stamp TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS folders (folder TEXT PRIMARY KEY, stamp TEXT) WITHOUT ROWID;
"""


def index_file(root: Path) -> Path | None:
    """Where the index of a store lies; None if PHASESCOPE_CACHE is 0."""
    folder = cache_folder("index")
    if folder is None:
        return None
    place = os.fsencode(root.resolve()) + b"\0" + platform.node().encode()
    return folder / f"{hashlib.sha256(place).hexdigest()[:32]}.sqlite"


class IndexFile:
    """A connection to the tables of an index: in its file, or in memory where no file can be used.

    Callers hold a lock around `tables`, and call `replace` when it raised a `sqlite3.Error`.
    """

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.tables = self._opened()

    def close(self) -> None:
        """Let go of the file."""
        self.tables.close()

    def replace(self, problem: sqlite3.Error) -> None:
        """Other, empty tables after a problem: in a new file, or in memory if the old one is only in use elsewhere."""
        if self.file is None:
            raise problem
        self.tables.close()
        if is_busy(problem):
            self.file = None
        else:
            self._remove()
        self.tables = self._opened()

    def forget_the_file(self) -> None:
        """Go on in memory."""
        self.tables.close()
        self.file = None
        self.tables = self._opened()

    def _opened(self) -> sqlite3.Connection:
        if self.file is not None:
            try:
                self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with _alone(self.file):
                    return _sound(self.file)
            except (OSError, NotImplementedError, sqlite3.Error):
                self.file = None
        return connect(":memory:")

    def _remove(self) -> None:
        if self.file is not None:
            with contextlib.suppress(OSError, NotImplementedError), _alone(self.file):
                remove(self.file)


def is_busy(problem: sqlite3.Error) -> bool:
    """Whether the tables are sound, and another process held them for too long."""
    name = getattr(problem, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"))


def connect(file: Path | str) -> sqlite3.Connection:
    """A connection to sound tables of this version; anything else is a `sqlite3.Error`."""
    tables = sqlite3.connect(file, timeout=BUSY, check_same_thread=False)
    try:
        marks = [_pragma(tables, name) for name in ("application_id", "user_version")]
        if marks == [0, 0] and _pragma(tables, "schema_version") == 0:
            tables.execute("PRAGMA journal_mode = WAL")
            tables.executescript(
                f"PRAGMA application_id = {OURS}; PRAGMA user_version = {VERSION};"
            )
        elif marks != [OURS, VERSION]:
            raise sqlite3.DatabaseError("this is no index of this version")
        tables.execute("PRAGMA synchronous = NORMAL")
        tables.executescript(TABLES)
    except sqlite3.Error:
        tables.close()
        raise
    return tables


def remove(file: Path) -> None:
    """Remove the file and what SQLite keeps beside it; the log first, which a new file must not find."""
    for ending in ("-wal", "-shm", "-journal", ""):
        file.with_name(file.name + ending).unlink(missing_ok=True)


def _sound(file: Path) -> sqlite3.Connection:
    """The tables in the file; what is no index, or a damaged one, is made anew."""
    try:
        return connect(file)
    except sqlite3.Error as problem:
        if is_busy(problem):
            raise
    remove(file)
    return connect(file)


def _pragma(tables: sqlite3.Connection, name: str) -> int:
    return tables.execute(f"PRAGMA {name}").fetchone()[0]


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """While nobody else opens or removes the file. A file system without locks is an `OSError`."""
    import filelock

    with filelock.FileLock(f"{file}.lock", timeout=BUSY):
        yield
