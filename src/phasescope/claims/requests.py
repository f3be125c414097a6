"""Requests for evidence: hashable, so that ten claims that ask for one run share it, and so that the cost is known
before anything runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..plan.plan import Arm


@dataclasses.dataclass(frozen=True)
class Runs:
    """One run of an arm."""

    arm: Arm
    preset: str | None
    changes: tuple[tuple[str, Any], ...]
    seed: int
    at: tuple[float, ...] | None


@dataclasses.dataclass(frozen=True)
class Sweeps:
    """The same run over the product of some values."""

    arm: Arm
    preset: str | None
    changes: tuple[tuple[str, Any], ...]
    axes: tuple[tuple[str, tuple[Any, ...]], ...]
    seeds: int
    at: tuple[float, ...] | None
    block: int | None = None


@dataclasses.dataclass(frozen=True)
class Tables:
    """A dataset that theory computes directly, without a run."""

    function: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class Sized:
    """The same question at laptop size and at full size (`check --full`)."""

    small: Runs | Sweeps | Tables
    full: Runs | Sweeps | Tables


@dataclasses.dataclass(frozen=True)
class Recorded:
    """Evidence that was computed once, on a machine that few have, and is kept in a file beside the study."""

    request: Runs | Sweeps
    file: Path


Request = Runs | Sweeps | Tables | Sized | Recorded


def runs(
    arm: Arm, *, preset: str | None = None, seed: int = 0, at: Iterable[float] | None = None, **changes: Any
) -> Runs:
    """Ask for one run: `runs(flow, epsilon=1e-4)`."""
    return Runs(arm, preset, tuple(sorted(changes.items())), seed, None if at is None else tuple(at))


def sweeps(
    arm: Arm,
    *,
    preset: str | None = None,
    seeds: int = 1,
    at: Iterable[float] | None = None,
    block: int | None = None,
    **fields: Any,
) -> Sweeps:
    """Ask for a sweep: fields given as lists are its axes, the others are changed for all: `sweeps(gd, eta=[.1, .2])`.

    `block` is the number of lanes in a block: with as many floats as that, a block shares one seed and its random
    numbers.
    """
    axes = tuple((k, tuple(v)) for k, v in fields.items() if _is_axis(v))
    changes = tuple(sorted((k, v) for k, v in fields.items() if not _is_axis(v)))
    return Sweeps(arm, preset, changes, axes, seeds, None if at is None else tuple(at), block)


def tables(function: Callable[..., Any], **arguments: Any) -> Tables:
    """Ask for a dataset that `function(**arguments)` computes."""
    frozen = tuple(sorted((k, tuple(v) if _is_axis(v) else v) for k, v in arguments.items()))
    return Tables(function, frozen)


def sized(small: Runs | Sweeps | Tables, full: Runs | Sweeps | Tables) -> Sized:
    """Ask for `small` by default and for `full` with `check --full`; the ledger says which rows were reduced."""
    return Sized(small, full)


def recorded(request: Runs | Sweeps, file: Path) -> Recorded:
    """Ask for what `ps.record` left in the file; `check --recompute` runs the request itself instead."""
    return Recorded(request, file)


def _is_axis(value: Any) -> bool:
    return not isinstance(value, str) and (
        isinstance(value, Sequence) or (hasattr(value, "__array__") and value.ndim == 1)
    )
