"""Draft: a run that is being computed. Numbered checkpoints, each written once, and at the end one rename.

A checkpoint is three files: the state, the records since the checkpoint before, and a small JSON with the hashes of
both and the seal of the JSON before it. It counts when its JSON is there and the whole chain of records fits.
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
from .storage import (
    FORMAT,
    LARGEST_JSON,
    Damaged,
    check_hash,
    make_folders,
    pack_tensors,
    place,
    plain,
    read,
    refusals,
    remove_tree,
    seal,
    sha256,
    sync_folder,
    unpack_tensors,
    unseal,
    write,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from .entries import Entry, Identity

STATUSES = ("finished", "diverged", "stopped")
RECORDS = "records.zarr.zip"
_CHECKPOINT = re.compile(r"([0-9]{6})\.json")
_STATES_KEPT = 2


@dataclasses.dataclass(frozen=True)
class Resumed:
    """Where an interrupted run goes on: the state at `position`, and the records up to there, save by save."""

    position: dict[str, Any]
    leaves: list[np.ndarray]
    parts: list[dict[str, np.ndarray]]


class Draft:
    """An unfinished run, held by one process. Begin with `resume`; to `save` without it starts the run over.

    `finished` is the entry, if another process has finished the run while this one waited.
    """

    def __init__(self, root: Path, identity: Identity, find: Callable[[Identity], Entry | None]) -> None:
        path = Path(identity.study, identity.arm, identity.digest)
        self.identity, self.folder, self.finished = identity, root / ".drafts" / path, find(identity)
        self._root, self._target, self._find = root, root / path, find
        self._number: int | None = None
        self._seal = ""
        if self.finished:
            self.abandon()

    def save(self, position: Mapping[str, Any], leaves: Sequence[np.ndarray], parts: Mapping[str, np.ndarray]) -> None:
        """One checkpoint: the state, and the records since the one before. `position` holds numbers, words, lists."""
        if self._number is None:
            self.abandon()
        number = (self._number or 0) + 1
        files = {
            f"{number:06d}.state.safetensors": pack_tensors({f"{i:06d}": leaf for i, leaf in enumerate(leaves)}),
            f"{number:06d}.records.safetensors": pack_tensors(parts),
        }
        document = {
            "format": FORMAT, "previous": self._seal, "position": plain(position), "files": _listing(files),
            "identity": self.identity.to_json() if number == 1 else None,
        }  # fmt: skip
        sealed = seal(document)
        # One sync of the folder for all three: should a power cut reorder the renames, the hashes tell.
        with refusals(self.folder, "save a checkpoint in"):
            make_folders(self.folder)
            for name, data in (*files.items(), (f"{number:06d}.json", sealed)):
                place(self.folder / name, data)
            sync_folder(self.folder)
        self._number, self._seal = number, sha256(sealed)
        with contextlib.suppress(OSError):
            (self.folder / f"{number - _STATES_KEPT:06d}.state.safetensors").unlink(missing_ok=True)

    def resume(self) -> Resumed | None:
        """The newest checkpoint that is intact with all records before it; what comes after it is removed."""
        found: Resumed | None = None
        parts: list[dict[str, np.ndarray]] = []
        self._number, self._seal, number, previous = 0, "", 0, ""
        states: dict[int, tuple[str, dict[str, Any]]] = {}
        with contextlib.suppress(Damaged, KeyError, TypeError):
            while (path := self.folder / f"{number + 1:06d}.json").exists():
                data = read(path, self._root, limit=LARGEST_JSON)
                document = unseal(path, data)
                if document["previous"] != previous:
                    break
                parts.append(self._tensors(document, f"{number + 1:06d}.records.safetensors"))
                number, previous = number + 1, sha256(data)
                states[number] = previous, document
        for number in sorted(states, reverse=True)[:_STATES_KEPT]:
            with contextlib.suppress(Damaged, KeyError, TypeError):
                leaves = list(self._tensors(states[number][1], f"{number:06d}.state.safetensors").values())
                found = Resumed(states[number][1]["position"], leaves, parts[:number])
                self._number, self._seal = number, states[number][0]
                break
        self._forget_after(self._number)
        return found

    def finish(
        self,
        dataset: xr.Dataset,
        manifest: Mapping[str, Any],
        snapshots: Mapping[str, Sequence[np.ndarray]] | None = None,
    ) -> Entry:
        """Make the run visible, all of it at once. If another has done so already, theirs stays.

        `manifest["status"]` is finished (which it is when not given), diverged or stopped.
        """
        from .recordfile import content, pack

        status = manifest.get("status", "finished")
        if status not in STATUSES:
            raise StoreError(f'a run is {", ".join(STATUSES)}, got status "{status}".')
        files = {RECORDS: pack(dataset)}
        for name, leaves in (snapshots or {}).items():
            if (file := snapshot_file(name)) in files:
                raise StoreError(f'two snapshots would both be {file}; rename "{name}".')
            files[file] = pack_tensors({f"{i:06d}": leaf for i, leaf in enumerate(leaves)})
        document = {
            "format": FORMAT, "identity": self.identity.to_json(), "status": status, "manifest": plain(manifest),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "files": _listing(files), "content": content(dataset),
        }  # fmt: skip
        self._publish(files | {"run.json": seal(document)})
        entry = self._find(self.identity)
        assert entry is not None, f"{self._target} was written and is not there"
        self.finished = entry
        self.abandon()
        return entry

    def abandon(self) -> None:
        """Remove the checkpoints."""
        self._number, self._seal = 0, ""
        remove_tree(self.folder)

    def _publish(self, files: Mapping[str, bytes]) -> None:
        aside = unfinished_folder(self._target)
        with refusals(self._target, "write the run"):
            make_folders(self._target.parent)
            remove_tree(aside)
            try:
                folders = {(aside / name).parent for name in files} | {aside}
                for folder in sorted(folders):
                    os.mkdir(folder)
                for name, data in files.items():
                    write(aside / name, data)
                for folder in folders:
                    sync_folder(folder)
                try:
                    os.rename(aside, self._target)
                except OSError:
                    if not self._target.is_dir():
                        raise
                    remove_tree(aside)
            except BaseException:
                remove_tree(aside)
                raise
            sync_folder(self._target.parent)

    def _tensors(self, document: dict[str, Any], name: str) -> dict[str, np.ndarray]:
        path, listed = self.folder / name, document["files"][name]
        return unpack_tensors(path, check_hash(path, read(path, self._root, size=listed["size"]), listed["sha256"]))

    def _forget_after(self, number: int) -> None:
        """Remove later files, the last first, so that no history is ever continued by a piece of another."""
        with refusals(self.folder, "clear old checkpoints in"):
            for path in sorted(self.folder.glob("*"), reverse=True):
                if not path.name[:6].isdigit() or int(path.name[:6]) > number:
                    path.unlink(missing_ok=True)


def last_position(folder: Path, root: Path) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The identity of a draft and the position of its last checkpoint, as far as they can be read."""
    identity = position = None
    numbers = sorted((int(m[1]) for p in folder.glob("*.json") if (m := _CHECKPOINT.fullmatch(p.name))), reverse=True)
    for number in numbers:
        if position is None or number == 1:
            path = folder / f"{number:06d}.json"
            with contextlib.suppress(StoreError):
                document = unseal(path, read(path, root, limit=LARGEST_JSON))
                position = position or document.get("position")
                identity = document.get("identity")
    return identity, position


def unfinished_folder(target: Path) -> Path:
    """Where a run is written before it is visible."""
    return target.with_name(f".{target.name}.part")


def snapshot_file(name: str) -> str:
    """The file of a snapshot; a stage may have any name, a file may not."""
    return f"snapshots/{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:100]}.safetensors"


def _listing(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    return {name: {"sha256": sha256(data), "size": len(data)} for name, data in files.items()}
