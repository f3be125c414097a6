"""The words of theorems. Each returns a Verdict: the worst case found, what was required, and where it was.

What counts as evidence is the same for all. An entry that breaks the statement makes it fail, and so does an infinite
one. An entry that is NaN is not known: a phase that never began, a run that left the numbers, a corner that a ragged
sweep does not have. A statement with unknown entries and no broken one is undecided, as is one about nothing at all;
neither is ever a success. `where=` marks the entries a statement is about; the others are not looked at.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import xarray as xr

from ..errors import PlanError
from .align import Misaligned, aligned, axis, in_order, one, place
from .decide import among, bounded, decide, first, monotone, name_of, near, power_law
from .phases import sustained
from .verdict import Outcome, Verdict, undecided


def agree(a: Any, b: Any, atol: float = 0.0, rtol: float = 0.0, what: str = "", *, where: Any = None) -> Verdict:
    """|a - b| <= atol + rtol |b| everywhere. Their coordinates must coincide: agreement at no common time is none."""
    required = _tolerance("equal", atol, rtol)
    try:
        a, b = among(where, a, b)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    return near(a, b, (atol, rtol), required, f"{name_of(what, a)} differs by")


def constant(x: Any, atol: float = 0.0, rtol: float = 0.0, what: str = "", along: str | int | None = None) -> Verdict:
    """|x - x0| <= atol + rtol |x0| at all records, x0 being the first: a conserved quantity, entry by entry."""
    required = _tolerance("as at the start", atol, rtol)
    x = one(x)
    dim = axis(x, along)
    if x.sizes[dim] < 2:
        return undecided(f"{name_of(what, x)} has {x.sizes[dim]} records: nothing to compare", required)
    x = in_order(x, dim)
    x, start = aligned(x, x.isel({dim: 0}, drop=True))
    return near(x, start, (atol, rtol), required, f"{name_of(what, x)} drifts by")


def within(x: Any, lo: Any, hi: Any, what: str = "", *, where: Any = None) -> Verdict:
    """lo <= x <= hi everywhere; the smallest slack decides."""
    return bounded(x, lo, hi, what, where)


def at_most(x: Any, bound: Any, what: str = "", *, where: Any = None) -> Verdict:
    """x <= bound everywhere; the smallest slack decides."""
    return bounded(x, -np.inf, bound, what, where)


def at_least(x: Any, bound: Any, what: str = "", *, where: Any = None) -> Verdict:
    """x >= bound everywhere; the smallest slack decides."""
    return bounded(x, bound, np.inf, what, where)


def reached(run: xr.Dataset, end: float | None = None) -> Verdict:
    """The records go on to `end`. If not the run broke off, and what it would have shown later is not known.

    Without `end`, the planned end of the run is meant, which its dataset knows: the time of its last
    record if no stage is left early.
    """
    if end is None:
        end = _planned_end(run)
    last = float(run.time[-1])
    if not last >= end * (1 - 1e-9):
        return undecided(f"the run stops at {last:.6g} of {end:.6g}", "a run to the end")
    return Verdict(Outcome.HOLDS, "", "")


def _planned_end(run: xr.Dataset) -> float:
    if "planned_end" not in run.attrs:
        raise PlanError(
            "reached(run) found no planned end in the dataset, as in a sweep whose runs end at "
            "different times: choose one run of it, or give the time as `end`."
        )
    return float(run.attrs["planned_end"])


def positive(x: Any, what: str = "", *, where: Any = None) -> Verdict:
    """x > 0 everywhere: zero has no sign."""
    return bounded(x, 0.0, np.inf, what, where, strictly="positive")


def negative(x: Any, what: str = "", *, where: Any = None) -> Verdict:
    """x < 0 everywhere: zero has no sign."""
    return bounded(x, -np.inf, 0.0, what, where, strictly="negative")


def increasing(x: Any, what: str = "", along: str | int | None = None, strictly: bool = True) -> Verdict:
    """x rises with the coordinate of its axis (`along`, or the only one, or time): each entry against all before it."""
    return monotone(one(x), 1, what, along, strictly)


def decreasing(x: Any, what: str = "", along: str | int | None = None, strictly: bool = True) -> Verdict:
    """x falls with the coordinate of its axis (`along`, or the only one, or time): each entry against all before it."""
    return monotone(one(x), -1, what, along, strictly)


def ordered(*times: Any, what: str = "") -> Verdict:
    """t1 < t2 < ... in every lane. A time that is NaN never came: undecided, unless others are already out of order."""
    if len(times) < 2:
        raise ValueError(f"ordered needs two times or more, got {len(times)}.")
    required = " < ".join(f"t{i + 1}" for i in range(len(times)))
    try:
        lanes = aligned(*times)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    kept = {d: lanes[0][d].values for d in lanes[0].dims if d in lanes[0].coords}
    numbers = np.arange(1, len(times) + 1)
    stacked = xr.DataArray(np.stack([t.values for t in lanes]), {"t": numbers, **kept}, ("t", *lanes[0].dims))
    found = monotone(stacked, 1, what or "times", "t", strictly=True)
    if stacked.ndim > 1:
        return dataclasses.replace(found, required=required)
    listed = ", ".join(f"t{n} = {t:.4g}" for n, t in zip(numbers, stacked.values, strict=True))
    return dataclasses.replace(found, required=required, measured=f"{what or 'times'}: {listed}")


def scales_like(
    y: Any, x: Any, exponent: float, tol: float, what: str = "", *, along: str | None = None, span: float = 4.0
) -> Verdict:
    """y ~ x ** exponent with a positive factor: the 95% interval of the fitted exponent decides, not its middle.

    It holds if the whole interval lies within exponent ± tol, fails if all of it lies outside, and is undecided when
    the interval straddles a limit, with fewer than four different x, or if x spans less than a factor `span`.
    An entry y <= 0 breaks the law. With `along`, every lane is fitted by itself; else all points are one fit.
    """
    required = f"exponent {exponent:.4g} ± {tol:.4g}"
    try:
        y, x = aligned(y, x)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    lanes = [d for d in y.dims if along is not None and d != axis(y, along)]
    found = []
    for index in np.ndindex(*(y.sizes[d] for d in lanes)):
        lane = dict(zip(lanes, index, strict=True))
        v = power_law(y.isel(lane), x.isel(lane), (exponent, tol, span), name_of(what, y), required)
        found.append(dataclasses.replace(v, where=", ".join(filter(None, (place(y, lane), v.where)))))
    if not found:
        return undecided("there are no entries", required)
    severity = [Outcome.HOLDS, Outcome.UNDECIDED, Outcome.FAILS]
    distance = lambda v: 0.0 if v.value is None else abs(v.value - exponent)
    return max(found, key=lambda v: (severity.index(v.outcome), distance(v)))


def throughout(condition: Any, stage: str | int | None = None, what: str = "") -> Verdict:
    """True at every record (of one stage, if named). A comparison with NaN is false, so a lost run does not pass."""
    required = "true throughout" + ("" if stage is None else f" stage {stage}")
    c = _truth(condition)
    c = c.transpose("time", ...) if "time" in c.dims else c
    if stage is not None:
        c = c.isel(time=_in_stage(condition, stage))
    false, name = c.values == 0, what or "the condition"
    said = (
        f"{name} is false at {false.sum()} of {c.size} records"
        if false.any()
        else f"{name} is true at {c.size} records"
    )
    found = decide(c, ~false, np.where(np.isnan(c.values), np.nan, 0.0), required, lambda i: (said, (~false).mean()))
    return dataclasses.replace(found, where="") if found.outcome == Outcome.HOLDS else found


def eventually(condition: Any, what: str = "", along: str | int | None = None, enough: int = 5) -> Verdict:
    """True from some record to the end, in every lane; `where` says from when.

    Fails where the last record is false. A true end of fewer than `enough` records is undecided: white noise is true
    at its last record half of the time.
    """
    c, name = _truth(condition), what or "the condition"
    dim = axis(c, along)
    required = f"true from some {dim} to the end, {enough} records or more"
    if c.size == 0:
        return undecided("there are no entries", required)
    c = in_order(c, dim)
    last = c.isel({dim: -1}, drop=True)
    if (last == 0).any():
        at = place(c, first(last == 0) | {dim: c.sizes[dim] - 1})
        return Verdict(Outcome.FAILS, f"{name} is false at the end", required, at)
    tail = (c == 1).isel({dim: slice(None, None, -1)}).cumprod(dim).sum(dim)
    lane, length = first(tail == tail.min()), int(tail.min())
    since = float(sustained(c == 1, along=dim).isel(lane))
    at = ", ".join(filter(None, (place(c, lane), f"from {dim}={since:.6g}")))
    said = f"{name} is true at the last {length} of {c.sizes[dim]} records"
    return Verdict(Outcome.HOLDS if length >= enough else Outcome.UNDECIDED, said, required, at, since)


def _tolerance(word: str, atol: float, rtol: float) -> str:
    parts = [f"{atol:.4g}"] * (atol > 0) + [f"{100 * rtol:.4g}%"] * (rtol > 0)
    return f"{word} within {' + '.join(parts)}" if parts else f"{word}, exactly"


def _truth(condition: Any) -> xr.DataArray:
    """A condition as 1, 0, or NaN where it is not known."""
    c = one(condition)
    if not (np.isnan(c.values) | np.isin(c.values, (0, 1))).all():
        raise TypeError("a condition is true or false at every record, such as `run.loss < 0.1`; got other numbers.")
    return c


def _in_stage(condition: Any, stage: str | int) -> np.ndarray:
    """The records of a stage, by the flags that runs carry on their time axis."""
    if not isinstance(condition, xr.DataArray) or condition.coords.get("stage", xr.DataArray(0)).dims != ("time",):
        raise ValueError(
            f"stage {stage!r} was asked for, but the condition carries no stages along time. "
            "Arithmetic with one record drops them: take it with .isel(time=..., drop=True)."
        )
    flags = condition.coords["stage"]
    names = str(flags.attrs.get("flag_meanings", "")).split()
    if isinstance(stage, str) and "_".join(stage.split()) not in names:
        raise ValueError(f"no stage {stage!r}; the run has: {', '.join(names) or 'stages without names'}.")
    number = names.index("_".join(stage.split())) if isinstance(stage, str) else stage
    return np.flatnonzero(flags.values == number)
