"""Loaded by each local worker: Ctrl-C in a terminal reaches it too, and is heeded by the command that started it."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the command, which stops its workers in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
