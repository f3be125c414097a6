"""What the store knows of a run: the identity that names it, the entry of a finished one, what
became of the others.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files import Document, to_json
from .sealed import FIRST_FORMAT, FORMAT
from .values import Column, LongColumn, canonical, lanes_of, numbers, reductions, whole, words

Value = bool | int | float | str | None
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
DIGEST = re.compile(r"[0-9a-f]{16}")
STATUSES = ("finished", "diverged", "stopped")
LATER = {"later": True}
FORK = "fork"  # in a manifest, and an attribute of records: which run it was forked from, when, and what was changed


# What documents of strange types provoke when they are taken for an identity or an entry.
_STRANGE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclasses.dataclass(frozen=True, eq=False)
class Identity:
    """Everything that makes the digits of a run what they are.

    Equal numbers are equal however they were written.
    """

    study: str
    arm: str
    spec: Mapping[str, Value]
    seed: int
    at: tuple[float, ...] | None = None
    lanes: Mapping[str, Column] | None = None
    width: int = 1
    source: str = ""
    # They came later: an identity without them is written down, and has the digest, that it had.
    keep: tuple[str, ...] | None = dataclasses.field(default=None, metadata=LATER)
    reduce: Mapping[str, Mapping[str, Value]] | None = dataclasses.field(
        default=None, metadata=LATER
    )

    def __post_init__(self) -> None:
        for kind, name in (("study", self.study), ("arm", self.arm)):
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise StoreError(
                    f'{kind} "{name}" cannot be a folder of the store: use letters, digits, "_" and "-".'
                )
        if not isinstance(self.spec, Mapping) or not isinstance(self.source, str):
            raise StoreError(
                f"the spec of a run is a mapping and its source a word, got {self.spec!r}, {self.source!r}."
            )
        object.__setattr__(self, "spec", to_json(self.spec))
        object.__setattr__(self, "seed", whole("seed", self.seed))
        object.__setattr__(self, "at", None if self.at is None else numbers("at", self.at))
        object.__setattr__(self, "lanes", None if self.lanes is None else lanes_of(self.lanes))
        object.__setattr__(self, "width", whole("width", self.width))
        object.__setattr__(self, "keep", None if self.keep is None else words("keep", self.keep))
        if self.reduce is not None:
            object.__setattr__(self, "reduce", reductions(self.reduce))

    def to_json(self) -> Document:
        written = self._written()
        if self.lanes is not None:
            written["lanes"] = {name: _plain(column) for name, column in self.lanes.items()}
        return to_json(written)

    @property
    def format(self) -> int:
        """The format of a document that has this identity: the first one, unless it uses what came later."""
        long = any(isinstance(column, LongColumn) for column in (self.lanes or {}).values())
        return FORMAT if long or self.keep is not None or self.reduce is not None else FIRST_FORMAT

    def _written(self) -> Document:
        """The fields by name, without those that came later and are not used."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        unused = [f.name for f in dataclasses.fields(self) if f.metadata == LATER]
        return {k: v for k, v in values.items() if k not in unused or v is not None}

    @classmethod
    def from_json(cls, document: Any) -> Identity:
        """The identity that `to_json` wrote down; any other document is a StoreError."""
        try:
            fields = dataclasses.fields(cls)
            later = {f.name for f in fields if f.metadata == LATER and f.name not in document}
            identity = cls(**{f.name: document[f.name] for f in fields if f.name not in later})
            _ = identity.digest
        except _STRANGE as error:
            raise StoreError(
                f"this is not the identity of a run: {type(error).__name__} {error}."
            ) from None
        return identity

    @functools.cached_property
    def canonical(self) -> str:
        """One text for one identity."""
        return json.dumps(canonical(self._written()), sort_keys=True, separators=(",", ":"))

    @functools.cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.canonical == other.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A finished run.

    `content` has the SHA-256 of every array's bytes: runs that agree in it agree bit for bit.
    """

    identity: Identity
    folder: Path
    status: str
    manifest: Document
    created: str
    content: dict[str, Document]

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.identity.study

    @property
    def arm(self) -> str:
        """The name of the arm."""
        return self.identity.arm

    @property
    def spec(self) -> Mapping[str, Value]:
        """The fields of the spec."""
        return self.identity.spec

    @property
    def seed(self) -> int:
        """The root of all random numbers."""
        return self.identity.seed

    @property
    def at(self) -> tuple[float, ...] | None:
        """The record times that were asked for; None if they were left to the arm."""
        return self.identity.at

    @property
    def lanes(self) -> Mapping[str, Column] | None:
        """The columns of a block of lanes; None for a single run."""
        return self.identity.lanes

    @property
    def width(self) -> int:
        """The width of the block."""
        return self.identity.width

    @property
    def source(self) -> str:
        """The fingerprint of the code."""
        return self.identity.source

    @property
    def digest(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def id(self) -> str:
        """`study/arm/digest`."""
        return run_id(self.folder)


def entry_from_json(folder: Path, document: Mapping[str, Any]) -> Entry:
    """The entry of the run in `folder`, as `run.json` or the index has it.

    Anything strange in it is a StoreError.
    """
    identity = Identity.from_json(document.get("identity"))
    if (identity.study, identity.arm, identity.digest) != folder.parts[-3:]:
        raise StoreError("it is the identity of another run.")
    status = document.get("status")
    manifest = document.get("manifest")
    created = document.get("created")
    content = document.get("content")
    if status not in STATUSES or type(created) is not str:
        raise StoreError(f"its status is {status!r}, and it was created {created!r}.")
    if type(manifest) is not dict or not _is_finite(manifest.get("seconds", 0)):
        raise StoreError("its manifest is not a mapping, or has seconds that are no number.")
    if type(content) is not dict or not all(map(_is_array, content.values())):
        raise StoreError("its content is not a table of arrays.")
    return Entry(
        identity=identity,
        folder=folder,
        status=status,
        manifest=manifest,
        created=created,
        content=content,
    )


def _plain(column: Column) -> Any:
    return dataclasses.asdict(column) if isinstance(column, LongColumn) else column


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf


def _is_array(value: Any) -> bool:
    return (
        type(value) is dict
        and type(value.get("sha256")) is str
        and type(value.get("coord")) is bool
    )


@dataclasses.dataclass(frozen=True)
class Unfinished:
    """A run in the making: where its last checkpoint stands, and whether a process is at work on
    it.
    """

    id: str
    folder: Path
    identity: Identity | None
    position: Document | None
    running: bool


@dataclasses.dataclass(frozen=True)
class Problem:
    """A run that cannot be used, and why; `moved` is where `repair` put it."""

    id: str
    folder: Path
    message: str
    moved: Path | None = None


@dataclasses.dataclass(frozen=True)
class RepairReport:
    """`alike` groups runs that were asked different questions and gave the same numbers, which is
    seldom right. `indexed` is whether the index could be written.
    """

    checked: int
    damaged: list[Problem]
    newer: list[Problem]
    cleared: list[Path]
    alike: list[tuple[str, ...]]
    indexed: bool = True


def run_id(folder: Path) -> str:
    """`study/arm/digest`, by which a person names a run."""
    return "/".join(folder.parts[-3:])
