"""The store: finished runs as `<root>/<study>/<arm>/<digest>/`, visible only when complete, written once.

A run folder holds `run.json` (identity, manifest, SHA-256 of every file), `records.zarr.zip` and `snapshots/`.
`.drafts/` holds runs in the making, `.quarantine/` what `repair` set aside. `index.json` is a copy that may be deleted.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from .drafts import RECORDS, STATUSES, Draft, last_position, snapshot_file, unfinished_folder
from .entries import DIGEST, NAME, Entry, Identity, Problem, RepairReport, Unfinished, run_id
from .storage import (
    FORMAT,
    LARGEST_JSON,
    REPAIR,
    Damaged,
    NewerFormat,
    check_hash,
    hold,
    make_folders,
    place,
    read,
    refusals,
    remove_tree,
    seal,
    unpack_tensors,
    unseal,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

_LIMIT = 2**33


class Store:
    """A folder of runs. Nothing is created before something is written."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).expanduser().absolute()

    @staticmethod
    def default_root(explicit: str | Path | None = None) -> Path:
        """What was asked for, else $PHASESCOPE_STORE, else ./phasescope-runs."""
        return Path(explicit or os.environ.get("PHASESCOPE_STORE") or "phasescope-runs")

    def find(self, identity: Identity) -> Entry | None:
        """The finished run, or None."""
        folder = self.root / identity.study / identity.arm / identity.digest
        with refusals(folder, "look for the run"):
            if not folder.exists():
                return None
        entry = self._entry(folder, self._document(folder))
        if entry.identity != identity:
            raise StoreError(f"{folder} holds another run, whose digest begins alike. Use another store for this one.")
        return entry

    @contextlib.contextmanager
    def draft(self, identity: Identity, on_wait: Callable[[str], None] | None = None) -> Iterator[Draft]:
        """The run in the making, for this process alone; waits while another one holds it."""
        lock = self._lock(identity.study, identity.arm, identity.digest)
        name = f"{identity.study}/{identity.arm}/{identity.digest}"
        wait = lambda: on_wait(f"{name} is being computed by another process; waiting for it.") if on_wait else None
        with refusals(self.root, "write to the store"):
            make_folders(lock.parent)
        with hold(lock, wait):
            yield Draft(self.root, identity, self.find)

    def entries(self) -> list[Entry]:
        """The finished runs that can be read, oldest first."""
        return self.survey()[0]

    def survey(self, afresh: bool = False) -> tuple[list[Entry], list[Problem]]:
        """The finished runs, and those whose `run.json` cannot be read. The index saves reading what did not change."""
        old = {} if afresh else self._index()
        new, entries, problems = {}, [], []
        for folder in self._folders(self.root):
            try:
                new[run_id(folder)], entry = self._remembered(folder, old)
                entries.append(entry)
            except StoreError as error:
                problems.append(Problem(run_id(folder), folder, str(error)))
        if afresh or new != old:
            with contextlib.suppress(OSError):  # a store that can only be read is a store
                place(self.root / "index.json", seal({"format": FORMAT, "runs": new}, None), f".{os.getpid()}")
        return sorted(entries, key=lambda e: (e.created, e.id)), problems

    def unfinished(self) -> list[Unfinished]:
        """Runs in the making or interrupted."""
        out = []
        for folder in self._folders(self.root / ".drafts"):
            if (self.root / folder.relative_to(self.root / ".drafts")).exists():
                continue
            document, position = last_position(folder, self.root)
            identity = None
            with contextlib.suppress(StoreError, KeyError, TypeError, ValueError):
                identity = Identity.from_json(document) if document else None
            out.append(Unfinished(run_id(folder), folder, identity, position, self._is_held(folder)))
        return out

    def load(self, entry: Entry, verify: bool = True, limit: int = _LIMIT) -> xr.Dataset:
        """The records. `limit` is the most bytes they may take in memory."""
        from .recordfile import content, unpack

        document = self._document(entry.folder)
        path, data = self._file(entry.folder, document, RECORDS, verify)
        ds = unpack(path, data, limit)
        if verify and content(ds) != document["content"]:
            raise Damaged(f"{path} is damaged: it holds other numbers than were written down for it. {REPAIR}")
        return ds

    def snapshot(self, entry: Entry, name: str, verify: bool = True) -> list[np.ndarray]:
        """The leaves of a stored state."""
        path, data = self._file(entry.folder, self._document(entry.folder), snapshot_file(name), verify)
        return list(unpack_tensors(path, data).values())

    def repair(self, remove: bool = False) -> RepairReport:
        """Verify every hash, set damaged runs aside (or delete them), clear what dead writers left, index anew."""
        damaged, newer, alike = [], [], collections.defaultdict(dict)
        folders = self._folders(self.root)
        for folder in folders:
            try:
                document = self._document(folder)
                for name in document["files"]:
                    self._file(folder, document, name, verify=True)
            except NewerFormat as error:
                newer.append(Problem(run_id(folder), folder, str(error)))
            except Damaged as error:
                damaged.append(Problem(run_id(folder), folder, str(error), self._set_aside(folder, remove)))
            except StoreError as error:  # it may be whole, only not readable by us
                damaged.append(Problem(run_id(folder), folder, str(error)))
            else:
                records = {n: c["sha256"] for n, c in document["content"].items() if not c["coord"]}
                question = {k: v for k, v in document["identity"].items() if k not in ("source", "width")}
                if records:
                    answer = json.dumps([question["study"], records], sort_keys=True)
                    alike[answer].setdefault(json.dumps(question, sort_keys=True), run_id(folder))
        cleared = self._clear(remove)
        self.survey(afresh=True)
        return RepairReport(
            len(folders), damaged, newer, cleared, [tuple(g.values()) for g in alike.values() if len(g) > 1]
        )

    def _document(self, folder: Path) -> dict[str, Any]:
        """`run.json`, checked: whole, of this place, and naming no file but a run's own."""
        path = folder / "run.json"
        document = unseal(path, read(path, self.root, limit=LARGEST_JSON))
        try:
            identity, names = Identity.from_json(document["identity"]), set(document["files"])
            whole = (
                (identity.study, identity.arm, identity.digest) == folder.parts[-3:]
                and all(n == RECORDS or n == snapshot_file(Path(n).stem) for n in names)
                and RECORDS in names
                and all(type(f["size"]) is int and type(f["sha256"]) is str for f in document["files"].values())
                and all(type(c["sha256"]) is str and type(c["coord"]) is bool for c in document["content"].values())
                and document["status"] in STATUSES
                and type(document["manifest"]) is dict
                and type(document["created"]) is str
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, StoreError):
            whole = False
        if not whole:
            raise Damaged(f"{path} is damaged: it does not describe the run of this folder. {REPAIR}")
        return document

    def _entry(self, folder: Path, document: Mapping[str, Any]) -> Entry:
        identity = Identity.from_json(document["identity"])
        values = (document[k] for k in ("status", "manifest", "created", "content"))
        return Entry(identity, folder, *values)

    def _file(self, folder: Path, document: Mapping[str, Any], name: str, verify: bool) -> tuple[Path, bytes]:
        path = folder / name
        if name not in document["files"]:
            known = ", ".join(Path(n).stem for n in document["files"] if n != RECORDS) or "none"
            raise StoreError(f'{run_id(folder)} has no "{Path(name).stem}". Snapshots: {known}.')
        listed = document["files"][name]
        data = read(path, self.root, size=listed["size"])
        return path, check_hash(path, data, listed["sha256"]) if verify else data

    def _folders(self, root: Path) -> list[Path]:
        """The folders `study/arm/digest` below `root`; anything else there is none of ours."""
        try:
            found = [str(root)]
            for name in (NAME, NAME, DIGEST):
                found = [
                    e.path for f in found for e in os.scandir(f)
                    if name.fullmatch(e.name) and e.is_dir(follow_symlinks=False)
                ]  # fmt: skip
            return list(map(Path, sorted(found)))
        except FileNotFoundError:
            return [] if not root.exists() else self._folders(root)  # removed while we looked: look again
        except OSError as error:
            raise StoreError(f"cannot read the store {root}: {error.strerror}. Choose another: --store DIR") from error

    def _remembered(self, folder: Path, index: Mapping[str, Any]) -> tuple[dict[str, Any], Entry]:
        """The run as the index has it, if its `run.json` is the same file still; else as that file has it."""
        stamp = None
        with contextlib.suppress(OSError, KeyError, TypeError, ValueError, AttributeError):
            found, known = os.stat(f"{folder}/run.json"), index.get(run_id(folder))
            stamp = [found.st_mtime_ns, found.st_size]
            if known and known["stamp"] == stamp:
                return known, self._entry(folder, known["run"])
        document = self._document(folder)
        known = {"stamp": stamp, "run": {k: v for k, v in document.items() if k not in ("files", "seal")}}
        return known, self._entry(folder, document)

    def _index(self) -> dict[str, Any]:
        path = self.root / "index.json"
        with contextlib.suppress(StoreError, KeyError):
            return unseal(path, read(path, self.root, limit=2**31))["runs"]
        return {}

    def _lock(self, study: str, arm: str, digest: str) -> Path:
        return self.root / ".drafts" / study / arm / f"{digest}.lock"

    def _is_held(self, folder: Path) -> bool:
        lock = self._lock(*folder.parts[-3:])
        if not lock.exists():
            return False
        with contextlib.suppress(StoreError), hold(lock, wait=False) as free:
            return not free
        return False

    def _set_aside(self, folder: Path, remove: bool) -> Path | None:
        if remove:
            remove_tree(folder)
            return None
        aside = self.root / ".quarantine"
        with refusals(aside, "set the damaged run aside in"):
            make_folders(aside)
            stem = ".".join(folder.parts[-3:])
            number = next(n for n in range(1, 10**6) if not (aside / f"{stem}.{n}").exists())
            os.rename(folder, aside / f"{stem}.{number}")
        return aside / f"{stem}.{number}"

    def _clear(self, remove: bool) -> list[Path]:
        """Half-written runs, drafts of finished runs and lock files that no living process holds."""
        cleared = [p for p in self.root.glob(".index.json.*.part") if p.is_file()]
        for path in cleared:
            path.unlink(missing_ok=True)
        locks = {p.with_suffix("") for p in (self.root / ".drafts").glob("*/*/*.lock")}
        parts = {self.root / ".drafts" / Path(*p.parts[-3:-1], p.name[1:-5]) for p in self.root.glob("*/*/.*.part")}
        for draft in sorted(locks | parts):
            if not DIGEST.fullmatch(draft.name):
                continue
            lock, target = draft.with_name(f"{draft.name}.lock"), self.root / Path(*draft.parts[-3:])
            leftovers = (unfinished_folder(target), draft) if target.exists() else (unfinished_folder(target),)
            gone = [p for p in leftovers if p.exists()]
            with contextlib.suppress(OSError):  # a store that can only be read has no writers
                make_folders(lock.parent)
                with hold(lock, wait=False) as free:
                    if free:
                        for path in gone:
                            remove_tree(path)
                        lock.unlink(missing_ok=True)
                        cleared += gone
        if remove and (self.root / ".quarantine").exists():
            remove_tree(self.root / ".quarantine")
            cleared.append(self.root / ".quarantine")
        return cleared
