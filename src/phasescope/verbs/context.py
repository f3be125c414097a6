"""Context: how to run, as opposed to what: the store, the progress bar, and whether to stop."""

from __future__ import annotations

import dataclasses
import os
import threading
import warnings
from pathlib import Path

from ..identity import Fingerprint, Unidentified, fingerprint
from ..plan.plan import Arm
from ..spec import Spec
from ..store import Store
from .progress import Meter, bars, no_meter
from .progress_lines import tell


class Stopped(KeyboardInterrupt):
    """A run was told to stop, because of an interrupt or an error elsewhere; it has saved what it had."""


@dataclasses.dataclass(frozen=True)
class Context:
    """Where results are kept, how often a run is saved, and who watches.

    `save_every` is in seconds. Setting `stop` ends all runs of this context: they save and stop.
    """

    store: Store | None = None
    meter: Meter = no_meter
    save_every: float = 5.0
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    codes: dict[tuple[Arm, type[Spec]], Fingerprint | Unidentified] = dataclasses.field(
        default_factory=dict
    )
    warned: set[str] = dataclasses.field(default_factory=set)

    def code(self, arm: Arm, spec: type[Spec]) -> Fingerprint:
        """The code behind an arm, read once; warns if its files were edited after it was loaded.

        Raises `Unidentified` if nothing tells this code from other code of the same name.
        """
        if (arm, spec) not in self.codes:
            self.codes[arm, spec] = self._read_code(arm, spec)
        found = self.codes[arm, spec]
        if isinstance(found, Unidentified):
            raise found
        return found

    def _read_code(self, arm: Arm, spec: type[Spec]) -> Fingerprint | Unidentified:
        try:
            found = fingerprint(arm, spec)
            for file in found.edited():
                self.warn_once(
                    f"{file} was edited after it was loaded: what runs, and what is named, is the loaded code. "
                    "Start Python anew to use the edit."
                )
        except Unidentified as problem:
            self.warn_once(
                f"{arm.__name__} runs but is not stored: {problem}. Nobody could tell its runs from those of "
                "another function of this name."
            )
            return problem
        return found

    def begin(self, name: str, number: int, of: int, rows: int, figures: int = 0) -> None:
        """Say which of several studies is begun, if anybody is to be told."""
        if of > 1 and self.meter is not no_meter:
            drawn = f", {figures} figures" if figures else ""
            tell(f"study {number} of {of}: {name}, {rows} rows{drawn}")

    def warn_once(self, message: str) -> None:
        """Warn, unless it was said before."""
        if message not in self.warned:
            self.warned.add(message)
            warnings.warn(message, stacklevel=3)


def default_context(
    store: str | Path | bool | None = None, progress: bool | None = None
) -> Context:
    """The usual context: the default store unless another is named; a bar if somebody looks, else lines.

    `store=False` keeps nothing. `progress` shows a bar, or nothing, whoever looks.
    """
    if store is False:
        return Context(None, bars(progress))
    folder = None if store is True else store
    return Context(Store(Store.default_root(folder)), bars(progress))


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
