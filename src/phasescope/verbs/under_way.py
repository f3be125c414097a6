"""Whether a run is under way in this process: only then has a command that is stopped anything to save.

It imports nothing, since a command asks it before anything heavy is loaded.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_runs: list[object] = []


@contextlib.contextmanager
def run_under_way() -> Iterator[None]:
    """Inside, a run computes, in whichever thread."""
    run = object()
    with _lock:
        _runs.append(run)
    try:
        yield
    finally:
        with _lock:
            _runs.remove(run)


def is_run_under_way() -> bool:
    """Whether some thread computes a run; asked by the handler of a signal, which must not wait for a lock."""
    return bool(_runs)
