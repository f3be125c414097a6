"""Progress for a log: where no terminal is watching, a line every half minute says what is going on."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from ..ledger.markup import visible

EVERY = 30.0  # seconds between two lines
ABREAST = 3  # pieces of work that a line names


def tell(sentence: str) -> None:
    """Print a line on standard error; one that cannot be written is lost and no more."""
    with contextlib.suppress(OSError, ValueError):
        print(visible(sentence), file=sys.stderr, flush=True)


class Work:
    """A piece of work that is going on: so much of it is done."""

    def __init__(self, label: str, total: float) -> None:
        self.label = label
        self.total = total
        self.done = 0.0

    def __str__(self) -> str:
        return f"{self.label} {short(self.done)} of {short(self.total)}"


class Lines:
    """A meter that several pieces of work, also of several threads, may share.

    A thread of its own speaks, since a program that compiles or runs for minutes cannot.
    """

    def __init__(self, every: float = EVERY, say: Callable[[str], None] = tell) -> None:
        self._every = every
        self._say = say
        self._lock = threading.Lock()
        self._work: list[Work] = []
        self._over = threading.Event()
        self._began = time.monotonic()
        self._spoke = self._began

    @contextlib.contextmanager
    def __call__(self, label: str, total: float) -> Iterator[Callable[[float], None]]:
        work = Work(label, total)

        def tick(amount: float) -> None:
            work.done += amount

        self._join(work)
        try:
            yield tick
        finally:
            self._leave(work)

    def _join(self, work: Work) -> None:
        with self._lock:
            self._work.append(work)
            if len(self._work) == 1:
                self._over = threading.Event()
                threading.Thread(target=self._speak, args=(self._over,), daemon=True).start()

    def _leave(self, work: Work) -> None:
        with self._lock:
            self._work.remove(work)
            if not self._work:
                self._over.set()

    def _speak(self, over: threading.Event) -> None:
        """Say what is going on until it is over; work that is shorter than a pause is told with what follows it."""
        while not over.wait(max(0.0, self._spoke + self._every - time.monotonic())):
            self._spoke = time.monotonic()
            self._say(self.line())

    def line(self) -> str:
        """What is going on now, and since when."""
        with self._lock:
            going_on = [str(work) for work in self._work]
        more = f" and {len(going_on) - ABREAST} more" if len(going_on) > ABREAST else ""
        return f"{clock(time.monotonic() - self._began)}  {'; '.join(going_on[:ABREAST])}{more}"


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def short(x: float) -> str:
    """A number in a few letters."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size <= x < 1000 * size:
            return f"{x / size:.3g}{unit}"
    return f"{x:.3g}"
