"""Which fields of its spec an arm reads: found by handing it a spec that notes them.

The arm's plan is built and laid out, its programs are traced without being compiled, and `derive` is called on a few
made-up records. Nothing is trained.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import xarray as xr

from ..claims.requests import Maps, Recorded, Request, Runs, Sized, Sweeps
from ..engine.calls import Call
from ..engine.precision import exact_numbers
from ..engine.programs import Inputs, Program, advance_stage, begin_run, enter_stage, inspect_state
from ..errors import PhasescopeError
from ..identity.provenance import PRNG
from ..plan.flow import flow
from ..plan.observables import Observables, known, to_dataset
from ..plan.plan import Arm, Plan, continuous_fields
from ..records.dataset import labels
from ..spec import Spec, field_types, float_fields
from ..study import Study
from ..verbs.remarks import small_spec

FEW = 8  # values that a bounded integer may have for all of them to be tried


def fields_read_by(arm: Arm, spec: Spec) -> set[str]:
    """The fields that the arm reads at these numbers, whatever it declares.

    Properties and methods of the spec count by the fields that they read. If the numbers are refused, or if `derive`
    cannot work on made-up records, what was read up to there counts.
    """
    seen: set[str] = set()
    with contextlib.suppress(PhasescopeError), exact_numbers():
        plan = arm(recording(spec, seen))
        ends = _ends(plan)
        measured = _trace_programs(arm, spec, plan, seen)
        _call_derive(arm, spec, plan, ends, measured, seen)
    return seen


def fields_read_anywhere(study: Study, arm: Arm) -> set[str]:
    """The fields that the arm reads at any of the numbers that the study offers, see `offered`."""
    visited: list[tuple[dict[str, Any], set[str]]] = []
    for spec in offered(study, arm):
        values = spec.to_json()
        # An arm goes the same way wherever the fields that it read have the same values.
        if not any(all(values[name] == other[name] for name in read) for other, read in visited):
            visited.append((values, fields_read_by(arm, spec)))
    return set().union(*(read for _, read in visited))


def offered(study: Study, arm: Arm) -> list[Spec]:
    """The ways in which an arm may be asked to run, each at small size.

    They are those of the default numbers, of every preset, of what claims and figures ask of the arm, and every value
    of a field of few values.
    """
    small = small_spec(study, arm)
    ways = [small, study.default_for(arm), *study.presets_for(arm).values()]
    asked = [r for r in requests(study) if r.arm == arm]
    ways += [study.specify(r.preset, arm, **fields_given(r)) for r in asked]
    given: dict[str, Any] = {}
    found = [shrunk(spec, small, given) for spec in ways]
    for name, values in _few_values(small).items():
        for value in values:
            with contextlib.suppress(PhasescopeError):
                found.append(small.replace(**{name: value}))
    return list({json.dumps(spec.to_json()): spec for spec in found}.values())


def shrunk(spec: Spec, small: Spec, given: dict[str, Any]) -> Spec:
    """The numbers of `small`, as far as they do not tell an arm which way to go.

    Of `spec` are the words, the fields of few values, and which of the optional fields are given; `given` holds one
    value for each of these and is added to. A preset for a reduction may have sizes at which another arm cannot even
    be planned.
    """
    few = _few_values(spec)
    changes: dict[str, Any] = {}
    for f in dataclasses.fields(spec):
        kinds = field_types(type(spec))[f.name]
        value = getattr(spec, f.name)
        if f.name in few or str in kinds or value is None:
            changes[f.name] = value
        elif getattr(small, f.name) is None:
            least = None if float in kinds else f.metadata.get("at_least")
            changes[f.name] = given.setdefault(f.name, value if least is None else least)
    try:
        return small.replace(**changes)
    except PhasescopeError:
        return spec


def requests(study: Study) -> Iterator[Runs | Sweeps]:
    """All runs and sweeps that claims and figures may ask for, at both sizes, also where evidence is recorded."""
    asked: list[Request | Maps] = [
        r for claim in study.claims for regime in claim.regimes for r in regime.evidence
    ]
    asked += [r for figure in study.figures for r in figure.evidence]
    while asked:
        request = asked.pop()
        if isinstance(request, Sized):
            asked += [request.small, request.full]
        elif isinstance(request, Recorded):
            asked.append(request.request)
        elif isinstance(request, Runs | Sweeps):
            yield request


def fields_given(request: Runs | Sweeps) -> dict[str, Any]:
    """The fields that a request gives, an axis by its first value."""
    axes = request.axes if isinstance(request, Sweeps) else ()
    return dict(request.changes) | {name: values[0] for name, values in axes}


def recording(spec: Spec, seen: set[str], own: frozenset[str] = frozenset()) -> Any:
    """The same spec, which adds to `seen` every field that is read.

    `own` names fields that the arm has set itself, by `replace`: reading them says nothing about what was given.
    """
    base = type(spec)
    noted = {f.name for f in dataclasses.fields(spec)} - own

    def read(self: Any, name: str) -> Any:
        if name in noted:
            seen.add(name)
        return base.__getattribute__(self, name)

    def replace(self: Any, **changes: Any) -> Any:
        return recording(spec_of(self).replace(**changes), seen, own.union(changes))

    def spec_of(self: Any) -> Spec:
        return base(
            **{f.name: base.__getattribute__(self, f.name) for f in dataclasses.fields(base)}
        )

    methods = {"__getattribute__": read, "replace": replace, "__module__": base.__module__}
    noting: Any = types.new_class(
        base.__name__, (base,), exec_body=lambda space: space.update(methods)
    )
    made = object.__new__(noting)
    for f in dataclasses.fields(spec):
        object.__setattr__(made, f.name, getattr(spec, f.name))
    return made


def _few_values(spec: Spec) -> dict[str, tuple[Any, ...]]:
    """The fields that have few values, with all of them: words to choose from, yes or no, an integer in a short range."""
    found: dict[str, tuple[Any, ...]] = {}
    for f in dataclasses.fields(spec):
        low, high = f.metadata.get("at_least"), f.metadata.get("at_most")
        if f.metadata.get("choices"):
            found[f.name] = f.metadata["choices"]
        elif bool in field_types(type(spec))[f.name]:
            found[f.name] = (False, True)
        elif (
            int in field_types(type(spec))[f.name]
            and low is not None
            and high is not None
            and high - low < FEW
        ):
            found[f.name] = tuple(range(int(low), int(high) + 1))
    return found


def _ends(plan: Plan) -> list[float]:
    """The times at which the stages end."""
    last = [
        float(stage.unit) * float(times[-1])
        for stage in plan.stages
        if (times := stage.lay_out()).size
    ]
    return list(np.cumsum(last))


def _trace_programs(arm: Arm, spec: Spec, plan: Plan, seen: set[str]) -> list[Observables]:
    """Trace all that is compiled for a run; returns the shapes of what is measured and inspected."""
    traced = spec.traced(continuous_fields(arm))
    arrays = {
        f.name: x
        for f in dataclasses.fields(spec)
        if isinstance(x := getattr(traced, f.name), jax.Array)
    }

    tables = None if plan.tables is None else plan.tables()

    def programs(arrays: dict[str, Any], key: Any) -> Any:
        inside = recording(traced.replace(**arrays), seen)
        inputs = Inputs(inside, key, tables)
        state, measured, _ = begin_run(Program(arm), inputs)
        inspected = []
        for index, stage in enumerate(plan.stages):
            program = Program(arm, stage=index)
            state = enter_stage(program, inputs, state)
            start = jnp.zeros(1, int if stage.dynamics.divisible else float)
            yes = jnp.ones(1, bool)
            call = Call(starts=start, stops=start + 1, is_record=yes, asks_until=yes)
            state = advance_stage(program, inputs, state, jnp.zeros((), bool), call)[0]
            if plan.inspect:
                inspected.append(inspect_state(program, inputs, state))
        return [measured, *inspected[-1:]]

    with mock.patch.object(flow, "solve", _look_once):
        return eqx.filter_eval_shape(programs, arrays, jr.key(0, impl=PRNG))


def _look_once(
    self: flow, velocity: Any, start: Any, stop: Any, first: Any, moving: Any
) -> tuple[Any, Any]:
    """In place of a solver: the field is asked once, and not in each of a solver's stages and loops."""
    rate = velocity(start, moving, None)
    end = jax.tree.map(lambda x, v: (x + (stop - start) * v).astype(x.dtype), moving, rate)
    return end, jnp.ones((), int)


def _call_derive(
    arm: Arm, spec: Spec, plan: Plan, ends: list[float], measured: list[Observables], seen: set[str]
) -> None:
    """Call `derive` on made-up records of the start and of every stage's end.

    It finds the numbers of its lane as coordinates, too: those without which it breaks are read.
    """
    times = labels(np.array([0.0, *ends]))
    stages = np.array([0, *range(len(ends))])
    draw = np.random.default_rng(0)
    made_up = {
        name: draw.uniform(0.1, 1.0, (len(times), *x.shape))
        for name, x in known(measured[0]).items()
    }
    records = to_dataset(
        type(measured[0]),
        made_up,
        time=times,
        stage=stages,
        stage_names=[stage.name for stage in plan.stages],
        coords=plan.coords,
    )
    numbers = {k: getattr(spec, k) for k in (*float_fields(spec), *continuous_fields(arm))}
    records = records.assign_coords(
        {k: v for k, v in numbers.items() if v is not None} | {"diverged_at": np.nan}
    )
    if not _derives(plan, records):
        return
    for name in numbers:
        if name in records.coords and not _derives(plan, records.drop_vars(name)):
            seen.add(name)


def _derives(plan: Plan, records: xr.Dataset) -> bool:
    try:
        plan.derive(records)
    except Exception:
        return False
    return True
