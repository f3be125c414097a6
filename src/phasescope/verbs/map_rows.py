"""Which row of a claim a map is made of, and which numbers it may vary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from ..claims.claim import Claim
from ..claims.regime import Regime, RegimeName
from ..claims.requests import Recorded, Request, Runs, Sized, Sweeps, Tables
from ..errors import PlanError, SpecError, nearest
from ..plan.given import GivenArm
from ..plan.plan import fields_read
from ..spec import field_types
from ..study import Study
from .regimes import standing
from .validate import check_read


@dataclasses.dataclass(frozen=True)
class MapRow:
    """A row, and the runs that its check takes."""

    regime: Regime
    requests: tuple[Runs | Sweeps, ...]


def map_row(study: Study, claim: Claim, regime: str | None = None, full: bool = False) -> MapRow:
    """The first row (of this regime, if given) whose evidence can be asked for at other numbers.

    Raises `SpecError` for an unknown regime, `PlanError` if there is no such row.
    """
    known = [name.value for name in RegimeName]
    if regime is not None and regime not in known:
        raise SpecError(f'there is no regime "{regime}". {nearest(regime, known)}')
    whys = []
    for row in claim.regimes:
        name = standing(study, claim, row).regime
        if regime not in (None, name.value):
            continue
        why = _unasked(row.evidence)
        if not why:
            requests = tuple(_at_size(request, full) for request in row.evidence)
            return MapRow(dataclasses.replace(row, name=name), requests)
        whys.append(f"{name.value}: {why}")
    reason = "; ".join(whys) or f"it has no row in the regime {regime}"
    raise PlanError(
        f'claim "{claim.id}" has no map, since its evidence cannot be run at other numbers ({reason}). '
        f"Claims of {study.name} that have one: `phasescope list {study.name} --claims`."
    )


def map_fields(study: Study, claim: Claim, row: MapRow) -> list[str]:
    """The numbers that a map of this row may vary.

    They are those that the claim names (`varies`), else all that the arms read; not the ones by which the runs of the
    row differ from each other, nor the one that goes to a limit, since the statement is about them.
    """
    arms = [request.arm for request in row.requests]
    read = [fields_read(arm, study.default_for(arm)) for arm in arms]
    common = [name for name in read[0] if all(name in names for names in read)]
    kinds = field_types(type(study.default_for(arms[0])))
    numbers = [name for name in common if not {str, bool} & set(kinds[name])]
    goes_far = claim.typed.as_[0] if claim.typed and claim.typed.as_ else ""
    allowed = claim.varies or [n for n in _shared(numbers, row.requests) if n != goes_far]
    return [name for name in numbers if name in allowed]


def check_fields(study: Study, claim: Claim, row: MapRow, varied: Iterable[str]) -> None:
    """An axis that the map cannot have is an error that says which ones it can have."""
    allowed = map_fields(study, claim, row)
    for name in varied:
        for request in row.requests:
            check_read(study, request.arm, [name])
        if name not in allowed:
            others = ", ".join(allowed) or "none"
            raise SpecError(
                f'a map of claim "{claim.id}" cannot vary {name}: its evidence does, or its check is not about '
                f"one value of it. It can vary: {others}."
            )


def mappable(study: Study, claim: Claim) -> list[str]:
    """The numbers that a map of this claim may vary; none if it has no map."""
    try:
        return map_fields(study, claim, map_row(study, claim))
    except PlanError:
        return []


def _unasked(evidence: Sequence[Request]) -> str:
    """Why some evidence cannot be asked for at other numbers; empty if it can."""
    if not evidence:
        return "it has none"
    for request in evidence:
        if isinstance(request, Tables) or (
            isinstance(request, Sized) and isinstance(request.small, Tables)
        ):
            return "it is a table of theory, not a run"
        if isinstance(request, Recorded):
            return "it is recorded"
        if isinstance(_at_size(request, False).arm, GivenArm):
            return "it begins from arrays that are given"
    return ""


def _at_size(request: Request, full: bool) -> Runs | Sweeps:
    if isinstance(request, Sized):
        request = request.full if full else request.small
    assert isinstance(request, Runs | Sweeps)
    return request


def _shared(names: Sequence[str], requests: Sequence[Runs | Sweeps]) -> list[str]:
    """The fields in which the requests do not differ from each other, and that are not tied to others."""
    presets = {request.preset for request in requests}
    tied = {
        name
        for request in requests
        if isinstance(request, Sweeps)
        for tie in request.ties
        for name in tie
    }
    values = [dict(request.changes) for request in requests]
    missing = object()
    alike = [name for name in names if len({given.get(name, missing) for given in values}) == 1]
    return [name for name in alike if name not in tied] if len(presets) == 1 else []
