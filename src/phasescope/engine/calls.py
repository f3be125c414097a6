"""When a run is looked at, and how its work is cut: record times, and the spans that one call covers.

One call of the compiled program covers up to 64 record times, or as many steps as take about half a second. How fast a
program is, is remembered as long as the process lives: its next run begins with calls of the right size.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jaxtyping import PyTree

from ..errors import PhasescopeError, PlanError
from ..plan.plan import Arm, Plan, Stage, never
from ..spec import Spec
from .programs import SPANS

TARGET_SECONDS = 0.5  # what one call of the compiled program should take
RECORD_BYTES = 2**25  # of records that one call may bring back
FIRST_BUDGET = 16  # steps of the first call, before its speed is known


def record_times(stage: Stage, times: np.ndarray, offset: float, at: Sequence[float] | None) -> np.ndarray:
    """The stage's own record `times`, or those of `at` that fall into it (its end is always among them).

    A stage with an `until` keeps its own times as well: only there is it asked, so that `at` does not move its end.
    """
    if at is None or not times.size:
        return times
    asked = np.asarray(sorted(at), float)
    later = asked > offset * (1 + 1e-12)  # what lies within rounding of a stage's start or end is recorded there
    local = (asked[later] - offset) / float(stage.unit)
    local = local[local < times[-1] * (1 - 1e-12)]
    if stage.dynamics.divisible:
        if (abs(local - np.round(local)) > 1e-6).any():
            raise PlanError(f'stage "{stage.name}" counts steps: it cannot be recorded between two of them.')
        local = np.round(local)
    own = times if stage.until is not never else times[-1:]
    return np.union1d(local, own).astype(times.dtype)


def spans_per_call(seen: PyTree) -> int:
    """How many record times one call covers: 64, or fewer if their records would be large (they come back whole)."""
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(seen))
    return max(1, min(SPANS, RECORD_BYTES // max(size, 1)))


def spans(
    times: np.ndarray, local: float, divisible: bool, budget: int | None, room: int = SPANS
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """The next spans to advance over, padded to a fixed number; which of them end at a record time."""
    starts, stops, kept, left = [], [], [], budget or FIRST_BUDGET
    for target in times[times > local]:
        while local < target and left > 0 and len(starts) < room:
            stop = min(target, local + left) if divisible else target
            left -= int(stop - local) if divisible else 1
            starts.append(local)
            stops.append(stop)
            local = stop
        if local < target or left <= 0 or len(starts) == room:
            if stops and stops[-1] == target:
                kept.append(len(stops) - 1)
            break
        kept.append(len(stops) - 1)
    pad = [stops[-1]] * (room - len(starts))
    return np.array(starts + pad, times.dtype), np.array(stops + pad, times.dtype), kept


def total_work(plan: Plan) -> float:
    """Steps (or time) from the beginning to the end, for the progress bar."""
    return float(sum(t[-1] for t in (stage.lay_out() for stage in plan.stages) if t.size))


def horizon(plan: Plan) -> float:
    """The dataset's last time, if no stage is left early."""
    return float(sum(t[-1] * float(s.unit) for s, t in ((s, s.lay_out()) for s in plan.stages) if t.size))


def check_schedule(arm: Arm, spec: Spec, columns: Mapping[str, Sequence[float]]) -> None:
    """Lanes share their record times: no swept field may move them."""
    for name, values in columns.items():
        if name == "seed" or len(set(values)) == 1:
            continue
        ends = min(values), max(values)
        if not _same_schedule(arm, spec, name, ends):
            raise PlanError(
                f"{arm.__name__}: record times depend on `{name}`, which is being swept, and lanes share their times. "
                f"{_remedy(arm, spec, name, ends)}"
            )


def _same_schedule(arm: Arm, spec: Spec, name: str, values: tuple[float, float]) -> bool:
    """Whether the stages are recorded at the same times at both values of a field."""
    low, high = ([(s.lay_out(), float(s.unit)) for s in arm(spec.replace(**{name: v})).stages] for v in values)
    return all(np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(low, high, strict=True))


def _remedy(arm: Arm, spec: Spec, name: str, values: tuple[float, float]) -> str:
    """What to do about record times that move: another choice of a word under which they stay, if there is one."""
    for field in dataclasses.fields(spec):
        for word in field.metadata.get("choices") or ():
            with contextlib.suppress(PhasescopeError):
                if _same_schedule(arm, spec.replace(**{field.name: word}), name, values):
                    return f'With {field.name}="{word}" they do not.'
    return f"Make them depend on integers, or sweep `{name}` one run at a time."


def next_budget(budget: int | None, work: int, seconds: float) -> int:
    """The work for the next call: what takes about the target time at the speed of this one.

    A slow first call is mostly compilation and says nothing; a fast one was compiled before.
    """
    if budget is None and seconds > TARGET_SECONDS / 4:
        return FIRST_BUDGET
    if seconds < TARGET_SECONDS / 2:
        return max(budget or FIRST_BUDGET, min(int(work * TARGET_SECONDS / max(seconds, 1e-6)), 2**40))
    budget = budget or FIRST_BUDGET
    return max(1, budget // 2) if seconds > 2 * TARGET_SECONDS else budget
