"""check_study: the contract of a study, which anyone can run on theirs. One sentence for each promise that is broken."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import re
import string
from collections.abc import Iterator

import numpy as np

from ..claims.claim import Claim
from ..claims.regime import Regime
from ..engine.calls import check_schedule
from ..engine.job import Job, observed
from ..engine.precision import exact_numbers
from ..errors import PhasescopeError
from ..figures.figure import Figure
from ..plan.observables import axes
from ..plan.plan import Arm, DeclaredArm, canonical_spec, fields_read, lane_fields
from ..records.derive import WHY, is_underived
from ..records.names import names_of
from ..spec import Spec
from ..study import Study, specs_of
from ..verbs.context import Context
from ..verbs.evidence import Evidence
from ..verbs.judge import judge_all
from ..verbs.remarks import small_spec, unlisted_arms
from ..verbs.rows import chosen_claims
from ..verbs.run import find_or_run
from ..verbs.validate import check_read
from . import drawings
from .descriptions import Description, disagreements, recorded_descriptions
from .fields import fields_given, fields_read_anywhere, requests
from .fields import fields_read_by as fields_read_by


def check_study(study: Study, *, evidence: bool = True, arms: bool = True) -> None:
    """Raise AssertionError naming all that the study breaks of the contract.

    Arms run at the preset `tiny` if there is one. With `evidence=False` claims and figures are read but not carried
    out. With `arms=False` no arm is run or traced either, which takes a second.
    """
    broken = [*_record(study), *_shared_axes(study)]
    if arms:
        described: dict[str, dict[str, Description]] = {}
        broken += [p for arm in study.arms for p in _arm(study, arm, described)]
        broken += disagreements(described)
        broken += [p for arm in study.arms for p in _declaration(study, arm)]
    broken += [p for claim in study.claims for p in _claim(claim)]
    broken += [p for claim in study.claims if claim.typed for p in _typed(study, claim)]
    broken += [p for figure in study.figures for p in _figure(figure)]
    broken += list(_requests(study))
    if evidence and arms and not broken:
        broken += list(_carried_out(study))
    assert not broken, f"{study.name} breaks the contract of a study:\n  - " + "\n  - ".join(broken)


def _record(study: Study) -> Iterator[str]:
    if not study.name.isidentifier():
        yield f'its name "{study.name}" is not a Python name'
    if not study.arms:
        yield "it has no arm"
    for name in unlisted_arms(study):
        yield f"the arm {name} is not listed in Study(arms=...)"
    ids = {
        "arm": [a.__name__ for a in study.arms],
        "claim": [c.id for c in study.claims],
        "figure": [f.id for f in study.figures],
    }
    for kind, names in ids.items():
        for name in {n for n in names if names.count(n) > 1}:
            yield f'two {kind}s are called "{name}"'
    named = [("the default Spec", spec) for spec in study.defaults]
    named += [(name, spec) for name, preset in study.presets.items() for spec in specs_of(preset)]
    for name, spec in named:
        again = type(spec).from_json(json.loads(json.dumps(spec.to_json())))
        if again.to_json() != spec.to_json():
            yield f"{name} does not survive JSON"


def _arm(study: Study, arm: Arm, described: dict[str, dict[str, Description]]) -> Iterator[str]:
    """The arm runs, alone and in a sweep; what it says of its observables is noted in `described`."""
    spec = small_spec(study, arm)
    name = f"arm {arm.__name__}"
    if not inspect.getdoc(arm):
        yield f"{name} has no docstring: say in one line how the quantities move"
    job = Job(arm, spec)
    try:
        taken = sorted(names_of(job).keys() & {f.name for f in dataclasses.fields(spec)})
        if taken:
            yield f"{name}: {', '.join(taken)} names a field and also an axis or an observable: rename one of the two"
            return
        alone = find_or_run(study, job, Context()).dataset
    except PhasescopeError as error:
        yield f"{name} does not run at the tiny spec: {error}"
        return
    except Exception as error:
        yield f"{name} cannot be run: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return
    described[arm.__name__] = recorded_descriptions(alone)
    swept = {}
    for field in lane_fields(arm, spec):
        value = getattr(spec, field)
        if value is None:
            continue
        with contextlib.suppress(PhasescopeError), exact_numbers():
            check_schedule(job.arm, job.canonical(), {field: (value, _nudged(spec, field))})
            swept[field] = (value, _nudged(spec, field))
    if not swept:
        return
    lanes = dataclasses.replace(job, columns={k: v for k, v in swept.items()})
    block = find_or_run(study, lanes, Context(), width=2).dataset.isel(lane=0)
    if is_underived(block):
        yield f"{name}: its derive fails for a block of lanes: {block.attrs[WHY]}"
        return
    for variable in alone.data_vars:
        if not np.allclose(alone[variable], block[variable], rtol=1e-9, atol=1e-12, equal_nan=True):
            gap = float(abs(alone[variable] - block[variable]).max())
            yield f"{name}: a lane of a sweep differs from the single run in {variable} by {gap:.2g}"


def _declaration(study: Study, arm: Arm) -> Iterator[str]:
    """What an arm declares to read is what it reads, under some preset or choice."""
    if not isinstance(arm, DeclaredArm) or arm.reads is None:
        return
    try:
        declared = set(fields_read(arm, study.default_for(arm)))
        read = fields_read_anywhere(study, arm)
        for spec in study.presets_for(arm).values():
            canonical_spec(arm, spec)
    except PhasescopeError as error:
        yield f"arm {arm.__name__}: {error}"
        return
    except Exception:  # reported with the arm itself
        return
    for name in sorted(read - declared):
        yield f'arm {arm.__name__} reads "{name}" without declaring it: add it to `reads`'
    for name in sorted(declared - read):
        yield f'arm {arm.__name__} declares that it reads "{name}", but under no preset, choice or request does it'


def _requests(study: Study) -> Iterator[str]:
    """Claims and figures give no field that the arm does not read."""
    said = set()
    for request in requests(study):
        try:
            check_read(study, request.arm, fields_given(request))
        except PhasescopeError as error:
            said.add(f"a claim or figure asks in vain: {error}")
    yield from sorted(said)


def _nudged(spec: Spec, field: str) -> float:
    """A nearby value in range."""
    value = getattr(spec, field)
    nearby = (
        (value + 1, value - 1)
        if isinstance(value, int)
        else (value * 1.01, value * 0.99, value + 0.01)
    )
    for candidate in (*nearby, value):
        with contextlib.suppress(PhasescopeError):
            spec.replace(**{field: candidate})
            return candidate
    return value


def _shared_axes(study: Study) -> Iterator[str]:
    known: dict[str, tuple[tuple[str, ...], str]] = {}
    for arm in study.arms:
        with contextlib.suppress(Exception):  # reported with the arm itself
            measured, _ = observed(Job(arm, small_spec(study, arm)))
            for name, dims in axes(measured).items():
                first = known.setdefault(name, (dims, arm.__name__))
                if first[0] != dims:
                    yield f'arms {first[1]} and {arm.__name__} disagree on the axes of "{name}": {first[0]} and {dims}'


def _claim(claim: Claim) -> Iterator[str]:
    if not claim.cites:
        yield f"claim {claim.id} cites nothing"
    if not claim.statement:
        yield f"claim {claim.id} has no docstring, which is its statement"
    parameters = inspect.signature(claim.check).parameters.values()
    named = sum(p.kind != inspect.Parameter.VAR_POSITIONAL for p in parameters)
    any_number = named < len(parameters)  # `*runs`: one or more
    wanted = max(named, 1) if any_number else named
    for regime in claim.regimes:
        given = len(regime.evidence)
        if given < wanted or (given > wanted and not any_number):
            wants = f"{wanted} or more" if any_number else wanted
            yield f"claim {claim.id}, {regime.name}: the check takes {wants} datasets, the evidence gives {given}"


def _typed(study: Study, claim: Claim) -> Iterator[str]:
    """A typed claim has one row for each object and regime, and types no measured number in."""
    try:
        rows = [(row.regime.on, row.regime.name) for row in chosen_claims(study, claim.id)]
    except PhasescopeError as error:
        yield str(error)
        return
    for on, name in {row for row in rows if rows.count(row) > 1}:
        yield f"claim {claim.id} has two rows on {on}, {name}: join their evidence, or make two claims"
    for regime in claim.regimes:
        typed_in = numbers_typed_in(claim, regime)
        if typed_in:
            numbers = ", ".join(typed_in)
            yield f"claim {claim.id}: `because` has the numbers {numbers}: fill them in from the verdict"


NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def numbers_typed_in(claim: Claim, regime: Regime) -> list[str]:
    """Numbers in `because` that are neither filled in nor part of the statement."""
    assert claim.typed is not None
    literal = "".join(text for text, *_ in string.Formatter().parse(regime.because))
    known = " ".join((claim.cites, claim.statement, claim.typed.tex, claim.typed.page))
    allowed = set(NUMBER.findall(known))
    return [number for number in NUMBER.findall(literal) if number not in allowed]


def _figure(figure: Figure) -> Iterator[str]:
    if not figure.caption:
        yield f"figure {figure.id} has no docstring, which is its caption"
    takes = inspect.signature(figure.draw).parameters.values()
    any_number = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in takes)
    if not any_number and len(takes) != len(figure.evidence) + 1:
        yield f"figure {figure.id}: the drawing takes one dataset for each request, then the axes"


def _carried_out(study: Study) -> Iterator[str]:
    evidence = Evidence(study, Context())
    for row in judge_all(chosen_claims(study), evidence):
        if row.error:
            why = row.measured.removeprefix("could not be checked: ")
            yield f"claim {row.claim}, {row.regime} cannot be checked: {why}"
        elif why := row.unfit:
            yield f"claim {row.claim}, {row.regime}: {why}"
        elif row.surprising:
            yield f"claim {row.claim}, {row.regime}: {row.said} where {row.expected} is expected ({row.measured})"
    for figure in study.figures:
        try:
            canvas = figure.render(*(evidence.get(e)[0] for e in figure.evidence))
        except Exception as error:
            yield f"figure {figure.id} cannot be drawn: {type(error).__name__}: {error}"
        else:
            yield from (f"figure {figure.id}: {fault}" for fault in drawings.faults(canvas))
