"""How long a run will still take: said once, if it is longer than anybody would wait without being told."""

from __future__ import annotations

import time

from .context import Context
from .expected import duration

LOOKED_AT = 5.0  # seconds of work, after which a pace is believed
LONG = 24 * 3600.0  # seconds that deserve a word


class Outlook:
    """What is left of a run, by the pace of what was done; `work` is in steps, or in time, as for the meter."""

    def __init__(self, context: Context, name: str, work: float) -> None:
        self._context = context
        self._name = name
        self._left = work
        self._done = 0.0
        self._began: float | None = None

    def after(self, work: float) -> None:
        """So much more is done. The first piece is left out, since it was mostly compilation."""
        self._left -= work
        if self._began is None:
            self._began = time.monotonic()
            return
        self._done += work
        seconds = time.monotonic() - self._began
        if seconds > LOOKED_AT and self._done > 0:
            expected = self._left / self._done * seconds
            if expected > LONG:
                self._context.warn_once(
                    f"{self._name}: at the pace of its first {duration(seconds)} it has {duration(expected)} to go. "
                    "Ctrl-C stops it, and what was done is kept; ask for fewer steps or an earlier end."
                )
            self._done = float("-inf")  # it is said once
