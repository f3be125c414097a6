"""Arms of the theory: `theory_model` in full, and its reductions `features` (stage 1) and `routing` (stage 2)."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array

import phasescope as ps

from .actions import needs_transitive
from .observables import RoutingObserved
from .spec import FEATURES, NEURONS, STAGES, TheorySpec, end_of_stage
from .theory_model import dense, feature_model, full, limits
from .theory_model import features as feature_stage
from .theory_model import routing as routing_stage

FEATURE_STEPS = 70_000  # where the spec leaves them open
ROUTING_STEPS = 6000


@ps.arm(spec=TheorySpec, reads=("group", "variables", *NEURONS, *STAGES, "slot", "eta", "steps"))
def theory_model(spec: TheorySpec) -> ps.Plan:
    """Full W and Q by gradient descent over every chain: stage 1 on W at length 1, then Q at lengths 2, 4, ..., 2^K."""
    singles = full.listed(spec, 1)
    stages = [full.feature_stage(spec, singles)]
    if spec.slot in (0, full.VALUE_SLOT + 1):
        stages += [
            full.attention_stage(spec, full.listed(spec, 2**k)) for k in _attention_stages(spec)
        ]
    return ps.Plan(
        init=lambda key: ps.State(full.initial(key, spec)),
        stages=tuple(stages),
        measure=lambda model: full.measure(model, spec, singles),
        coords={
            "output_slot": np.array(dense.slots(spec)) + 1,
            "step": [1, 2],
            "place": np.arange(1, 6),
            "block": [43, 44],
        },
    )


@ps.arm(spec=TheorySpec, reads=FEATURES)
def features(spec: TheorySpec) -> ps.Plan:
    """Stage 1 over n_g n_y pairs: gradient descent, then (pace "path") the gradient-flow path in accelerated time."""
    needs_transitive(spec.action)
    steps = FEATURE_STEPS if spec.steps is None else spec.steps
    descend = ps.iterate(lambda x, t, key: feature_stage.descend(x, t, spec))
    stages = [ps.Stage("descent", descend, ps.log_times(steps, 200))]
    if spec.pace == "path":
        walk = ps.iterate(lambda x, t, key: feature_stage.flow_step(x, spec))
        stages.append(ps.Stage("path", walk, ps.linear_times(spec.distance, 100)))
    return ps.Plan(
        init=lambda key: feature_stage.initial(feature_model.start(key, spec)),
        stages=tuple(stages),
        measure=lambda x: feature_stage.measure(x, spec),
        derive=_never_is_nan,
    )


def _never_is_nan(ds: xr.Dataset) -> xr.Dataset:
    known = {
        name: ds[name].where(ds[name] >= 0).assign_attrs(ds[name].attrs)
        for name in ("began", "learned")
    }
    return ds.assign(known)


class Model(eqx.Module):
    """Both parts in one run; before the attention moves, the features do."""

    features: feature_stage.FeatureState
    routing: routing_stage.RoutingState


@ps.arm(
    spec=TheorySpec,
    reads=(*FEATURES, *STAGES, "features", "start_43", "start_44", "stride", "samples"),
)
def routing(spec: TheorySpec) -> ps.Plan:
    """Stage 2 in four scalars: Algorithm 1 at length 2, or the stages of Algorithm 2 at lengths 2, 4, ..., 2^K."""
    needs_transitive(spec.action)
    stages = [_routing_stage(spec, k) for k in _attention_stages(spec)]
    if spec.features == "trained":
        learn = ps.iterate(lambda x, t, key: _learn(x, t, spec))
        stages.insert(0, ps.Stage("features", learn, ps.log_times(spec.feature_steps, 40)))
    return ps.Plan(
        init=lambda key: _initial(key, spec),
        stages=tuple(stages),
        measure=lambda x: routing_stage.measure(x.routing, spec),
        inspect=lambda x: routing_stage.inspect(x.routing, spec),
        coords={"step": [1, 2], "chain_length": routing_stage.test_lengths(spec)},
    )


def _attention_stages(spec: TheorySpec) -> range:
    """Numbers k of the stages that train the attention, at lengths 2^k: one of Algorithm 1, K of
    Algorithm 2."""
    last = spec.stages if spec.algorithm == 2 else 1
    return range(1, last + 1)


def _initial(key: Array, spec: TheorySpec) -> Model:
    if spec.features == "ideal":
        V = limits.ideal_features(spec.action, feature_model.constants(spec).clip)
    else:
        V = feature_model.start(key, spec)
    return Model(feature_stage.initial(V), routing_stage.initial(V, spec))


def _learn(x: Model, t: Array, spec: TheorySpec) -> Model:
    """One update of the features, which the attention then sees."""
    learned = feature_stage.descend(x.features, t, spec)
    return Model(learned, dataclasses.replace(x.routing, V=learned.V))


def _routing_stage(spec: TheorySpec, number: int) -> ps.Stage:
    log_loss = routing_stage.stage_log_loss(spec, number)
    length = 2**number

    def step(x: Model, t: Array, key: Array) -> Model:
        if spec.pace == "path":
            return Model(x.features, routing_stage.flow_step(x.routing, spec, log_loss))
        return Model(x.features, routing_stage.descend(x.routing, spec, log_loss))

    def enter(key: Array, state: ps.State) -> ps.State:
        x = state.params
        return dataclasses.replace(
            state, params=Model(x.features, routing_stage.enter(x.routing, spec, log_loss, length))
        )

    if spec.pace == "path":
        times = ps.linear_times(spec.distance)
    else:
        times = ps.log_times(ROUTING_STEPS if spec.steps is None else spec.steps, 200)
    return ps.Stage(f"length {length}", ps.iterate(step), times, enter, **_ending(spec))


def _ending(spec: TheorySpec) -> dict[str, Any]:
    """Stages of Algorithm 2 end at loss d^-E_1."""
    if spec.algorithm == 1:
        return {}

    def is_low_enough(seen: RoutingObserved) -> Array:
        return seen.stage_exponent > end_of_stage(spec)

    return {"until": is_low_enough}
