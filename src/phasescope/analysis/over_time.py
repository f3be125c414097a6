"""The words for what holds throughout a run, from some record on, or to its end."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from ..errors import PlanError
from .align import axis, coordinates_of, in_order, in_words, numbers_in, one
from .lanes import FAILS, HOLDS, UNDECIDED, lane_table, swept_axes
from .phases import sustained
from .types import Axis, Condition
from .verdict import Outcome, Verdict, undecided
from .worst_entry import MARGINS, decide, entries_of, first, verdict_at

# A run has reached its end if it falls short of it by rounding only.
ROUNDING = 1e-9


def throughout(condition: Condition, stage: str | int | None = None, what: str = "") -> Verdict:
    """True at every record, or at every record of one stage.

        >>> loss = xr.DataArray([0.3, 0.2, 0.1], {"time": [0.0, 1.0, 2.0]}, "time")
        >>> ps.throughout(loss < 0.25).where
        'time=0'

    **Arguments:** `condition`: true or false at every record. `stage`: the name or the number of a
    stage. `what`: the condition in words.

    **Returns:** a `Verdict`. A comparison with NaN is false, so a lost run does not pass.

    **Raises:** `ValueError` if the run has no such stage, `TypeError` if the condition holds other
    numbers.
    """
    required = "true throughout" if stage is None else f"true throughout stage {stage}"
    c = _truth(condition)
    if "time" in c.dims:
        c = c.transpose("time", ...)
    if stage is not None:
        c = c.isel(time=_in_stage(condition, stage))
    false = c.values == 0
    name = what or "the condition"
    if false.any():
        said = f"{name} is false at {false.sum()} of {c.size} records"
    else:
        said = f"{name} is true at {c.size} records"
    entries = entries_of(
        x=c,
        ok=~false,
        violation=np.where(np.isnan(c.values), np.nan, 0.0),
        margin=np.where(false, -1.0, 1.0),
        asked=np.ones(c.shape, bool),
    )
    found = decide(entries, required, lambda i: (said, (~false).mean()), "throughout")
    if found.outcome == Outcome.HOLDS:
        return dataclasses.replace(found, where="", at={})
    return found


def eventually(
    condition: Condition, what: str = "", along: Axis = None, enough: int = 5
) -> Verdict:
    """True from some record to the end, in every lane; `where` says from when.

        >>> loss = xr.DataArray(2.0 ** -np.arange(10), {"time": np.arange(10.0)}, "time")
        >>> ps.eventually(loss < 0.1).where
        'from time=4'

    **Arguments:** `condition`: true or false at every record. `what`: the condition in words.
    `along`: the axis; the only one or time if not given. `enough`: how many records at the end must
    be true.

    **Returns:** a `Verdict`. It fails where the last record is false; a true end of fewer than
    `enough` records is undecided, for white noise is true at its last record half of the time.

    **Raises:** `TypeError` if the condition holds other numbers than true, false and NaN.
    """
    c = _truth(condition)
    name = what or "the condition"
    dim = axis(c, along)
    required = f"true from some {dim} to the end, {enough} records or more"
    if c.size == 0:
        return undecided("there are no entries", required)
    c = in_order(c, dim)
    last = c.isel({dim: -1}, drop=True)
    tail = (c == 1).isel({dim: slice(None, None, -1)}).cumprod(dim).sum(dim)
    lanes = _lanes_of_ends(last, tail, enough)
    if (last == 0).any():
        index = first(last == 0) | {dim: c.sizes[dim] - 1}
        found = verdict_at(Outcome.FAILS, f"{name} is false at the end", required, c, index)
        return dataclasses.replace(found, margin=-1.0, check="eventually", lanes=lanes)
    length = int(tail.min())
    lane = first(tail == tail.min())
    since = float(sustained(c == 1, along=dim).isel(lane))
    coordinates = coordinates_of(c, lane)
    return Verdict(
        outcome=Outcome.HOLDS if length >= enough else Outcome.UNDECIDED,
        measured=f"{name} is true at the last {length} of {c.sizes[dim]} records",
        required=required,
        where=", ".join(filter(None, (in_words(coordinates), f"from {dim}={since:.6g}"))),
        value=since,
        at=numbers_in(coordinates) | {dim: since},
        margin=min(length / enough - 1, 1.0) if length >= enough else None,
        check="eventually",
        lanes=lanes,
    )


def _lanes_of_ends(last: xr.DataArray, tail: xr.DataArray, enough: int) -> xr.Dataset | None:
    """Outcome and margin of `eventually` in every lane of a sweep."""
    over = swept_axes(last)
    if not over:
        return None
    rest = tuple(i for i, d in enumerate(last.dims) if d not in over)
    ends_false = (last.values == 0).any(rest)
    length = tail.values.min(rest)
    outcome = np.where(ends_false, FAILS, np.where(length >= enough, HOLDS, UNDECIDED))
    margin = np.where(ends_false, -1.0, np.clip(length / enough - 1, *MARGINS))
    margin = np.where(outcome == UNDECIDED, np.nan, margin)
    return lane_table(last, over, outcome, margin)


def _truth(condition: Condition) -> xr.DataArray:
    """A condition as 1, 0, or NaN where it is not known."""
    c = one(condition)
    if not (np.isnan(c.values) | np.isin(c.values, (0, 1))).all():
        raise TypeError(
            "a condition is true or false at every record, such as `run.loss < 0.1`; got other numbers."
        )
    return c


def _in_stage(condition: Condition, stage: str | int) -> np.ndarray:
    """The records of a stage, by the flags that runs carry on their time axis."""
    if not isinstance(condition, xr.DataArray) or condition.coords.get(
        "stage", xr.DataArray(0)
    ).dims != ("time",):
        raise ValueError(
            f"stage {stage!r} was asked for, but the condition carries no stages along time. "
            "Arithmetic with one record drops them: take it with .isel(time=..., drop=True)."
        )
    flags = condition.coords["stage"]
    names = str(flags.attrs.get("flag_meanings", "")).split()
    if isinstance(stage, int):
        return np.flatnonzero(flags.values == stage)
    word = "_".join(stage.split())
    if word not in names:
        raise ValueError(
            f"no stage {stage!r}; the run has: {', '.join(names) or 'stages without names'}."
        )
    return np.flatnonzero(flags.values == names.index(word))


def reached(run: xr.Dataset, end: float | None = None) -> Verdict:
    """The records go on to `end`, and none was left out.

    If not the run broke off, and what it would have shown is not known. A run that left a stage early by the
    stage's `until` has not reached its planned end either: give its own end, `run.attrs["ended_at"]`, if that
    is how it was meant to end.

        >>> run = xr.Dataset(coords={"time": [0.0, 1.0, 2.0]})
        >>> ps.reached(run, 10.0).measured
        'the run stops at 2 of 10'

    **Arguments:** `run`: a dataset with a time axis. `end`: the last time that was asked for; if
    not given, the planned end of the run, which its dataset knows: the time of its last record if
    no stage is left early.

    **Returns:** a `Verdict` to join with others by `&`: it holds without a word, or is undecided.

    **Raises:** `PlanError` if no end is given and the dataset has no planned one.
    """
    if end is None:
        end = _planned_end(run)
    count = run.sizes["time"]
    last = float(run.time[-1]) if count else 0.0
    if not last >= end * (1 - ROUNDING):
        said = f"the run stops at {last:.6g} of {end:.6g}"
        if "ended_at" in run.attrs:
            said += f" (a stage was left early, and the run ended at {run.attrs['ended_at']:.6g})"
        return undecided(said, "a run to the end")
    return complete(run)


def complete(run: xr.Dataset) -> Verdict:
    """No record of the run was left out, as far as its dataset knows how many there were."""
    count = run.sizes.get("time", 0)
    made = int(run.attrs.get("records", count))
    if count < made:
        return undecided(f"the run has {count} of its {made} records", "all records")
    return Verdict(Outcome.HOLDS, "", "", is_guard=True)


def _planned_end(run: xr.Dataset) -> float:
    if "planned_end" not in run.attrs:
        raise PlanError(
            "reached(run) found no planned end in the dataset, as in a sweep whose runs end at "
            "different times: choose one run of it, or give the time as `end`."
        )
    return float(run.attrs["planned_end"])
