"""When a run is recorded, and how its work is cut: record times, and the spans that one call covers.

One call of the compiled program covers up to 64 record times, or as many steps as take about half a
second. How fast a program is, is remembered as long as the process lives: its next run begins with
calls of the right size.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Hashable, Mapping, Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Num, PyTree

from ..errors import PhasescopeError, PlanError, SpecError
from ..plan.plan import Arm, Plan, Stage, never
from ..plan.times import SAME_TIME, Schedule
from ..spec import Spec

SPANS = 64  # record times handed to the compiled program at once
RECORD_BYTES = 2**25  # of records that one call may bring back
BETWEEN_STEPS = 1e-6  # a time asked for may be this far from a whole step, in steps

TARGET_SECONDS = 0.5  # what one call of the compiled program should take
FIRST_BUDGET = 16  # steps of the first call, before its speed is known
LARGEST_BUDGET = 2**40  # steps that no call exceeds, however fast they seem to be
# A first call that takes longer than this part of the target was mostly compilation.
COMPILING = 1 / 4
# A call that takes less than this part of the target is followed by a larger one ...
TOO_SHORT = 1 / 2
# ... and one that takes more than this multiple of it by one of half the size.
TOO_LONG = 2


class Call(eqx.Module):
    """What one call of the compiled program is to do: spans of time, padded by empty ones to a fixed number."""

    starts: Num[Array | np.ndarray, " span"]
    stops: Num[Array | np.ndarray, " span"]
    is_record: Bool[Array | np.ndarray, " span"]  # whether the span ends at a record time
    asks_until: Bool[Array | np.ndarray, " span"]  # whether the stage may be left after it
    # Whether the record at its end is one that was asked for, and so counts in reductions; None if there are none.
    counts: Bool[Array | np.ndarray, " span"] | None = None


class Pace:
    """How much work one call should do, by program, as learned while the process lives. It moves no digit."""

    def __init__(self) -> None:
        self._budgets: dict[Hashable, int] = {}

    def budget(self, program: Hashable) -> int | None:
        """The work for the first call of a run; None if the program has not run yet."""
        return self._budgets.get(program)

    def learn(self, program: Hashable, budget: int | None, work: int, seconds: float) -> int:
        """The work for the next call, after one that did `work` of a `budget` in so many seconds."""
        following = next_budget(budget, work, seconds)
        self._budgets[program] = following
        return following


def record_times(
    stage: Stage, times: np.ndarray, offset: float, at: Sequence[float] | None
) -> np.ndarray:
    """The stage's own record `times`, or those of `at` that fall into it (its end is always among them).

    A stage with an `until` keeps its own times as well: only there is it asked, so that `at` does not
    move its end. `offset` is the dataset's time at which the stage begins.
    """
    if at is None or not times.size:
        return times
    asked = np.asarray(sorted(at), float)
    # What lies within rounding of a stage's start or end is recorded there.
    later = asked > offset * (1 + SAME_TIME)
    local = (asked[later] - offset) / float(stage.unit)
    local = local[local < times[-1] * (1 - SAME_TIME)]
    if stage.dynamics.divisible:
        if (abs(local - np.round(local)) > BETWEEN_STEPS).any():
            raise PlanError(
                f'stage "{stage.name}" counts steps: it cannot be recorded between two of them.'
            )
        local = np.round(local)
    own = times[-1:] if stage.until is never else times
    return np.union1d(local, own).astype(times.dtype)


def times_until(stage: Stage, times: np.ndarray, offset: float, end: float) -> np.ndarray:
    """The record times of a stage up to a time of the dataset, which is the last of them if the stage goes on."""
    if not times.size:
        return times
    local = (end - offset) / float(stage.unit)
    if local >= times[-1] * (1 - SAME_TIME):
        return times
    same = times[np.abs(times - local) <= SAME_TIME * local]
    if same.size:  # it is the time of a record but for rounding
        return times[times <= same[-1]]
    if stage.dynamics.divisible:
        if abs(local - np.round(local)) > BETWEEN_STEPS:
            raise PlanError(
                f'stage "{stage.name}" counts steps: {end:g} lies between two of them, at {local:g}.'
            )
        local = np.round(local)
    return np.append(times[times < local], local).astype(times.dtype)


def spans_per_call(seen: PyTree) -> int:
    """How many record times one call covers: 64, or fewer if their records would be large (they come back whole)."""
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(seen))
    return max(1, min(SPANS, RECORD_BYTES // max(size, 1)))


def next_call(stage: Stage, times: np.ndarray, local: float, budget: int | None, room: int) -> Call:
    """The next call of a stage that is recorded at `times` and has come to `local`, in at most `room` spans."""
    starts, stops, records = spans(times, local, stage.dynamics.divisible, budget, room)
    is_record = np.zeros(len(stops), bool)
    is_record[records] = True
    asks_until = np.zeros(len(stops), bool)
    if stage.until is not never:
        asks_until = np.isin(stops, stage.lay_out())
    return Call(starts, stops, is_record, asks_until)


def counted(times: np.ndarray, stage: Stage | None, at: Sequence[float] | None) -> np.ndarray:
    """Which records, at these times of the dataset, are among the times asked for; all, if none were.

    Others are made beside them: at the end of a stage, and where its `until` is asked.
    """
    if at is None:
        return np.ones(len(times), bool)
    asked = np.asarray(sorted(at), float)
    after = np.searchsorted(asked, times).clip(0, asked.size - 1)
    before = (after - 1).clip(0)
    gap = np.minimum(np.abs(times - asked[before]), np.abs(times - asked[after]))
    allowed = SAME_TIME * np.abs(times)
    if stage is not None and stage.dynamics.divisible:
        allowed = allowed + 2 * BETWEEN_STEPS * float(stage.unit)
    return gap <= allowed


def spans(
    times: np.ndarray, local: float, divisible: bool, budget: int | None, room: int = SPANS
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """The next spans to advance over, padded to a fixed number; which of them end at a record time.

    Where dynamics is `divisible` a span may end between two record times, after `budget` steps;
    elsewhere `budget` counts spans.
    """
    starts: list[float] = []
    stops: list[float] = []
    records: list[int] = []
    left = budget or FIRST_BUDGET
    for target in times[times > local]:
        while local < target and left > 0 and len(starts) < room:
            stop = target
            work = 1
            if divisible:
                stop = min(target, local + left)
                work = int(stop - local)
            left -= work
            starts.append(local)
            stops.append(stop)
            local = stop
        if stops and stops[-1] == target:
            records.append(len(stops) - 1)
        if local < target or left <= 0 or len(starts) == room:
            break
    pad = [stops[-1]] * (room - len(starts))
    return np.array(starts + pad, times.dtype), np.array(stops + pad, times.dtype), records


def work_of(call: Call, divisible: bool) -> int:
    """The steps of a call; where dynamics is not divisible, its spans."""
    if divisible:
        return int((call.stops - call.starts).sum())
    return int((call.stops > call.starts).sum())


def stage_length(stage: Stage) -> float:
    """How long a stage is in its own time, if it is not left early."""
    times = stage.lay_out()
    if not times.size:
        return 0.0
    return float(times[-1])


def total_work(plan: Plan) -> float:
    """Steps (or time) from the beginning to the end, for the progress bar."""
    return sum((stage_length(stage) for stage in plan.stages), 0.0)


def horizon(plan: Plan) -> float:
    """The dataset's last time, if no stage is left early."""
    return sum((stage_length(stage) * float(stage.unit) for stage in plan.stages), 0.0)


def check_schedule(arm: Arm, spec: Spec, columns: Mapping[str, Sequence[float]]) -> None:
    """Lanes share their record times: no swept field may move them."""
    for name, values in columns.items():
        if name == "seed" or len(set(values)) == 1:
            continue
        if not _same_schedule(arm, *_specs_at_ends(spec, columns, name)):
            ends = min(values), max(values)
            raise PlanError(
                f"{arm.__name__}: record times depend on `{name}`, which is being swept, and lanes share their times. "
                f"{_remedy(arm, spec, name, ends)}"
            )


def _specs_at_ends(
    spec: Spec, columns: Mapping[str, Sequence[float]], name: str
) -> tuple[Spec, Spec]:
    """The numbers with the least and the largest value of a field; where it cannot move by itself, two lanes."""
    values = list(columns[name])
    low, high = min(values), max(values)
    try:
        return spec.replace(**{name: low}), spec.replace(**{name: high})
    except SpecError:  # it is tied to another field by a rule of the spec
        fields = {field: column for field, column in columns.items() if field != "seed"}
        first, last = (
            spec.replace(**{field: column[lane] for field, column in fields.items()})
            for lane in (values.index(low), values.index(high))
        )
        return first, last


def _same_schedule(arm: Arm, low: Spec, high: Spec) -> bool:
    """Whether the stages are recorded at the same times for both numbers."""
    pairs = zip(arm(low).stages, arm(high).stages, strict=True)
    return all(_recorded_alike(a, b) for a, b in pairs)


def _recorded_alike(a: Stage, b: Stage) -> bool:
    if float(a.unit) != float(b.unit):
        return False
    if isinstance(a.times, Schedule) and isinstance(b.times, Schedule) and a.times == b.times:
        return True  # every block of a sweep asks: it need not be laid out
    return np.array_equal(a.lay_out(), b.lay_out())


def _remedy(arm: Arm, spec: Spec, name: str, values: tuple[float, float]) -> str:
    """What to do about record times that move: another choice of a word under which they stay, if there is one."""
    for field in dataclasses.fields(spec):
        for word in field.metadata.get("choices") or ():
            with contextlib.suppress(PhasescopeError):
                low, high = (spec.replace(**{field.name: word, name: v}) for v in values)
                if _same_schedule(arm, low, high):
                    return f'With {field.name}="{word}" they do not.'
    return f"Make them depend on integers, or sweep `{name}` one run at a time."


def next_budget(budget: int | None, work: int, seconds: float) -> int:
    """The work for the next call: what takes about the target time at the speed of this one.

    A slow first call is mostly compilation and says nothing; a fast one was compiled before.
    """
    if budget is None and seconds > TARGET_SECONDS * COMPILING:
        return FIRST_BUDGET
    budget = budget or FIRST_BUDGET
    if seconds < TARGET_SECONDS * TOO_SHORT:
        possible = int(work * TARGET_SECONDS / max(seconds, 1e-6))
        return max(budget, min(possible, LARGEST_BUDGET))
    if seconds > TARGET_SECONDS * TOO_LONG:
        return max(1, budget // 2)
    return budget
