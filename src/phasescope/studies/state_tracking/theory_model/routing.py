"""Stage 2 in motion: the four scalars under gradient descent or along the flow's path, one stage of training at a time."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from ..observables import RolloutObserved, RoutingObserved
from ..spec import Spec
from . import feature_model, histograms, limits, paths, routing_model
from .feature_model import Features
from .features import LN10
from .routing_model import Routing
from .running_sums import accuracies

TEST_KEY = 20  # the test chains are the same in all runs

Loss = Callable[[Routing, Features], Float[Array, ""]]


class Traveller(eqx.Module):
    """Where the attention is, what pulls it (loss and downhill direction of the stage), and the log of the time."""

    at: Routing
    V: Features
    downhill: Routing
    loss: Float[Array, ""]
    log_time: Float[Array, ""]
    length: Float[Array, ""]


def stage_loss(spec: Spec, stage: int) -> Loss:
    r"""What stage k trains on: both steps of $T^2$ (Algorithm 1), or step 2 of chains of length $2^k$ (Algorithm 2)."""
    action = spec.action
    # The constants are worked out inside: a plan is also built for a whole block of lanes, where floats are columns.
    numbers = lambda: feature_model.constants(spec)
    if stage > 1:
        cases = histograms.population(action, 2**stage)
        return lambda at, V: histograms.loss(at, action, numbers(), cases)
    list_cases = routing_model.orbit_cases if spec.features == "ideal" else routing_model.every_case
    steps = (1, 2) if spec.algorithm == 1 else (2,)
    listed = [(step, list_cases(action, step)) for step in steps]
    return lambda at, V: sum((routing_model.step_loss(at, V, numbers(), s, c) for s, c in listed), jnp.zeros(()))


def enter(x: Traveller, spec: Spec, loss: Loss, length: int) -> Traveller:
    """The same place, felt by the loss of a new stage."""
    value, downhill = _felt(x.at, x.V, spec, loss)
    return Traveller(x.at, x.V, downhill, value, x.log_time, jnp.asarray(float(length)))


def start(V: Features, spec: Spec) -> Traveller:
    """At the beginning, before any loss is felt."""
    at = routing_model.begin(spec.start_43, spec.start_44)
    none = jax.tree.map(jnp.zeros_like, at)
    return Traveller(at, V, none, jnp.zeros(()), jnp.asarray(-700.0), jnp.asarray(2.0))


def _felt(at: Routing, V: Features, spec: Spec, loss: Loss) -> tuple[Float[Array, ""], Routing]:
    value, gradient = jax.value_and_grad(loss)(at, V)
    return value, routing_model.downhill(gradient, spec.vocabulary)


def descend(x: Traveller, spec: Spec, loss: Loss) -> Traveller:
    """One update of gradient descent."""
    eta = spec.attention_eta
    at = paths.move(x.at, x.downhill, eta)
    value, downhill = _felt(at, x.V, spec, loss)
    return Traveller(at, x.V, downhill, value, jnp.logaddexp(x.log_time, jnp.log(eta)), x.length)


def glide(x: Traveller, spec: Spec, loss: Loss) -> Traveller:
    """One stride along the path of the gradient flow."""
    felt = lambda at: _felt(at, x.V, spec, loss)
    at, value, downhill, log_time = paths.heun(x.at, x.downhill, felt, spec.stride, x.log_time)
    return Traveller(at, x.V, downhill, value, log_time, x.length)


def look(x: Traveller, spec: Spec) -> RoutingObserved:
    """All that is recorded."""
    action, numbers, scalars = spec.action, feature_model.constants(spec), x.at.scalars()
    list_cases = routing_model.orbit_cases if spec.features == "ideal" else routing_model.every_case
    losses = [routing_model.step_loss(x.at, x.V, numbers, s, list_cases(action, s)) for s in (1, 2)]
    right = [routing_model.weights(x.at, 1)[0], routing_model.weights(x.at, 2)[1]]
    both = jnp.array([1.0, 2.0])
    return RoutingObserved(
        loss=x.loss, q43=x.at.q43, o43=x.at.o43, q44=x.at.q44, o44=x.at.o44,
        step_loss=jnp.stack(losses),
        epsilon=limits.dilution(*scalars, 2, both),
        gap=limits.gap(*scalars, 2, both),
        attention_right=jnp.stack(right),
        stage_length=x.length,
        stage_epsilon=limits.dilution(*scalars, x.length, 2),
        log_time=x.log_time / LN10,
    )  # fmt: skip


def test_lengths(spec: Spec) -> np.ndarray:
    """2, 4, ..., four times the length of the last stage; powers of two."""
    return 2 ** np.arange(1, spec.stages + 3)


def travel(x: Traveller, spec: Spec) -> RolloutObserved:
    """Accuracies over random chains."""
    numbers, lengths = feature_model.constants(spec), tuple(map(int, test_lengths(spec)))
    found = accuracies(jr.key(TEST_KEY), x.V, x.at, spec.action, numbers, lengths, spec.samples)
    return RolloutObserved(found.rollout, found.forced)
