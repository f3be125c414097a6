"""Compiled programs are kept in a folder, so that the next process need not compile them.

JAX has one persistent cache for the whole process. While a run is inside, and only if the user has set up none, ours
stands in its place: it serves the threads that are inside a run and ignores all others, so that a user's own functions
are compiled, and kept or not, as if we were not there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import platformdirs
from jax._src import compilation_cache as jax_cache

from ..files import CACHE
from .scoped_settings import WhileInside, jax_setting

ENDING = ".xla"
LIMIT = 2**30  # bytes that the folder may hold; what was not used for longest goes first
DIGEST = hashlib.sha256().digest_size


def folder() -> Path | None:
    """Where programs are kept: the folder that PHASESCOPE_CACHE names, else the user's cache; None if it is 0."""
    named = os.environ.get(CACHE, "")
    if named == "0":
        return None
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("phasescope")) / "xla"


@contextlib.contextmanager
def kept_programs() -> Iterator[None]:
    """Inside, this thread looks in our folder before it compiles, and keeps there what it compiled."""
    place = folder()
    if place is None or getattr(jax.config, "jax_compilation_cache_dir", None):
        yield
        return
    outer = getattr(_thread, "place", None)
    _thread.place = place
    try:
        with (
            _ours_is_asked,
            jax_setting("persistent_cache_min_compile_time_secs", 0.0),
            jax_setting("persistent_cache_min_entry_size_bytes", 0),
        ):
            yield
    finally:
        _thread.place = outer


class Programs:
    """What JAX asks for a compiled program by its key, and hands a new one to.

    An entry is the digest of its content and the content. One that is damaged is not there, and is written anew.
    Entries appear whole, so that processes may write at once.
    """

    _path = "the folder of phasescope"  # JAX's log says it

    def __init__(self) -> None:
        self._may_warn = True
        self._may_grow = True

    def get(self, key: str) -> bytes | None:
        """The program, if this thread is inside a run and the folder has it."""
        path = _entry(key)
        if path is None:
            return None
        try:
            kept = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(path.parent, error)
            return None
        digest, program = kept[:DIGEST], kept[DIGEST:]
        if digest != hashlib.sha256(program).digest():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return program

    def put(self, key: str, value: bytes) -> None:
        """Keep the program, if this thread is inside a run. A folder that cannot be written stops nobody."""
        path = _entry(key)
        if path is None:
            return
        fresh = path.with_name(f"{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            path.parent.mkdir(
                mode=0o700, parents=True, exist_ok=True
            )  # programs are code: nobody else writes here
            fresh.write_bytes(hashlib.sha256(value).digest() + value)
            fresh.replace(path)
        except OSError as error:
            self._warn(path.parent, error)
            with contextlib.suppress(OSError):
                fresh.unlink()
            return
        if self._may_grow:
            self._may_grow = False
            forget_oldest(path.parent, LIMIT)

    def _warn(self, place: Path, error: OSError) -> None:
        if self._may_warn:
            self._may_warn = False
            warnings.warn(
                f"compiled programs cannot be kept in {place}: {error.strerror or error}. Runs are not affected, but the "
                f"next process compiles again: name another folder in {CACHE}, or set {CACHE}=0.",
                stacklevel=2,
            )


def forget_oldest(place: Path, limit: int) -> None:
    """Remove what was not used for longest, until at most `limit` bytes are left. Looked at once a process."""
    entries = []
    for path in place.glob(f"*{ENDING}"):
        with contextlib.suppress(OSError):  # another process may be doing the same
            known = path.stat()
            entries.append((known.st_mtime, known.st_size, path))
    left = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if left <= limit:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        left -= size


def _entry(key: str) -> Path | None:
    place = getattr(_thread, "place", None)
    return None if place is None else place / f"{key}-{processor()}{ENDING}"


@functools.cache
def processor() -> str:
    """What the processor can do, as a short digest: a home folder may be shared by machines that differ in it."""
    words = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        abilities = [line for line in lines if line.startswith(("flags", "Features"))]
        words += abilities[:1]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:8]


def _be_asked() -> Callable[[], None]:
    """Stand where JAX looks for its cache, unless one is there."""
    if getattr(jax_cache, "_cache", None) is None:
        jax_cache._cache = _programs  # type: ignore[assignment]

    def undo() -> None:
        if jax_cache._cache is _programs:
            jax_cache._cache = None

    return undo


_thread = threading.local()
_programs = Programs()
_ours_is_asked = WhileInside(_be_asked)
