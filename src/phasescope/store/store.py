"""The store: finished runs as `<root>/<study>/<arm>/<digest>/`, visible only when complete, written
once.

A run folder holds `run.json` (identity, manifest, SHA-256 of every file), `records.zarr.zip` and
`snapshots/`. `.drafts/` holds runs in the making, `.quarantine/` what `repair` set aside.
`index.json` is a copy that may be deleted.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import make_folders, os_errors_as_store_errors, write_atomically
from .drafts import RECORDS, Draft, last_position, run_folder, snapshot_file
from .entries import (
    DIGEST,
    NAME,
    Entry,
    Identity,
    Problem,
    RepairReport,
    Unfinished,
    entry_from_json,
    run_id,
)
from .storage import (
    FORMAT,
    LARGEST_INDEX,
    LARGEST_JSON,
    REPAIR,
    Damaged,
    Linked,
    NewerFormat,
    check_file_hash,
    check_hash,
    file_lock,
    inside,
    is_link,
    link_message,
    open_plain,
    read,
    remove_tree,
    seal,
    unpack_tensors,
    unseal,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

LIMIT = (
    2**31
)  # bytes of numbers in the records of one run, in memory, where nothing else is asked for
_LOCK = re.compile(r"([0-9a-f]{16})\.lock")
_PART = re.compile(r"\.([0-9a-f]{16})\.part")
_INDEX_PART = re.compile(r"\.index\.json\.[0-9]+\.part")


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
        return Path(explicit or os.environ.get("PHASESCOPE_STORE") or "phasescope-runs")

    def find(self, identity: Identity) -> Entry | None:
        """The finished run, or None."""
        folder = run_folder(self.root, identity)
        with os_errors_as_store_errors(folder, "look for the run"):
            if not folder.exists():
                return None
        entry, _ = self._described(folder)
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
        lock = self._lock(identity.study, identity.arm, identity.digest)
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
        folders, links = self._runs()
        problems = [self._link_problem(link) for link in links]
        for folder in folders:
            try:
                new[run_id(folder)], entry = self._remembered(folder, old)
                entries.append(entry)
            except StoreError as error:
                problems.append(Problem(run_id(folder), folder, str(error)))
        if afresh or new != old:
            with contextlib.suppress(
                OSError
            ):  # a store that can only be read is a store, and so is a very large one
                sealed = seal({"format": FORMAT, "runs": new}, None, LARGEST_INDEX)
                write_atomically(inside(self.root, "index.json"), sealed, f".{os.getpid()}")
        return sorted(entries, key=lambda e: (e.created, e.id)), problems

    def unfinished(self) -> list[Unfinished]:
        """Runs in the making or interrupted."""
        out = []
        for folder in self._drafts()[0]:
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

        _, document = self._described(entry.folder)
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
        _, document = self._described(entry.folder)
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
        newer = []
        alike = collections.defaultdict(dict)
        cleared = self._clear()
        folders, links = self._runs()
        links += self._drafts()[1]
        damaged = [self._link_problem(link) for link in links]
        for folder in folders:
            try:
                document = self._verify(folder)
            except NewerFormat as error:
                newer.append(Problem(run_id(folder), folder, str(error)))
            except (Damaged, Linked) as error:
                damaged.append(self._set_aside(folder, str(error), remove))
            except StoreError as error:  # it may be whole, only not readable by us
                damaged.append(Problem(run_id(folder), folder, str(error)))
            else:
                question, answer = _question_and_answer(document)
                if answer:
                    alike[answer].setdefault(question, run_id(folder))
        if remove:
            cleared += self._remove_quarantine()
        self.survey(afresh=True)
        groups = [tuple(group.values()) for group in alike.values() if len(group) > 1]
        return RepairReport(
            checked=len(folders) + len(links),
            damaged=damaged,
            newer=newer,
            cleared=cleared,
            alike=groups,
        )

    def _described(self, folder: Path) -> tuple[Entry, dict[str, Any]]:
        """The entry and the document in `run.json`, checked: whole, of this place, and naming no
        file but a run's own.
        """
        path = folder / "run.json"
        document = unseal(path, read(path, self.root, limit=LARGEST_JSON))
        try:
            _check_files(document.get("files"))
            return entry_from_json(folder, document), document
        except StoreError as error:
            raise Damaged(
                f"{path} is damaged: it does not describe the run of this folder ({error}). {REPAIR}"
            ) from None

    def _verify(self, folder: Path) -> dict[str, Any]:
        """The document of a run, after a look at every byte of its files."""
        _, document = self._described(folder)
        for name, listed in document["files"].items():
            path = folder / name
            with open_plain(path, self.root, size=listed["size"]) as file:
                check_file_hash(path, file, listed["sha256"])
        return document

    def _runs(self) -> tuple[list[Path], list[Path]]:
        """The folders `study/arm/digest`, and the links in place of one of them or of another part
        of the store.
        """
        folders, links = self._walk(self.root, NAME, NAME, DIGEST)
        others = (self.root / name for name in (".drafts", ".quarantine", "index.json"))
        return folders, [path for path in others if is_link(path)] + links

    def _drafts(self) -> tuple[list[Path], list[Path]]:
        """The folders `study/arm/digest` below `.drafts`, and the links in place of one of them."""
        if is_link(self.root / ".drafts"):
            return [], []  # it is among the links of `_runs`
        return self._walk(self.root / ".drafts", NAME, NAME, DIGEST)

    def _walk(
        self, top: Path, *names: re.Pattern[str], files: bool = False
    ) -> tuple[list[Path], list[Path]]:
        """The folders (or `files`) below `top` whose names fit, one pattern a level, and the links
        that fit.

        No link is entered. Anything else is none of ours.
        """
        try:
            found = [str(top)]
            links: list[str] = []
            for level, name in enumerate(names, 1):
                entries = [
                    e for folder in found for e in os.scandir(folder) if name.fullmatch(e.name)
                ]
                found = []
                for entry in entries:
                    if entry.is_symlink() or (os.name == "nt" and is_link(entry.path)):
                        links.append(entry.path)
                    elif entry.is_dir() != (files and level == len(names)):
                        found.append(entry.path)
            return sorted(map(Path, found)), sorted(map(Path, links))
        except FileNotFoundError:  # removed while we looked: look again
            return self._walk(top, *names, files=files) if top.exists() else ([], [])
        except OSError as error:
            raise StoreError(
                f"cannot read the store {top}: {error.strerror}. Choose another: --store DIR"
            ) from error

    def _link_problem(self, link: Path) -> Problem:
        return Problem("/".join(link.relative_to(self.root).parts), link, link_message(link))

    def _remembered(self, folder: Path, index: Mapping[str, Any]) -> tuple[dict[str, Any], Entry]:
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
        entry, document = self._described(folder)
        known = {
            "stamp": stamp,
            "run": {k: v for k, v in document.items() if k not in ("files", "seal")},
        }
        return known, entry

    def _index(self) -> dict[str, Any]:
        path = self.root / "index.json"
        with contextlib.suppress(StoreError):
            runs = unseal(path, read(path, self.root, limit=LARGEST_INDEX)).get("runs")
            if type(runs) is dict:
                return runs
        return {}

    def _lock(self, study: str, arm: str, digest: str) -> Path:
        return inside(self.root, ".drafts", study, arm, f"{digest}.lock")

    def _is_held(self, folder: Path) -> bool:
        with contextlib.suppress(StoreError):
            lock = self._lock(*folder.parts[-3:])
            if lock.exists():
                with file_lock(lock, wait=False) as free:
                    return not free
        return False

    def _set_aside(self, folder: Path, message: str, remove: bool) -> Problem:
        """Move a damaged run out of the way, or remove it.

        Where that is refused, it stays and the message says so.
        """
        name = run_id(folder)
        if remove:
            remove_tree(folder)
            left = " It could not be removed." if folder.exists() else ""
            return Problem(name, folder, message + left)
        try:
            aside = inside(self.root, ".quarantine")
            with os_errors_as_store_errors(aside, "set the damaged run aside in"):
                make_folders(aside)
                stem = ".".join(folder.parts[-3:])
                number = next(
                    n for n in range(1, 10**6) if not os.path.lexists(aside / f"{stem}.{n}")
                )
                os.rename(folder, aside / f"{stem}.{number}")
        except StoreError as error:
            return Problem(name, folder, f"{message} It was left where it is: {error}")
        return Problem(name, folder, message, aside / f"{stem}.{number}")

    def _clear(self) -> list[Path]:
        """Remove half-written runs, drafts of finished runs and lock files that no living process
        holds.

        A link in place of one of these, or of the index, is removed itself; what it points to is
        left alone.
        """
        index_parts, index_links = self._walk(self.root, _INDEX_PART, files=True)
        cleared = index_parts + index_links
        if is_link(self.root / "index.json"):
            cleared.append(self.root / "index.json")
        for path in cleared:
            remove_tree(path)
        half, half_links = self._walk(self.root, NAME, NAME, _PART)
        locks: list[Path] = []
        lock_links: list[Path] = []
        if not is_link(self.root / ".drafts"):
            locks, lock_links = self._walk(self.root / ".drafts", NAME, NAME, _LOCK, files=True)
        lock_links = [link for link in lock_links if _LOCK.fullmatch(link.name)]
        for link in lock_links:
            remove_tree(link)
        half += [link for link in half_links if _PART.fullmatch(link.name)]
        names = {(*p.parts[-3:-1], p.name[1:-5]) for p in half} | {
            (*p.parts[-3:-1], p.name[:-5]) for p in locks
        }
        for study, arm, digest in sorted(names):
            with contextlib.suppress(OSError):  # a store that can only be read has no writers
                cleared += self._clear_run(study, arm, digest)
        return [path for path in cleared + lock_links if not os.path.lexists(path)]

    def _clear_run(self, study: str, arm: str, digest: str) -> list[Path]:
        """What a dead writer of this run left, removed; nothing where a living one holds it."""
        lock = self._lock(study, arm, digest)
        target = inside(self.root, study, arm, digest)
        leftovers = [
            inside(self.root, study, arm) / f".{digest}.part"
        ]  # it may be a link, which goes itself
        if target.exists():
            leftovers.append(inside(self.root, ".drafts", study, arm, digest))
        leftovers = [path for path in leftovers if os.path.lexists(path)]
        make_folders(lock.parent)
        with file_lock(lock, wait=False) as free:
            if not free:
                return []
            for path in leftovers:
                remove_tree(path)
            lock.unlink(missing_ok=True)
        return leftovers

    def _remove_quarantine(self) -> list[Path]:
        aside = self.root / ".quarantine"
        if is_link(aside) or not aside.exists():
            return []
        remove_tree(aside)
        return [aside]


def _question_and_answer(document: Mapping[str, Any]) -> tuple[str, str]:
    """What a run was asked, and the hashes of its records ("" if it has none), each as one text."""
    question = {k: v for k, v in document["identity"].items() if k not in ("source", "width")}
    records = {
        name: array["sha256"] for name, array in document["content"].items() if not array["coord"]
    }
    answer = json.dumps([question["study"], records], sort_keys=True) if records else ""
    return json.dumps(question, sort_keys=True), answer


def _check_files(files: Any) -> None:
    """The table of a run's files: its records, and snapshots, with their sizes and hashes."""
    if type(files) is not dict or RECORDS not in files:
        raise StoreError("it lists no records.")
    for name, listed in files.items():
        if name != RECORDS and name != snapshot_file(Path(name).stem):
            raise StoreError(f"it lists the file {name!r}.")
        if (
            type(listed) is not dict
            or type(listed.get("size")) is not int
            or type(listed.get("sha256")) is not str
        ):
            raise StoreError(f"it lists {name} without a size and a hash.")
