"""Bytes of a store: believed only when their hashes fit, and read as if a stranger had written
them.

Nothing here knows what a run is. Files are written by `phasescope.files`. Tensors are safetensors,
documents are JSON sealed by its own hash. Every path below the root of a store is made by `inside`,
which refuses links: a store may come from a stranger.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import os_errors_as_store_errors

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1
REPAIR = 'Run "phasescope repair": it sets the damage aside, and what is missing is computed when next asked for.'
# The largest JSON that is written or read. A record time takes 23 bytes of run.json, so 32 MiB hold
# 1.4 million of them; 64 MiB of index hold 16,000 runs of 4 kB, and a larger store is read run by
# run. Parsed, JSON takes up to 26 times its size if it is all lists and mappings, hence a limit on
# their number, and up to 13 times if it is numbers and words: together less than 1 GiB for
# run.json, and little more for the index.
LARGEST_JSON = 2**25
LARGEST_INDEX = 2**26
MOST_CONTAINERS = 2**21
_TENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8",
}  # fmt: skip
_COMPLEX = "~complex"


class Damaged(StoreError):
    """Not what was written."""


class NewerFormat(StoreError):
    """Written by a later version: not damaged, only not ours to read."""


class Linked(StoreError):
    """A link where the store has a folder or a file."""


class TooLarge(StoreError):
    """More than is ever read into memory."""


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


def sha256(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def check_hash(path: Path, data: bytes, expected: object) -> bytes:
    if sha256(data) != expected:
        raise Damaged(
            f"{path} is damaged: its SHA-256 is not the one written down for it. {REPAIR}"
        )
    return data


def check_file_hash(path: Path, file: BufferedReader, expected: object) -> None:
    """The same for an open file, which is read piece by piece and then stands at its beginning
    again.
    """
    found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise Damaged(
            f"{path} is damaged: its SHA-256 is not the one written down for it. {REPAIR}"
        )
    file.seek(0)


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


def seal(document: Mapping[str, Any], indent: int | None = 1, limit: int = LARGEST_JSON) -> bytes:
    """JSON whose first member is the SHA-256 of all the bytes after it.

    What `unseal` would refuse is not written.
    """
    body = json.dumps(document, sort_keys=True, indent=indent).encode()[1:]
    sealed = _seal_of(body) + body
    if len(sealed) > limit or _containers(sealed) > MOST_CONTAINERS:
        raise TooLarge(
            f"cannot store a document of {len(sealed) / 2**20:.3g} MiB with {_containers(sealed)} lists and mappings: "
            f"at most {limit / 2**20:.3g} MiB with {MOST_CONTAINERS} are read again. Ask for fewer record times."
        )
    return sealed


def unseal(path: Path, data: bytes) -> dict[str, Any]:
    """The document of a sealed file; a changed byte is an error, a newer format is another one.

    The seal is checked before anything is parsed. A newer format is sealed in the same way: that is
    promised.
    """
    body = memoryview(data)[len(_seal_of(b"")) :]
    if data[: len(_seal_of(b""))] != _seal_of(body):
        raise Damaged(
            f"{path} is damaged: it is not the JSON that was written, its SHA-256 is another. {REPAIR}"
        )
    if _containers(data) > MOST_CONTAINERS:
        raise TooLarge(
            f"{path} has more than {MOST_CONTAINERS} lists and mappings. Remove it if it is not yours."
        )
    try:
        document = json.loads(data)
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
    except (ValueError, RecursionError) as error:
        raise Damaged(
            f"{path} is damaged: it is not the JSON that was written ({error}). {REPAIR}"
        ) from None
    if isinstance(document.get("format"), int) and document["format"] > FORMAT:
        raise NewerFormat(
            f"{path} has format {document['format']}; this version of phasescope reads up to {FORMAT}. Upgrade "
            "phasescope to read it: pip install -U phasescope. The file was left as it is."
        )
    return document


def _containers(data: bytes) -> int:
    """How many lists and mappings a JSON text can have at most."""
    return data.count(b"[") + data.count(b"{")


def _seal_of(body: bytes | memoryview) -> bytes:
    return b'{"seal": "' + sha256(body).encode() + b'",'


def pack_tensors(tensors: Mapping[str, np.ndarray]) -> bytes:
    """Arrays by name as safetensors; a complex array is kept as pairs of reals."""
    import numpy as np
    from safetensors.numpy import save

    plain_arrays = {}
    for name, given in tensors.items():
        array = np.asarray(given, order="C")
        if array.dtype.kind == "c":
            name += _COMPLEX
            array = np.stack([np.real(array), np.imag(array)], -1)
        if array.dtype.name not in _TENSORS.values():
            raise StoreError(
                f'cannot store "{name}": it has dtype {array.dtype}, and the store keeps numbers only.'
            )
        plain_arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return save(plain_arrays)


def unpack_tensors(path: Path, data: bytes) -> dict[str, np.ndarray]:
    """The inverse of `pack_tensors`, by name."""
    import numpy as np
    from safetensors import SafetensorError, deserialize

    arrays = {}
    try:
        for name, tensor in deserialize(data):
            if tensor["dtype"] == "BF16":
                import ml_dtypes  # noqa: F401  teaches numpy the name bfloat16
            array = (
                np.frombuffer(tensor["data"], np.dtype(_TENSORS[tensor["dtype"]]))
                .reshape(tensor["shape"])
                .copy()
            )
            if name.endswith(_COMPLEX):
                name = name.removesuffix(_COMPLEX)
                array = array.view(np.result_type(array, np.complex64))[..., 0]
            arrays[name] = array
    except (SafetensorError, KeyError, IndexError, ValueError) as error:
        raise Damaged(
            f"{path} is damaged: it is not the tensors that were written ({error}). {REPAIR}"
        ) from None
    return dict(sorted(arrays.items()))
