"""The run that a fork goes on from, as a job that can be executed again: a run, a fork, a lane of a sweep run alone."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..engine.job import Job
from ..errors import PlanError, StoreError
from ..plan.fork import digest_of, forked
from ..plan.given import GivenArm, with_arrays
from ..plan.plan import Arm, fields_read
from ..records.choice import wanted_of
from ..records.dataset import GIVEN, REPLACED
from ..spec import Value
from ..store import Entry, Store
from ..store.entries import FORK
from ..store.values import ends, run_count
from ..study import Study
from .context import Context
from .fork_origin import Base, Changed
from .reading import find_entry
from .run import find_or_run, run_identity
from .states import entry_of

SEED = "seed"


def entry_to_fork(run: Any, store: Any) -> tuple[Store, Entry]:
    """The store and the entry of a run, from a dataset, an id or a folder; of a run of a sweep, that of its block."""
    if isinstance(run, xr.Dataset) and "folder" not in run.attrs and run.attrs.get("ids"):
        return _block_of(run, run.attrs["ids"].split(), store)
    return entry_of(run, store)


def _block_of(run: xr.Dataset, ids: Sequence[str], store: Any) -> tuple[Store, Entry]:
    """The block of a sweep that has the run at the coordinates of a dataset.

    Raises `PlanError` if there are several whose numbers differ by more than those of their lanes.
    """
    home, first = find_entry(ids[0], store)
    entries = [first, *(find_entry(home.root / id)[1] for id in ids[1:])]
    chosen = [entry for entry in entries if _is_at(entry, run)]
    if not chosen:
        raise PlanError(f"none of the {len(ids)} blocks of this sweep has the numbers of the run.")
    numbers = [_shared_numbers(entry) for entry in chosen]
    differ = [name for name, x in numbers[0].items() if any(other[name] != x for other in numbers)]
    if differ:
        some = ", ".join(f"{name}={numbers[0][name]!r}" for name in differ)
        raise PlanError(
            f"this dataset is of several runs, that differ in {', '.join(differ)}: fork one of them, with all of these among "
            f"its coordinates, as in ps.fork(sweep.sel({some}), ...)."
        )
    return home, chosen[0]


def _is_at(entry: Entry, run: xr.Dataset) -> bool:
    """Whether a block has the numbers that a dataset has as coordinates, but for those of its lanes."""
    known = {str(name): x.item() for name, x in run.coords.items() if not x.ndim}
    return all(known.get(name, x) == x for name, x in _shared_numbers(entry).items())


def _shared_numbers(entry: Entry) -> dict[str, Value]:
    """The numbers that all runs of a block have, and their seed."""
    numbers = {**entry.spec, SEED: entry.seed}
    return {name: x for name, x in numbers.items() if name not in (entry.lanes or {})}


def run_to_fork(
    run: Any, study: Study, home: Store, entry: Entry, context: Context
) -> tuple[Store, Entry]:
    """The entry of the run that is forked: of a lane of a block, that of the same run alone, which is made if need be."""
    if not entry.lanes:
        return home, entry
    if entry.identity.reduce is not None:
        raise _without_records(entry)
    numbers = _numbers_of_lane(run, study, home, entry)
    job = _job_of_lane(study, home, entry, numbers, context)
    found = find_or_run(study, job, context, throw=False)
    context.warn_once(
        f"a lane of {entry.id} is forked as the same run alone, {found.run_id}: {call_of(job, study)}. Its last digits may "
        "differ from those of the lane."
    )
    kept = home.root if context.store is None else context.store.root
    return find_entry(found.run_id, kept)


def job_to_fork(study: Study, home: Store, entry: Entry, context: Context) -> Job:
    """The job of a stored run, by the code of today; of a fork, that of the run it comes from is made first.

    Raises `PlanError` if the run cannot be made again to the bit.
    """
    if entry.identity.reduce is not None:
        raise _without_records(entry)
    own = study.arm(entry.arm)
    spec = study.specify(None, own, **entry.spec)
    arm = _arm_of(home, entry, own)
    job = Job(arm, spec, entry.seed, at=entry.at)
    if told := entry.manifest.get(FORK):
        job = _fork_again(study, home, entry, context, job, told)
    job = job.wanting(wanted_of(study.name, job, entry.identity.keep, None))
    if run_identity(study, job, context).digest != entry.identity.digest:
        raise PlanError(
            f"{entry.id} was made by other code than today's: a run can be forked where it can be made again. Run it anew."
        )
    return job.with_code(entry.source)


def _without_records(entry: Entry) -> PlanError:
    return PlanError(
        f"{entry.id} has results of reductions and no records: run it without reduce to fork it."
    )


def call_of(job: Job, study: Study) -> str:
    """The call of `ps.run` that makes a run, as a line of Python."""
    default = study.default_for(job.arm).to_json()
    spec = job.spec.to_json()
    changes = {n: spec[n] for n in fields_read(job.arm, job.spec) if spec[n] != default.get(n)}
    name = f'"{job.arm.__name__}"'
    arm = f"ps.given({name}, ...)" if isinstance(job.arm, GivenArm) else name
    words = [f'"{study.name}"', arm]
    words += [f"seed={job.seed}"] if job.seed else []
    words += [f"at={list(job.at)}"] if job.at is not None else []
    words += [f"keep={list(job.wanted.keep)}"] if job.wanted.keep else []
    words += [f"{name}={value!r}" for name, value in changes.items()]
    return f"ps.run({', '.join(words)})"


def _arm_of(home: Store, entry: Entry, own: Arm) -> Arm:
    """The arm of a stored run: with the arrays that were given to it, if there were any."""
    named = json.loads(home.load(entry).attrs.get(GIVEN, "{}"))
    if not named:
        return own
    return with_arrays(own, dict(zip(named, home.snapshot(entry, GIVEN), strict=True)))


def _fork_again(
    study: Study, home: Store, entry: Entry, context: Context, job: Job, told: str
) -> Job:
    """The job of a fork, whose state at its beginning is found from the run that it comes from."""
    said = json.loads(told)
    try:
        parent_home, parent_entry = find_entry(said["of"], home.root)
    except StoreError:
        raise PlanError(
            f"{entry.id} is a fork of {said['of']}, which is not in {home.root} any more: a fork can be forked where it "
            "can be made again. Run that anew."
        ) from None
    parent = job_to_fork(study, parent_home, parent_entry, context)
    base = Base(study, parent, float(said["at"]), parent_entry, parent_home)
    changed = Changed(
        clamp=tuple(said["clamp"]),
        reset=tuple(said["reset"]),
        replace=_replaced(home, entry, said["replace"]),
        number=said["change"],
    )
    arm = forked(
        parent.arm, told, changed.clamp, lambda: base.origin(changed, again), changed.replace
    )
    again = dataclasses.replace(job, arm=arm)
    return again


def _replaced(home: Store, entry: Entry, digests: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The arrays that a fork was given in place of others."""
    if not digests:
        return {}
    try:
        found = dict(zip(sorted(digests), home.snapshot(entry, REPLACED), strict=True))
    except (StoreError, ValueError):
        found = {}
    if digest_of(found) != dict(digests):
        raise PlanError(
            f"{entry.id} is a fork in which {', '.join(sorted(digests))} were replaced, and the store does not have these "
            "arrays: forks of version 0.2 did not keep them. Make that fork anew, in another store."
        )
    return found


def _job_of_lane(
    study: Study, home: Store, entry: Entry, numbers: Mapping[str, Value], context: Context
) -> Job:
    """The run of one lane of a block, by itself."""
    own = study.arm(entry.arm)
    arm = _arm_of(home, entry, own)
    seed = int(numbers.get(SEED, entry.seed) or 0)
    fields = {name: value for name, value in numbers.items() if name != SEED}
    job = Job(arm, study.specify(None, own, **{**entry.spec, **fields}), seed, at=entry.at)
    job = job.wanting(wanted_of(study.name, job, entry.identity.keep, None))
    if context.code(arm, type(job.spec)).digest != entry.source:
        raise PlanError(
            f"{entry.id} is a block of several runs that were made by other code than today's. Run the one that is to be "
            f"forked by itself, {call_of(job, study)}, and fork that."
        )
    return job


def _numbers_of_lane(run: Any, study: Study, home: Store, entry: Entry) -> dict[str, Value]:
    """The swept numbers of the one lane that is forked: the coordinates of a dataset of one lane."""
    lanes = entry.lanes or {}
    own = study.arm(entry.arm)
    if isinstance(run, xr.Dataset):
        known = {str(name) for name in run.coords}
        fields = {*study.default_for(own).to_json(), SEED} & known
        if set(lanes) <= known and all(run[name].ndim == 0 for name in fields):
            return {name: run[name].item() for name in sorted(fields)}
    first = {name: ends(column)[0] for name, column in lanes.items()}
    fields = {name: value for name, value in first.items() if name != SEED}
    spec = study.specify(None, own, **{**entry.spec, **fields})
    job = Job(_arm_of(home, entry, own), spec, int(first.get(SEED, entry.seed)), at=entry.at)
    raise PlanError(
        f"{entry.id} is a block of several runs ({run_count(list(lanes.values()))}, over {', '.join(lanes)}): fork one "
        f'lane, as in ps.fork(ps.open("{entry.id}").isel(lane=0), ...), or the same run alone: the first is '
        f"{call_of(job, study)}."
    )
