"""Stage 1 in motion: features under gradient descent or along the flow's path, with the time at which each emerged."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..observables import FeatureObserved
from ..spec import TheorySpec
from . import feature_model, paths
from .feature_model import Features

NEVER = -1.0
STRIDE = 0.02
LN10 = 2.302585092994046


class FeatureState(eqx.Module):
    """Features in training: the update at which each began and was learned, and the log of the time passed."""

    V: Features
    began: Float[Array, "image neuron value"]
    learned: Float[Array, "image neuron value"]
    log_time: Float[Array, ""]


def initial(V: Features) -> FeatureState:
    """Nothing has emerged and no time has passed."""
    never = jnp.full((*V.g.shape[:2], V.y.shape[-1]), NEVER)
    return FeatureState(V, never, never, jnp.asarray(paths.LOG_OF_NO_TIME))


def step_size(spec: TheorySpec):
    r"""$\eta$: given, or 0.5 n_g n_y, which moves an entry by 0.25 at most."""
    return 0.5 * spec.action.table.size if spec.eta is None else spec.eta


def descend(x: FeatureState, t: Array, spec: TheorySpec) -> FeatureState:
    """One update of gradient descent; t counts those before it."""
    numbers = feature_model.constants(spec)
    eta = step_size(spec)
    V = paths.move(x.V, feature_model.descent_direction(x.V, spec.action, numbers), eta)
    psi = feature_model.combined(V, spec.action)

    def first_above(level, before):
        return jnp.where((before < 0) & (psi > level), t + 1.0, before)

    return FeatureState(
        V=V,
        began=first_above(numbers.activation.knee, x.began),
        learned=first_above(0.5 * jnp.log(spec.vocabulary), x.learned),
        log_time=jnp.log(eta * (t + 1.0)),
    )


def flow_step(x: FeatureState, spec: TheorySpec) -> FeatureState:
    """One stride along the path of the gradient flow."""
    numbers = feature_model.constants(spec)

    def downhill(V):
        return None, feature_model.descent_direction(V, spec.action, numbers)

    _, here = downhill(x.V)
    V, _, _, log_time = paths.heun(x.V, here, downhill, STRIDE, x.log_time)
    return FeatureState(V, x.began, x.learned, log_time)


def measure(x: FeatureState, spec: TheorySpec) -> FeatureObserved:
    """All that is recorded."""
    action = spec.action
    numbers = feature_model.constants(spec)
    right = feature_model.targets(action)
    raw = numbers.activation(feature_model.preactivations(x.V, numbers.bias)).sum(axis=1)
    return FeatureObserved(
        value_loss=feature_model.loss(x.V, action, numbers),
        accuracy_forced=feature_model.accuracy(x.V, action, numbers),
        V_g=x.V.g,
        V_y=x.V.y,
        combined=feature_model.combined(x.V, action),
        began=x.began,
        learned=x.learned,
        conserved=feature_model.conserved(x.V),
        clipped=((raw >= numbers.clip) * right).sum() / right.sum(),
        log_time=x.log_time / LN10,
    )
