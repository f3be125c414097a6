"""fork: go on from the state of a run at a time, with a part of the parameters frozen, reset or replaced."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr

from ..engine.calls import horizon, stage_length
from ..engine.job import Chunk, Job
from ..engine.loop import execute
from ..engine.precision import exact_numbers
from ..engine.programs import Program, begin_run
from ..errors import PlanError, nearest
from ..plan.fork import Origin, digest_of, forked, parameter_names
from ..plan.times import SAME_TIME
from ..records.choice import wanted_of
from ..records.divergence import divergence
from ..store import Entry
from ..study import Study, find
from .context import Context, default_context
from .labels import without_a_mark_of_nothing
from .run import find_or_run, run_identity
from .states import entry_of, shapes_of_state

Leaves = list[np.ndarray]
STATES_KEPT = (
    4  # states of runs at times, in this process: forks of one run differ in what they change
)


def fork(
    run: str | Path | xr.Dataset,
    at: float,
    *,
    clamp: str | Iterable[str] = (),
    reset: str | Iterable[str] = (),
    replace: Mapping[str, Any] | None = None,
    change: Mapping[str, Any] | None = None,
    study: str | Study | None = None,
    store: str | Path | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Go on from the state of a run at a time, with parameters frozen, reset or replaced, or other numbers.

        >>> run = ps.run("linear_modes", "descent", steps=20, eta=0.5)
        >>> frozen = ps.fork(run, at=5, clamp="a")
        >>> frozen.time.values[[0, -1]].tolist(), bool(frozen.loss[-1] > run.loss[-1])
        ([5.0, 20.0], True)

    The fork is an ordinary run: it has an identity, is stored, and is found by the same call. The run up
    to that time is computed once more, exactly. A fork in which nothing is changed gives the digits of
    the run itself: batches, moments and schedules go on as if nothing had happened.

    **Arguments:**

    - `run`: a stored run: the dataset that `run` returned, its id or its folder.
    - `at`: the time, in the dataset's own time: any, also between two records and inside a stage; of
      dynamics that counts steps it is a step.
    - `clamp`: parameters that stay as they are from there on, by the names that `ps.state` gives them,
      with or without `params.`; the beginning of a name stands for all that is below it. Their
      gradients are still computed.
    - `reset`: parameters that are put back to where the run began. Moments go on.
    - `replace`: parameters by name, with the arrays to put in their place.
    - `change`: other numbers from there on, fields of the Spec. The start and what is held fixed stay as
      they were.
    - `study`: of the run, if it is not installed.
    - `store`: the folder in which ids are looked up and the fork is kept; by default that of the run.
    - `progress`: as for `run`.

    **Returns:** the records from `at` on, at the times of the run's own records; the first is of the state
    with which the fork begins. The attribute `fork` says what was done.

    **Raises:** `PlanError` for a name that the run does not have, a time outside of it, or numbers under which
    its state has another shape; `SpecError` for a field that does not exist; `StoreError` if the run
    is not stored; `RunDiverged`.
    """
    home, entry = entry_of(run, store)
    chosen = find(entry.study if study is None else study)
    context = default_context(home.root if store is None else store, progress)
    job = _job_to_fork(entry, chosen, context)
    base = _Base(chosen, job, float(at), entry.id)
    base.check_time()
    spec = chosen.specify(None, job.arm, **{**entry.spec, **(change or {})})
    names = base.parameters
    changed = _Changed(
        clamp=_full_names(_words(clamp), names, entry.id),
        reset=_full_names(_words(reset), names, entry.id),
        replace=_arrays(replace or {}, names, entry.id),
        number={name: spec.to_json()[name] for name in sorted(change or {})},
    )
    fork_arm = forked(
        job.arm, changed.told(entry.id, float(at)), changed.clamp, lambda: base.origin(changed, new)
    )
    new = dataclasses.replace(job, arm=fork_arm, spec=spec, at=_later(entry.at, float(at)))
    found = find_or_run(chosen, new, context, throw=False)
    if found.dataset.attrs["status"] == "diverged":
        raise divergence(chosen.name, new, found.dataset)
    return without_a_mark_of_nothing(found.dataset)


def _job_to_fork(entry: Entry, study: Study, context: Context) -> Job:
    """The job of a stored run, if it is one run that can be made again."""
    if entry.lanes:
        raise PlanError(
            f"{entry.id} is a block of several runs: run the one to be forked by itself, "
            f'ps.run("{entry.study}", "{entry.arm}", ...) with its numbers, and fork that.'
        )
    arm = study.arm(entry.arm)
    if entry.identity.reduce is not None:
        raise PlanError(
            f"{entry.id} has results of reductions and no records: run it without reduce to fork it."
        )
    job = Job(arm, study.specify(None, arm, **entry.spec), entry.seed, at=entry.at)
    job = job.wanting(wanted_of(study.name, job, entry.identity.keep, None))
    if run_identity(study, job, context).digest != entry.identity.digest:
        raise PlanError(
            f"{entry.id} was made by other code than today's, or from arrays that were given to its arm: a run can "
            "be forked where it can be made again. Run it anew."
        )
    return job


@dataclasses.dataclass(frozen=True)
class _Changed:
    """What is done to the state, by full names of parameters, and which numbers are others."""

    clamp: tuple[str, ...]
    reset: tuple[str, ...]
    replace: Mapping[str, np.ndarray]
    number: Mapping[str, Any]

    def told(self, run: str, at: float) -> str:
        """All that decides where a fork begins, in one line."""
        said = {"of": run, "at": at, "clamp": list(self.clamp), "reset": list(self.reset)}
        said |= {"replace": digest_of(self.replace), "change": dict(self.number)}
        return json.dumps(said, sort_keys=True)


@dataclasses.dataclass(frozen=True)
class _Base:
    """The run that is forked, and the time."""

    study: Study
    job: Job
    at: float
    id: str

    def check_time(self) -> None:
        """Raises `PlanError` if the run does not reach the time, as far as its plan says."""
        end = horizon(self.job.plan())
        if not 0 <= self.at < end * (1 - SAME_TIME):
            raise PlanError(
                f"{self.id} runs from 0 to {end:g}: it cannot be forked at {self.at:g}."
            )

    @functools.cached_property
    def parameters(self) -> list[str]:
        """The full names of the parameters."""
        with exact_numbers():
            state = eqx.filter_eval_shape(begin_run, Program(self.job.arm), self.job.inputs())[0]
            return parameter_names(state.params)

    def origin(self, changed: _Changed, new: Job) -> Origin:
        """Where the fork begins: the state of the run at the time, with what is changed in it."""
        last = _chunk_at(self.job, self.at, self.id)
        place = last.position
        leaves = last.leaves()
        shapes = shapes_of_state(self.job, place.stage if place.local else place.stage - 1)
        named = dict(zip(shapes, leaves[:-1], strict=True))
        if changed.reset:
            first = next(execute(self.job))
            start = dict(zip(shapes_of_state(self.job, -1), first.leaves()[:-1], strict=True))
            named |= {name: start[name] for name in changed.reset}
        for name, array in changed.replace.items():
            if array.shape != named[name].shape:
                raise PlanError(
                    f'{self.id}: "{name}" has the shape {array.shape}, and this run needs {named[name].shape}.'
                )
            named[name] = array.astype(named[name].dtype)
        self._check_new(new, place.stage, place.local, shapes)
        stage = new.plan().stages[place.stage]
        # Time goes on from where it was, also if a step is worth more of it from now on.
        offset = place.offset
        if changed.number and place.local:
            offset = self.at - float(stage.unit) * place.local
        return Origin(place.stage, place.local, offset, [*named.values(), leaves[-1]])

    def _check_new(
        self, new: Job, stage: int, local: float, shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Under other numbers the state must have the same form, and the stage must go on."""
        stages = new.plan().stages
        if stage >= len(stages) or (local and stage_length(stages[stage]) <= local):
            raise PlanError(
                f"{self.id}: with these numbers the run would have ended before {self.at:g}, where it is forked."
            )
        if shapes_of_state(new, stage if local else stage - 1) != shapes:
            raise PlanError(
                f"{self.id}: with these numbers its state has another shape: what is changed in a fork must be "
                "numbers that the state does not depend on."
            )


@functools.lru_cache(maxsize=STATES_KEPT)
def _state_at(job: _Hashed, at: float) -> Chunk | None:
    last = None
    for chunk in execute(job.job, end=at):
        last = chunk
    return last


@dataclasses.dataclass(frozen=True)
class _Hashed:
    """A job that is known by its identity."""

    id: str
    job: Job = dataclasses.field(compare=False)


def _chunk_at(job: Job, at: float, id: str) -> Chunk:
    """The last chunk of the run up to a time."""
    last = _state_at(_Hashed(id, job), at)
    assert last is not None
    if not last.sound:
        raise PlanError(f"{id} left the finite numbers before {at:g}: it cannot be forked there.")
    if last.position.stage >= len(job.plan().stages):
        raise PlanError(f"{id} had ended before {at:g}: it cannot be forked there.")
    return last


def _words(names: str | Iterable[str]) -> Sequence[str]:
    return [names] if isinstance(names, str) else list(names)


def _full_names(words: Sequence[str], known: Sequence[str], run: str) -> tuple[str, ...]:
    """The parameters that some words name: themselves, or all that is below them."""
    found: list[str] = []
    for word in words:
        full = word if word.partition(".")[0] == "params" else f"params.{word}"
        below = [name for name in known if name == full or name.startswith(f"{full}.")]
        if not below:
            short = [name.removeprefix("params.") for name in known]
            raise PlanError(f'{run} has no parameter "{word}". {nearest(word, short)}')
        found += [name for name in below if name not in found]
    return tuple(found)


def _arrays(given: Mapping[str, Any], known: Sequence[str], run: str) -> dict[str, np.ndarray]:
    """The arrays to put in place of parameters, by full name."""
    found = {}
    for word, value in given.items():
        names = _full_names([word], known, run)
        if len(names) != 1:
            raise PlanError(f'{run}: "{word}" is several parameters: {", ".join(names)}. Name one.')
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise PlanError(f'{run}: what is given for "{word}" must be finite numbers.')
        found[names[0]] = array
    return found


def _later(times: tuple[float, ...] | None, at: float) -> tuple[float, ...] | None:
    """The times that were asked for from a time on."""
    return None if times is None else (at, *(t for t in times if t > at))
