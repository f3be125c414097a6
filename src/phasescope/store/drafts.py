"""Draft: a run that is being computed.

Numbered checkpoints, each written once, and at the end one rename.

A checkpoint is three files: the state, the records since the checkpoint before, and a small JSON
with the hashes of both and the seal of the JSON before it. It counts when its JSON is there and the
whole chain of records fits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import (
    make_folders,
    os_errors_as_store_errors,
    sync_folder,
    to_json,
    write_atomically,
    write_new,
)
from .entries import STATUSES, entry_from_json
from .storage import (
    FORMAT,
    LARGEST_JSON,
    Damaged,
    TooLarge,
    check_hash,
    inside,
    pack_tensors,
    read,
    remove_tree,
    seal,
    sha256,
    unpack_tensors,
    unseal,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from .entries import Entry, Identity

RECORDS = "records.zarr.zip"
_CHECKPOINT = re.compile(r"([0-9]{6})\.json")
_CHECKPOINT_FILE = re.compile(
    r"\.?([0-9]{6})\.(json|state\.safetensors|records\.safetensors)(\.part)?"
)
_STATES_KEPT = 2


@dataclasses.dataclass(frozen=True)
class Resumed:
    """Where an interrupted run goes on: the state at `position`, and the records up to there, save
    by save.
    """

    position: dict[str, Any]
    leaves: list[np.ndarray]
    parts: list[dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class _Link:
    """One checkpoint of the chain: the seal of its JSON, that document, and the records since the
    one before.
    """

    seal: str
    document: dict[str, Any]
    records: dict[str, np.ndarray]


class Draft:
    """An unfinished run, held by one process.

    Begin with `resume`; to `save` without it starts the run over.

    `finished` is the entry, if another process has finished the run while this one waited.
    """

    def __init__(
        self,
        root: Path,
        identity: Identity,
        find: Callable[[Identity], Entry | None],
        limit: int = 2**31,
    ) -> None:
        """`limit` is the most bytes that the records may take in memory."""
        self.identity = identity
        self.finished = find(identity)
        self._root = root
        self._find = find
        self._limit = limit
        self._number: int | None = None
        self._seal = ""
        # Whatever could stop the run at its end stops it before its beginning.
        unfinished_folder(root, identity)
        _check_identity(identity)
        if self.finished:
            self.abandon()

    @property
    def folder(self) -> Path:
        """Where the checkpoints are; it is looked at for links whenever it is used."""
        return draft_folder(self._root, self.identity)

    def save(
        self,
        position: Mapping[str, Any],
        leaves: Sequence[np.ndarray],
        parts: Mapping[str, np.ndarray],
    ) -> None:
        """One checkpoint: the state, and the records since the one before.

        `position` holds numbers, words, lists.
        """
        if self._number is None:
            self.abandon()
        number = (self._number or 0) + 1
        files = {
            f"{number:06d}.state.safetensors": pack_tensors(
                {f"{i:06d}": leaf for i, leaf in enumerate(leaves)}
            ),
            f"{number:06d}.records.safetensors": pack_tensors(parts),
        }
        document = {
            "format": FORMAT,
            "previous": self._seal,
            "position": to_json(position),
            "files": _listing(files),
            "identity": self.identity.to_json() if number == 1 else None,
        }
        sealed = seal(document)
        # One sync of the folder for all three: should a power cut reorder the renames, the hashes
        # tell.
        folder = self.folder
        with os_errors_as_store_errors(folder, "save a checkpoint in"):
            make_folders(folder)
            for name, data in (*files.items(), (f"{number:06d}.json", sealed)):
                write_atomically(folder / name, data)
            sync_folder(folder)
        self._number = number
        self._seal = sha256(sealed)
        with contextlib.suppress(OSError):
            (folder / f"{number - _STATES_KEPT:06d}.state.safetensors").unlink(missing_ok=True)

    def resume(self) -> Resumed | None:
        """The newest checkpoint that is intact with all records before it.

        What comes after it is removed.
        """
        found: Resumed | None = None
        self._number = 0
        self._seal = ""
        chain = self._intact_chain()
        newest = range(len(chain), max(len(chain) - _STATES_KEPT, 0), -1)
        for number in newest:
            link = chain[number - 1]
            with contextlib.suppress(Damaged, KeyError, TypeError):
                leaves = list(
                    self._tensors(link.document, f"{number:06d}.state.safetensors").values()
                )
                records = [earlier.records for earlier in chain[:number]]
                found = Resumed(link.document["position"], leaves, records)
                self._number = number
                self._seal = link.seal
                break
        self._forget_after(self._number)
        return found

    def _intact_chain(self) -> list[_Link]:
        """The checkpoints from the first on, as far as each fits the one before and its records are
        whole.
        """
        chain: list[_Link] = []
        folder = self.folder
        previous = ""
        with contextlib.suppress(Damaged, TooLarge, KeyError, TypeError):
            while os.path.lexists(path := folder / f"{len(chain) + 1:06d}.json"):
                data = read(path, self._root, limit=LARGEST_JSON)
                document = unseal(path, data)
                if document["previous"] != previous or type(document["position"]) is not dict:
                    break
                records = self._tensors(document, f"{len(chain) + 1:06d}.records.safetensors")
                previous = sha256(data)
                chain.append(_Link(previous, document, records))
        return chain

    def finish(
        self,
        dataset: xr.Dataset,
        manifest: Mapping[str, Any],
        snapshots: Mapping[str, Sequence[np.ndarray]] | None = None,
    ) -> Entry:
        """Make the run visible, all of it at once. If another has done so already, theirs stays.

        `manifest["status"]` is finished (which it is when not given), diverged or stopped.
        """
        from .recordfile import check_size, content, pack

        status = manifest.get("status", "finished")
        if status not in STATUSES:
            raise StoreError(f'a run is {", ".join(STATUSES)}, got status "{status}".')
        check_size(dataset, self._limit)
        files = {RECORDS: pack(dataset)}
        for name, leaves in (snapshots or {}).items():
            if (file := snapshot_file(name)) in files:
                raise StoreError(f'two snapshots would both be {file}; rename "{name}".')
            files[file] = pack_tensors({f"{i:06d}": leaf for i, leaf in enumerate(leaves)})
        document = {
            "format": FORMAT,
            "identity": self.identity.to_json(),
            "status": status,
            "manifest": to_json(manifest),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "files": _listing(files),
            "content": content(dataset),
        }
        sealed = seal(document)
        entry_from_json(
            run_folder(self._root, self.identity), document
        )  # what would not be read is not written
        self._publish(files | {"run.json": sealed})
        entry = self._find(self.identity)
        assert entry is not None, f"{self.identity.digest} was written and is not there"
        self.finished = entry
        self.abandon()
        return entry

    def abandon(self) -> None:
        """Remove the checkpoints."""
        self._number = 0
        self._seal = ""
        remove_tree(self.folder)

    def _publish(self, files: Mapping[str, bytes]) -> None:
        target = run_folder(self._root, self.identity)
        aside = unfinished_folder(self._root, self.identity)
        with os_errors_as_store_errors(target, "write the run"):
            make_folders(target.parent)
            remove_tree(aside)
            try:
                folders = {(aside / name).parent for name in files} | {aside}
                for folder in sorted(folders):
                    os.mkdir(folder)
                for name, data in files.items():
                    write_new(aside / name, data)
                for folder in folders:
                    sync_folder(folder)
                try:
                    os.rename(aside, target)
                except OSError:
                    if not target.is_dir():
                        raise
                    remove_tree(aside)
            except BaseException:
                remove_tree(aside)
                raise
            sync_folder(target.parent)

    def _tensors(self, document: dict[str, Any], name: str) -> dict[str, np.ndarray]:
        path = self.folder / name
        listed = document["files"][name]
        data = read(path, self._root, size=listed["size"])
        return unpack_tensors(path, check_hash(path, data, listed["sha256"]))

    def _forget_after(self, number: int) -> None:
        """Remove later files, the last first, so that no history is ever continued by a piece of
        another.
        """
        folder = self.folder
        with os_errors_as_store_errors(folder, "clear old checkpoints in"):
            names = os.listdir(folder) if folder.is_dir() else []
            for name in sorted(names, reverse=True):
                found = _CHECKPOINT_FILE.fullmatch(name)
                if found and (int(found[1]) > number or found[3]):
                    (folder / name).unlink(missing_ok=True)  # of a link, the link itself


def last_position(folder: Path, root: Path) -> tuple[Any, dict[str, Any] | None]:
    """The identity of a draft, as it is written there, and the position of its last checkpoint, as
    far as they can be read.
    """
    names = os.listdir(folder)
    numbers = sorted(
        (int(m[1]) for name in names if (m := _CHECKPOINT.fullmatch(name))), reverse=True
    )
    identity = None
    position = None
    for number in numbers:
        if position is None or number == 1:
            path = folder / f"{number:06d}.json"
            with contextlib.suppress(StoreError):
                document = unseal(path, read(path, root, limit=LARGEST_JSON))
                identity = document.get("identity")
                found = document.get("position")
                if position is None and type(found) is dict:
                    position = found
    return identity, position


def run_folder(root: Path, identity: Identity) -> Path:
    """Where a finished run is."""
    return inside(root, identity.study, identity.arm, identity.digest)


def unfinished_folder(root: Path, identity: Identity) -> Path:
    """Where a run is written before it is visible."""
    return inside(root, identity.study, identity.arm, f".{identity.digest}.part")


def draft_folder(root: Path, identity: Identity) -> Path:
    """Where the checkpoints of a run are."""
    return inside(root, ".drafts", identity.study, identity.arm, identity.digest)


def snapshot_file(name: str) -> str:
    """The file of a snapshot; a stage may have any name, a file may not."""
    return f"snapshots/{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:100]}.safetensors"


def _check_identity(identity: Identity) -> None:
    """Refuse, before it runs, a run whose `run.json` would be too large to be read.

    The other half is for its content.
    """
    try:
        seal(identity.to_json(), limit=LARGEST_JSON // 2)
    except TooLarge:
        times = len(identity.at or ())
        raise TooLarge(
            f"cannot store {identity.study}.{identity.arm} with {times} record times: to write them down takes more than "
            f"{LARGEST_JSON // 2**21} MiB. Ask for fewer of them, or keep nothing: store=False."
        ) from None


def _listing(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    return {name: {"sha256": sha256(data), "size": len(data)} for name, data in files.items()}
