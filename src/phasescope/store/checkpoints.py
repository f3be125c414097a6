"""Crash-safe checkpoints: numbered, each written once, from which an interrupted run goes on.

A checkpoint is three files: the state, the records since the checkpoint before, and a small JSON
with the hashes of both and the seal of the JSON before it. It counts when its JSON is there and the
whole chain of records fits, so that a process killed at any instant loses at most the last one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import (
    Document,
    make_folders,
    os_errors_as_store_errors,
    sync_folder,
    to_json,
    write_atomically,
)
from .faults import Damaged, TooLarge
from .folders import draft_folder
from .paths import read, remove_tree
from .sealed import (
    LARGEST_JSON,
    check_hash,
    listing,
    pack_tensors,
    seal,
    sha256,
    unpack_tensors,
    unseal,
)

if TYPE_CHECKING:
    import numpy as np

    from .entries import Identity

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

    position: Document
    leaves: list[np.ndarray]
    parts: list[dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class _Link:
    """One checkpoint of the chain: the seal of its JSON, that document, and the records since the
    one before.
    """

    seal: str
    document: Document
    records: dict[str, np.ndarray]


class Checkpoints:
    """The checkpoints of a run in the making.

    Begin with `resume`; to `save` without it starts the run over.
    """

    def __init__(self, root: Path, identity: Identity) -> None:
        self.identity = identity
        self._root = root
        self._number: int | None = None
        self._seal = ""

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
            "format": self.identity.format,
            "previous": self._seal,
            "position": to_json(position),
            "files": listing(files),
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

    def abandon(self) -> None:
        """Remove the checkpoints."""
        self._number = 0
        self._seal = ""
        remove_tree(self.folder)

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

    def _tensors(self, document: Document, name: str) -> dict[str, np.ndarray]:
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


def last_position(folder: Path, root: Path) -> tuple[Any, Document | None]:
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
