"""Sizes that cannot fit, refused before they are tried."""

from __future__ import annotations

from ..engine.calls import record_times, stage_length
from ..engine.job import Job, shapes_of
from ..engine.memory import bytes_of, check_fits, device_bytes, machine_bytes
from ..errors import PlanError
from ..plan.dynamics import formula
from ..plan.plan import never
from ..plan.times import Schedule
from ..store.recordfile import check_bytes
from ..study import Study

MOST_STEPS = 10**15  # at a nanosecond a step, which no arm reaches, twelve days
LONGEST_FLOW = 1e100  # of its own time: solvers take longer steps the later it is, but not for ever


def check_run_ends(study: Study, job: Job) -> None:
    """Refuse a run of so many steps, or of so much time, that no machine comes to its end.

    A stage that may be left early counts none, and a closed form is at any time at once.

    **Raises:** `PlanError`.
    """
    counted = [s for s in job.plan().stages if s.dynamics.divisible and s.until is never]
    steps = sum(stage_length(stage) for stage in counted)
    followed = [
        s for s in job.plan().stages if s.until is never and not isinstance(s.dynamics, formula)
    ]
    longest = max(map(stage_length, followed), default=0.0)
    if steps <= MOST_STEPS and longest > LONGEST_FLOW:
        raise PlanError(
            f"{study.name}.{job.arm.__name__}: a flow to {longest:.3g} would never end: ask for {LONGEST_FLOW:.0e} at most."
        )
    if steps > MOST_STEPS:
        raise PlanError(
            f"{study.name}.{job.arm.__name__}: {steps:.3g} steps would never end: ask for {MOST_STEPS:.0e} at most, or for "
            "an earlier end."
        )


def check_record_times(study: Study, job: Job) -> None:
    """Refuse fewer record times than an arm asks for, because they are whole where its dynamics counts no steps.

    **Raises:** `PlanError`.
    """
    for stage in job.plan().stages:
        asked = stage.times
        if stage.dynamics.divisible or not isinstance(asked, Schedule) or asked.log:
            continue
        found = asked.lay_out().size
        if asked.count is not None and 0 < found < asked.count:
            raise PlanError(
                f'{study.name}.{job.arm.__name__}: stage "{stage.name}" asks for linear_times({asked.last}, {asked.count}), '
                f"which has {found} times: up to a whole number it counts whole steps, and this dynamics has none. "
                f"Write linear_times({float(asked.last)}, {asked.count})."
            )


def check_run_fits(study: Study, job: Job, stored_limit: int | None = None) -> None:
    """Refuse a run, or a block of lanes, whose state or records are larger than the memory there is.

    `stored_limit` is the most bytes of records that the store keeps of one run, if it is to be stored.

    **Raises:** `PlanError`; `StoreError` if it is the store that would not keep it.
    """
    name = f"{study.name}.{job.arm.__name__}"
    lanes = max(job.lane_count, 1)
    side_by_side = f" of {lanes} lanes" if job.is_block else ""
    shapes = shapes_of(job)
    one_record = bytes_of_record(job)
    records = lanes * one_record * certain_records(job)
    check_fits(
        f"{name}: the state{side_by_side}",
        lanes * (bytes_of(shapes.state) + one_record),
        device_bytes(),
        "Ask for a smaller size" + (", or for fewer lanes in a block." if job.is_block else "."),
    )
    check_fits(
        f"{name}: what is recorded{side_by_side}",
        records,
        machine_bytes(),
        "Record at fewer times, or ask for a smaller size.",
    )
    if stored_limit is not None:
        check_bytes(records, stored_limit)


def check_sweep_fits(study: Study, job: Job, runs: int, width: int) -> None:
    """Refuse a sweep of so many runs like `job`, in blocks of this width, that is larger than the memory there is.

    **Raises:** `PlanError`.
    """
    name = f"{study.name}.{job.arm.__name__}"
    shapes = shapes_of(job)
    one_record = bytes_of_record(job)
    check_fits(
        f"{name}: a block of {width} lanes",
        width * (bytes_of(shapes.state) + one_record),
        device_bytes(),
        "Take fewer lanes, block=N or --block N, or a smaller size.",
    )
    check_fits(
        f"{name}: a sweep of {runs} runs",
        runs * one_record * certain_records(job),
        machine_bytes(),
        "Take fewer values or seeds, or record at fewer times: at=[...] or --at T,T.",
    )


def bytes_of_record(job: Job) -> int:
    """The bytes of what one record of one run brings back."""
    measured = shapes_of(job).measured
    names = job.wanted.measured
    if names is None:
        return bytes_of(measured)
    return sum(bytes_of(getattr(measured, name)) for name in names)


def bytes_of_records(job: Job) -> int:
    """The bytes of all records of one run that takes all of its time, as far as they are kept."""
    rows = 1
    offset = 0.0
    for stage in job.plan().stages:
        own = stage.lay_out()
        rows += len(record_times(stage, own, offset, job.at))
        offset += float(stage.unit) * (float(own[-1]) if len(own) else 0.0)
    return rows * bytes_of_record(job)


def certain_records(job: Job) -> int:
    """How many records a run has at least: a stage that may be left early counts none, nor do times asked for then."""
    stages = job.plan().stages
    certain = [stage for stage in stages if stage.until is never]
    if job.at is not None:
        return len(job.at) if len(certain) == len(stages) else 1
    return 1 + sum(stage.lay_out().size for stage in certain)
