"""Reductions: what is left of the records of a run when they are not kept, one number for each entry of an observable.

A reduction is carried from record to record inside of the compiled program, so that a million runs bring back megabytes. Times
are kept as the numbers of records; they become times on the host, where the record times are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..errors import SpecError

Running = dict[str, Array]
NONE = -1  # the number of a record that there is not

How = Literal["first", "last", "sustained"]


@dataclasses.dataclass(frozen=True)
class Reduction:
    """What is kept of one observable over all records of a run; made by `when`, `final`, `largest` and `smallest`."""

    observable: str

    def __post_init__(self) -> None:
        if not isinstance(self.observable, str):
            raise SpecError(
                f'a reduction is of an observable by its name, such as ps.final("loss"), got {self.observable!r}.'
            )

    def begin(self, x: Float[Array, "..."]) -> Running:
        """What is carried before the first record; x has the shape of the observable."""
        raise NotImplementedError

    def update(self, running: Running, x: Float[Array, "..."], index: Int[Array, ""]) -> Running:
        """What is carried after the record number `index`; x is NaN in runs that left the finite numbers."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Crossing(Reduction):
    """The first, or last, time at which an observable comes to a level, between two records."""

    level: float
    direction: Literal["up", "down"]
    last: bool = False
    log_time: bool = False

    def begin(self, x: Float[Array, "..."]) -> Running:
        unknown = jnp.full(x.shape, jnp.nan)
        none = jnp.full(x.shape, NONE, jnp.int32)
        numbers = {"value": unknown, "below": unknown, "above": unknown}
        return numbers | {"seen": none, "before": none, "after": none}

    def update(self, running: Running, x: Float[Array, "..."], index: Int[Array, ""]) -> Running:
        sign = 1.0 if self.direction == "up" else -1.0
        value = sign * (x - self.level)
        is_known = jnp.isfinite(value)
        crosses = is_known & (running["value"] < 0) & (value >= 0)
        if not self.last:
            crosses = crosses & (running["after"] == NONE)
        return {
            "value": jnp.where(is_known, value, running["value"]),
            "seen": jnp.where(is_known, index, running["seen"]),
            "below": jnp.where(crosses, running["value"], running["below"]),
            "above": jnp.where(crosses, value, running["above"]),
            "before": jnp.where(crosses, running["seen"], running["before"]),
            "after": jnp.where(crosses, index, running["after"]),
        }


@dataclasses.dataclass(frozen=True)
class Sustained(Reduction):
    """The first record from which on an observable is at a level or beyond it, to the end."""

    level: float
    direction: Literal["up", "down"]

    def begin(self, x: Float[Array, "..."]) -> Running:
        return {"since": jnp.full(x.shape, NONE, jnp.int32)}

    def update(self, running: Running, x: Float[Array, "..."], index: Int[Array, ""]) -> Running:
        holds = x >= self.level if self.direction == "up" else x <= self.level
        since = jnp.where(running["since"] == NONE, index, running["since"])
        return {"since": jnp.where(holds, since, NONE)}


@dataclasses.dataclass(frozen=True)
class Final(Reduction):
    """The value at the last record."""

    def begin(self, x: Float[Array, "..."]) -> Running:
        return {"value": jnp.full(x.shape, jnp.nan)}

    def update(self, running: Running, x: Float[Array, "..."], index: Int[Array, ""]) -> Running:
        return {"value": x}


@dataclasses.dataclass(frozen=True)
class Extreme(Reduction):
    """The largest, or smallest, value at any record."""

    largest: bool = True

    def begin(self, x: Float[Array, "..."]) -> Running:
        return {"value": jnp.full(x.shape, jnp.nan)}

    def update(self, running: Running, x: Float[Array, "..."], index: Int[Array, ""]) -> Running:
        chosen = jnp.fmax if self.largest else jnp.fmin
        return {"value": chosen(running["value"], x)}


# By the name that the result has in the dataset.
Reductions = tuple[tuple[str, Reduction], ...]


def as_reductions(given: Mapping[str, Reduction] | Reductions | None) -> Reductions:
    """Reductions as they were given, by name, as plain values that can be compared."""
    if given is None:
        return ()
    pairs = given.items() if isinstance(given, Mapping) else given
    for name, one in pairs:
        if not isinstance(one, Reduction):
            raise SpecError(
                f"reduce: {name} is {one!r}; it should be made by ps.when, ps.final, ps.largest or ps.smallest."
            )
        if not (isinstance(name, str) and name.isidentifier()):
            raise SpecError(f"reduce: {name!r} cannot be the name of a variable; use a word.")
    return tuple(pairs)


def when(
    observable: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    how: How = "first",
    log_time: bool = False,
) -> Reduction:
    """The time at which an observable comes to a level, worked out while the run goes on: for `reduce=`.

        >>> sw = ps.sweep(
        ...     "linear_modes", "logistic", epsilon=[1e-2, 1e-4], store=False,
        ...     reduce={"learned": ps.when("loss", at_most=0.1, how="sustained")},
        ... )
        >>> sw.learned.dims, bool(sw.learned[0] < sw.learned[1])
        (('epsilon',), True)

    **Arguments:**

    - `observable`: the name of one that the arm measures. Of one with axes, every entry has its time.
    - `at_least`, `at_most`: the level, one of the two: it is come to from below, or from above.
    - `how`: "first" and "last" are the first and the last time of coming to the level, between two
      records, as `ps.crossing` gives them; "sustained" is the first record from which on it is at
      least (at most) the level to the end, as `ps.sustained` gives it.
    - `log_time`: the straight line between two records is one in log time.

    **Returns:** a reduction. Its result is NaN where there is no such time; a run that starts beyond
    the level has not come to it. Records of a run that has left the finite numbers do not count.

    **Raises:** `SpecError` unless one level is given, and is a finite number.
    """
    if (at_least is None) == (at_most is None):
        raise SpecError(
            f'ps.when("{observable}", ...): give one of at_least= and at_most=, got {at_least} and {at_most}.'
        )
    if how not in ("first", "last", "sustained"):
        raise SpecError(
            f'ps.when("{observable}", ...): how is "first", "last" or "sustained", got {how!r}.'
        )
    level = _finite(observable, at_most if at_least is None else at_least)
    direction = "down" if at_least is None else "up"
    if how == "sustained":
        return Sustained(observable, level, direction)
    return Crossing(observable, level, direction, last=how == "last", log_time=log_time)


def _finite(observable: str, level: Any) -> float:
    with contextlib.suppress(TypeError, ValueError):
        number = float(level)
        if math.isfinite(number):
            return number
    raise SpecError(f'ps.when("{observable}", ...): a level is a finite number, got {level!r}.')


def final(observable: str) -> Reduction:
    """The value of an observable at the last record of a run: for `reduce=`.

        >>> ds = ps.run("linear_modes", "logistic", reduce={"end": ps.final("loss")}, store=False)
        >>> ds.end.dims, bool(ds.end < 0.1)
        ((), True)

    **Arguments:** `observable`: the name of one that the arm measures.

    **Returns:** a reduction. Its result is NaN for a run that left the finite numbers.
    """
    return Final(observable)


def largest(observable: str) -> Reduction:
    """The largest value that an observable has at any record of a run: for `reduce=`.

        >>> ds = ps.run("linear_modes", "logistic", reduce={"most": ps.largest("loss")}, store=False)
        >>> bool(ds.most > 1)
        True

    **Arguments:** `observable`: the name of one that the arm measures.

    **Returns:** a reduction. Records of a run that has left the finite numbers do not count.
    """
    return Extreme(observable, largest=True)


def smallest(observable: str) -> Reduction:
    """The smallest value that an observable has at any record of a run: for `reduce=`.

        >>> ds = ps.run("linear_modes", "logistic", reduce={"least": ps.smallest("loss")}, store=False)
        >>> bool(ds.least < 0.1)
        True

    **Arguments:** `observable`: the name of one that the arm measures.

    **Returns:** a reduction. Records of a run that has left the finite numbers do not count.
    """
    return Extreme(observable, largest=False)
