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
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files import to_json

Value = bool | int | float | str | None
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
DIGEST = re.compile(r"[0-9a-f]{16}")
STATUSES = ("finished", "diverged", "stopped")


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
    lanes: Mapping[str, tuple[float, ...]] | None = None
    width: int = 1
    source: str = ""

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
        object.__setattr__(self, "seed", _whole("seed", self.seed))
        object.__setattr__(self, "at", None if self.at is None else _numbers("at", self.at))
        object.__setattr__(self, "lanes", None if self.lanes is None else _lanes(self.lanes))
        object.__setattr__(self, "width", _whole("width", self.width))

    def to_json(self) -> dict[str, Any]:
        return to_json({f.name: getattr(self, f.name) for f in dataclasses.fields(self)})

    @classmethod
    def from_json(cls, document: Any) -> Identity:
        """The identity that `to_json` wrote down; any other document is a StoreError."""
        try:
            identity = cls(**{f.name: document[f.name] for f in dataclasses.fields(cls)})
            _ = identity.digest
        except _STRANGE as error:
            raise StoreError(
                f"this is not the identity of a run: {type(error).__name__} {error}."
            ) from None
        return identity

    @functools.cached_property
    def canonical(self) -> str:
        """One text for one identity."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return json.dumps(_canonical(values), sort_keys=True, separators=(",", ":"))

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
    manifest: dict[str, Any]
    created: str
    content: dict[str, dict[str, Any]]

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
    def lanes(self) -> Mapping[str, tuple[float, ...]] | None:
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
    position: dict[str, Any] | None
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


def _whole(what: str, value: Any) -> int:
    """A whole number, also as numpy or a float have it."""
    found = value.item() if hasattr(value, "item") else value
    if type(found) is float and found.is_integer():
        found = int(found)
    if type(found) is not int:
        raise StoreError(f"the {what} of a run is a whole number, got {what}={value!r}.")
    return found


def _numbers(what: str, values: Any) -> tuple[int | float, ...]:
    """Python numbers, also from numpy or from the words that JSON has for infinities; NaN is none."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise StoreError(f"{what} holds numbers, got {values!r}.")
    return tuple(_number(what, value) for value in values)


def _number(what: str, value: Any) -> int | float:
    found = value.item() if hasattr(value, "item") else value
    if found in ("inf", "-inf"):
        found = float(found)
    if (
        type(found) not in (int, float) or found != found
    ):  # not isnan, for which an integer may be too large
        raise StoreError(f"{what} holds numbers, got {value!r}.")
    return found


def _lanes(lanes: Any) -> dict[str, tuple[int | float, ...]]:
    if not isinstance(lanes, Mapping):
        raise StoreError(f"lanes is a mapping from fields to their values, got {lanes!r}.")
    return {
        str(field): _numbers(f"the lane field {field}", values) for field, values in lanes.items()
    }


def _canonical(value: Any) -> Any:
    """Numbers by value: 1 is 1.0, 0.1 is 1e-1; but -0.0 is not 0, and true is not 1."""
    if isinstance(value, float):
        negative_zero = value == 0 and math.copysign(1, value) < 0
        if value.is_integer() and not negative_zero:
            return int(value)
        return ["float", value.hex()]
    if isinstance(value, Mapping):
        return {str(k): _canonical(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(v) for v in value]
    return value
