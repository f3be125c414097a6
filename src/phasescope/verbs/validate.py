"""What is asked for, checked before anything runs: names exist, values are in range, times lie on the run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.calls import horizon
from ..engine.job import Job
from ..errors import PlanError, SpecError, nearest
from ..plan.plan import Arm, fields_read
from ..plan.reductions import Reduction, Reductions
from ..plan.times import Schedule, Times, asked_times
from ..records.choice import wanted_of
from ..study import Study

SEEDS = 2**32  # a seed is below this number
MOST_TIMES = 10**7  # at which a run may be recorded
ROUNDING = 1e-12  # by which a time may lie beyond the end of a run, relative to the end


def requested_job(
    study: Study,
    arm: str | Arm,
    *,
    preset: str | None = None,
    seed: int = 0,
    at: Times | None = None,
    keep: Iterable[str] | None = None,
    reduce: Mapping[str, Reduction] | Reductions | None = None,
    changes: Mapping[str, Any],
) -> Job:
    """The run of an arm at a preset with changes, recorded at the times `at` or at the arm's own.

    Only the observables of `keep` are wanted, or what `reduce` makes of them.
    """
    chosen = study.arm(arm)
    check_read(study, chosen, changes)
    job = Job(chosen, study.specify(preset, chosen, **changes), seed_number(study, seed))
    job.plan()  # it is made, so that mistakes are found early
    if at is not None:
        job = _recorded_at(study, job, at)
    check_reduce(study, reduce)
    return job.wanting(wanted_of(study.name, job, keep, reduce))


def _recorded_at(study: Study, job: Job, at: Times) -> Job:
    end = horizon(job.plan())
    times = tuple(sorted(set(time_numbers(study, at))))
    if not times or times[0] < 0 or times[-1] > end * (1 + ROUNDING):
        raise PlanError(
            f"{study.name}.{job.arm.__name__} runs from 0 to {end:g}; it cannot be recorded at "
            f"{times[:1] + times[-1:]}."
        )
    return job.recorded_at(times)


def check_read(study: Study, arm: Arm, given: Iterable[str]) -> None:
    """A field that is given and that the arm does not read is a mistake, also if it is of another arm's Spec."""
    read = fields_read(arm, study.default_for(arm))
    for name in given:
        if name not in read:
            raise unread(study, arm, name)


def unread(study: Study, arm: Arm, name: str) -> SpecError:
    """The error of a field that is given and not read: there is no such field, or other arms read it."""
    known = study.fields
    own = [f.name for f in dataclasses.fields(study.default_for(arm))]
    if name not in known and name not in own:
        return SpecError(f'{study.name}: there is no field "{name}". {nearest(name, own)}')
    others = known.get(name)
    who = f"Arms that do: {', '.join(others)}." if others else "No arm does."
    return SpecError(
        f'{study.name}.{arm.__name__} does not read "{name}": it would change nothing. {who} Leave it out.'
    )


def check_reduce(study: Study, reduce: Any) -> None:
    """What is made of observables is named: a mapping, or pairs of names and reductions."""
    if not (reduce is None or isinstance(reduce, Mapping | tuple)):
        raise SpecError(
            f"{study.name}: reduce is a mapping of names to reductions, such as "
            f'reduce={{"last": ps.final("loss")}}, got reduce={reduce!r}.'
        )


def seed_number(study: Study, seed: Any) -> int:
    """A seed, which is a whole number."""
    if not is_seed(seed):
        raise SpecError(
            f"{study.name}: a seed is a whole number from 0 to {SEEDS - 1}, got seed={seed!r}."
        )
    return int(seed)


def seed_numbers(study: Study, seeds: Any) -> Sequence[int]:
    """The seeds of a sweep: 0, 1, ... if their number is given, else the numbers themselves."""
    if is_whole(seeds) and 1 <= seeds <= SEEDS:
        return range(int(seeds))  # of any length: nothing is laid out yet
    numbers = tuple(seeds) if is_axis(seeds) else ()
    whole = all(is_seed(seed) for seed in numbers)
    if not numbers or not whole or len(set(numbers)) != len(numbers):
        raise SpecError(
            f"{study.name}: seeds are one or more different numbers from 0 to {SEEDS - 1}, all of them whole, "
            f"got seeds={seeds!r}."
        )
    return tuple(map(int, numbers))


def time_numbers(study: Study, at: Any) -> tuple[float, ...]:
    """Record times, which are a list of numbers."""
    _check_count(study, at)
    try:
        if isinstance(at, str | bytes):
            raise TypeError(at)
        times = tuple(float(t) for t in asked_times(at))
    except (TypeError, ValueError, OverflowError):
        raise SpecError(
            f"{study.name}: `at` is a list of times, such as at=[1, 10], got at={at!r}."
        ) from None
    if any(map(math.isnan, times)):
        raise SpecError(f"{study.name}: nan is not a time, got at={list(times)}.")
    return times


def _check_count(study: Study, at: Any) -> None:
    """Refuse more record times than a run can have, before they are laid out."""
    count = at.count if isinstance(at, Schedule) else len(at) if hasattr(at, "__len__") else 0
    if count is not None and count > MOST_TIMES:
        raise SpecError(
            f"{study.name}: a run is recorded at {MOST_TIMES} times at most, got {count} times."
        )


def is_axis(value: Any) -> bool:
    """Whether it is a list of values rather than one."""
    return not isinstance(value, str) and np.ndim(value) == 1


def is_whole(number: Any) -> bool:
    """Whether it is an integer; 1.0 and True are not."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def is_seed(number: Any) -> bool:
    """Whether it is an integer in the range of seeds."""
    return is_whole(number) and 0 <= number < SEEDS
