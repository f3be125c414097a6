"""How long a run will still take: said once, if it is longer than anybody would wait without being told."""

from __future__ import annotations

import time

from ..plan.plan import Plan
from .context import Context
from .expected import duration

LOOKED_AT = 5.0  # seconds of work, after which a pace is believed
PIECES = 8  # of work, before which a pace is that of compiling and of small first calls
LONG = 24 * 3600.0  # seconds that deserve a word


class Outlook:
    """What is left of a run that counts steps, by the pace of its last piece; `work` is in steps.

    Along a flow nothing is said: it goes the faster the later, and its pace tells nothing.
    """

    def __init__(self, context: Context, name: str, plan: Plan, work: float) -> None:
        self._context = context
        self._name = name
        self._left = work
        self._pieces = 0
        self._began = time.monotonic()
        self._last = self._began
        self._said = not all(stage.dynamics.divisible for stage in plan.stages)

    def after(self, work: float) -> None:
        """So much more is done."""
        now = time.monotonic()
        seconds = now - self._last
        self._last = now
        self._left -= work
        self._pieces += 1
        if self._said or work <= 0 or self._pieces < PIECES or now - self._began < LOOKED_AT:
            return
        self._said = True  # whatever it is: it is looked at once
        expected = self._left / work * seconds
        if expected > LONG:
            self._context.warn_once(
                f"{self._name}: at its present pace it has {duration(expected)} to go. "
                "Ctrl-C stops it, and what was done is kept; ask for fewer steps or an earlier end."
            )
