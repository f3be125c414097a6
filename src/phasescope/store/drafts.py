"""Draft: a run that is being computed, and at its end made visible by one rename.

Its checkpoints, from which it goes on after a crash, are in `checkpoints`.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import make_folders, os_errors_as_store_errors, sync_folder, to_json, write_new
from .checkpoints import Checkpoints, Resumed
from .entries import STATUSES, entry_from_json
from .faults import TooLarge
from .folders import RECORDS, run_folder, snapshot_file, unfinished_folder
from .paths import remove_tree
from .sealed import LARGEST_JSON, listing, pack_tensors, seal

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from .entries import Entry, Identity


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
        self._checkpoints = Checkpoints(root, identity)
        # Whatever could stop the run at its end stops it before its beginning.
        unfinished_folder(root, identity)
        _check_identity(identity)
        if self.finished:
            self.abandon()

    @property
    def folder(self) -> Path:
        """Where the checkpoints are; it is looked at for links whenever it is used."""
        return self._checkpoints.folder

    def save(
        self,
        position: Mapping[str, Any],
        leaves: Sequence[np.ndarray],
        parts: Mapping[str, np.ndarray],
    ) -> None:
        """One checkpoint: the state, and the records since the one before.

        `position` holds numbers, words, lists.
        """
        self._checkpoints.save(position, leaves, parts)

    def resume(self) -> Resumed | None:
        """The newest checkpoint that is intact with all records before it.

        What comes after it is removed.
        """
        return self._checkpoints.resume()

    def abandon(self) -> None:
        """Remove the checkpoints."""
        self._checkpoints.abandon()

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
            "format": self.identity.format,
            "identity": self.identity.to_json(),
            "status": status,
            "manifest": to_json(manifest),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "files": listing(files),
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
