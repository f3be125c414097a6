"""Datasets of stored runs, loaded once and kept while there is room for them."""

from __future__ import annotations

import threading
from collections import OrderedDict

import xarray as xr

from ..errors import StoreError
from ..store.folders import run_folder
from ..store.run_document import read_run
from ..verbs.reading import opened
from ..verbs.run_index import RunIndex

LARGEST = 2**28  # bytes of one run that the page opens
ROOM = 2**29  # bytes of all that are kept


class Datasets:
    """The runs of an index by id. An id that the index does not have is never looked for in the file system."""

    def __init__(self, index: RunIndex) -> None:
        self.index = index
        self._kept: OrderedDict[tuple[str, str], xr.Dataset] = OrderedDict()
        self._lock = threading.Lock()
        self._loading = threading.Lock()

    def get(self, id: str) -> xr.Dataset:
        """The records of a run. Raises `StoreError` if there is none of this id, or if it is too large to be shown."""
        row = self.index.get(id)
        if row is None:
            self.index.refresh()
            row = self.index.get(id)
        if row is None or "spec" not in row:
            raise StoreError(f'the store has no readable run "{id[:200]}".')
        key = (row["id"], self.index.stamp(row["id"]))  # a run that was replaced is another one
        found = self._known(key)
        if found is None:
            with self._loading:  # one at a time: so much memory at most
                found = self._known(key)
                if found is None:
                    found = self._keep(key, self._load(row["id"]))
        return found

    def _known(self, key: tuple[str, str]) -> xr.Dataset | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: tuple[str, str], ds: xr.Dataset) -> xr.Dataset:
        with self._lock:
            self._kept[key] = ds
            while len(self._kept) > 1 and sum(x.nbytes for x in self._kept.values()) > ROOM:
                self._kept.popitem(last=False)
        return ds

    def _load(self, id: str) -> xr.Dataset:
        store = type(self.index.store)(self.index.store.root, LARGEST)
        study, arm, digest = id.split("/")
        entry, _ = read_run(store.root / study / arm / digest, store.root)
        if run_folder(store.root, entry.identity) != entry.folder:
            raise StoreError(f'"{id}" is the folder of another run.')
        try:
            return opened(store, entry)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise StoreError(
                f'"{id}" holds records that are not those of a run: {problem}'
            ) from None
