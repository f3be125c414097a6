"""Sizes that cannot fit, refused before they are tried."""

from __future__ import annotations

from ..engine.calls import record_times
from ..engine.job import Job, shapes_of
from ..engine.memory import bytes_of, check_fits, device_bytes, machine_bytes
from ..plan.plan import never
from ..store.recordfile import check_bytes
from ..study import Study


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
