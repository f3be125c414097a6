"""run: one run, or one block of lanes, found in the store or executed into it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr

from . import __version__
from .engine import PRNG, SPANS, Chunk, Job, Position, execute, horizon, observed, total_work
from .errors import PlanError, RunDiverged, SpecError
from .observables import to_dataset
from .plan import Arm
from .progress import Meter, no_meter
from .spec import float_fields
from .store import Draft, Entry, Identity, Store
from .study import Study, find, source_digest


@dataclasses.dataclass(frozen=True)
class Lab:
    """How to run, as opposed to what: where results are kept, how often a run is saved, who watches."""

    store: Store | None = None
    meter: Meter = no_meter
    save_every: float = 5.0
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)


def lab(store: str | Path | bool | None = None, progress: bool | None = None) -> Lab:
    """The usual lab: the default store unless another is named (False: keep nothing), a bar if somebody looks."""
    from .progress import bars

    place = None if store is False else Store(Store.default_root(None if store is True else store))
    return Lab(place, bars(progress))


def run(
    study: str | Study,
    arm: str | Arm,
    *,
    preset: str | None = None,
    seed: int = 0,
    at: Iterable[float] | None = None,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
    **changes: Any,
) -> xr.Dataset:
    """One run of one arm, as a dataset; a finished run is read from the store, an unfinished one goes on.

    `at` records at these times instead of the arm's own. `store=False` keeps nothing.
    """
    chosen = find(study)
    return obtain(chosen, job_for(chosen, arm, preset, seed, at, changes), lab(store, progress))[0]


def job_for(
    study: Study, arm: str | Arm, preset: str | None, seed: int, at: Iterable[float] | None, changes: dict[str, Any]
) -> Job:
    """What is asked for, checked: names exist, values are in range, times lie on the run."""
    if not 0 <= seed < 2**32:
        raise SpecError(f"{study.name}: a seed is a number from 0 to {2**32 - 1}, got seed={seed}.")
    job = Job(study.arm(arm), study.specify(preset, **changes), seed)
    plan = job.plan()
    if at is None:
        return job
    times = tuple(sorted({float(t) for t in at}))
    end = horizon(plan)
    if not times or times[0] < 0 or times[-1] > end * (1 + 1e-12):
        raise PlanError(f"{study.name}.{job.arm.__name__} runs from 0 to {end:g}; it cannot be recorded at {times[:1] + times[-1:]}.")
    return dataclasses.replace(job, at=times)


def identity(study: Study, job: Job, width: int = 1) -> Identity:
    """Everything that makes the digits of a run what they are."""
    lanes = {k: tuple(v) for k, v in job.columns.items()} or None
    spec = job.spec.replace(**{k: v[0] for k, v in job.columns.items() if k != "seed"})
    return Identity(
        study.name, job.arm.__name__, spec.to_json(), job.seed, job.at, lanes, width, source_digest(job.arm)
    )


def obtain(
    study: Study, job: Job, lab: Lab, width: int = 1, label: str = "", throw: bool = True
) -> tuple[xr.Dataset, str]:
    """The dataset of a job and the id of its run: from the store if it is there, else executed.

    A single run that left the finite numbers is an error, unless `throw` is False; a lane that did is data.
    """
    who = identity(study, job, width)
    if lab.store is None:
        ds, id = _fresh(study, job, lab, None, label, width), ""
        ds = ds.assign_attrs(id=f"{who.study}/{who.arm}/{who.digest}")
    else:
        entry = lab.store.find(who)
        if entry is None:
            with lab.store.draft(who) as draft:
                entry = draft.finished or _execute_into(study, job, lab, draft, label, width)
        ds, id = lab.store.load(entry), entry.id
        ds = ds.assign_attrs(id=id, folder=str(entry.folder), status=entry.status)
    if throw and not job.lanes and ds.attrs["status"] == "diverged":
        raise _divergence(study, job, ds)
    return ds, id


def _execute_into(study: Study, job: Job, lab: Lab, draft: Draft, label: str, width: int) -> Entry:
    began = time.time()
    ds = _fresh(study, job, lab, draft, label, width)
    manifest = describe_machine() | {"seconds": round(time.time() - began, 3), "work": total_work(job.plan())}
    return draft.finish(ds, manifest | {"status": ds.attrs["status"]}, {})


def _fresh(study: Study, job: Job, lab: Lab, draft: Draft | None, label: str, width: int) -> xr.Dataset:
    """Execute the job, saving as it goes; a stop leaves a checkpoint from which the next call continues."""
    resumed = draft.resume() if draft else None
    position = Position(**resumed.position) if resumed else Position()
    start = (position, resumed.leaves) if resumed else None
    parts = list(resumed.parts) if resumed else []
    # The last chunk and all records not yet saved, in one name: an interrupt may come between any two lines, and a
    # state must be saved with the records up to it or not at all.
    unsaved: tuple[Chunk | None, list[dict[str, np.ndarray]]] = (None, [])
    plan, saved_at, before, exact = job.plan(), time.monotonic(), None, {}

    def save() -> None:
        nonlocal unsaved
        (last, fresh), unsaved = unsaved, (None, [])
        if draft and last is not None:
            draft.save(dataclasses.asdict(last.position), last.leaves(), join(fresh))
        parts.extend(fresh)

    with lab.meter(label or f"{study.name}.{job.arm.__name__}", total_work(plan)) as tick, _stopping_at(save):
        if resumed:
            tick(float(sum(s.lay_out()[-1] for s in plan.stages[: position.stage] if s.lay_out().size) + position.local))
        for chunk in execute(job, start):
            unsaved = (chunk, [*unsaved[1], _part(chunk)])
            tick(chunk.work)
            if not chunk.finite.any(axis=tuple(range(1, chunk.finite.ndim))).all():  # nobody is left
                exact = {} if job.lanes else _first_bad(job, start, before, chunk)
                break
            before = chunk if chunk.sound else before
            if lab.stop.is_set():
                raise KeyboardInterrupt
            if time.monotonic() - saved_at > lab.save_every:
                save()
                saved_at = time.monotonic()
    return assemble(study, job, join([*parts, *unsaved[1]]) | exact, width)


@contextlib.contextmanager
def _stopping_at(save: Any) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        save()
        raise


def assemble(study: Study, job: Job, part: dict[str, np.ndarray], width: int) -> xr.Dataset:
    """Records -> dataset: named axes, derived quantities, and what the run was, in the attributes."""
    plan, (seen, dear) = job.plan(), observed(job)
    lead = ("lane",) if job.lanes else ()
    lanes_first = lambda x: np.moveaxis(x, -1, 0) if lead else x
    take = lambda prefix: {k.removeprefix(prefix): lanes_first(v) for k, v in part.items() if k.startswith(prefix)}
    stages, part = [s.name for s in plan.stages], _while_finite(part)
    ds = to_dataset(seen, take("seen."), part["time"], part["stage"], stages, plan.coords, lead)
    if dear is not None and take("dear."):
        ends = to_dataset(dear, take("dear."), part["dear_time"], part["dear_stage"], stages, plan.coords, lead)
        ds = ds.merge(ends.drop_vars("stage").rename(time="stage_end"))
    finite = part["finite"].reshape(len(part["time"]), -1)
    bad = np.where((~finite).any(0), part["time"][(~finite).argmax(0)], np.nan)
    bad = part.get("diverged_at", bad)
    ds = ds.assign_coords(diverged_at=(lead, bad if lead else bad[0]))
    numbers = {k: ("lane", np.asarray(v)) for k, v in job.columns.items()}
    numbers |= {k: v for k in float_fields(job.spec) if k not in numbers and (v := getattr(job.spec, k)) is not None}
    ds = plan.derive(ds.assign_coords(numbers)).drop_vars([k for k in numbers if k not in job.columns])
    if job.at is not None:  # a run that ended early has no records of the later times
        end = part["time"][-1]
        ds = ds.sel(time=[t for t in job.at if t <= end * (1 + 1e-12)] or [end], method="nearest")
    if "diverged_at" in part:
        ds = ds.assign_attrs(diverged=_place(job, part))
    return ds.assign_attrs(
        study=study.name, arm=job.arm.__name__, spec=json.dumps(job.spec.to_json(), sort_keys=True), seed=job.seed,
        width=width, status="diverged" if np.isfinite(bad).all() else "finished", phasescope=__version__,
    )  # fmt: skip


def join(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Consecutive parts of the records as one."""
    keys = dict.fromkeys(k for p in parts for k in p)
    return {k: np.concatenate([p[k] for p in parts if k in p]) for k in keys}


def _part(chunk: Chunk) -> dict[str, np.ndarray]:
    part = {f"seen.{k}": v for k, v in chunk.records.items()}
    part |= {"time": chunk.time, "stage": np.full(len(chunk.time), chunk.stage), "finite": chunk.finite}
    if chunk.inspected:
        part |= {f"dear.{k}": v for k, v in chunk.inspected.items()}
        part |= {"dear_time": chunk.time[-1:], "dear_stage": np.array([chunk.stage])}
    return part


def _while_finite(part: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The records up to the first at which no lane is finite; how much was computed after it depends on the machine."""
    alive = part["finite"].reshape(len(part["time"]), -1).any(1)
    if alive.all():
        return part
    rows = int(alive.argmin()) + 1
    ends = int((part["dear_time"] <= part["time"][rows - 1]).sum()) if "dear_time" in part else 0
    rows_of = lambda name: None if name.startswith("diverged") else ends if name.startswith("dear") else rows
    return {k: v[: rows_of(k)] for k, v in part.items()}


def _first_bad(
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


def _place(job: Job, part: dict[str, np.ndarray]) -> str:
    """Where a run left the finite numbers, in words."""
    stage, when = job.plan().stages[int(part["diverged_stage"][0])], float(part["diverged_step"][0])
    return f'{"step" if stage.dynamics.divisible else "or before time"} {when:.15g} of stage "{stage.name}"'


def _divergence(study: Study, job: Job, ds: xr.Dataset) -> RunDiverged:
    """The error that names the step, with what was recorded as its `dataset`."""
    kept = "is stored" if "folder" in ds.attrs else "is the error's `dataset`"
    error = RunDiverged(
        f"{study.name}.{job.arm.__name__}: the run left the finite numbers at {ds.attrs['diverged']} "
        f"(time {float(ds['diverged_at']):.15g}); what it recorded {kept}. Try a smaller step: {_step_fields(job)}."
    )
    error.dataset = ds  # type: ignore[attr-defined]
    return error


def _step_fields(job: Job) -> str:
    given = {k: v for k in float_fields(job.spec) if (v := getattr(job.spec, k)) is not None}
    steps = {k: v for k, v in given.items() if k.startswith(("eta", "lr"))} or given
    return ", ".join(f"{k}={v:g}" for k, v in steps.items())


def describe_machine() -> dict[str, Any]:
    """Versions, device, precision and generator: what else a reader of the numbers must know."""
    import diffrax
    import equinox
    import optax

    device = jax.devices()[0]
    return {
        "versions": {
            "phasescope": __version__, "python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__,
            "equinox": equinox.__version__, "optax": optax.__version__, "diffrax": diffrax.__version__,
        },
        "device": f"{device.platform}: {device.device_kind}", "machine": platform.machine(), "precision": "float64",
        "matmul": "highest", "prng": PRNG, "threefry_partitionable": bool(jax.config.jax_threefry_partitionable),
    }  # fmt: skip
