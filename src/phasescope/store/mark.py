"""The mark of a store: a word in its root by which another machine can tell that it sees this folder, and not its own."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from ..errors import StoreError
from ..files import make_folders, os_errors_as_store_errors, sync_folder, write_new
from .paths import inside, read

NAME = ".mark"
LENGTH = 32


def make_mark(root: Path) -> str:
    """The mark of the store; written if there is none yet."""
    path = inside(root, NAME)
    with os_errors_as_store_errors(root, "write to the store"):
        make_folders(root)
        with contextlib.suppress(FileExistsError):
            write_new(path, secrets.token_hex(LENGTH // 2).encode())
            sync_folder(root)
    found = read_mark(root)
    if found is None:
        raise StoreError(f"{path} is not the mark of a store: remove it.")
    return found


def read_mark(root: Path) -> str | None:
    """The mark of the store; None if there is none that could be one."""
    try:
        data = read(inside(root, NAME), root, limit=LENGTH)
    except OSError:
        return None
    return data.decode() if len(data) == LENGTH and data.isalnum() else None
