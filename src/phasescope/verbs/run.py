"""run: one run, or one block of lanes, found in the store or executed into it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from ..engine.calls import total_work
from ..engine.fused.choice import engine_path
from ..engine.job import Job
from ..errors import DeriveFailed
from ..identity import Unidentified
from ..identity.provenance import decisive, differences, provenance
from ..plan.plan import Arm, fields_read
from ..plan.reductions import Reduction, Reductions
from ..plan.times import Times
from ..records.choice import kept
from ..records.dataset import snapshots_of, spec_text
from ..records.derive import WHY, is_underived
from ..records.divergence import divergence
from ..records.finished import finished
from ..records.reduced import tell_reductions, without_records
from ..store import Draft, Entry, Identity, Resumed, Store
from ..store.entries import FORK
from ..store.values import lanes_of
from ..study import Study, find
from .context import Context, default_context
from .execute import execute_with_checkpoints
from .labels import label as labelled
from .labels import without_a_mark_of_nothing
from .validate import requested_job


class Result(NamedTuple):
    """The dataset of a job, and the id under which the store has it (empty if it is not stored)."""

    dataset: xr.Dataset
    run_id: str


def run(
    study: str | Study,
    arm: str | Arm,
    *,
    preset: str | None = None,
    seed: int = 0,
    at: Times | None = None,
    keep: Sequence[str] | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
    **changes: Any,
) -> xr.Dataset:
    """Run one arm of a study and return its records as a dataset.

        >>> ds = ps.run("linear_modes", "logistic", epsilon=1e-4, at=[1.0, 5.0], store=False)
        >>> ds.progress.dims, ds.time.values.tolist()
        (('time', 'mode'), [1.0, 5.0])

    A finished run is read from the store, an unfinished one goes on where it stopped.

    **Arguments:**

    - `study`: a name, the path of a file, or a Study.
    - `arm`: a name or the function.
    - `preset`: named Spec to start from.
    - `seed`: root of all random numbers.
    - `at`: record times in place of the arm's own, in the dataset's time: numbers, or a `Schedule`,
      which stands for the start and its times. Times after the end of a run that left a stage early have no record.
    - `keep`: the observables that are wanted, by name; the others are not computed. All, if not given.
    - `reduce`: what is made of the records as the run goes on (`ps.when`, `ps.final`, ...), by the name of
      the result; the records themselves are kept only as far as `keep` names them.
    - `store`: a folder; `False` keeps nothing; by default `$PHASESCOPE_STORE`, else `./phasescope-runs`.
    - `progress`: whether to show a bar; by default on a terminal, and elsewhere a line every half minute.
    - `changes`: fields of the Spec.

    **Returns:** one variable for each observable; `ds.attrs` has the spec, id, folder and status, and `ended_at` if a
    stage was left early by its `until`, so that the run ended before its `planned_end`.
    Coordinates say what they are (`symbol`, `long_name`, `units`).

    **Raises:** `StudyNotFound`, `NameNotFound`, `SpecError`, `PlanError` for what cannot be asked; `RunDiverged`,
    whose `dataset` has the records so far; `StoreError`.
    """
    chosen = find(study)
    job = requested_job(
        chosen,
        arm,
        preset=preset,
        seed=seed,
        at=at,
        keep=keep,
        reduce=reduce,
        changes=changes,
    )
    found = find_or_run(chosen, job, default_context(store, progress))
    return without_a_mark_of_nothing(without_records(found.dataset, job.wanted.reduce))


def run_identity(study: Study, job: Job, context: Context, width: int = 1) -> Identity:
    """What was asked, and the code that answers it. Raises `Unidentified` if that code has no identity."""
    lanes = lanes_of(job.columns) or None
    spec = job.spec.to_json()
    spec |= {k: v[0] for k, v in job.columns.items() if k != "seed"}
    return Identity(
        study=study.name,
        arm=job.arm.__name__,
        spec={name: spec[name] for name in fields_read(job.arm, job.spec)},
        seed=job.seed,
        at=job.at,
        lanes=lanes,
        width=width,
        source=context.code(job.arm, type(job.spec)).digest,
        keep=job.wanted.keep,
        reduce=_described(job.wanted.reduce),
    )


def _described(reductions: Reductions) -> dict[str, dict[str, Any]] | None:
    """Reductions as plain values."""
    if not reductions:
        return None
    return {
        name: {"kind": type(one).__name__.lower()} | dataclasses.asdict(one)
        for name, one in reductions
    }


def find_entry_for(store: Store, identity: Identity) -> Entry | None:
    """The finished run that has what was asked for: itself, or the same run with all its observables."""
    found = store.find(identity)
    if found is None and identity.keep is not None and identity.reduce is None:
        return store.find(dataclasses.replace(identity, keep=None))
    return found


def is_stored(study: Study, job: Job, context: Context, width: int = 1) -> bool:
    """Whether the store has the finished run."""
    if context.store is None:
        return False
    try:
        identity = run_identity(study, job, context, width)
        return find_entry_for(context.store, identity) is not None
    except Unidentified:
        return False


def find_or_run(
    study: Study, job: Job, context: Context, width: int = 1, label: str = "", throw: bool = True
) -> Result:
    """The result of a job: from the store if it is there, else executed.

    A single run that left the finite numbers, or from which nothing could be derived, is an error, unless `throw` is
    False; a lane that did is data. `label` is what the progress bar says.
    """
    try:
        identity = run_identity(study, job, context, width)
    except Unidentified:
        identity = None
    else:
        job = job.with_code(identity.source)
    if identity is None or context.store is None:
        result = _run_unstored(study, job, context, identity, width, label)
    else:
        result = _run_stored(study, job, context, context.store, identity, label=label, throw=throw)
    labelled(result.dataset, study)
    if job.wanted.reduce:  # the time has a unit now
        told = tell_reductions(result.dataset, job.wanted.reduce)
        result = Result(told, result.run_id)
    if throw and not job.is_block:
        _raise_if_unsound(study, job, result.dataset)
    return result


def _run_unstored(
    study: Study, job: Job, context: Context, identity: Identity | None, width: int, label: str
) -> Result:
    done = execute_with_checkpoints(study, job, context, None, None, label)
    ds = finished(study.name, job, done.records, width)
    made = provenance(ds.attrs["precision"], engine_path(job))
    ds = ds.assign_attrs(provenance=json.dumps(decisive(made)))
    if identity is not None:
        ds = ds.assign_attrs(id=f"{identity.study}/{identity.arm}/{identity.digest}")
    return Result(ds, "")


def _run_stored(
    study: Study,
    job: Job,
    context: Context,
    store: Store,
    identity: Identity,
    *,
    label: str,
    throw: bool,
) -> Result:
    entry = find_entry_for(store, identity)
    if entry is not None:
        _warn_if_made_elsewhere(entry, job, context)
    else:
        with store.draft(identity) as draft:
            entry = draft.finished or _execute_into(study, job, context, draft, label, throw)
    ds = kept(store.load(entry), job).assign_attrs(
        id=entry.id,
        folder=str(entry.folder),
        status=entry.status,
        # The run may be that of a request which differs in fields that the arm does not read.
        spec=spec_text(job),
        provenance=json.dumps(decisive(entry.manifest)),
    )
    return Result(ds, entry.id)


def _raise_if_unsound(study: Study, job: Job, ds: xr.Dataset) -> None:
    if ds.attrs["status"] == "diverged":
        raise divergence(study.name, job, ds)
    if is_underived(ds):
        raise underived(study, job, ds)


def underived(study: Study, job: Job, ds: xr.Dataset) -> DeriveFailed:
    """The error of a run that is sound but for what its plan derives, with what was recorded as its `dataset`."""
    message = (
        f"{study.name}.{job.arm.__name__}: the run went to its end, but the plan's `derive` raised {ds.attrs[WHY]}; "
        "what it recorded is the error's `dataset`. Repair `derive`."
    )
    return DeriveFailed(message, ds)


def _warn_if_made_elsewhere(entry: Entry, job: Job, context: Context) -> None:
    """A run that was found under another provenance is returned, and it is said."""
    here = provenance(entry.manifest.get("precision", ""), engine_path(job))
    differ = differences(entry.manifest, here)
    if differ:
        context.warn_once(
            f"{entry.study}.{entry.arm}: found in the store as it was made elsewhere, with {', '.join(differ)}. "
            "Its last digits may differ from those of a run made here."
        )


def _execute_into(
    study: Study, job: Job, context: Context, draft: Draft, label: str, throw: bool
) -> Entry:
    """Execute a job into a draft and finish it."""
    began = time.time()
    resumed = draft.resume()
    begun = _begun_elsewhere(study, job, context, resumed)
    done = execute_with_checkpoints(study, job, context, draft, resumed, label)
    ds = finished(study.name, job, done.records, draft.identity.width)
    if throw and not job.is_block and is_underived(ds) and ds.attrs["status"] != "diverged":
        # Not a finished run: the next call begins where this one ended, and derives again.
        done.checkpoints.save()
        raise underived(study, job, ds)
    manifest = provenance(ds.attrs["precision"], engine_path(job)) | {
        "seconds": round(time.time() - began, 3),
        "work": total_work(job.plan()),
        "status": ds.attrs["status"],
        "model": context.code(job.arm, type(job.spec)).model,
    }
    if begun:
        manifest["resumed_from"] = begun
    if FORK in ds.attrs:
        manifest[FORK] = ds.attrs[FORK]
    told = tell_reductions(labelled(ds, study), job.wanted.reduce)
    return draft.finish(told, manifest, snapshots_of(job, done.records))


def _begun_elsewhere(
    study: Study, job: Job, context: Context, resumed: Resumed | None
) -> dict[str, Any]:
    """The provenance of the state that a run goes on from, if it is another than here; and it is said."""
    here = decisive(provenance(engine=engine_path(job)))
    begun = resumed.position.get("provenance", here) if resumed else here
    differ = differences(begun, here)
    if not differ:
        return {}
    context.warn_once(
        f"{study.name}.{job.arm.__name__}: goes on from a state that was computed elsewhere, with "
        f"{', '.join(differ)}. Its last digits may differ from those of a run made in one place."
    )
    return begun
