"""Files that are there as a whole or not at all, and values as strict JSON.

Nothing here knows what a run is.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import SpecError, StoreError

# What JSON says of a thing: names, and what stands under each.
Document = dict[str, Any]

CACHE = "PHASESCOPE_CACHE"  # the variable that names the folder for what can be made again
ADVICE = "What was stored before is intact. Make room or get access, or choose another folder: --store DIR, PHASESCOPE_STORE"
ADVICE_OUT = "Make room or get access, or choose another folder: --out DIR"


def cache_folder(part: str) -> Path | None:
    """A folder for what can be made again: `part` of PHASESCOPE_CACHE, else of the user's cache; None if that is 0."""
    import platformdirs

    named = os.environ.get(CACHE, "")
    if named == "0":
        return None
    top = Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("phasescope"))
    return top / part


def as_folder(folder: Any, name: str) -> Path:
    """The path of a folder that a caller named; `name` is the argument that it was given as.

    **Raises:** `SpecError` if it is no path, or an empty one.
    """
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise SpecError(f"{name} is the path of a folder, got {name}={folder!r}.")
    return Path(folder)


def make_out_folder(folder: Path, doing: str) -> None:
    """Make the folder that results are to be written into, and try it, before work is spent on them."""
    with os_errors_as_store_errors(folder, doing, ADVICE_OUT):
        make_folders(folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def os_errors_as_store_errors(path: Path, doing: str, advice: str = ADVICE) -> Iterator[None]:
    """Turn what the system refuses into a sentence that says where, what and what to do."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        where = (
            f" ({error.filename})" if error.filename and str(error.filename) != str(path) else ""
        )
        refused = StoreError(f"cannot {doing} {path}: {error.strerror or error}{where}. {advice}.")
        refused.errno = error.errno
        raise refused from error


def make_folders(folder: Path) -> None:
    """`mkdir -p`, durably."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(new)
        sync_folder(new.parent)


def sync_folder(folder: Path) -> None:
    """A rename is atomic at once, but durable only when its folder is."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes) -> None:
    """Write and fsync a new file, that nobody looks for yet."""
    flags = (
        os.O_WRONLY
        | os.O_CREAT
        | os.O_EXCL
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_BINARY", 0)
    )
    handle = os.open(path, flags, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, data: bytes, temporary: str = "") -> None:
    """Write a file so that its name shows all of it or nothing; the folder is synced by the caller."""
    draft = path.with_name(f".{path.name}{temporary}.part")
    draft.unlink(
        missing_ok=True
    )  # what a dead writer left; a link of this name goes, not what it points to
    try:
        write_new(draft, data)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def to_json(value: Any) -> Any:
    """The value in strict JSON: numpy numbers as Python's, tuples as lists, infinities and NaN as
    words.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    raise StoreError(
        f"cannot store {value!r}: a manifest holds numbers, words, lists and mappings. Convert it first."
    )
