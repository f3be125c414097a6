"""run: one run, or one block of lanes, found in the store or executed into it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..engine.calls import horizon, total_work
from ..engine.job import Chunk, Job, Position
from ..engine.loop import execute
from ..errors import PlanError, SpecError, StoreError
from ..identity import Fingerprint, Unidentified, fingerprint
from ..identity.provenance import decisive, differences, provenance
from ..plan.plan import Arm, fields_read
from ..records.dataset import Part, assemble, join, part_of, snapshots_of, spec_text
from ..records.derive import WHY, is_underived
from ..records.divergence import divergence, first_bad
from ..records.names import check_run
from ..spec import Spec
from ..store import Draft, Entry, Identity, Resumed, Store
from ..study import Study, find
from .progress import Meter, no_meter


@dataclasses.dataclass(frozen=True)
class Lab:
    """How to run, as opposed to what: where results are kept, how often a run is saved, who watches."""

    store: Store | None = None
    meter: Meter = no_meter
    save_every: float = 5.0
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    codes: dict[Any, Fingerprint | Unidentified] = dataclasses.field(default_factory=dict)
    said: set[str] = dataclasses.field(default_factory=set)

    def code(self, arm: Arm, spec: type[Spec]) -> Fingerprint:
        """The code behind an arm, read once; says so if its files were edited after it was loaded."""
        if (arm, spec) not in self.codes:
            try:
                found = self.codes[arm, spec] = fingerprint(arm, spec)
                for file in found.edited():
                    self.say(
                        f"{file} was edited after it was loaded: what runs, and what is named, is the loaded code. "
                        "Start Python anew to use the edit."
                    )
            except Unidentified as problem:
                self.codes[arm, spec] = problem
                self.say(
                    f"{arm.__name__} runs but is not stored: {problem}. Nobody could tell its runs from those of "
                    "another function of this name."
                )
        found = self.codes[arm, spec]
        if isinstance(found, Unidentified):
            raise found
        return found

    def say(self, message: str) -> None:
        """Warn once."""
        if message not in self.said:
            self.said.add(message)
            warnings.warn(message, stacklevel=3)


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
    chosen = study.arm(arm)
    job = Job(chosen, study.specify(preset, **changes), seed_number(study, seed))
    check_read(study, chosen, changes)
    plan = job.plan()
    if at is None:
        return job
    times = tuple(sorted(set(time_numbers(study, at))))
    end = horizon(plan)
    if not times or times[0] < 0 or times[-1] > end * (1 + 1e-12):
        raise PlanError(
            f"{study.name}.{job.arm.__name__} runs from 0 to {end:g}; it cannot be recorded at {times[:1] + times[-1:]}."
        )
    return dataclasses.replace(job, at=times)


def check_read(study: Study, arm: Arm, given: Iterable[str]) -> None:
    """A field that is given and that the arm does not read is a mistake."""
    read = fields_read(arm, study.spec)
    for name in given:
        if name not in read:
            others = [a.__name__ for a in study.arms if name in fields_read(a, study.spec)]
            who = f"Arms that do: {', '.join(others)}." if others else "No arm does."
            raise SpecError(
                f'{study.name}.{arm.__name__} does not read "{name}": it would change nothing. {who} Leave it out.'
            )


def seed_number(study: Study, seed: Any) -> int:
    """A seed, which is a whole number."""
    if not is_whole(seed) or not 0 <= seed < 2**32:
        raise SpecError(f"{study.name}: a seed is a whole number from 0 to {2**32 - 1}, got seed={seed!r}.")
    return int(seed)


def is_whole(number: Any) -> bool:
    """Whether it is an integer; 1.0 and True are not."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def time_numbers(study: Study, at: Any) -> tuple[float, ...]:
    """Record times, which are a list of numbers."""
    try:
        if isinstance(at, str | bytes):
            raise TypeError(at)
        times = tuple(float(t) for t in at)
    except (TypeError, ValueError, OverflowError):
        raise SpecError(f"{study.name}: `at` is a list of times, such as at=[1, 10], got at={at!r}.") from None
    if any(map(math.isnan, times)):
        raise SpecError(f"{study.name}: nan is not a time, got at={list(times)}.")
    return times


def identity(study: Study, job: Job, lab: Lab, width: int = 1) -> Identity:
    """What was asked, and the code that answers it. Raises `Unidentified` if that code has no identity."""
    lanes = {k: tuple(v) for k, v in job.columns.items()} or None
    spec = job.spec.replace(**{k: v[0] for k, v in job.columns.items() if k != "seed"}).to_json()
    return Identity(
        study=study.name,
        arm=job.arm.__name__,
        spec={name: spec[name] for name in fields_read(job.arm, job.spec)},
        seed=job.seed,
        at=job.at,
        lanes=lanes,
        width=width,
        source=lab.code(job.arm, type(job.spec)).digest,
    )


def is_stored(study: Study, job: Job, lab: Lab, width: int = 1) -> bool:
    """Whether the store has the finished run."""
    if lab.store is None:
        return False
    try:
        return lab.store.find(identity(study, job, lab, width)) is not None
    except Unidentified:
        return False


def obtain(
    study: Study, job: Job, lab: Lab, width: int = 1, label: str = "", throw: bool = True
) -> tuple[xr.Dataset, str]:
    """The dataset of a job and the id of its run: from the store if it is there, else executed.

    A single run that left the finite numbers, or from which nothing could be derived, is an error, unless `throw` is
    False; a lane that did is data.
    """
    try:
        name = identity(study, job, lab, width)
    except Unidentified:
        name = None
    else:
        job = dataclasses.replace(job, code=name.source)
    if name is None or lab.store is None:
        ds = assemble(study.name, job, _fresh(study, job, lab, None, None, label)[0], width)
        ds = ds.assign_attrs(provenance=json.dumps(decisive(provenance(ds.attrs["precision"]))))
        id = ""
        if name is not None:
            ds = ds.assign_attrs(id=f"{name.study}/{name.arm}/{name.digest}")
    else:
        entry = lab.store.find(name)
        if entry is None:
            with lab.store.draft(name) as draft:
                entry = draft.finished or _execute_into(study, job, lab, draft, label, width, throw)
        else:
            _say_if_made_elsewhere(entry, lab)
        ds = lab.store.load(entry)
        id = entry.id
        asked = spec_text(job)  # the run may be that of a request which differs in fields that the arm does not read
        ds = ds.assign_attrs(id=id, folder=str(entry.folder), status=entry.status, spec=asked)
        ds = ds.assign_attrs(provenance=json.dumps(decisive(entry.manifest)))
    if throw and not job.lanes and ds.attrs["status"] == "diverged":
        raise divergence(study.name, job, ds)
    if throw and not job.lanes and is_underived(ds):
        raise underived(study, job, ds)
    return ds, id


def underived(study: Study, job: Job, ds: xr.Dataset) -> PlanError:
    """The error of a run that is sound but for what its plan derives, with what was recorded as its `dataset`."""
    error = PlanError(
        f"{study.name}.{job.arm.__name__}: the run went to its end, but the plan's `derive` raised {ds.attrs[WHY]}; "
        "what it recorded is the error's `dataset`. Repair `derive`."
    )
    error.dataset = ds  # type: ignore[attr-defined]
    return error


def _say_if_made_elsewhere(entry: Entry, lab: Lab) -> None:
    """A run that was found under another provenance is returned, and says so."""
    here = provenance(entry.manifest.get("precision", ""))
    differ = differences(entry.manifest, here)
    if differ:
        lab.say(
            f"{entry.study}.{entry.arm}: found in the store as it was made elsewhere, with {', '.join(differ)}. "
            "Its last digits may differ from those of a run made here."
        )


def _execute_into(study: Study, job: Job, lab: Lab, draft: Draft, label: str, width: int, throw: bool) -> Entry:
    began = time.time()
    resumed = draft.resume()
    begun = _begun_elsewhere(study, job, lab, resumed)
    part, save = _fresh(study, job, lab, draft, resumed, label)
    ds = assemble(study.name, job, part, width)
    if throw and not job.lanes and is_underived(ds) and ds.attrs["status"] != "diverged":
        save()  # not a finished run: the next call begins where this one ended, and derives again
        raise underived(study, job, ds)
    manifest = provenance(precision=ds.attrs["precision"]) | {
        "seconds": round(time.time() - began, 3),
        "work": total_work(job.plan()),
        "status": ds.attrs["status"],
        "model": lab.code(job.arm, type(job.spec)).model,
    }
    if begun:
        manifest["resumed_from"] = begun
    return draft.finish(ds, manifest, snapshots_of(job, part))


def _begun_elsewhere(study: Study, job: Job, lab: Lab, resumed: Resumed | None) -> dict[str, Any]:
    """The provenance of the state that a run goes on from, if it is another than here; and it is said."""
    here = decisive(provenance())
    begun = resumed.position.get("provenance", here) if resumed else here
    differ = differences(begun, here)
    if not differ:
        return {}
    lab.say(
        f"{study.name}.{job.arm.__name__}: goes on from a state that was computed elsewhere, with "
        f"{', '.join(differ)}. Its last digits may differ from those of a run made in one place."
    )
    return begun


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


def _fresh(
    study: Study, job: Job, lab: Lab, draft: Draft | None, resumed: Resumed | None, label: str
) -> tuple[Part, Callable[[], None]]:
    """Execute the job, saving as it goes; a stop leaves a checkpoint from which the next call continues.

    Returns the records, and a function that saves the end of the run as one more checkpoint.
    """
    check_run(study.name, job)
    position = _position(draft, resumed) if draft and resumed else Position()
    start = (position, resumed.leaves) if resumed else None
    parts = list(resumed.parts) if resumed else []
    # The last chunk and all records not yet saved, in one name: an interrupt may come between any two lines, and a
    # state must be saved with the records up to it or not at all.
    unsaved: tuple[Chunk | None, list[Part]] = (None, [])
    plan, saved_at, before, exact = job.plan(), time.monotonic(), None, {}

    def save() -> None:
        nonlocal unsaved
        (last, fresh), unsaved = unsaved, (None, [])
        if draft and last is not None:
            at = dataclasses.asdict(last.position) | {"provenance": decisive(provenance())}
            draft.save(at, last.leaves(), join(fresh))
        parts.extend(fresh)

    with lab.meter(label or f"{study.name}.{job.arm.__name__}", total_work(plan)) as tick, _stopping_at(save):
        if resumed:
            tick(
                float(sum(s.lay_out()[-1] for s in plan.stages[: position.stage] if s.lay_out().size) + position.local)
            )
        for chunk in execute(job, start):
            unsaved = (chunk, [*unsaved[1], part_of(chunk)])
            tick(chunk.work)
            if not chunk.finite.any(axis=tuple(range(1, chunk.finite.ndim))).all():  # nobody is left
                exact = {} if job.lanes else first_bad(job, start, before, chunk)
                break
            before = chunk if chunk.sound else before
            if lab.stop.is_set():
                raise KeyboardInterrupt
            if time.monotonic() - saved_at > lab.save_every:
                save()
                saved_at = time.monotonic()
    return join([*parts, *unsaved[1]]) | exact, save


@contextlib.contextmanager
def _stopping_at(save: Any) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        save()
        raise
