"""The store: finished runs as `<root>/<study>/<arm>/<digest>/`, visible only when complete, written
once.

A run folder holds `run.json` (identity, manifest, SHA-256 of every file), `records.zarr.zip` and
`snapshots/`. `.drafts/` holds runs in the making, `.quarantine/` what `repair` set aside.
`index.json` is a copy that may be deleted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import Document, as_folder, make_folders, os_errors_as_store_errors, write_atomically
from .checkpoints import last_position
from .drafts import Draft
from .entries import Entry, Identity, Problem, RepairReport, Unfinished, entry_from_json, run_id
from .faults import REPAIR, Damaged
from .folders import RECORDS, draft_folders, lock_file, run_folder, run_folders, snapshot_file
from .paths import file_lock, inside, open_plain, read
from .repair import link_problem, repair
from .run_document import read_run
from .sealed import (
    FIRST_FORMAT,
    LARGEST_INDEX,
    check_file_hash,
    check_hash,
    seal,
    unpack_tensors,
    unseal,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

# Bytes of numbers in the records of one run, in memory, where nothing else is asked for.
LIMIT = 2**31


class Store:
    """A folder of runs. Nothing is created before something is written.

    `limit` is the most bytes that the records of a run may take in memory; larger ones are neither
    written nor loaded.
    """

    def __init__(self, root: str | Path, limit: int = LIMIT) -> None:
        self.root = Path(root).expanduser().absolute()
        self.limit = limit

    @staticmethod
    def default_root(explicit: str | Path | None = None) -> Path:
        """What was asked for, else $PHASESCOPE_STORE, else ./phasescope-runs."""
        if explicit is None:
            return Path(os.environ.get("PHASESCOPE_STORE") or "phasescope-runs")
        return as_folder(explicit, "store")

    def find(self, identity: Identity) -> Entry | None:
        """The finished run, or None."""
        folder = run_folder(self.root, identity)
        with os_errors_as_store_errors(folder, "look for the run"):
            if not folder.exists():
                return None
        entry, _ = read_run(folder, self.root)
        if entry.identity != identity:
            raise StoreError(
                f"{folder} holds another run, whose digest begins alike. Use another store for this one."
            )
        return entry

    @contextlib.contextmanager
    def draft(
        self, identity: Identity, on_wait: Callable[[str], None] | None = None
    ) -> Iterator[Draft]:
        """The run in the making, for this process alone; waits while another one holds it."""
        lock = lock_file(self.root, identity.study, identity.arm, identity.digest)
        name = f"{identity.study}/{identity.arm}/{identity.digest}"

        def wait() -> None:
            if on_wait is not None:
                on_wait(f"{name} is being computed by another process; waiting for it.")

        with os_errors_as_store_errors(self.root, "write to the store"):
            make_folders(lock.parent)
        with file_lock(lock, wait):
            yield Draft(self.root, identity, self.find, self.limit)

    def entries(self) -> list[Entry]:
        """The finished runs that can be read, oldest first."""
        return self.survey()[0]

    def survey(self, afresh: bool = False) -> tuple[list[Entry], list[Problem]]:
        """The finished runs, and those that cannot be read, links among them.

        The index saves reading what did not change.
        """
        old = {} if afresh else self._index()
        new = {}
        entries = []
        folders, links = run_folders(self.root)
        problems = [link_problem(link, self.root) for link in links]
        for folder in folders:
            try:
                new[run_id(folder)], entry = self._remembered(folder, old)
                entries.append(entry)
            except StoreError as error:
                problems.append(Problem(run_id(folder), folder, str(error)))
        if afresh or new != old:
            self._write_index(new)
        return sorted(entries, key=lambda e: (e.created, e.id)), problems

    def _write_index(self, runs: Mapping[str, Any]) -> None:
        """Keep the index. A store that can only be read is a store, and so is a very large one."""
        with contextlib.suppress(OSError):
            sealed = seal({"format": FIRST_FORMAT, "runs": runs}, None, LARGEST_INDEX)
            write_atomically(inside(self.root, "index.json"), sealed, f".{os.getpid()}")

    def unfinished(self) -> list[Unfinished]:
        """Runs in the making or interrupted."""
        out = []
        for folder in draft_folders(self.root)[0]:
            if os.path.lexists(self.root / run_id(folder)):
                continue
            identity = None
            position = None
            with contextlib.suppress(OSError):  # it may be damaged, or removed while we look
                document, position = last_position(folder, self.root)
                if document is not None:
                    found = Identity.from_json(document)
                    identity = found if found.digest == folder.name else None
            out.append(
                Unfinished(run_id(folder), folder, identity, position, self._is_held(folder))
            )
        return out

    def load(self, entry: Entry, verify: bool = True, limit: int | None = None) -> xr.Dataset:
        """The records. `limit` is the most bytes they may take in memory, if not the store's own."""
        from .recordfile import content, unpack

        _, document = read_run(entry.folder, self.root)
        path = entry.folder / RECORDS
        listed = document["files"][RECORDS]
        with open_plain(path, self.root, size=listed["size"]) as file:
            if verify:
                check_file_hash(path, file, listed["sha256"])
            ds = unpack(path, file, self.limit if limit is None else limit)
        if verify and content(ds) != document["content"]:
            raise Damaged(
                f"{path} is damaged: it holds other numbers than were written down for it. {REPAIR}"
            )
        return ds

    def snapshot(self, entry: Entry, name: str, verify: bool = True) -> list[np.ndarray]:
        """The leaves of a stored state."""
        _, document = read_run(entry.folder, self.root)
        file = snapshot_file(name)
        if file not in document["files"]:
            known = ", ".join(Path(n).stem for n in document["files"] if n != RECORDS) or "none"
            raise StoreError(
                f'{run_id(entry.folder)} has no "{Path(file).stem}". Snapshots: {known}.'
            )
        path = entry.folder / file
        listed = document["files"][file]
        data = read(path, self.root, size=listed["size"])
        if verify:
            check_hash(path, data, listed["sha256"])
        return list(unpack_tensors(path, data).values())

    def repair(self, remove: bool = False) -> RepairReport:
        """Verify every hash, set damaged runs aside (or delete them), clear what dead writers left,
        index anew.

        Links are named and left where they are, but for those in place of what the store itself
        would clear.
        """
        report = repair(self.root, remove)
        before = self._index_stamp()
        self.survey(afresh=True)
        return dataclasses.replace(
            report, indexed=not report.checked or self._index_stamp() != before
        )

    def _remembered(self, folder: Path, index: Mapping[str, Any]) -> tuple[Document, Entry]:
        """The run as the index has it, if its `run.json` is the same file still.

        Else as that file has it.
        """
        stamp = None
        with contextlib.suppress(OSError, KeyError, TypeError, AttributeError):
            found = os.lstat(f"{folder}/run.json")
            stamp = [found.st_mtime_ns, found.st_size]
            known = index.get(run_id(folder))
            if known and known["stamp"] == stamp and stat.S_ISREG(found.st_mode):
                return known, entry_from_json(folder, known["run"])
        entry, document = read_run(folder, self.root)
        known = {
            "stamp": stamp,
            "run": {k: v for k, v in document.items() if k not in ("files", "seal")},
        }
        return known, entry

    def _index_stamp(self) -> tuple[int, int] | None:
        """What changes whenever the index is written."""
        with contextlib.suppress(OSError):
            found = os.lstat(self.root / "index.json")
            return found.st_ino, found.st_mtime_ns
        return None

    def _index(self) -> Document:
        path = self.root / "index.json"
        with contextlib.suppress(StoreError):
            runs = unseal(path, read(path, self.root, limit=LARGEST_INDEX)).get("runs")
            if type(runs) is dict:
                return runs
        return {}

    def _is_held(self, folder: Path) -> bool:
        with contextlib.suppress(StoreError):
            lock = lock_file(self.root, *folder.parts[-3:])
            if lock.exists():
                with file_lock(lock, wait=False) as free:
                    return not free
        return False
