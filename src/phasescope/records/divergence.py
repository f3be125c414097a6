"""Divergence: where a run left the finite numbers, to the step, and the error that says so."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..engine.calls import SPANS
from ..engine.job import Chunk, Job, Start
from ..engine.loop import execute
from ..errors import RunDiverged
from ..plan.fork import ForkedArm
from ..plan.plan import fields_read
from ..spec import float_fields
from .arrays import Divergence


def first_bad(job: Job, start: Start | None, before: Chunk | None, chunk: Chunk) -> Divergence:
    """Where a single run left the finite numbers: to the step, if its dynamics counts steps.

    It is run again from the last state that was finite, recorded ever more closely.

    - `start`: where this run went on from, if it did.
    - `before`: the last chunk that ended in a finite state.
    - `chunk`: the one with the first record that is not finite.
    """
    start = _last_finite(start, before)
    low, high = _bracket(job, start, chunk)
    if job.plan().stages[chunk.stage].dynamics.divisible:
        while high - low > 1:
            low, high = _narrowed(job, start, chunk, low, high)
    return Divergence(time=chunk.began + chunk.unit * high, local=high, stage=chunk.stage)


def _last_finite(start: Start | None, before: Chunk | None) -> Start | None:
    """The last state that is known to be finite; None for the beginning of the run."""
    if before is not None:
        return before.position, before.leaves()
    if start is None:
        return None
    numbers = [leaf for leaf in start[1] if leaf.dtype.kind in "fc"]
    return start if all(np.isfinite(x).all() for x in numbers) else None


def _bracket(job: Job, start: Start | None, chunk: Chunk) -> tuple[float, float]:
    """Times of the stage between which the run left the finite numbers, from the chunk's records."""
    first = int(chunk.finite.argmin())
    last_good = chunk.time[first - 1] if first else chunk.began
    low = chunk.local(last_good)
    if start is not None and start[0].stage == chunk.stage:
        low = max(low, start[0].local)
    elif isinstance(job.arm, ForkedArm) and job.arm.origin.stage == chunk.stage:
        low = max(low, job.arm.origin.local)  # a fork has no records before it
    return float(low), float(chunk.local(chunk.time[first]))


def _narrowed(
    job: Job, start: Start | None, chunk: Chunk, low: float, high: float
) -> tuple[float, float]:
    """A closer pair of steps, between which the run left the finite numbers."""
    steps = np.unique(np.round(np.linspace(low, high, SPANS)))
    closely = job.recorded_at((chunk.began + chunk.unit * steps).tolist())
    for piece in execute(closely, start):
        if piece.stage != chunk.stage:
            continue
        seen = np.round(piece.local(piece.time))
        low = max([low, *seen[piece.finite]])
        high = min([high, *seen[~piece.finite]])
        if not piece.finite.all():
            break
    return float(low), float(high)


def place_of_divergence(job: Job, diverged: Divergence) -> str:
    """Where a run left the finite numbers, in words."""
    stage = job.plan().stages[diverged.stage]
    when = "step" if stage.dynamics.divisible else "or before time"
    return f'{when} {diverged.local:.15g} of stage "{stage.name}"'


def divergence(study: str, job: Job, ds: xr.Dataset) -> RunDiverged:
    """The error that names the step, with what was recorded as its `dataset`."""
    kept = "is stored" if "folder" in ds.attrs else "is the error's `dataset`"
    message = (
        f"{study}.{job.arm.__name__}: the run left the finite numbers at {ds.attrs['diverged']} "
        f"(time {float(ds['diverged_at']):.15g}); what it recorded {kept}. "
        f"Try a smaller step than with {_step_fields(job)}."
    )
    return RunDiverged(message, ds)


def _step_fields(job: Job) -> str:
    """The fields that set the size of a step, with their values; all numbers, if none is named like one."""
    read = fields_read(job.arm, job.spec)
    given = {name: getattr(job.spec, name) for name in float_fields(job.spec) if name in read}
    given = {name: value for name, value in given.items() if value is not None}
    steps = {name: value for name, value in given.items() if name.startswith(("eta", "lr"))}
    return ", ".join(f"{name}={value:g}" for name, value in (steps or given).items())
