"""Divergence: where a run left the finite numbers, to the step, and the error that says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import xarray as xr

from ..engine.job import Chunk, Job, Position
from ..engine.loop import execute
from ..engine.programs import SPANS
from ..errors import RunDiverged
from ..plan.plan import fields_read
from ..spec import float_fields


def first_bad(
    job: Job, start: tuple[Position, Sequence[np.ndarray]] | None, before: Chunk | None, chunk: Chunk
) -> dict[str, np.ndarray]:
    """Where a single run left the finite numbers: to the step, if its dynamics counts steps.

    It is run again from the last state that was finite, recorded ever more closely.
    """
    stage, first = job.plan().stages[chunk.stage], int(chunk.finite.argmin())
    low, high = chunk.local(chunk.time[first - 1] if first else chunk.began), chunk.local(chunk.time[first])
    if before is not None:
        start = before.position, before.leaves()
    elif start and not all(np.isfinite(x).all() for x in start[1] if x.dtype.kind in "fc"):
        start = None
    if start and start[0].stage == chunk.stage:
        low = max(low, start[0].local)
    while stage.dynamics.divisible and high - low > 1:
        steps = np.unique(np.round(np.linspace(low, high, SPANS)))
        for piece in execute(dataclasses.replace(job, at=tuple(chunk.began + chunk.unit * steps)), start):
            seen = np.round(piece.local(piece.time)) if piece.stage == chunk.stage else np.zeros(0)
            finite = piece.finite[: seen.size]
            low, high = max([low, *seen[finite]]), min([high, *seen[~finite]])
            if not finite.all():
                break
    when = {"diverged_at": chunk.began + chunk.unit * high, "diverged_step": high, "diverged_stage": chunk.stage}
    return {k: np.array([v]) for k, v in when.items()}


def place_of_divergence(job: Job, part: dict[str, np.ndarray]) -> str:
    """Where a run left the finite numbers, in words."""
    stage, when = job.plan().stages[int(part["diverged_stage"][0])], float(part["diverged_step"][0])
    return f'{"step" if stage.dynamics.divisible else "or before time"} {when:.15g} of stage "{stage.name}"'


def divergence(study: str, job: Job, ds: xr.Dataset) -> RunDiverged:
    """The error that names the step, with what was recorded as its `dataset`."""
    kept = "is stored" if "folder" in ds.attrs else "is the error's `dataset`"
    error = RunDiverged(
        f"{study}.{job.arm.__name__}: the run left the finite numbers at {ds.attrs['diverged']} "
        f"(time {float(ds['diverged_at']):.15g}); what it recorded {kept}. Try a smaller step: {_step_fields(job)}."
    )
    error.dataset = ds  # type: ignore[attr-defined]
    return error


def _step_fields(job: Job) -> str:
    read = fields_read(job.arm, job.spec)
    given = {k: v for k in float_fields(job.spec) if k in read and (v := getattr(job.spec, k)) is not None}
    steps = {k: v for k, v in given.items() if k.startswith(("eta", "lr"))} or given
    return ", ".join(f"{k}={v:g}" for k, v in steps.items())
