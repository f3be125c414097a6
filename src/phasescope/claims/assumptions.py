"""Assumptions are data: what a theorem asks of the model, of the numbers of a run, and of its records."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..errors import PlanError
from ..spec import Spec

# A ratio that must be at least 1 may fall short of it by rounding.
ROUNDING = 1e-9
Lane = Callable[[Any], Any]
Record = Callable[[Any, Any], Any]


class Scope(enum.StrEnum):
    """What an assumption is about."""

    MODEL = "model"
    LANE = "lane"
    RECORD = "record"


@dataclasses.dataclass(frozen=True)
class Assumptions:
    """What a theorem assumes; see `assume`."""

    model: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, hash=False)
    lane: Mapping[str, Lane] = dataclasses.field(default_factory=dict, hash=False)
    record: Mapping[str, Record] = dataclasses.field(default_factory=dict, hash=False)
    free: tuple[str, ...] = ()

    def allows_arm(self, on: str, arm: str) -> bool:
        """Whether the arm is the paper's model, for statements held against `on`."""
        if not self.model:
            return True
        arms = self.model.get(on, self.model.get("", ()))
        return arm in arms


@dataclasses.dataclass(frozen=True)
class Met:
    """How an assumption stands on some evidence.

    `margin` is log10 of the smallest ratio; `low` and `high` are the ratios that occur.
    """

    name: str
    scope: Scope
    met: bool
    margin: float | None = None
    free: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def is_scanned(self) -> bool:
        """The evidence looks at this constant over a decade or more."""
        if self.low is None or self.high is None or self.low <= 0:
            return False
        return self.high >= 10 * self.low * (1 - ROUNDING)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "scope": self.scope.value,
            "met": self.met,
            "margin": self.margin,
            "free": self.free,
        }


def assume(
    *,
    model: Iterable[str] | Mapping[str, Iterable[str]] = (),
    lane: Mapping[str, Lane] | None = None,
    record: Mapping[str, Record] | None = None,
    free: Iterable[str] = (),
) -> Assumptions:
    """What a theorem assumes, as functions of the Spec.

        >>> large = ps.assume(lane={"large_lam": lambda s: s.lam / s.size**2}, free=["large_lam"])
        >>> large.free
        ('large_lam',)

    **Arguments:**

    - `model`: the arms that are the paper's model; a mapping if that depends on what a statement is
      held against.
    - `lane`: for each name a function of the Spec whose value must be at least 1. A swept field is
      an array over its axis.
    - `record`: for each name a function of Spec and time whose value must be at least 1: records
      where it is not are left out.
    - `free`: names of those whose constant the paper leaves open. They are looked at over decades,
      and leave no record out.

    **Returns:** `Assumptions`, to be given to `ps.claim(assumes=...)`.

    **Raises:** `PlanError` if a free one is not named above.
    """
    lanes = dict(lane or {})
    records = dict(record or {})
    unknown = [name for name in free if name not in (*lanes, *records)]
    if unknown:
        raise PlanError(f"free assumptions that are not defined: {', '.join(unknown)}.")
    if isinstance(model, Mapping):
        arms = {on: tuple(names) for on, names in model.items()}
    else:
        arms = {"": tuple(model)} if tuple(model) else {}
    return Assumptions(arms, lanes, records, tuple(free))


class Numbers:
    """The numbers of some runs: a field that was swept is an array over its axis.

    Properties of the Spec are computed from them.
    """

    def __init__(self, spec: Any, axes: Mapping[str, xr.DataArray]) -> None:
        self._spec = spec
        self._axes = axes

    def __getattr__(self, name: str) -> Any:
        if name in self._axes:
            return self._axes[name]
        found = getattr(type(self._spec), name, None)
        if isinstance(found, property) and found.fget is not None and self._axes:
            return found.fget(self)
        return getattr(self._spec, name)


def numbers_of(ds: xr.Dataset, spec: type[Spec]) -> Numbers:
    """The numbers of a run or a sweep, from its dataset."""
    fields = [f.name for f in dataclasses.fields(spec)]
    swept = {name: ds[name] for name in fields if name in ds.coords and ds[name].dims}
    return Numbers(spec.of(ds), swept)


def lane_met(name: str, rule: Lane, numbers: Iterable[Any], free: bool) -> Met:
    """How an assumption on the numbers stands, over all runs."""
    ratios = [np.asarray(rule(n), float).ravel() for n in numbers]
    found = np.concatenate(ratios) if ratios else np.array([])
    if not found.size:
        return Met(name, Scope.LANE, met=True, free=free)
    low = float(found.min())
    high = float(found.max())
    return Met(
        name=name,
        scope=Scope.LANE,
        met=low >= 1 - ROUNDING,
        margin=math.log10(low) if low > 0 and math.isfinite(low) else None,
        free=free,
        low=low,
        high=high,
    )


def records_met(rule: Record, numbers: Any, time: xr.DataArray) -> xr.DataArray:
    """At which records an assumption holds; times that are whole numbers may have been rounded."""
    values = np.asarray(time.values, float)
    with np.errstate(divide="ignore"):
        met = xr.DataArray(rule(numbers, time)) >= 1 - ROUNDING
        if np.array_equal(values, np.round(values)):
            met = met | (xr.DataArray(rule(numbers, np.maximum(time - 0.5, 0.0))) >= 1)
    return met
