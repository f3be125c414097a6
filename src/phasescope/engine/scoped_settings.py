"""Settings of the process that hold inside a block only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from jax._src import config as jax_settings


class WhileInside:
    """Made when the first thread enters, undone when the last one leaves: threads that overlap do not undo each other.

    `make` changes the process and returns what undoes the change.
    """

    def __init__(self, make: Callable[[], Callable[[], None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._inside = 0
        self._undo: Callable[[], None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._undo = self._make()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._undo is not None:
                self._undo()
                self._undo = None


def jax_setting(name: str, value: Any) -> contextlib.AbstractContextManager[Any]:
    """A setting of JAX that has no public name, for the current thread; nothing where this JAX does not know it."""
    setting = getattr(jax_settings, name, None)
    return contextlib.nullcontext() if setting is None else setting(value)
