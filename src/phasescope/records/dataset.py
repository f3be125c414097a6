"""Records -> dataset: the parts that a run yields as it goes, joined, named and described."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import xarray as xr

from .. import __version__
from ..engine.calls import horizon
from ..engine.job import Chunk, Job, observed
from ..engine.precision import exact_numbers
from ..identity.provenance import precision_of
from ..plan.observables import flag_word, to_dataset
from ..plan.plan import Plan, lane_fields
from .derive import derived
from .divergence import place_of_divergence

Part = dict[str, np.ndarray]
SAME_TIME = 1e-12  # how far, relative to it, a record may be from a time asked for: rounding, no more


@exact_numbers()
def assemble(study: str, job: Job, part: Part, width: int) -> xr.Dataset:
    """Records -> dataset: named axes, derived quantities, and what the run was, in the attributes."""
    plan, (seen, dear) = job.plan(), observed(job)
    lead = ("lane",) if job.lanes else ()
    lanes_first = lambda x: np.moveaxis(x, -1, 0) if lead else x
    take = lambda prefix: {k.removeprefix(prefix): lanes_first(v) for k, v in part.items() if k.startswith(prefix)}
    stages, part = [s.name for s in plan.stages], _while_finite(part)
    times = labels(part["time"], job.at)
    ds = to_dataset(seen, take("seen."), times, part["stage"], stages, plan.coords, lead)
    if dear is not None and take("dear."):
        end_times = labels(part["dear_time"], job.at)
        ends = to_dataset(dear, take("dear."), end_times, part["dear_stage"], stages, plan.coords, lead)
        ds = ds.merge(ends.drop_vars("stage").rename(time="stage_end"))
    finite = part["finite"].reshape(len(part["time"]), -1)
    bad = np.where((~finite).any(0), times[(~finite).argmax(0)], np.nan)
    if "diverged_at" in part:
        bad = labels(part["diverged_at"], job.at)
    ds = ds.assign_coords(diverged_at=(lead, bad if lead else bad[0]))
    numbers = {k: ("lane", np.asarray(v)) for k, v in job.columns.items()}
    numbers |= {
        k: v for k in lane_fields(job.arm, job.spec) if k not in numbers and (v := getattr(job.spec, k)) is not None
    }
    ds = derived(plan.derive, ds.assign_coords(numbers)).drop_vars([k for k in numbers if k not in job.columns])
    if job.at is not None:
        ds = at_times(ds, job.at)
    if "diverged_at" in part:
        ds = ds.assign_attrs(diverged=place_of_divergence(job, part))
    return ds.assign_attrs(
        study=study,
        arm=job.arm.__name__,
        spec=spec_text(job),
        seed=job.seed,
        width=width,
        precision=_precision(part),
        status="diverged" if np.isfinite(bad).all() else "finished",
        phasescope=__version__,
        **_clock(plan),
    )


def _clock(plan: Plan) -> dict[str, float]:
    """Where the run was planned to end, and how much `time` one step is where all stages count alike."""
    clock = {"planned_end": horizon(plan)}
    units = {float(stage.unit) for stage in plan.stages}
    if all(stage.dynamics.divisible for stage in plan.stages) and len(units) == 1:
        clock["time_per_step"] = units.pop()
    return clock


def _precision(part: Part) -> str:
    """The kinds of numbers that the run computed with: those of its state, or else of its records."""
    state = [x for name, x in part.items() if name.startswith("state.")]
    return precision_of(state or [x for name, x in part.items() if name.startswith("seen.")])


def labels(times: np.ndarray, asked: Sequence[float] | None = None) -> np.ndarray:
    """Times as coordinates: to 15 significant digits, so that the third step of 0.1 is at 0.3; asked ones as asked.

    Clocks that differ in their last bits then show the same times. Times that would fall together are left alone.
    """
    shown = np.array([float(f"{t:.15g}") for t in times])
    if asked is not None and len(asked):
        wanted = np.sort(np.asarray(asked, float))
        nearest = _nearest(wanted, shown)
        shown = np.where(np.abs(shown - nearest) <= SAME_TIME * nearest, nearest, shown)
    return shown if np.unique(shown).size == np.unique(times).size else np.asarray(times, float)


def at_times(ds: xr.Dataset, asked: Sequence[float]) -> xr.Dataset:
    """The records at the times asked for, under exactly these times.

    A run that ended early has no records of the later ones; if it has none at all, its last record is what is left.
    """
    end = float(ds["time"][-1])
    reached = [t for t in asked if t <= end * (1 + SAME_TIME)]
    chosen = ds.sel(time=reached or [end], method="nearest")
    return chosen.assign_coords(time=("time", np.array(reached or [end]), ds["time"].attrs))


def spec_text(job: Job) -> str:
    """The numbers that were asked for, as a dataset keeps them."""
    return json.dumps(job.spec.to_json(), sort_keys=True)


def join(parts: list[Part]) -> Part:
    """Consecutive parts of the records as one."""
    keys = dict.fromkeys(k for p in parts for k in p)
    return {k: np.concatenate([p[k] for p in parts if k in p]) for k in keys}


def part_of(chunk: Chunk) -> Part:
    """What a chunk adds: its records, what was inspected, and the state if it ended a stage."""
    part = {f"seen.{k}": v for k, v in chunk.records.items()}
    part |= {"time": chunk.time, "stage": np.full(len(chunk.time), chunk.stage), "finite": chunk.finite}
    if chunk.inspected:
        part |= {f"dear.{k}": v for k, v in chunk.inspected.items()}
        part |= {"dear_time": chunk.time[-1:], "dear_stage": np.array([chunk.stage])}
    if chunk.position.stage > chunk.stage:
        part |= {f"state.{chunk.stage}.{i:04d}": leaf[None] for i, leaf in enumerate(chunk.leaves()[:-1])}
    return part


def snapshots_of(job: Job, part: Part) -> dict[str, list[np.ndarray]]:
    """The arrays of the state at the end of every stage, by the stage's name."""
    kept = sorted(k for k in part if k.startswith("state."))
    names = [flag_word(stage.name) for stage in job.plan().stages]
    return {name: [np.asarray(part[k][0]) for k in kept if k.startswith(f"state.{i}.")] for i, name in enumerate(names)}


def _nearest(rising: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The nearest of some rising numbers to each of the times."""
    after = np.searchsorted(rising, times).clip(0, rising.size - 1)
    before = (after - 1).clip(0)
    closer = np.abs(times - rising[before]) < np.abs(rising[after] - times)
    return np.where(closer, rising[before], rising[after])


def _while_finite(part: Part) -> Part:
    """The records up to the first at which no lane is finite; how much was computed after it depends on the machine."""
    alive = part["finite"].reshape(len(part["time"]), -1).any(1)
    if alive.all():
        return part
    rows = int(alive.argmin()) + 1
    ends = int((part["dear_time"] <= part["time"][rows - 1]).sum()) if "dear_time" in part else 0
    rows_of = lambda name: None if name.startswith(("diverged", "state")) else ends if name.startswith("dear") else rows
    return {k: v[: rows_of(k)] for k, v in part.items()}
