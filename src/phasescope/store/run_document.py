"""`run.json`, the document of a finished run, and whether the files that it lists are whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files import Document
from .entries import Entry, entry_from_json
from .faults import REPAIR, Damaged
from .folders import RECORDS, snapshot_file
from .paths import open_plain, read
from .sealed import LARGEST_JSON, check_file_hash, unseal


def read_run(folder: Path, root: Path) -> tuple[Entry, Document]:
    """The entry and the document in `run.json`, checked: whole, of this place, and naming no
    file but a run's own.
    """
    path = folder / "run.json"
    document = unseal(path, read(path, root, limit=LARGEST_JSON))
    try:
        _check_files(document.get("files"))
        return entry_from_json(folder, document), document
    except StoreError as error:
        raise Damaged(
            f"{path} is damaged: it does not describe the run of this folder ({error}). {REPAIR}"
        ) from None


def verify_run(folder: Path, root: Path) -> Document:
    """The document of a run, after a look at every byte of its files."""
    _, document = read_run(folder, root)
    for name, listed in document["files"].items():
        path = folder / name
        with open_plain(path, root, size=listed["size"]) as file:
            check_file_hash(path, file, listed["sha256"])
    return document


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
