"""Arms of the reduced theory: `features` (stage 1), `routing` (stage 2 of Algorithm 1, all stages of Algorithm 2)."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import xarray as xr

import phasescope as ps

from .actions import needs_transitive
from .spec import FEATURES, STAGES, Spec, end_of_stage
from .theory_model import feature_model, limits
from .theory_model import features as learning
from .theory_model import routing as steering

FEATURE_STEPS, ROUTING_STEPS = 70_000, 6000


@ps.arm(reads=FEATURES)
def features(spec: Spec) -> ps.Plan:
    """Stage 1 over n_g n_y pairs: gradient descent, then (pace "path") the gradient-flow path in accelerated time."""
    needs_transitive(spec.action)
    steps = FEATURE_STEPS if spec.steps is None else spec.steps
    descend = ps.iterate(lambda x, t, key: learning.descend(x, t, spec))
    stages = [ps.Stage("descent", descend, ps.log_times(steps, 200))]
    if spec.pace == "path":
        walk = ps.iterate(lambda x, t, key: learning.glide(x, spec))
        stages.append(ps.Stage("path", walk, ps.linear_times(spec.distance, 100)))
    return ps.Plan(
        init=lambda key: learning.newborn(feature_model.start(key, spec)),
        stages=tuple(stages),
        measure=lambda x: learning.look(x, spec),
        derive=_never_is_nan,
    )


def _never_is_nan(ds: xr.Dataset) -> xr.Dataset:
    known = {name: ds[name].where(ds[name] >= 0).assign_attrs(ds[name].attrs) for name in ("began", "learned")}
    return ds.assign(known)


class Model(eqx.Module):
    """Both parts in one run; before the attention moves, the features do."""

    learner: learning.Learner
    traveller: steering.Traveller


@ps.arm(reads=(*FEATURES, *STAGES, "features", "start_43", "start_44", "stride", "samples"))
def routing(spec: Spec) -> ps.Plan:
    """Stage 2 in four scalars: Algorithm 1 at length 2, or the stages of Algorithm 2 at lengths 2, 4, ..., 2^K."""
    needs_transitive(spec.action)
    stages = [_stage(spec, k) for k in range(1, 1 + (spec.stages if spec.algorithm == 2 else 1))]
    if spec.features == "trained":
        learn = ps.iterate(lambda x, t, key: _learn(x, t, spec))
        stages.insert(0, ps.Stage("features", learn, ps.log_times(spec.feature_steps, 40)))
    return ps.Plan(
        init=lambda key: _begin(key, spec),
        stages=tuple(stages),
        measure=lambda x: steering.look(x.traveller, spec),
        inspect=lambda x: steering.travel(x.traveller, spec),
        coords={"step": [1, 2], "chain_length": steering.test_lengths(spec)},
    )


def _begin(key: Any, spec: Spec) -> Model:
    if spec.features == "ideal":
        V = limits.ideal_features(spec.action, feature_model.constants(spec).clip)
    else:
        V = feature_model.start(key, spec)
    return Model(learning.newborn(V), steering.start(V, spec))


def _learn(x: Model, t: Any, spec: Spec) -> Model:
    learner = learning.descend(x.learner, t, spec)
    return Model(learner, dataclasses.replace(x.traveller, V=learner.V))


def _stage(spec: Spec, number: int) -> ps.Stage:
    loss, length = steering.stage_loss(spec, number), 2**number
    move = steering.glide if spec.pace == "path" else steering.descend
    step = lambda x, t, key: Model(x.learner, move(x.traveller, spec, loss))

    def enter(key: Any, state: ps.State) -> ps.State:
        x = state.params
        return dataclasses.replace(state, params=Model(x.learner, steering.enter(x.traveller, spec, loss, length)))

    if spec.pace == "path":
        times = ps.linear_times(spec.distance)
    else:
        times = ps.log_times(ROUTING_STEPS if spec.steps is None else spec.steps, 200)
    return ps.Stage(f"length {length}", ps.iterate(step), times, enter, **_ending(spec))


def _ending(spec: Spec) -> dict[str, Any]:
    """Stages of Algorithm 2 end at loss d^-E_1."""
    if spec.algorithm == 1:
        return {}
    return {"until": lambda seen: jnp.log(seen.loss) < -end_of_stage(spec) * jnp.log(spec.vocabulary)}
