"""Paths below the root of a store: made by `inside`, which refuses links, for a store may come from a stranger.

Opening, reading, removing and locking of files; nothing here knows what a run is. Files are written
by `phasescope.files`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path

from ..errors import StoreError
from ..files import os_errors_as_store_errors
from .faults import REPAIR, Damaged, Linked, TooLarge


def is_link(path: Path | str) -> bool:
    """Whether a symbolic link (or, on Windows, a junction) has this name, wherever it leads."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    junction = getattr(found, "st_reparse_tag", 0) == getattr(
        stat, "IO_REPARSE_TAG_MOUNT_POINT", -1
    )
    return stat.S_ISLNK(found.st_mode) or junction


def inside(root: Path, *parts: str) -> Path:
    """The path `root/parts`, which need not exist.

    A link anywhere on the way from `root`, or at its end, is an error.

    `root` itself may be a link: the user named it. What lies below it may be a stranger's.
    """
    path = root
    for part in parts:
        if part in ("", ".", "..") or Path(part).name != part:
            raise StoreError(f'"{part}" cannot be a file of the store {root}.')
        path = path / part
        with os_errors_as_store_errors(path, "look at"):
            if is_link(path):
                raise Linked(link_message(path))
    return path


def link_message(path: Path) -> str:
    return f"{path} is a link, and no link in a store is followed. Remove it; what it points to is left alone."


def read(path: Path, root: Path, size: int | None = None, limit: int | None = None) -> bytes:
    """The bytes of a plain file inside `root`: exactly `size` of them if given, and at most
    `limit`.
    """
    with open_plain(path, root, size, limit) as file:
        return file.read(os.fstat(file.fileno()).st_size)


@contextlib.contextmanager
def open_plain(
    path: Path, root: Path, size: int | None = None, limit: int | None = None
) -> Iterator[BufferedReader]:
    """A plain file inside `root`, open; it has exactly `size` bytes if given, and at most `limit`.

    No link is followed.
    """
    if not path.is_relative_to(root):
        raise StoreError(f"{path} is not in the store {root}. Ask the store that it belongs to.")
    inside(root, *path.relative_to(root).parts)
    flags = (
        os.O_RDONLY
        | getattr(os, "O_NONBLOCK", 0)
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_BINARY", 0)
    )
    try:
        with open(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Damaged(f"{path} is not a plain file. Remove it. {REPAIR}")
            if size is not None and found.st_size != size:
                raise Damaged(
                    f"{path} is damaged: {size} bytes were written, {found.st_size} are there. {REPAIR}"
                )
            if limit is not None and found.st_size > limit:
                raise TooLarge(
                    f"{path} has {found.st_size} bytes; at most {limit} are read. Remove it if it is not yours."
                )
            yield file
    except FileNotFoundError:
        raise Damaged(f"{path} is missing. {REPAIR}") from None
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}. {REPAIR}") from error


def remove_tree(path: Path) -> None:
    """Remove a folder with all that is in it, or a file; of a link, the link itself.

    What cannot be removed stays.
    """
    with contextlib.suppress(OSError):
        if is_link(path) or path.is_file():
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def file_lock(
    path: Path, on_wait: Callable[[], None] | None = None, wait: bool = True
) -> Iterator[bool]:
    """Exclusive use of the lock file `path`; the system releases it when its process dies.

    Yields whether it is held.

    The file stays when it is released: unlinking it would let two waiters hold two files of the
    same name.
    """
    import filelock

    lock = filelock.FileLock(path, thread_local=False)
    with os_errors_as_store_errors(path, "lock"):
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            if wait:
                if on_wait is not None:
                    on_wait()
                lock.acquire()
    try:
        yield lock.is_locked
    finally:
        lock.release()
