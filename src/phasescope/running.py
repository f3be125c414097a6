"""run: one run, or one block of lanes, found in the store or executed into it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import platform
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr

from . import __version__
from .engine import PRNG, Chunk, Job, Position, execute, horizon, observed, total_work
from .errors import PlanError, RunDiverged
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


def obtain(study: Study, job: Job, lab: Lab, width: int = 1, label: str = "") -> tuple[xr.Dataset, str]:
    """The dataset of a job and the id of its run: from the store if it is there, else executed."""
    who = identity(study, job, width)
    if lab.store is None:
        ds = _fresh(study, job, lab, None, label, width)
        return ds.assign_attrs(id=f"{who.study}/{who.arm}/{who.digest}"), ""
    entry = lab.store.find(who)
    if entry is None:
        with lab.store.draft(who) as draft:
            entry = draft.finished or _execute_into(study, job, lab, draft, label, width)
    ds = lab.store.load(entry)
    return _raise_if_diverged(study, job, ds.assign_attrs(id=entry.id, folder=str(entry.folder), status=entry.status)), entry.id


def _execute_into(study: Study, job: Job, lab: Lab, draft: Draft, label: str, width: int) -> Entry:
    began = time.time()
    ds = _fresh(study, job, lab, draft, label, width)
    manifest = describe_machine() | {"seconds": round(time.time() - began, 3), "work": total_work(job.plan())}
    return draft.finish(ds, manifest | {"status": ds.attrs["status"]}, {})


def _fresh(study: Study, job: Job, lab: Lab, draft: Draft | None, label: str, width: int) -> xr.Dataset:
    """Execute the job, saving as it goes; a stop leaves a checkpoint from which the next call continues."""
    resumed = draft.resume() if draft else None
    position = Position(**resumed.position) if resumed else Position()
    parts = list(resumed.parts) if resumed else []
    plan, unsaved, saved_at, chunk = job.plan(), [], time.monotonic(), None

    def save() -> None:
        nonlocal unsaved
        if draft and chunk is not None and unsaved:
            draft.save(dataclasses.asdict(chunk.position), chunk.leaves(), join(unsaved))
            parts.append(join(unsaved))
            unsaved = []

    with lab.meter(label or f"{study.name}.{job.arm.__name__}", total_work(plan)) as tick, _stopping_at(save):
        if resumed:
            tick(float(sum(s.lay_out()[-1] for s in plan.stages[: position.stage] if s.lay_out().size) + position.local))
        for chunk in execute(job, (position, resumed.leaves) if resumed else None):
            unsaved.append(_part(chunk))
            tick(chunk.work)
            if not chunk.finite.any() and chunk.finite.size:
                break
            if lab.stop.is_set():
                raise KeyboardInterrupt
            if time.monotonic() - saved_at > lab.save_every:
                save()
                saved_at = time.monotonic()
    return assemble(study, job, join([*parts, *unsaved]), width)


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
    stages = [s.name for s in plan.stages]
    ds = to_dataset(seen, take("seen."), part["time"], part["stage"], stages, plan.coords, lead)
    if dear is not None and take("dear."):
        ends = to_dataset(dear, take("dear."), part["dear_time"], part["dear_stage"], stages, plan.coords, lead)
        ds = ds.merge(ends.drop_vars("stage").rename(time="stage_end"))
    finite = part["finite"].reshape(len(part["time"]), -1)
    bad = np.where((~finite).any(0), part["time"][(~finite).argmax(0)], np.nan)
    ds = ds.assign_coords(diverged_at=(lead, bad if lead else bad[0]))
    numbers = {k: ("lane", np.asarray(v)) for k, v in job.columns.items()}
    numbers |= {k: v for k in float_fields(job.spec) if k not in numbers and (v := getattr(job.spec, k)) is not None}
    ds = plan.derive(ds.assign_coords(numbers)).drop_vars([k for k in numbers if k not in job.columns])
    if job.at is not None:
        ds = ds.sel(time=np.asarray(job.at), method="nearest") if np.isfinite(bad).sum() == 0 else ds
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


def _raise_if_diverged(study: Study, job: Job, ds: xr.Dataset) -> xr.Dataset:
    """A single run that left the finite numbers is an error that names the step; a lane that did is data."""
    if job.lanes or not np.isfinite(float(ds["diverged_at"])):
        return ds
    good, bad = _narrow(job, ds)
    when = f"at {bad:g}" if bad - good <= 1 else f"between {good:g} and {bad:g}"
    error = RunDiverged(
        f"{study.name}.{job.arm.__name__}: the run left the finite numbers {when} (time {float(ds['diverged_at']):g} in the "
        f"records); what it recorded before is stored. Try a smaller step: {_step_fields(job)}."
    )
    error.dataset = ds  # type: ignore[attr-defined]
    raise error


def _narrow(job: Job, ds: xr.Dataset) -> tuple[float, float]:
    """Between which times the run left the finite numbers: run it again, recorded ever more closely."""
    bad = float(ds["diverged_at"])
    earlier = ds.time.values[ds.time.values < bad]
    good = float(earlier.max()) if earlier.size else 0.0
    while bad - good > 1:
        at = np.unique(np.round(np.linspace(good, bad, 60)))
        parts = []
        for chunk in execute(dataclasses.replace(job, at=tuple(at))):
            parts.append(_part(chunk))
            if not chunk.finite.all():
                break
        part = join(parts)
        if part["finite"].all():  # no step dynamics: it cannot be cut at will
            break
        bad = float(part["time"][~part["finite"]].min())
        good = float(part["time"][part["finite"]].max())
    return good, bad


def _step_fields(job: Job) -> str:
    steps = [k for k in float_fields(job.spec) if k.startswith(("eta", "lr"))] or float_fields(job.spec)
    return ", ".join(f"{k}={getattr(job.spec, k):g}" for k in steps)


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
