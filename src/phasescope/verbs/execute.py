"""A job carried out, with checkpoints as it goes: a stop leaves one from which the next call continues."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator

from ..engine.calls import total_work
from ..engine.fused.choice import engine_path
from ..engine.job import Chunk, Job, Position, Start, work_before
from ..engine.loop import carried_in, execute
from ..engine.reductions import Carried
from ..errors import StoreError
from ..identity.provenance import ENGINE_PATH, decisive, provenance
from ..records.arrays import Arrays, Divergence, Records, join, part_of
from ..records.divergence import first_bad
from ..records.names import check_run
from ..records.reduced import on_the_host
from ..store import Draft, Resumed
from ..study import Study
from .context import Context, Stopped
from .outlook import Outlook
from .progress import uneven
from .sizes import check_record_times, check_run_ends, check_run_fits
from .under_way import run_under_way


@dataclasses.dataclass(frozen=True)
class Unsaved:
    """The last chunk, and all records that are not yet saved.

    They are one value, replaced as a whole: an interrupt may come between any two lines, and a state must be saved
    with the records up to it or not at all.
    """

    last: Chunk | None = None
    records: tuple[Records, ...] = ()

    def and_then(self, chunk: Chunk) -> Unsaved:
        return Unsaved(chunk, (*self.records, part_of(chunk)))


class Checkpoints:
    """The records of a run as it goes, and the draft that they are saved to, if there is one."""

    def __init__(
        self, draft: Draft | None, resumed: Resumed | None, engine: str = ENGINE_PATH
    ) -> None:
        self.draft = draft
        self.engine = engine
        self.saved = _saved_records(draft, resumed)
        self.saved_at = time.monotonic()
        self.unsaved = Unsaved()
        self.carried: Carried | None = None  # of reductions, after the last chunk

    def add(self, chunk: Chunk) -> None:
        """Remember what a call of the engine gave."""
        self.unsaved = self.unsaved.and_then(chunk)
        self.carried = chunk.carried

    def save(self) -> None:
        """Write what is unsaved as one more checkpoint."""
        unsaved = self.unsaved
        self.unsaved = Unsaved()
        if self.draft and unsaved.last is not None:
            position = dataclasses.asdict(unsaved.last.position) | {
                "provenance": decisive(provenance(engine=self.engine))
            }
            self.draft.save(position, unsaved.last.leaves(), join(unsaved.records).to_arrays())
        self.saved.extend(unsaved.records)
        self.saved_at = time.monotonic()

    def records(self) -> Records:
        """All records so far."""
        return join([*self.saved, *self.unsaved.records])


@dataclasses.dataclass(frozen=True)
class Executed:
    """The records of a job that was carried out; `checkpoints.save()` keeps its end as one more checkpoint."""

    records: Records
    checkpoints: Checkpoints


def execute_with_checkpoints(
    study: Study,
    job: Job,
    context: Context,
    draft: Draft | None,
    resumed: Resumed | None,
    label: str,
) -> Executed:
    """Execute the job from its start, or from where it was resumed."""
    check_run(study.name, job)
    check_run_ends(study, job)
    check_record_times(study, job)
    check_run_fits(study, job, None if context.store is None else context.store.limit)
    plan = job.plan()
    start = _start(draft, resumed)
    checkpoints = Checkpoints(draft, resumed, engine_path(job))
    last_sound: Chunk | None = None
    diverged: Divergence | None = None
    counts_steps = all(stage.dynamics.divisible for stage in plan.stages)
    measured = context.meter if counts_steps else uneven(context.meter)
    meter = measured(label or f"{study.name}.{job.arm.__name__}", total_work(plan))
    before = work_before(plan, start[0]) if start is not None else 0.0
    outlook = Outlook(context, f"{study.name}.{job.arm.__name__}", plan, total_work(plan) - before)
    with run_under_way(), meter as tick, _saving_on_interrupt(checkpoints):
        tick(before)
        for chunk in execute(job, start):
            checkpoints.add(chunk)
            tick(chunk.work)
            outlook.after(chunk.work)
            if not _anyone_left(chunk):
                if not job.is_block:
                    diverged = first_bad(job, start, last_sound, chunk)
                break
            if chunk.sound:
                last_sound = chunk
            if context.stop.is_set():
                raise Stopped
            if time.monotonic() - checkpoints.saved_at > context.save_every:
                checkpoints.save()
    records = dataclasses.replace(checkpoints.records(), diverged=diverged)
    if job.wanted.reduce:
        records = dataclasses.replace(records, reduced=_reduced(job, start, checkpoints))
    return Executed(records, checkpoints)


def _reduced(job: Job, start: Start | None, checkpoints: Checkpoints) -> dict[str, Arrays]:
    """What the reductions of a run carry at its end."""
    carried = checkpoints.carried
    if carried is None and start is not None:  # it went on from its end
        carried = carried_in(job, start)
    return on_the_host(carried)


def _start(draft: Draft | None, resumed: Resumed | None) -> Start | None:
    """The position and the state from which a run goes on; None for its beginning."""
    if draft is None or resumed is None:
        return None
    return _position(draft, resumed), resumed.leaves


def _position(draft: Draft, resumed: Resumed) -> Position:
    """How far an unfinished run has come."""
    found = resumed.position
    try:
        return Position(int(found["stage"]), float(found["local"]), float(found["offset"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise StoreError(
            f"{draft.folder} says that the run stands at {found!r}, which this version does not understand. "
            "Remove the folder to begin anew."
        ) from None


def _saved_records(draft: Draft | None, resumed: Resumed | None) -> list[Records]:
    """What an unfinished run has recorded so far."""
    if draft is None or resumed is None:
        return []
    try:
        return [Records.from_arrays(part) for part in resumed.parts]
    except (KeyError, ValueError):
        raise StoreError(
            f"{draft.folder} holds records that this version does not understand. Remove the folder to begin anew."
        ) from None


def _anyone_left(chunk: Chunk) -> bool:
    """Whether at every record some lane was still finite."""
    lanes = tuple(range(1, chunk.finite.ndim))
    return bool(chunk.finite.any(axis=lanes).all())


@contextlib.contextmanager
def _saving_on_interrupt(checkpoints: Checkpoints) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        checkpoints.save()
        raise
