"""Ctrl-C waits while a program is compiled or runs.

An interrupt that leaves a call half done leaves the compiler's threads at work behind it, and a process that ends
then may end in a segmentation fault. So the first interrupt is held until the call has returned.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

HANG_UP = getattr(signal, "SIGHUP", None)  # a terminal that was closed; Windows has none
SIGNALS = tuple(number for number in (signal.SIGINT, signal.SIGTERM, HANG_UP) if number is not None)


class _Held:
    """A handler in place of those of the session: the first signal waits, a second one is passed on at once.

    A second hang-up is none: a terminal that is closed may send it twice, by itself and by its shell.

    A session's own handler may have a method `waits`, called when a signal begins to wait, and a method `at_once`,
    called in its place for the second one.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._first: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        handler = self._before[number]
        if self._first is None:
            self._first = number
            getattr(handler, "waits", _nothing)()
        elif number != HANG_UP:
            getattr(handler, "at_once", handler)(number, frame)

    def waits(self) -> None:
        """A held signal met another call that holds signals."""

    def take_over(self) -> None:
        """Stand where the handlers of the session are; a signal that it ignores or leaves to the system is left so."""
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self)

    def give_back(self) -> None:
        """Put the session's handlers back, and hand them the signal that waited."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._first is not None:
            self._before[self._first](self._first, None)


def _nothing() -> None:
    pass


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """Inside, the first interrupt waits until the end. Signals come to the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = _Held()
    held.take_over()
    try:
        yield
    finally:
        held.give_back()
