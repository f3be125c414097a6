"""Loaded by each local worker: Ctrl-C in a terminal, and its closing, reach it too, and are heeded by the command that
started it.
"""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C and SIGHUP to the command, which stops its workers in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):  # Windows has none
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
