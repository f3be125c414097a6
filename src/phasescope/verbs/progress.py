"""Progress of long work: on a terminal a bar with step, rate and time left, elsewhere lines.

Nothing is shown for what is over within a second.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, TextIO, cast

from .progress_lines import Lines, clock, short

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


def uneven(meter: Meter) -> Meter:
    """The meter for work of which the pace tells nothing, as along a flow, which goes the faster the later."""
    return functools.partial(meter, even=False) if isinstance(meter, _Bars) else meter


def pace_of(done: float, total: float, seconds: float) -> str:
    """How fast work of one pace goes on, and how long it will still take."""
    rate = done / max(seconds, 1e-9)
    left = f", {clock((total - done) / rate)} left" if rate > 0 else ""
    return f"{short(rate)}/s{left}"


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
    def __call__(self, label: str, total: float, even: bool = True) -> Iterator[Tick]:
        began = time.monotonic()
        done = 0.0
        task = None

        def tick(amount: float) -> None:
            nonlocal done, task
            done += amount
            if task is None and time.monotonic() - began > PATIENCE:
                task = self._join(label, total)
            if task is not None:
                pace = pace_of(done, total, time.monotonic() - began) if even else ""
                self._display.update(task, completed=done, pace=pace)

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
        )

        with self._lock:
            if self._display is None:
                self._display = Progress(
                    TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(),
                    TimeElapsedColumn(), TextColumn("{task.fields[pace]}"),
                    console=Console(file=cast(IO[str], _Unfailing(sys.stderr))), transient=True,
                )  # fmt: skip
                self._display.start()
            self._users += 1
            return self._display.add_task(label, total=total, pace="")

    def _leave(self, task) -> None:
        with self._lock:
            self._display.remove_task(task)
            self._users -= 1
            if self._users == 0:
                self._display.stop()
                self._display = None
