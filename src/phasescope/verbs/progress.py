"""Progress of long work: on a terminal a bar with step, rate and time left, elsewhere lines.

Nothing is shown for what is over within a second.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, TextIO, cast

from .progress_lines import Lines, short

Tick = Callable[[float], None]
Meter = Callable[[str, float], AbstractContextManager[Tick]]
PATIENCE = 1.0


@contextlib.contextmanager
def no_meter(label: str, total: float) -> Iterator[Tick]:
    """Nobody looks."""
    yield lambda amount: None


def bars(wanted: bool | None = None) -> Meter:
    """Bars on standard error if somebody looks at it or asks for them, else lines; nothing if told so."""
    if wanted is False:
        return no_meter
    if wanted or sys.stderr.isatty():
        return _Bars()
    return Lines()


class _Unfailing:
    """A stream to which a word that cannot be written is lost and no more: its terminal may have been closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Bars:
    """One live display that several runs, also of several threads, may share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._display: Any = None
        self._users = 0

    @contextlib.contextmanager
    def __call__(self, label: str, total: float) -> Iterator[Tick]:
        began = time.monotonic()
        done = 0.0
        task = None

        def tick(amount: float) -> None:
            nonlocal done, task
            done += amount
            if task is None and time.monotonic() - began > PATIENCE:
                task = self._join(label, total)
            if task is not None:
                rate = done / max(time.monotonic() - began, 1e-9)
                self._display.update(task, completed=done, rate=f"{short(rate)}/s")

        try:
            yield tick
        finally:
            if task is not None:
                self._leave(task)

    def _join(self, label: str, total: float):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        with self._lock:
            if self._display is None:
                self._display = Progress(
                    TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(),
                    TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
                    console=Console(file=cast(IO[str], _Unfailing(sys.stderr))), transient=True,
                )  # fmt: skip
                self._display.start()
            self._users += 1
            return self._display.add_task(label, total=total, rate="")

    def _leave(self, task) -> None:
        with self._lock:
            self._display.remove_task(task)
            self._users -= 1
            if self._users == 0:
                self._display.stop()
                self._display = None
