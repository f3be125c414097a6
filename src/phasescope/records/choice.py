"""What is wanted of a run, checked before it runs: the observables that are kept, and what is reduced."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import xarray as xr

from ..engine.calls import record_times
from ..engine.job import Job, shapes_of
from ..engine.wanted import Wanted
from ..errors import SpecError, nearest, unknown
from ..plan.observables import known
from ..plan.reductions import Reduction, Reductions, as_reductions
from .arrays import Records, StageEnds
from .dataset import measured, with_derived
from .derive import UNDERIVED, WHY, is_underived
from .names import ALWAYS, names_of

# What a plan derives from records of a shape at some times, as found in this process.
derived: dict[Hashable, tuple[str, ...] | str] = {}
DERIVED_KEPT = 256


def wanted_of(
    study: str,
    job: Job,
    keep: Iterable[str] | None,
    reduce: Mapping[str, Reduction] | Reductions | None,
) -> Wanted:
    """What the programs of a job must compute for these observables and reductions.

    An observable that the plan derives on the host may be kept: all that is measured is then computed and brought back for
    it, and dropped afterwards. Raises `SpecError` or `NameNotFound` for what cannot be had.
    """
    reductions = as_reductions(reduce)
    if keep is None and not reductions:
        return Wanted()
    who = f"{study}.{job.arm.__name__}"
    names = _names(who, keep, may_be_empty=bool(reductions))
    shapes = shapes_of(job)
    at_records = tuple(known(shapes.measured))
    at_ends = () if shapes.inspected is None else tuple(known(shapes.inspected))
    _check_reductions(who, job, reductions, names, at_records)
    others = [name for name in names if name not in (*at_records, *at_ends)]
    if not others:
        brought = tuple(name for name in names if name in at_records)
        return Wanted(names, reductions, brought, tuple(name for name in names if name in at_ends))
    found = derived_names(job)
    if isinstance(found, str):
        raise SpecError(
            f'{who} measures no "{others[0]}", and what it derives is not known before it runs ({found}). Keep what is '
            f"measured: {nearest(others[0], (*at_records, *at_ends))}"
        )
    for name in others:
        if name not in found:
            raise unknown("observable", name, (*at_records, *at_ends, *found), who)
    return Wanted(names, reductions)


def _names(who: str, keep: Iterable[str] | None, may_be_empty: bool) -> tuple[str, ...]:
    if keep is None:
        return ()
    is_list = isinstance(keep, Iterable) and not isinstance(keep, str)
    given = list(keep) if is_list else []
    if not is_list or not all(isinstance(name, str) for name in given):
        raise SpecError(
            f'{who}: keep is a list of names, such as keep=["loss"], got keep={keep!r}.'
        )
    if not given and not may_be_empty:
        raise SpecError(
            f"{who}: keep is empty, so that nothing would be recorded. Name some observables."
        )
    return tuple(sorted(set(given)))


def _check_reductions(
    who: str,
    job: Job,
    reductions: Reductions,
    kept_names: tuple[str, ...],
    at_records: tuple[str, ...],
) -> None:
    taken = {name: what for name, what in names_of(job).items() if what != "observable"}
    taken |= dict.fromkeys(kept_names, "kept observable") | dict.fromkeys(
        job.spec.to_json(), "field"
    )
    for name, one in reductions:
        derived_ones = () if one.observable in at_records else derived_names(job)
        if one.observable in derived_ones and not isinstance(derived_ones, str):
            raise SpecError(
                f"{who}: {one.observable} is derived on the host from records, and cannot be reduced on the device. Keep "
                f"it, or reduce what is measured: {', '.join(sorted(at_records))}."
            )
        if one.observable not in at_records:
            raise unknown("measured observable", one.observable, at_records, who)
        if name in taken:
            article = "an" if taken[name][0] in "aeiou" else "a"
            raise SpecError(
                f"{who}: reduce gives the name {name} to a result, which is the name of {article} {taken[name]} already. "
                "Use another."
            )


def derived_names(job: Job) -> tuple[str, ...] | str:
    """The names of what the plan derives, found by deriving it from records full of ones; the reason if that fails."""
    single = job.without_lanes().wanting(Wanted())
    name = (single.shape(), job.at)
    if name not in derived:
        if len(derived) >= DERIVED_KEPT:
            derived.clear()
        derived[name] = _derived_names(single)
    return derived[name]


def _derived_names(job: Job) -> tuple[str, ...] | str:
    records = _stand_in(job)
    ds = measured(job, records)
    found = with_derived(job, ds)
    if is_underived(found):
        return f"from records full of ones it raises {found.attrs[WHY]}"
    return tuple(str(name) for name in found.data_vars if name not in ds.data_vars)


def _stand_in(job: Job) -> Records:
    """Records of the right times and shapes."""
    times = [np.zeros(1)]
    stages = [np.zeros(1, int)]
    ends = []
    offset = 0.0
    for index, stage in enumerate(job.plan().stages):
        own = record_times(stage, stage.lay_out(), offset, job.at)
        times.append(offset + float(stage.unit) * own)
        stages.append(np.full(len(own), index))
        offset = float(times[-1][-1]) if len(own) else offset
        ends.append(offset)
    time = np.concatenate(times)
    shapes = shapes_of(job)
    inspected = None
    if shapes.inspected is not None:
        seen = known(shapes.inspected)
        values = {name: np.ones((len(ends), *x.shape)) for name, x in seen.items()}
        inspected = StageEnds(np.array(ends), np.arange(len(ends)), values)
    return Records(
        time=time,
        stage=np.concatenate(stages),
        finite=np.ones(len(time), bool),
        measured={
            name: np.ones((len(time), *x.shape)) for name, x in known(shapes.measured).items()
        },
        inspected=inspected,
    )


def kept(ds: xr.Dataset, job: Job) -> xr.Dataset:
    """The dataset with the observables that are kept, the results of reductions, and the coordinates that belong to them."""
    wanted = job.wanted
    if wanted.keep is None:
        return ds
    names = {*wanted.keep, *(name for name, _ in wanted.reduce)}
    ds = ds.drop_vars([name for name in ds.data_vars if name not in names])
    used = {dim for array in ds.data_vars.values() for dim in array.dims}
    named = used | {*ALWAYS, *job.columns} - {"stage_end"}
    if wanted.derives:  # it may have added coordinates
        named |= {name for name, x in ds.coords.items() if set(x.dims) <= used}
    else:
        named -= {UNDERIVED}
        ds.attrs = {name: x for name, x in ds.attrs.items() if name != WHY}
    return ds.drop_vars([name for name in ds.coords if name not in named])
