"""How long the arms of studies took to answer: measured whenever one does, and kept in the user's cache."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import deque

from ..errors import StoreError
from ..files import cache_folder, make_folders, write_atomically

LATEST = 3  # answers of which the quickest counts: others may be held up
MOST = 10_000
A_DAY = 86_400.0  # seconds for which a measurement is believed
LARGEST = 2**20  # bytes


class Speeds:
    """Seconds by name. A file that cannot be read or written is as good as none."""

    def __init__(self) -> None:
        folder = cache_folder("lab")
        self.file = None if folder is None else folder / "seconds.json"
        self._lock = threading.Lock()
        self._before = self._read()
        self._now: dict[str, deque[float]] = {}

    def get(self, name: str) -> float | None:
        """The seconds of the quickest of the latest answers; None if there was none yet."""
        with self._lock:
            return min(self._now[name]) if name in self._now else self._before.get(name)

    def add(self, name: str, seconds: float) -> None:
        """Note how long an answer took."""
        known = self.get(name)
        with self._lock:
            self._now.setdefault(name, deque(maxlen=LATEST)).append(seconds)
            latest = min(self._now[name])
            if known is None or not known / 2 < latest < known * 2:
                self._before = self._read() | {name: round(latest, 3)}
                self._write()

    def _read(self) -> dict[str, float]:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if self.file is None:
                return {}
            about = self.file.stat()
            if about.st_size > LARGEST or time.time() - about.st_mtime > A_DAY:
                return {}
            found = json.loads(self.file.read_bytes())
            if isinstance(found, dict) and len(found) < MOST:
                return {k: v for k, v in found.items() if type(v) in (int, float) and v >= 0}
        return {}

    def _write(self) -> None:
        if self.file is not None:
            with contextlib.suppress(OSError, StoreError):
                make_folders(self.file.parent)
                write_atomically(self.file, json.dumps(self._before).encode(), f".{os.getpid()}")
