"""The index of a store: lists and filters many runs quickly, and may be deleted at any time.

It is made of `run.json` files alone, and never believed where these say something else. A thorough look at the store
asks the system for the times of every `run.json`, and reads those that are new or have changed; a quick one asks for
those of the folders of arms, in which runs appear and vanish. Several processes may use one index at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StoreError
from ..files import Document
from ..store import Store
from ..store.entries import DIGEST, NAME
from ..store.folders import walk
from .index_file import IndexFile, index_file
from .index_lines import line_of, stamp_of, wanted_words
from .store_contents import UNREADABLE

BATCH = 500  # runs that are read before they are written down
SORTS = ("when", "id", "study", "arm", "kind", "status", "size", "seconds")
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Query:
    """Which runs are wanted: every word of `text` occurs in the id, the status or a `field=value` of the run.

    `sort` is one of `SORTS`, with a minus before it for the other direction. `limit` None is all.
    """

    text: str = ""
    study: str = ""
    arm: str = ""
    kind: str = ""
    sort: str = "-when"
    offset: int = 0
    limit: int | None = 100


class RunIndex:
    """The index of one store, for all threads of a process."""

    def __init__(self, store: Store, file: Path | None = None) -> None:
        self.store = store
        self._file = IndexFile(index_file(store.root) if file is None else file)
        self._lock = threading.RLock()
        self._thorough_again = 0.0  # of the monotonic clock

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._file.close()

    def refresh(self, thorough: bool = False) -> None:
        """Take in what was added to the store or removed; if `thorough`, also what was changed in its place.

        A long session looks thoroughly by itself from time to time.
        """
        with self._lock:
            began = time.monotonic()
            thorough = thorough or began >= self._thorough_again
            self._safely(lambda: self._refresh(thorough))
            if thorough:
                now = time.monotonic()
                self._thorough_again = now + max(10.0, 20 * (now - began))

    def select(self, query: Query) -> tuple[int, list[Document]]:
        """How many runs fit, and those from `offset` on, as rows of the store's table of contents."""
        where, values = _condition(query)
        field = query.sort.removeprefix("-")
        order = {"study": "id"}.get(field, field if field in SORTS else "when")
        direction = "DESC" if query.sort.startswith("-") else "ASC"
        count = f"SELECT count(*) FROM runs{where}"
        ask = f'SELECT id FROM runs{where} ORDER BY "{order}" {direction}, id LIMIT ? OFFSET ?'
        limit = -1 if query.limit is None else query.limit

        def answer() -> tuple[int, list[Document]]:
            total = self._ask(count, values)[0][0]
            return total, self._rows_of(self._ask(ask, [*values, limit, query.offset]))

        return self._safely(lambda: self._at_once(answer))

    def every(
        self, text: str = "", last: int | None = None
    ) -> tuple[list[Document], list[Document]]:
        """The rows of all runs, oldest first, and of those that cannot be read, after a thorough look.

        `text` is as in a `Query`; `last` is how many of the first there are at most.
        """
        where, values = _condition(Query(text=text))
        ask = f'SELECT status = ?, "when", id, row, sum FROM runs{where}'

        def answer() -> list[list[Document]]:
            try:
                found = sorted(self._ask(ask, [UNREADABLE, *values]))
            except TypeError as error:
                raise sqlite3.DatabaseError("a row of the index is damaged") from error
            finished = [line[3:] for line in found if not line[0]]
            unreadable = [line[3:] for line in found if line[0]]
            return [self._rows(finished[-last if last else None :]), self._rows(unreadable)]

        with self._lock, _without_collections():
            self.refresh(thorough=True)
            finished, unreadable = self._safely(answer)
        return finished, unreadable

    def get(self, id: str) -> Document | None:
        """The row of one run, or None if the store has none of this id."""
        asked = id.encode("utf-8", "replace").decode()
        ask = "SELECT row, sum FROM runs WHERE id = ?"
        found = self._safely(lambda: self._rows(self._ask(ask, [asked])))
        return found[0] if found else None

    def stamp(self, id: str) -> str:
        """What changes whenever the run of this id, which the index has, is replaced."""
        return stamp_of(f"{self.store.root}/{id}/run.json")[0]

    def _safely(self, work: Callable[[], T]) -> T:
        """Do some work on the tables. Damaged ones are made anew from the store; at last, in memory."""
        with self._lock:
            try:
                return work()
            except sqlite3.Error as problem:
                self._file.replace(problem)
            try:
                self._refresh(thorough=True)
                return work()
            except sqlite3.Error:
                self._file.forget_the_file()
            self._refresh(thorough=True)
            return work()

    def _at_once(self, work: Callable[[], T]) -> T:
        """Ask several times, and see the tables as they are at the first, whatever others write meanwhile."""
        self._file.tables.execute("BEGIN")
        try:
            return work()
        finally:
            self._file.tables.rollback()

    def _ask(self, text: str, values: Any = ()) -> list[Any]:
        return self._file.tables.execute(text, values).fetchall()

    def _rows_of(self, ids: list[tuple[str]]) -> list[Document]:
        """The rows of some runs, in this order."""
        found = [self._ask("SELECT row, sum FROM runs WHERE id = ?", id) for id in ids]
        if not all(found):
            raise sqlite3.DatabaseError("the index does not find what it lists")
        return self._rows([line for (line,) in found])

    def _rows(self, found: list[tuple[str, int]]) -> list[Document]:
        """Rows of the table as they were written down; one that was altered is a `sqlite3.DatabaseError`."""
        for text, total in found:
            if type(text) is not str or zlib.crc32(text.encode("utf-8", "replace")) != total:
                raise sqlite3.DatabaseError("a row of the index is damaged")
        rows = json.loads(f"[{','.join(text for text, _ in found)}]")
        root = f"{self.store.root}{os.sep}"
        for row in rows:
            row["folder"] = root + row["id"].replace("/", os.sep)
        return rows

    @contextlib.contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """A transaction during which nobody else writes."""
        with self._file.tables as tables:
            tables.execute("BEGIN IMMEDIATE")
            yield tables

    def _refresh(self, thorough: bool) -> None:
        """Bring the tables up to date with the store as it is now, or as it becomes meanwhile.

        Files are read between transactions, which are short. Whoever writes has seen, within the transaction, that
        what is written is so; and a look begins when others have written what they saw before it. So nothing that was
        seen before a look is written after it.
        """
        with self._alone():
            pass
        known = dict(self._ask("SELECT folder, stamp FROM folders"))
        present = _arms(self.store.root)
        for name, folder in present.items():
            stamp, settled = stamp_of(folder)
            if thorough or not settled or known.get(name) != stamp:
                self._refresh_arm(folder, name, stamp if settled else "")
        if known.keys() - present.keys():
            with self._alone() as tables:
                for name in known.keys() - _arms(self.store.root).keys():
                    tables.execute("DELETE FROM runs WHERE id > ? AND id < ?", _ids_in(name))
                    tables.execute("DELETE FROM folders WHERE folder = ?", [name])

    def _refresh_arm(self, folder: str, name: str, stamp: str) -> None:
        """Bring the runs of one arm up to date; only then the time of its folder is written down."""
        ask = "SELECT id, stamp FROM runs WHERE id > ? AND id < ?"
        known = dict(self._ask(ask, _ids_in(name)))
        present = {f"{name}/{digest}": f"{folder}/{digest}/run.json" for digest in _digests(folder)}
        doubtful = [
            id
            for id, path in present.items()
            if not (was := known.get(id)) or was != stamp_of(path)[0]
        ]
        doubtful += known.keys() - present.keys()
        for begin in range(0, len(doubtful), BATCH):
            self._write_down(doubtful[begin : begin + BATCH], name)
        with self._alone() as tables:
            tables.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", [name, stamp])

    def _write_down(self, ids: list[str], arm: str) -> None:
        """Write down some runs of an arm as they are; those that are gone are forgotten."""
        root = self.store.root
        read = {id: line_of(id, root) for id in ids}
        with self._alone() as tables:
            for id, line in read.items():
                if line is None or not line[-1] or line[-1] != stamp_of(f"{root}/{id}/run.json")[0]:
                    read[id] = line_of(id, root)  # it may have become another one
            marks = ", ".join("?" * 11)
            lines = [line for line in read.values() if line is not None]
            tables.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", [arm, ""])
            tables.executemany(f"INSERT OR REPLACE INTO runs VALUES ({marks})", lines)
            gone = [[id] for id, line in read.items() if line is None]
            tables.executemany("DELETE FROM runs WHERE id = ?", gone)


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Without the collector of Python's garbage, which looks at all rows again and again while they are read."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _arms(root: Path) -> dict[str, str]:
    """The folders of arms that a store has, by study and arm."""
    return {"/".join(folder.parts[-2:]): str(folder) for folder in walk(root, NAME, NAME)[0]}


def _ids_in(folder: str) -> tuple[str, str]:
    """Two words between which the ids of all runs in a folder lie: "0" follows "/"."""
    return f"{folder}/", f"{folder}0"


def _condition(query: Query) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    if query.study:
        parts.append("id > ? AND id < ?")
        values += _ids_in(query.study)
    for column in ("arm", "kind"):
        if getattr(query, column):
            parts.append(f"{column} = ?")
            values.append(getattr(query, column))
    for word in wanted_words(query.text):
        parts.append("instr(words, ?) > 0")
        values.append(word)
    texts = [value.encode("utf-8", "replace").decode() for value in values]
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), texts


def _digests(folder: str) -> Iterator[str]:
    """The names of run folders; links are none."""
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if DIGEST.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    yield entry.name
    except FileNotFoundError:  # removed while we looked
        return
    except OSError as error:
        raise StoreError(
            f"cannot read the store {folder}: {error.strerror}. Choose another: --store DIR"
        ) from error
