"""Which regime some evidence belongs to, and how the assumptions of a claim stand on it.

Both are derived from what was asked for: nobody chooses a label by its outcome.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..claims.assumptions import (
    ROUNDING,
    Assumptions,
    Met,
    Numbers,
    Scope,
    lane_met,
    numbers_of,
    records_met,
)
from ..claims.claim import Claim
from ..claims.protocol import Protocol
from ..claims.regime import Regime, RegimeName
from ..claims.requests import Recorded, Request, Runs, Sized, Sweeps, Tables
from ..errors import PhasescopeError, PlanError, SpecError
from ..logs.origin import origins
from ..plan.given import GivenArm
from ..spec import Spec
from ..study import Study


@dataclasses.dataclass(frozen=True)
class Standing:
    """Where some evidence stands: its regime, the assumptions, and the paper's experiments in it.

    `reduced`: it is an experiment of the paper, of which a smaller form is looked at by default.
    """

    regime: RegimeName
    assumptions: tuple[Met, ...] = ()
    protocols: tuple[Protocol, ...] = ()
    reduced: bool = False


def standing(study: Study, claim: Claim, regime: Regime) -> Standing:
    """Where the evidence of a row stands, from its requests alone.

    Which experiment it is, is told by the full form of a request. Whether assumptions are met is told
    by the form that is looked at by default.
    """
    found = _assumptions_met(study, claim, regime)
    if claim.typed is None:
        assert regime.name is not None
        return Standing(regime.name, found)
    asked = [plain(request, full=True) for request in regime.evidence]
    protocols = [_protocol(study, request) for request in asked]
    runs = [p for p, request in zip(protocols, asked, strict=True) if not _is_table(request)]
    known = tuple(dict.fromkeys(p for p in protocols if p is not None))
    if runs and all(p is not None for p in runs):
        reduced = any(isinstance(request, Sized) for request in regime.evidence)
        return Standing(RegimeName.PUBLISHED, found, known, reduced)
    met = all(one.met for one in found)
    return Standing(RegimeName.THEORY if met else RegimeName.BEYOND, found, known)


def plain(request: Request, full: bool = False) -> Runs | Sweeps | Tables:
    """What is asked for, without where it is kept; of two sizes the small one, or the full one."""
    if isinstance(request, Sized):
        return request.full if full else request.small
    if isinstance(request, Recorded):
        return request.request
    return request


def _is_table(request: Request) -> bool:
    return isinstance(request, Tables)


def _protocol(study: Study, request: Runs | Sweeps | Tables) -> Protocol | None:
    """The experiment of the paper that the request is, if it is one.

    It is a preset of which nothing is changed that the paper states, but to values over which the figure
    itself varies it. What the paper leaves open may be given another value, and counts as scanned if it is
    an axis of the sweep.
    """
    if isinstance(request, Tables) or request.preset is None:
        return None
    found = study.protocols.get(request.preset)
    if found is None or request.arm.__name__ not in found.arms:
        return None
    if isinstance(
        request.arm, GivenArm
    ):  # it begins from something else than the paper's experiment
        return None
    swept = dict(request.axes) if isinstance(request, Sweeps) else {}
    changed = {name: (value,) for name, value in request.changes} | swept
    if not all(found.covers(name, values) for name, values in changed.items()):
        return None
    scanned = [name for name in swept if name in found.guessed]
    return dataclasses.replace(found, scanned=tuple(dict.fromkeys([*found.scanned, *scanned])))


def _assumptions_met(study: Study, claim: Claim, regime: Regime) -> tuple[Met, ...]:
    found = []
    if regime.breaks:
        found.append(Met(regime.breaks, Scope.LANE, met=False))
    if claim.assumes is None:
        return tuple(found)
    asked = [plain(request) for request in regime.evidence]
    runs = [request for request in asked if not isinstance(request, Tables)]
    arms = [request.arm.__name__ for request in runs]
    numbers = [_numbers(study, request) for request in runs]
    return (*found, *_met(claim.assumes, str(regime.on), arms, numbers, _name(claim)))


def _name(claim: Claim) -> str:
    return f'claim "{claim.id}"'


def _met(
    assumes: Assumptions, on: str, arms: Iterable[str], numbers: Sequence[Any], name: str
) -> Iterator[Met]:
    strange = [arm for arm in arms if not assumes.allows_arm(on, arm)]
    if assumes.model and arms:
        yield Met("model", Scope.MODEL, met=not strange)
    for key, rule in assumes.lane.items():
        try:
            yield lane_met(key, rule, numbers, key in assumes.free)
        except PhasescopeError:
            raise
        except Exception as problem:
            raise PlanError(
                f'{name}: the assumption "{key}" cannot be evaluated: {problem}.'
            ) from problem
    for key in assumes.record:
        yield Met(key, Scope.RECORD, met=True, free=key in assumes.free)


def _numbers(study: Study, request: Runs | Sweeps) -> Numbers:
    spec = study.specify(request.preset, request.arm, **dict(request.changes))
    axes = {}
    if isinstance(request, Sweeps):
        along = {name: tie[0] for tie in request.ties for name in tie}
        for name, values in request.axes:
            if name != "seed":
                axes[name] = xr.DataArray(np.asarray(values), dims=along.get(name, name))
    return Numbers(spec, axes)


def spec_class(study: Study, ds: xr.Dataset) -> type[Spec]:
    """The Spec class of the arm that a dataset came from; that of the study, if it came from elsewhere."""
    arms = {arm.__name__: arm for arm in study.arms}
    return type(study.default_for(arms.get(ds.attrs.get("arm", ""))))


def check_told(study: Study, ds: xr.Dataset) -> None:
    """What a log is said to be must be of the study: an arm of it, and numbers that its Spec has.

    A name with a typing error would otherwise count as one that was not told, and the default would stand for it.

    **Raises:** `SpecError` that names the log.
    """
    logs = ", ".join(one.source for one in origins(ds))
    if not logs or not study.arms:
        return
    try:
        arm = study.arm(ds.attrs["arm"]) if "arm" in ds.attrs else None
        study.default_for(arm).replace(**json.loads(ds.attrs.get("spec", "{}")))
    except PhasescopeError as problem:
        raise SpecError(f"{logs} is said to be a run of {study.name}: {problem}") from None


def standing_of_datasets(study: Study, claim: Claim, evidence: Sequence[xr.Dataset]) -> Standing:
    """Where datasets of a user stand: never the paper's own experiment. Raises what `check_told` does."""
    for ds in evidence:
        check_told(study, ds)
    if claim.assumes is None:
        return Standing(RegimeName.THEORY)
    arms = [str(ds.attrs["arm"]) for ds in evidence if "arm" in ds.attrs]
    numbers = [numbers_of(ds, spec_class(study, ds)) for ds in evidence if "spec" in ds.attrs]
    ons = {str(regime.on) for regime in claim.regimes}
    fitting = [on for on in sorted(ons) if all(claim.assumes.allows_arm(on, a) for a in arms)]
    on = fitting[0] if fitting else sorted(ons)[0]
    found = tuple(_met(claim.assumes, on, arms, numbers, _name(claim)))
    found += tuple(_untold(claim.assumes, evidence))
    met = all(one.met for one in found)
    return Standing(RegimeName.THEORY if met else RegimeName.BEYOND, found)


def _untold(assumes: Assumptions, evidence: Sequence[xr.Dataset]) -> Iterator[Met]:
    """Assumptions of which a log does not say whether it meets them: they do not count as met."""
    logs = [ds for ds in evidence if origins(ds)]
    if assumes.model and any("arm" not in ds.attrs for ds in logs):
        yield Met("model of the log, which it does not tell", Scope.MODEL, met=False)
    if assumes.lane and any("spec" not in ds.attrs for ds in logs):
        yield Met("numbers of the log, which it does not tell", Scope.LANE, met=False)


@dataclasses.dataclass(frozen=True)
class Covered:
    """The records that a statement is about, and how many there were."""

    evidence: tuple[xr.Dataset, ...]
    compared: int
    asked: int


def covered(study: Study, claim: Claim, evidence: Sequence[xr.Dataset]) -> Covered:
    """The evidence without the records that the statement does not speak of.

    Only assumptions on records whose constant is fixed leave some out.
    """
    rules = {}
    if claim.assumes is not None:
        free = claim.assumes.free
        rules = {name: rule for name, rule in claim.assumes.record.items() if name not in free}
    kept = []
    compared = 0
    asked = 0
    for ds in evidence:
        records = _records(ds)
        asked += records
        if rules and "time" in ds.dims and "spec" in ds.attrs:
            ds = _restricted(ds, numbers_of(ds, spec_class(study, ds)), rules)
        kept.append(ds)
        compared += _records(ds)
    return Covered(tuple(kept), compared, asked)


def _records(ds: xr.Dataset) -> int:
    """Records of all lanes; a table is one."""
    lanes = int(np.prod(ds["diverged_at"].shape)) if "diverged_at" in ds.coords else 1
    return lanes * ds.sizes.get("time", 1)


def _restricted(ds: xr.Dataset, numbers: Any, rules: dict[str, Any]) -> xr.Dataset:
    mask = xr.DataArray(np.ones(ds.sizes["time"], bool), dims="time")
    for rule in rules.values():
        mask = mask & records_met(rule, numbers, ds["time"]).reset_coords(drop=True)
    if mask.dims == ("time",):
        return _shortened(ds, np.flatnonzero(mask.values))
    inside = {name: ds[name].where(mask) for name in ds.data_vars if "time" in ds[name].dims}
    return ds.assign(inside)


def _shortened(ds: xr.Dataset, kept: np.ndarray) -> xr.Dataset:
    """Some records of a run, which count as all of it if the run itself has all of its own."""
    short = ds.isel(time=kept)
    end = ds.attrs.get("planned_end")
    complete = end is None or float(ds["time"][-1]) >= end * (1 - ROUNDING)
    missing = max(int(ds.attrs.get("records", ds.sizes["time"])) - ds.sizes["time"], 0)
    attrs: dict[str, Any] = {"records": kept.size + missing}
    if complete and end is not None and kept.size:
        attrs["planned_end"] = float(short["time"][-1])
    return short.assign_attrs(attrs)
