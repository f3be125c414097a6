"""The fingerprint of an arm: all code and all values that can change the digits of its runs.

It is found by walking from the arm's function: its syntax tree as it was loaded, the values that its
closure holds, its default arguments, and every global name that it refers to, in turn. Code of the
interpreter and of installed libraries is known by its name (their versions are part of a run's
provenance); code of the user, of phasescope and of every package that offers a study is read.
Comments, docstrings, the order of definitions and the files they stand in do not count.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
import threading
from collections.abc import Mapping
from typing import Any

from .digest import sha256
from .modules import CORE, ENGINE, is_engine, packages_that_count
from .source import Source, sources, text_of
from .walk import Walk

# Blocks of a sweep are named by threads, and two that read source at once make Python 3.11 raise
# SystemError.
_ONE_AT_A_TIME = threading.RLock()


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """What was found: a digest for each definition, by name, and the texts that they came from.

    `digest` names the code of a run. `model` leaves phasescope's own core out: it is the same as
    long as the study's code is.
    """

    parts: Mapping[str, str]
    sources: tuple[Source, ...]

    @functools.cached_property
    def digest(self) -> str:
        return sha256(["code", engine_digest(), *sorted(self.parts.values())])

    @functools.cached_property
    def model(self) -> str:
        own = (part for name, part in self.parts.items() if not name.startswith("core:"))
        return sha256(["model", *sorted(own)])

    def edited(self) -> list[str]:
        """Files whose code was edited after it was loaded: what runs is what was loaded."""
        with _ONE_AT_A_TIME:
            return sorted(source.name for source in self.sources if source.is_edited())


def fingerprint(arm: Any, spec: type | None = None) -> Fingerprint:
    """The fingerprint of an arm; of its Spec class, the methods and properties count.

    Raises `Unidentified` for an arm that refers to something of which nobody can say whether it is
    the same in another process.
    """
    with _ONE_AT_A_TIME:
        walk = Walk(packages_that_count(arm))
        walk.parts["root"] = sha256(["root", walk.value(arm)])
        for cls in spec.__mro__ if spec is not None else ():
            if walk.counts(cls.__module__) and not is_engine(cls.__module__):
                walk.methods(cls)
        return Fingerprint(walk.parts, tuple(walk.sources.values()))


@functools.cache
def engine_digest() -> str:
    """The code of the core that every run goes through."""
    names = []
    for part in ENGINE:
        folder = getattr(importlib.import_module(f"{CORE}.{part}"), "__path__", None)
        inner = pkgutil.iter_modules(folder) if folder else ()
        names += [f"{CORE}.{part}", *(f"{CORE}.{part}.{module.name}" for module in inner)]
    files = [importlib.import_module(name).__file__ or "" for name in names if is_engine(name)]
    return sha256(["engine", *sorted(text_of(next(sources(file)).tree) for file in files)])
