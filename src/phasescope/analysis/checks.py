"""The words of theorems.

Each returns a Verdict: the worst case found, what was required, and where it was.

What counts as evidence is the same for all. An entry that breaks the statement makes it fail, and
so does an infinite one. An entry that is NaN is not known: a phase that never began, a run that
left the numbers, a corner that a ragged sweep does not have. A statement with unknown entries and
no broken one is undecided, as is one about nothing at all; neither is ever a success. `where=`
marks the entries a statement is about; the others are not looked at.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from ..errors import PlanError
from .align import Misaligned, aligned, axis, coordinates_of, in_order, in_words, numbers_in, one
from .lanes import FAILS, HOLDS, UNDECIDED, lane_table, swept_axes
from .phases import sustained
from .sources import Bound, sources_of
from .types import ArrayLike, Axis, Condition, Index
from .verdict import Outcome, Verdict, undecided
from .worst_entry import (
    MARGINS,
    among,
    bounded,
    decide,
    entries_of,
    first,
    is_tolerance,
    monotone,
    name_of,
    near,
    power_law,
    power_laws,
    verdict_at,
)

# A run has reached its end if it falls short of it by rounding only.
ROUNDING = 1e-9


def agree(
    a: ArrayLike,
    b: ArrayLike,
    atol: float = 0.0,
    rtol: float = 0.0,
    what: str = "",
    *,
    where: Condition | None = None,
) -> Verdict:
    """|a - b| <= atol + rtol |b| everywhere.

        >>> ps.agree([1.0, 2.0], [1.0, 2.001], atol=0.01).outcome.value
        'holds'

    **Arguments:**

    - `a`, `b`: arrays; entries that belong together are found by coordinates.
    - `atol`, `rtol`: what is allowed, absolutely and relative to `b`.
    - `what`: what the verdict calls the quantity.
    - `where`: true at the entries that the statement is about; all of them if not given.

    **Returns:** a `Verdict`; undecided if the coordinates do not coincide, for agreement at no
    common time is none.
    """
    required = _tolerance("equal", atol, rtol)
    try:
        (left, right), asked = among(where, a, b)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    return near(
        left,
        right,
        (atol, rtol),
        required,
        f"{name_of(what, left)} differs by",
        check="agree",
        asked=asked,
        sources=sources_of((atol, rtol, b if isinstance(b, Bound) else 0.0)),
    )


def constant(
    x: ArrayLike, atol: float = 0.0, rtol: float = 0.0, what: str = "", along: Axis = None
) -> Verdict:
    """|x - x0| <= atol + rtol |x0| at all records, x0 being the first: a conserved quantity.

        >>> ps.constant([3.0, 3.0, 3.2], rtol=0.01).outcome.value
        'fails'

    **Arguments:** `x`: an array. `atol`, `rtol`: the drift allowed. `what`: its name in the
    verdict. `along`: the axis; the only one or time if not given. Every other entry has its own
    start.

    **Returns:** a `Verdict`; undecided with fewer than two records.
    """
    required = _tolerance("as at the start", atol, rtol)
    numbers = one(x)
    dim = axis(numbers, along)
    if numbers.sizes[dim] < 2:
        return undecided(
            f"{name_of(what, numbers)} has {numbers.sizes[dim]} records: nothing to compare",
            required,
        )
    numbers = in_order(numbers, dim)
    numbers, start = aligned(numbers, numbers.isel({dim: 0}, drop=True))
    return near(
        numbers,
        start,
        (atol, rtol),
        required,
        f"{name_of(what, numbers)} drifts by",
        check="constant",
        sources=sources_of((atol, rtol)),
    )


def within(
    x: ArrayLike, lo: ArrayLike, hi: ArrayLike, what: str = "", *, where: Condition | None = None
) -> Verdict:
    """lo <= x <= hi everywhere; the smallest slack decides.

        >>> ps.within([0.2, 0.9], 0.0, 1.0).outcome.value
        'holds'

    **Arguments:** `x`: an array. `lo`, `hi`: numbers, or arrays with axes of `x`. `what`: its name
    in the verdict. `where`: true at the entries that the statement is about.

    **Returns:** a `Verdict`, whose `value` is the entry with the smallest slack.
    """
    return bounded(x, lo, hi, what, where, check="within")


def at_most(
    x: ArrayLike, bound: ArrayLike, what: str = "", *, where: Condition | None = None
) -> Verdict:
    """x <= bound everywhere; the smallest slack decides.

        >>> ps.at_most([0.1, 0.7], 0.5, "loss").measured
        'loss = 0.7 (worst of 2, slack -0.2)'

    **Arguments:** `x`: an array. `bound`: a number, or an array with axes of `x`. `what`: its name
    in the verdict. `where`: true at the entries that the statement is about.

    **Returns:** a `Verdict`; undecided where the bound is infinite.
    """
    return bounded(x, -np.inf, bound, what, where, check="at_most")


def at_least(
    x: ArrayLike, bound: ArrayLike, what: str = "", *, where: Condition | None = None
) -> Verdict:
    """x >= bound everywhere; the smallest slack decides.

        >>> ps.at_least([0.8, 0.9], 0.5, "accuracy").required
        'at least 0.5'

    **Arguments:** `x`: an array. `bound`: a number, or an array with axes of `x`. `what`: its name
    in the verdict. `where`: true at the entries that the statement is about.

    **Returns:** a `Verdict`; undecided where the bound is infinite.
    """
    return bounded(x, bound, np.inf, what, where, check="at_least")


def reached(run: xr.Dataset, end: float | None = None) -> Verdict:
    """The records go on to `end`, and none was left out.

    If not the run broke off, and what it would have shown is not known.

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
        return undecided(f"the run stops at {last:.6g} of {end:.6g}", "a run to the end")
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


def positive(x: ArrayLike, what: str = "", *, where: Condition | None = None) -> Verdict:
    """x > 0 everywhere: zero has no sign.

        >>> ps.positive([0.0, 1.0]).outcome.value
        'fails'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `where`: true at the entries that
    the statement is about.

    **Returns:** a `Verdict`.
    """
    return bounded(x, 0.0, np.inf, what, where, strictly="positive", check="positive")


def negative(x: ArrayLike, what: str = "", *, where: Condition | None = None) -> Verdict:
    """x < 0 everywhere: zero has no sign.

        >>> ps.negative([-2.0, -1.0]).outcome.value
        'holds'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `where`: true at the entries that
    the statement is about.

    **Returns:** a `Verdict`.
    """
    return bounded(x, -np.inf, 0.0, what, where, strictly="negative", check="negative")


def increasing(x: ArrayLike, what: str = "", along: Axis = None, strictly: bool = True) -> Verdict:
    """x rises with the coordinate of its axis: each entry against all before it.

        >>> ps.increasing([1.0, 3.0, 2.0]).outcome.value
        'fails'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `along`: the axis; the only one
    or time if not given. `strictly`: whether two equal entries break the statement.

    **Returns:** a `Verdict`; undecided with fewer than two entries along the axis.
    """
    return monotone(one(x), 1, what, along, strictly, check="increasing")


def decreasing(x: ArrayLike, what: str = "", along: Axis = None, strictly: bool = True) -> Verdict:
    """x falls with the coordinate of its axis: each entry against all before it.

        >>> ps.decreasing([3.0, 2.0, 2.0], strictly=False).outcome.value
        'holds'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `along`: the axis; the only one
    or time if not given. `strictly`: whether two equal entries break the statement.

    **Returns:** a `Verdict`; undecided with fewer than two entries along the axis.
    """
    return monotone(one(x), -1, what, along, strictly, check="decreasing")


def ordered(*times: ArrayLike, what: str = "") -> Verdict:
    """t1 < t2 < ... in every lane.

        >>> ps.ordered(1.0, 2.5, 4.0).outcome.value
        'holds'

    **Arguments:** `times`: two or more numbers or arrays. `what`: their name in the verdict.

    **Returns:** a `Verdict`. A time that is NaN never came: undecided, unless others are already
    out of order.

    **Raises:** `ValueError` with fewer than two times.
    """
    if len(times) < 2:
        raise ValueError(f"ordered needs two times or more, got {len(times)}.")
    required = " < ".join(f"t{i + 1}" for i in range(len(times)))
    try:
        lanes = aligned(*times)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    kept = {d: lanes[0][d].variable for d in lanes[0].dims if d in lanes[0].coords}
    numbers = np.arange(1, len(times) + 1)
    stacked = xr.DataArray(
        np.stack([t.values for t in lanes]), {"t": numbers, **kept}, ("t", *lanes[0].dims)
    )
    found = monotone(stacked, 1, what or "times", "t", strictly=True, check="ordered")
    found = dataclasses.replace(found, required=required, margin=_order_margin(found, stacked))
    if stacked.ndim > 1:
        return found
    listed = ", ".join(f"t{n} = {t:.4g}" for n, t in zip(numbers, stacked.values, strict=True))
    return dataclasses.replace(found, measured=f"{what or 'times'}: {listed}")


def _order_margin(found: Verdict, times: xr.DataArray) -> float | None:
    """The logarithm of the smallest ratio of two times in a row, where times have a logarithm."""
    if found.margin is None or not (times.values > 0).all():
        return found.margin
    with np.errstate(invalid="ignore"):
        steps = np.diff(np.log(times.values), axis=0)
    return float(np.clip(np.nan_to_num(steps, nan=MARGINS[0]).min(), *MARGINS))


def scales_like(
    y: ArrayLike,
    x: ArrayLike,
    exponent: float,
    tol: float,
    what: str = "",
    *,
    along: str | None = None,
    span: float = 4.0,
    logs: float = 0.0,
) -> Verdict:
    """y ~ x ** exponent with a positive factor: the 95% interval of the fitted exponent decides,
    not its middle.

        >>> x = np.geomspace(1.0, 100.0, 20)
        >>> ps.scales_like(3 * x**2, x, exponent=2.0, tol=0.05).outcome.value
        'holds'

    **Arguments:**

    - `y`, `x`: arrays with the same points. An entry y <= 0 breaks the law.
    - `exponent`, `tol`: what is asked of the exponent.
    - `what`: what the verdict calls y.
    - `along`: the axis of the points, every other one then being lanes with fits of their own;
      without it all points are one fit.
    - `span`: the factor that x must span at least.
    - `logs`: the law holds up to this power of ln x, which is divided out.

    **Returns:** a `Verdict`. It holds if the whole interval lies within exponent ± tol, fails if
    all of it lies outside, and is undecided when the interval straddles a limit, with fewer than
    four different x, or if x spans less than a factor `span`. Of several lanes the worst decides.
    """
    required = f"exponent {exponent:.4g} ± {tol:.4g}"
    if logs:
        required += f", up to (ln x)^{logs:g}"
    try:
        y, x = aligned(y, x)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    name = name_of(what, y)
    if logs:
        y = y / np.log(x) ** logs
    if y.size == 0:
        return undecided("there are no entries", required)
    dim = None if along is None else axis(y, along)
    law = (float(exponent), float(tol), span)
    outcomes, margins, distances = power_laws(y, x, dim, law)
    lanes = [d for d in y.dims if dim is not None and d != dim]
    worst = _worst_fit(outcomes, distances)
    lane = dict(zip(lanes, worst, strict=True))
    found = _in_lane(power_law(y.isel(lane), x.isel(lane), law, name, required), y, lane)
    over = tuple(d for d in lanes if d in swept_axes(y))
    rest = tuple(i for i, d in enumerate(lanes) if d not in over)
    decided = found.outcome != Outcome.UNDECIDED
    sources = sources_of((exponent, tol))
    flips = decided and tol > 0 and is_tolerance(sources)
    margin = float(margins.min()) if decided and not np.isnan(margins).all() else None
    return dataclasses.replace(
        found,
        margin=margin,
        flips_at=1 - margin if flips and margin is not None else None,
        check="scales_like",
        sources=sources,
        lanes=lane_table(y, over, outcomes.min(rest), margins.min(rest)) if over else None,
    )


def _worst_fit(outcomes: np.ndarray, distances: np.ndarray) -> tuple[int, ...]:
    """The fit that decides: of the worst outcome, the one farthest from what was asked for."""
    worst = outcomes == outcomes.min()
    candidates = np.flatnonzero(worst)
    best = candidates[np.argmax(distances.ravel()[candidates])]
    return tuple(int(i) for i in np.unravel_index(best, outcomes.shape))


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


def _in_lane(verdict: Verdict, x: xr.DataArray, lane: Index) -> Verdict:
    """The verdict about one lane of x, with the coordinates of the lane added."""
    coordinates = coordinates_of(x, lane)
    where = ", ".join(filter(None, (in_words(coordinates), verdict.where)))
    return dataclasses.replace(verdict, where=where, at=numbers_in(coordinates) | dict(verdict.at))


def _tolerance(word: str, atol: float, rtol: float) -> str:
    parts = []
    if atol > 0:
        parts.append(f"{atol:.4g}")
    if rtol > 0:
        parts.append(f"{100 * rtol:.4g}%")
    if not parts:
        return f"{word}, exactly"
    return f"{word} within {' + '.join(parts)}"


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
