"""Execute a plan: the host's loop around the compiled programs.

After each call of a compiled program the caller may save, show progress, or stop. Neither the calls
nor the record times change the path: keys are folded in by absolute step, and the number of steps
taken is the same however they are cut.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from ..errors import PlanError
from ..plan.dynamics import State
from ..plan.fork import ForkedArm
from ..plan.observables import Observables, known, only
from ..plan.plan import Stage
from ..plan.times import SAME_TIME
from .calls import (
    Call,
    Pace,
    check_schedule,
    counted,
    next_call,
    record_times,
    spans_per_call,
    times_until,
    work_of,
)
from .fused.choice import is_fused
from .guard import check_arithmetic
from .interrupts import interrupts_wait
from .job import Chunk, Job, Position, Start
from .leaves import tree_of
from .memory import out_of_memory_named
from .packing import unpack
from .precision import exact_numbers
from .programs import (
    Inputs,
    Program,
    Seen,
    advance_stage_jit,
    begin_reductions_jit,
    begin_run,
    begin_run_jit,
    enter_stage,
    enter_stage_jit,
    inspect_state_jit,
    look_at_state_jit,
)
from .reductions import Carried, begin_reductions
from .wanted import EVERYTHING

WORTH_CUTTING = 2**22  # bytes of what a call gives, from which on its padding is left on the device

pace = Pace()  # of the programs of this process


def execute(job: Job, start: Start | None = None, end: float | None = None) -> Iterator[Chunk]:
    """Run the job from the beginning, or from a position and the leaves of its state; yields as it goes.

    With `end` the run stops at this time of the dataset: the last chunk has the state there.
    """
    with interrupts_wait():
        check_arithmetic()
    generator = _execute(job, start, end)
    while True:
        # Entered anew for each piece, so that the caller's own code never sees it.
        with (
            interrupts_wait(),
            out_of_memory_named(job.arm.__name__),
            exact_numbers(),
            job.naming_plain_numbers(),
        ):
            chunk = next(generator, None)
        if chunk is None:
            return
        yield chunk


def _execute(job: Job, start: Start | None, end: float | None) -> Iterator[Chunk]:
    check_schedule(job.arm, job.canonical(), job.columns)
    inputs = job.inputs()
    if start is None:
        is_fork = isinstance(job.arm, ForkedArm)
        first, like = _begin_fork(job, inputs) if is_fork else _begin(job, inputs)
        yield first
        position = first.position
        here = Here(first.state, first.done, first.carried)
    else:
        position = start[0]
        here = _resumed(job, inputs, start)
        like = eqx.filter_eval_shape(begin_run, job.program, inputs)[1]
    like = only(like, job.program.keep)
    for index in range(position.stage, len(job.plan().stages)):
        if end is not None and is_reached(position, job.plan().stages[index], end):
            return
        stage = _StageRun(job, inputs, like, index, end)
        if position.local == 0:
            entered = enter_stage_jit(stage.program, inputs, here.state)
            here = Here(entered, job.nobody_done(), here.carried)
        for chunk in stage.chunks(position, here):
            yield chunk
            position = chunk.position
            here = Here(chunk.state, chunk.done, chunk.carried)
        if position.stage == index and position.local:  # it was to end inside the stage
            return
        position = dataclasses.replace(position, stage=index + 1)


class Here(NamedTuple):
    """What a run goes on from: its state, who has left the stage, and what reductions carry."""

    state: State
    done: Array
    carried: Carried | None


def _begin(job: Job, inputs: Inputs) -> tuple[Chunk, Observables]:
    """The record of the start, and what was measured, whose shapes are those of every record."""
    state, seen, is_finite = begin_run_jit(job.program, inputs)
    return _first_record(
        job, seen, is_finite, 0.0, position=Position(), stage=0, state=state, done=job.nobody_done()
    )


def _begin_fork(job: Job, inputs: Inputs) -> tuple[Chunk, Observables]:
    """The record of the state that a forked run begins with, and what was measured."""
    assert isinstance(job.arm, ForkedArm)
    origin = job.arm.origin
    position = Position(origin.stage, origin.local, origin.offset)
    here = _resumed(job.wanting(EVERYTHING), inputs, (position, origin.leaves))
    seen, is_finite = look_at_state_jit(job.program, inputs, here.state)
    unit = float(job.plan().stages[origin.stage].unit)
    return _first_record(
        job,
        seen,
        is_finite,
        origin.offset + unit * origin.local,
        position=position,
        # What stands between two stages is the end of the first.
        stage=origin.stage if origin.local else max(origin.stage - 1, 0),
        state=here.state,
        done=here.done,
        began=origin.offset,
        unit=unit,
    )


def _first_record(
    job: Job, seen: Observables, is_finite: Array, time: float, **place: Any
) -> tuple[Chunk, Observables]:
    """The first record of a run as a chunk, and what was measured; `place` is where the run stands, and its state."""
    program = job.program
    times = np.array([time])
    counts = counted(times, None, job.at)
    carried = None
    if program.reduce:
        carried = begin_reductions_jit(program.reduce, seen, is_finite, counts[0])
    measured, finite = jax.device_get((only(seen, program.keep), is_finite))
    chunk = Chunk(
        time=times,
        records=_row(measured),
        finite=finite[None],
        sound=bool(finite.any()),
        carried=carried,
        counts=counts if program.reduce else None,
        **place,
    )
    return chunk, measured


def _resumed(job: Job, inputs: Inputs, start: Start) -> Here:
    """What a checkpoint holds; the shapes of it follow from the plan."""
    position, leaves = start
    entered = position.stage + (position.local > 0)

    def template(inputs: Inputs) -> Here:
        program = job.program
        state, seen, finite = begin_run(program, inputs)
        carried = None
        if program.reduce:
            carried = begin_reductions(program.reduce, seen, finite, True)
        for index in range(entered):
            state = enter_stage(program.at_stage(index), inputs, state)
        return Here(state, job.nobody_done(), carried)

    try:
        return tree_of(eqx.filter_eval_shape(template, inputs), leaves)
    except ValueError as problem:
        raise PlanError(f"{job.arm.__name__}: {problem}.") from None


def carried_in(job: Job, start: Start) -> Carried | None:
    """What reductions carry at a position from which a run goes on."""
    if not job.wanted.reduce:
        return None
    with exact_numbers():
        return _resumed(job, job.inputs(), start).carried


@dataclasses.dataclass(frozen=True)
class _StageRun:
    """One stage of a job: calls of its compiled program until it ends. `like` has the shapes of what is measured.

    `end` is the dataset's time at which the run is to stop, if it is not the end of its plan.
    """

    job: Job
    inputs: Inputs
    like: Observables
    index: int
    end: float | None = None

    @functools.cached_property
    def program(self) -> Program:
        return self.job.program.at_stage(self.index, is_fused(self.job, self.index))

    @property
    def stage(self) -> Stage:
        return self.job.plan().stages[self.index]

    def chunks(self, position: Position, here: Here) -> Iterator[Chunk]:
        """What each call gives, from a position in the stage to the end of the stage."""
        times = record_times(self.stage, self.stage.lay_out(), position.offset, self.job.at)
        last = float(times[-1]) if times.size else 0.0
        if self.end is not None:
            times = times_until(self.stage, times, position.offset, self.end)
        room = spans_per_call(self.like)
        name = (self.job.shape(), self.index)
        budget = pace.budget(name)
        while times.size and position.stage == self.index and position.local < times[-1]:
            call = self.with_counts(
                next_call(self.stage, times, position.local, budget, room), position
            )
            clock = time.perf_counter()
            state, done, out, carried = advance_stage_jit(
                self.program, self.inputs, here.state, here.done, call, here.carried
            )
            here = Here(state, done, carried)
            seen = jax.device_get(_used(call, out))
            seconds = time.perf_counter() - clock
            work = work_of(call, self.stage.dynamics.divisible)
            budget = pace.learn(name, budget, work, seconds)
            chunk = self.chunk(before=position, end=last, call=call, seen=seen, here=here)
            yield chunk
            position = chunk.position

    def with_counts(self, call: Call, position: Position) -> Call:
        """The call with the records that count in reductions, if there are any."""
        if not self.program.reduce:
            return call
        times = position.offset + float(self.stage.unit) * np.asarray(call.stops)
        return dataclasses.replace(call, counts=counted(times, self.stage, self.job.at))

    def chunk(self, before: Position, end: float, call: Call, seen: Seen, here: Here) -> Chunk:
        """What one call gave, that began at the position `before` of a stage whose last time is `end`."""
        last, everybody_done = _last_span(call, seen)
        rows = _record_rows(call, last, everybody_done)
        local = float(call.stops[last])
        unit = float(self.stage.unit)
        position = Position(before.stage, local, before.offset)
        inspected = {}
        if everybody_done or local >= end:
            position = Position(before.stage + 1, 0.0, before.offset + unit * local)
            inspected = self.inspect(here.state)
        packed = {kind: np.asarray(x)[rows] for kind, x in seen.measured.items()}
        return Chunk(
            position=position,
            stage=before.stage,
            time=before.offset + unit * np.asarray(call.stops)[rows],
            records=unpack(self.like, packed, self.program.is_block),
            finite=np.asarray(seen.finite)[rows],
            state=here.state,
            done=here.done,
            work=float(local - call.starts[0]),
            inspected=inspected,
            began=before.offset,
            unit=unit,
            sound=bool(seen.finite[last].any()),
            carried=here.carried,
            counts=None if call.counts is None else np.asarray(call.counts)[rows],
            keeps_state=self.job.keeps_states,
        )

    def inspect(self, state: State) -> dict[str, np.ndarray]:
        """The expensive observables at the end of the stage, if the plan has any."""
        if self.job.plan().inspect is None or self.program.inspects == ():
            return {}
        return _row(jax.device_get(inspect_state_jit(self.job.program, self.inputs, state)))


def _used(call: Call, seen: Seen) -> Seen:
    """What was seen without the padding of the call, where that saves bringing back megabytes."""
    used = int((call.stops > call.starts).sum())
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(seen))
    if size < WORTH_CUTTING or 2 * used > len(call.stops):
        return seen
    return jax.tree.map(lambda x: x[:used], seen)


def _last_span(call: Call, seen: Seen) -> tuple[int, bool]:
    """The last span that counts, and whether everybody was done after it.

    `until` may have ended the stage for everybody: what follows in the call is padding.
    """
    if seen.all_done.any():
        return int(seen.all_done.argmax()), True
    return int(np.flatnonzero(call.stops > call.starts)[-1]), False


def _record_rows(call: Call, last: int, everybody_done: bool) -> Sequence[int]:
    """The spans up to the last that end at a record time; and the last itself, if everybody was done."""
    rows = {int(row) for row in np.flatnonzero(call.is_record) if row <= last}
    if everybody_done:
        rows.add(last)
    return sorted(rows)


def is_reached(position: Position, stage: Stage, end: float) -> bool:
    """Whether a run that stands here has come to a time of the dataset."""
    time = position.offset + float(stage.unit) * position.local
    return time >= end * (1 - SAME_TIME)


def _row(seen: Observables) -> dict[str, np.ndarray]:
    """One record on the host, by name, as a row."""
    return {name: np.asarray(x)[None] for name, x in known(seen).items()}
