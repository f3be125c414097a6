"""Requests for evidence: hashable, so that ten claims that ask for one run share it, and so that the cost is known
before anything runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError
from ..plan.plan import Arm
from ..plan.reductions import Reduction, Reductions, as_reductions
from ..plan.times import Times, asked_times
from .tied import Tied, untied

if TYPE_CHECKING:
    from .claim import Claim

LATER = {
    "later": True
}  # of a field that came later: a request without it has the digest that it had


@dataclasses.dataclass(frozen=True)
class Runs:
    """One run of an arm."""

    arm: Arm
    preset: str | None
    changes: tuple[tuple[str, Any], ...]
    seed: int
    at: tuple[float, ...] | None
    keep: tuple[str, ...] | None = dataclasses.field(default=None, metadata=LATER)
    reduce: Reductions = dataclasses.field(default=(), metadata=LATER)


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
    # Fields of `axes` that move together.
    ties: tuple[tuple[str, ...], ...] = dataclasses.field(default=(), metadata=LATER)
    keep: tuple[str, ...] | None = dataclasses.field(default=None, metadata=LATER)
    reduce: Reductions = dataclasses.field(default=(), metadata=LATER)


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
    # Where it lies on this machine is no part of the check that asks for it.
    file: Path = dataclasses.field(metadata={"identity": False})


Request = Runs | Sweeps | Tables | Sized | Recorded


@dataclasses.dataclass(frozen=True)
class Maps:
    """A claim at every cell of a grid of numbers: evidence of a figure."""

    claim: Claim
    fields: tuple[tuple[str, Any], ...]
    regime: str | None = None
    refine: int = 0
    at: tuple[float, ...] | None = None


def runs(
    arm: Arm | None = None,
    *,
    preset: str | None = None,
    seed: int = 0,
    at: Times | None = None,
    keep: Sequence[str] | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    **changes: Any,
) -> Runs:
    """Ask for one run of an arm. Requests that are equal share their evidence.

        >>> def flow(spec): ...
        >>> ps.runs(flow, epsilon=1e-4) == ps.runs(flow, epsilon=1e-4)
        True

    **Arguments:** `arm`: the function. `preset`: named Spec to start from. `seed`: root of all random
    numbers. `at`: record times in place of the arm's own, numbers or a `Schedule`. `keep`, `reduce`: the
    observables that are wanted, or what is made of them, as for `ps.run`. `changes`: fields of the Spec.

    **Returns:** a request, to be given to a claim or a figure.

    **Raises:** `SpecError` if no arm is given: `ps.stored` lists what the store holds.
    """
    times = None if at is None else tuple(asked_times(at))
    return Runs(
        arm=_function(arm, "runs"),
        preset=preset,
        changes=tuple(sorted(changes.items())),
        seed=seed,
        at=times,
        keep=_kept(keep),
        reduce=_reduced(reduce),
    )


def sweeps(
    arm: Arm,
    *tied: Tied,
    preset: str | None = None,
    seeds: int = 1,
    at: Times | None = None,
    block: int | None = None,
    keep: Sequence[str] | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    **fields: Any,
) -> Sweeps:
    """Ask for a sweep: fields given as lists are its axes, the others are changed for all.

        >>> def descent(spec): ...
        >>> ps.sweeps(descent, eta=[0.1, 0.2], steps=100).axes
        (('eta', (0.1, 0.2)),)

    **Arguments:** `arm`: the function. `tied`: fields that move together, from `ps.tied`. `preset`:
    named Spec to start from. `seeds`: how many. `at`: record times in place of the arm's own, numbers
    or a `Schedule`. `block`: the width of a block. `keep`, `reduce`: the observables that are wanted,
    or what is made of them, as for `ps.sweep`. `fields`: fields of the Spec, lists or single values.

    **Returns:** a request, to be given to a claim or a figure.
    """
    given = untied(tied, fields)
    return Sweeps(
        arm=_function(arm, "sweeps"),
        preset=preset,
        changes=tuple(sorted((k, v) for k, v in given.items() if not _is_axis(v))),
        axes=tuple((k, tuple(v)) for k, v in given.items() if _is_axis(v)),
        seeds=seeds,
        at=None if at is None else tuple(asked_times(at)),
        block=block,
        ties=tuple(tie.names for tie in tied),
        keep=_kept(keep),
        reduce=_reduced(reduce),
    )


def tables(function: Callable[..., Any], **arguments: Any) -> Tables:
    """Ask for a dataset that theory computes directly, without a run.

        >>> def spectrum(size):
        ...     return xr.Dataset({"value": ("mode", np.arange(size))})
        >>> ps.tables(spectrum, size=4).arguments
        (('size', 4),)

    **Arguments:** `function`: returns a dataset. `arguments`: what it is called with.

    **Returns:** a request, to be given to a claim or a figure.
    """
    frozen = tuple(sorted((k, tuple(v) if _is_axis(v) else v) for k, v in arguments.items()))
    return Tables(function, frozen)


def sized(small: Runs | Sweeps | Tables, full: Runs | Sweeps | Tables) -> Sized:
    """Ask for `small` by default and for `full` with `check --full`.

        >>> def flow(spec): ...
        >>> ps.sized(ps.runs(flow, size=6), ps.runs(flow, size=64)).full.changes
        (('size', 64),)

    **Arguments:** `small`, `full`: requests for the same question at laptop size and at full size.

    **Returns:** a request; the ledger says which rows were judged at reduced size.
    """
    return Sized(small, full)


def recorded(request: Runs | Sweeps, file: Path) -> Recorded:
    """Ask for evidence that was computed once, on a machine that few have.

        >>> from pathlib import Path
        >>> def decoder(spec): ...
        >>> ps.recorded(ps.runs(decoder), Path("decoder.zip")).request.arm.__name__
        'decoder'

    **Arguments:** `request`: what was asked for; `check --recompute` runs it. `file`: the recorded
    dataset with its manifest, beside the study.

    **Returns:** a request; the ledger marks the rows that rest on it.
    """
    return Recorded(request, file)


def maps(
    claim: Claim,
    *,
    regime: str | None = None,
    refine: int = 0,
    at: Times | None = None,
    **fields: Any,
) -> Maps:
    """Ask for a map of a claim, to be drawn: what `ps.map` returns.

        >>> claim = ps.find("linear_modes").claim("waiting_time_is_logarithmic")
        >>> ps.maps(claim, epsilon="1e-6:0.1:8:log").fields
        (('epsilon', '1e-6:0.1:8:log'),)

    **Arguments:** `claim`: of the study. `regime`, `refine`, `at`, `fields`: as for `ps.map`.

    **Returns:** a request, to be given to a figure.
    """
    given = {name: tuple(v) if _is_axis(v) else v for name, v in fields.items()}
    times = None if at is None else tuple(asked_times(at))
    return Maps(claim, tuple(given.items()), regime, refine, times)


def _function(arm: Arm | None, asked: str) -> Arm:
    """The arm of a request, which is a function and no name: nobody knows of which study."""
    if arm is None or not callable(arm):
        got = "no arm" if arm is None else repr(arm)
        raise SpecError(
            f"ps.{asked}(arm) asks for evidence of a claim, and takes the function of an arm, got {got}. "
            "What the store holds is ps.stored(); a run is made by ps.run, a sweep by ps.sweep."
        )
    return arm


def _kept(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The observables that are kept, in an order that does not depend on how they were given."""
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise SpecError(f'keep is a list of names, such as keep=["loss"], got keep={names!r}.')
    return tuple(sorted(set(names)))


def _reduced(given: Mapping[str, Reduction] | None) -> Reductions:
    """What is reduced, as plain values."""
    if given is not None and not isinstance(given, Mapping):
        raise SpecError(
            f'reduce is a mapping of names to reductions, such as reduce={{"last": ps.final("loss")}}, got reduce={given!r}.'
        )
    return as_reductions(given)


def _is_axis(value: Any) -> bool:
    return not isinstance(value, str) and (
        isinstance(value, Sequence) or (hasattr(value, "__array__") and value.ndim == 1)
    )
