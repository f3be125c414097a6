"""Records -> dataset: what a run has recorded, named and described."""

from __future__ import annotations

import json
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
import xarray as xr

from .. import __version__
from ..engine.calls import horizon
from ..engine.job import Job, observed, shapes_of
from ..engine.precision import exact_numbers
from ..identity.provenance import precision_of
from ..plan.fork import ForkedArm
from ..plan.given import GivenArm
from ..plan.observables import Observables, flag_word, to_dataset
from ..plan.plan import Plan, lane_fields
from ..plan.times import SAME_TIME
from ..store.entries import FORK
from .arrays import Arrays, Records
from .derive import derived
from .divergence import place_of_divergence

ENDED = "ended_at"  # the attribute that says when a run ended that left a stage early, and so ended before its planned end
REPLACED = "fork_replaced"  # the snapshot that holds the arrays with which a fork replaced others
GIVEN = "given"  # the attribute that names arrays of the caller's, and the snapshot that holds them


@exact_numbers()
def assemble(study: str, job: Job, records: Records, width: int) -> xr.Dataset:
    """Records -> dataset: named axes, derived quantities, and what the run was, in the attributes."""
    records = records.while_finite()
    diverged_at = divergence_times(job, records)
    ds = measured(job, records).assign_coords(diverged_at=diverged_at)
    ds = with_derived(job, ds) if job.wanted.derives else ds.assign_coords(_columns(job))
    if job.at is not None:
        ds = at_times(ds, job.at)
    said = description(study, job, records, width, diverged_at)
    return ds.assign_attrs(said | {"records": ds.sizes["time"]})


def measured(job: Job, records: Records) -> xr.Dataset:
    """What was measured at record times, and what was inspected at the ends of stages."""
    measured_class, inspected_class = observed(job)
    ds = _labelled(job, measured_class, records.measured, records.time, records.stage)
    ends = records.inspected
    if inspected_class is None or ends is None:
        return ds
    inspected = _labelled(job, inspected_class, ends.values, ends.time, ends.stage)
    return ds.merge(inspected.drop_vars("stage").rename(time="stage_end"))


def _labelled(
    job: Job, cls: type[Observables], arrays: Arrays, time: np.ndarray, stage: np.ndarray
) -> xr.Dataset:
    """Arrays with lanes last as a dataset with lanes first."""
    if job.is_block:
        arrays = {name: np.moveaxis(x, -1, 0) for name, x in arrays.items()}
    plan = job.plan()
    return to_dataset(
        cls,
        arrays,
        time=labels(time, job.at),
        stage=stage,
        stage_names=[s.name for s in plan.stages],
        coords=plan.coords,
        lead=_lead(job),
    )


def divergence_times(job: Job, records: Records) -> xr.Variable:
    """When each run left the finite numbers, NaN if it did not: to the step if that is known, else at a record."""
    if records.diverged is not None:
        times = labels(np.array([records.diverged.time]), job.at)
    else:
        broken = ~records.finite.reshape(len(records.time), -1)
        first = labels(records.time, job.at)[broken.argmax(0)]
        times = np.where(broken.any(0), first, np.nan)
    return xr.Variable(_lead(job), times if job.is_block else times[0])


def with_derived(job: Job, ds: xr.Dataset) -> xr.Dataset:
    """The records with what the plan derives from them; it finds the numbers of a run as coordinates."""
    columns = _columns(job)
    shared = {}
    for name in lane_fields(job.arm, job.spec):
        value = getattr(job.spec, name)
        if name not in columns and value is not None:
            shared[name] = value
    return derived(job.plan().derive, ds.assign_coords(columns | shared)).drop_vars(list(shared))


def _columns(job: Job) -> dict[str, tuple[str, np.ndarray]]:
    """The numbers that differ from lane to lane, as coordinates."""
    return {name: ("lane", np.asarray(values)) for name, values in job.columns.items()}


def counted_times(job: Job, records: Records) -> np.ndarray:
    """The times of the records that count in reductions, as the dataset has them."""
    times = labels(records.time, job.at)[records.counts]
    if job.at is None:
        return times
    return _nearest(np.sort(np.asarray(job.at, float)), times)


def description(
    study: str, job: Job, records: Records, width: int, diverged_at: xr.Variable
) -> dict[str, str | int | float]:
    """What the run was, as the attributes of its dataset."""
    words: dict[str, str | int | float] = {}
    if records.diverged is not None:
        words["diverged"] = place_of_divergence(job, records.diverged)
    words |= {
        "study": study,
        "arm": job.arm.__name__,
        "spec": spec_text(job),
        "seed": job.seed,
        "width": width,
        "precision": _precision(job, records),
        "status": "diverged" if np.isfinite(diverged_at.values).all() else "finished",
        "phasescope": __version__,
    }
    if isinstance(job.arm, GivenArm):
        words[GIVEN] = json.dumps(job.arm.digests)
    if isinstance(job.arm, ForkedArm):
        words[FORK] = job.arm.told
    words |= clock(job.plan())
    if isinstance(job.arm, ForkedArm) and job.arm.has_other_numbers:
        words["planned_end"] = job.arm.origin.last_time(job.plan())
    end = float(labels(records.time, job.at)[-1])
    if words["status"] == "finished" and end < float(words["planned_end"]) * (1 - SAME_TIME):
        words[ENDED] = end
    return words


def _lead(job: Job) -> tuple[str, ...]:
    """The axes that come before time."""
    return ("lane",) if job.is_block else ()


def clock(plan: Plan) -> dict[str, float]:
    """Where the run was planned to end, and how much `time` one step is where all stages count alike."""
    found = {"planned_end": horizon(plan)}
    units = {float(stage.unit) for stage in plan.stages}
    if all(stage.dynamics.divisible for stage in plan.stages) and len(units) == 1:
        found["time_per_step"] = units.pop()
    return found


def _precision(job: Job, records: Records) -> str:
    """The kinds of numbers that the run computed with: those of its state, or else of its records."""
    state = [leaf for leaves in records.states.values() for leaf in leaves]
    if not job.keeps_states:
        state = jax.tree.leaves(eqx.filter(shapes_of(job).state, _is_shape))
    return precision_of(state or list(records.measured.values()))


def _is_shape(x: object) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)


def labels(times: np.ndarray, asked: Sequence[float] | None = None) -> np.ndarray:
    """Times as coordinates: to 15 significant digits, so that the third step of 0.1 is at 0.3; asked ones as asked.

    Clocks that differ in their last bits then show the same times. Times that would fall together are left alone.
    """
    shown = np.array([float(f"{t:.15g}") for t in times])
    if asked is not None and len(asked):
        wanted = np.sort(np.asarray(asked, float))
        nearest = _nearest(wanted, shown)
        shown = np.where(np.abs(shown - nearest) <= SAME_TIME * nearest, nearest, shown)
    if np.unique(shown).size != np.unique(times).size:
        return np.asarray(times, float)
    return shown


def at_times(ds: xr.Dataset, asked: Sequence[float]) -> xr.Dataset:
    """The records at the times asked for, under exactly these times.

    A run that ended early has no records of the later ones; if it has none at all, its last record is what is left.
    """
    end = float(ds["time"][-1])
    reached = [t for t in asked if t <= end * (1 + SAME_TIME)] or [end]
    chosen = ds.sel(time=reached, method="nearest")
    return chosen.assign_coords(time=("time", np.array(reached), ds["time"].attrs))


def spec_text(job: Job) -> str:
    """The numbers that were asked for, as a dataset keeps them."""
    return json.dumps(job.spec.to_json(), sort_keys=True)


def snapshots_of(job: Job, records: Records) -> dict[str, list[np.ndarray]]:
    """The arrays of the state at the end of every stage, by the stage's name; those that were given, or replaced others."""
    names = [flag_word(stage.name) for stage in job.plan().stages if job.keeps_states]
    found = {name: list(records.states.get(index, ())) for index, name in enumerate(names)}
    if isinstance(job.arm, GivenArm):
        found.setdefault(GIVEN, list(job.arm.arrays.values()))
    if isinstance(job.arm, ForkedArm) and job.arm.replaced:
        found.setdefault(REPLACED, list(job.arm.replaced.values()))
    return found


def _nearest(rising: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The nearest of some rising numbers to each of the times."""
    after = np.searchsorted(rising, times).clip(0, rising.size - 1)
    before = (after - 1).clip(0)
    closer = np.abs(times - rising[before]) < np.abs(rising[after] - times)
    return np.where(closer, rising[before], rising[after])
