"""fork: go on from the state of a run at a time, with a part of the parameters frozen, reset or replaced."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..errors import PlanError, SpecError, nearest
from ..plan.fork import forked
from ..records.divergence import divergence
from ..study import Study, find
from ..tensors import without_gradient
from .context import default_context
from .fork_origin import Base, Changed
from .forked_runs import entry_to_fork, job_to_fork, run_to_fork
from .labels import without_a_mark_of_nothing
from .run import find_or_run
from .validate import check_read


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

    - `run`: a stored run: the dataset that `run`, `fork` or `replay` returned, its id or its folder. Or one lane of a
      sweep, such as `sw.sel(eta=0.1)`: the same run alone is made, if it is not stored, and forked.
    - `at`: the time, in the dataset's own time: any, also between two records and inside a stage; of
      dynamics that counts steps it is a step. At the end of the run a change must make the plan longer.
    - `clamp`: parameters that stay as they are from there on, by the names that `ps.state` gives them,
      with or without `params.`; the beginning of a name stands for all that is below it. Their
      gradients are still computed.
    - `reset`: parameters that are put back to where the run began. Moments go on.
    - `replace`: parameters by name, with the arrays to put in their place; a number stands for all entries.
    - `change`: other numbers from there on, fields of the Spec. The start and what is held fixed stay as
      they were.
    - `study`: of the run, if it is not installed.
    - `store`: the folder in which ids are looked up and the fork is kept; by default that of the run.
    - `progress`: as for `run`.

    **Returns:** the records from `at` on, at the times of the run's own records; the first is of the state
    with which the fork begins. The attribute `fork` says what was done.

    **Raises:** `PlanError` for a name that the run does not have, a time outside of it, or numbers under which
    its state has another shape; `SpecError` for a field that the arm does not read, or an argument of another kind;
    `StoreError` if the run is not stored; `RunDiverged`.
    """
    time = _time(at)
    words = _words("clamp", clamp), _words("reset", reset)
    given, numbers_changed = _mapping("replace", replace), _mapping("change", change)
    home, entry = entry_to_fork(run, store)
    chosen = find(entry.study if study is None else study)
    context = default_context(home.root if store is None else store, progress)
    home, entry = run_to_fork(run, chosen, home, entry, context)
    job = job_to_fork(chosen, home, entry, context)
    check_read(chosen, job.arm, numbers_changed)
    base = Base(chosen, job, time, entry, home)
    spec = chosen.specify(None, job.arm, **{**entry.spec, **numbers_changed})
    base.check_time(spec)
    known = list(base.parameters)
    changed = Changed(
        clamp=_full_names(words[0], known, entry.id),
        reset=_full_names(words[1], known, entry.id),
        replace=_arrays(given, base),
        number={name: spec.to_json()[name] for name in sorted(numbers_changed)},
    )
    _check_once(changed, entry.id)
    told = changed.told(entry.id, time)
    begin = lambda: base.origin(changed, new)
    arm = forked(job.arm, told, changed.clamp, begin, changed.replace)
    new = dataclasses.replace(job, arm=arm, spec=spec, at=_later(entry.at, time), code="")
    found = find_or_run(chosen, new, context, throw=False)
    if found.dataset.attrs["status"] == "diverged":
        raise divergence(chosen.name, new, found.dataset)
    return without_a_mark_of_nothing(found.dataset)


def _time(at: Any) -> float:
    """The time of the fork."""
    time = at.item() if getattr(at, "ndim", None) == 0 else at
    if isinstance(time, bool) or not isinstance(time, numbers.Real):
        raise SpecError(
            f"at is the time of the run at which it is forked, a number, got at={at!r}."
        )
    return float(time)


def _words(what: str, names: Any) -> Sequence[str]:
    """Names of parameters: one, or several."""
    found = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if not all(isinstance(name, str) and name for name in found):
        raise SpecError(
            f'{what} names parameters, as in {what}="W" or {what}=["a", "b"], got {what}={names!r}.'
        )
    return found


def _mapping(what: str, given: Any) -> Mapping[str, Any]:
    """Values by name."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        kind = {"replace": "arrays by the names of parameters", "change": "values by field"}[what]
        raise SpecError(f"{what} has {kind}, got {what}={given!r}.")
    return given


def _check_once(changed: Changed, run: str) -> None:
    """A parameter is put back to its start, or another is put in its place; not both."""
    twice = sorted(set(changed.reset) & set(changed.replace))
    if twice:
        raise SpecError(
            f"{run}: {twice[0].removeprefix('params.')} is to be reset and to be replaced: give one of the two."
        )


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


def _arrays(given: Mapping[str, Any], base: Base) -> dict[str, np.ndarray]:
    """The arrays to put in place of parameters, by full name in the order of the names; a number stands for all entries."""
    found = {}
    for word, value in given.items():
        names = _full_names([word], list(base.parameters), base.id)
        if len(names) != 1:
            raise PlanError(
                f'{base.id}: "{word}" is several parameters: {", ".join(names)}. Name one.'
            )
        array = np.asarray(without_gradient(value))
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise PlanError(f'{base.id}: what is given for "{word}" must be finite numbers.')
        if not array.ndim:
            array = np.full(base.parameters[names[0]], array)
        base.check_shape(names[0], array, base.parameters[names[0]])
        found[names[0]] = array
    return dict(sorted(found.items()))


def _later(times: tuple[float, ...] | None, at: float) -> tuple[float, ...] | None:
    """The times that were asked for from a time on; the arm's own, if none of them is later."""
    later = tuple(t for t in times or () if t > at)
    return (at, *later) if later else None
