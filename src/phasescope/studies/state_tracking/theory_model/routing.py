"""Stage 2 in motion: the four scalars under gradient descent or along the flow's path, one stage of training at a time."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from ..observables import RolloutObserved, RoutingObserved
from ..spec import TheorySpec
from . import feature_model, histograms, limits, paths, routing_model
from .feature_model import Features
from .features import LN10
from .routing_model import Routing
from .running_sums import accuracies

TEST_KEY = 20  # the test chains are the same in all runs

LogLoss = Callable[[Routing, Features], Float[Array, ""]]
NO_LOSS = -1e30  # the logarithm of 0, as a number


class RoutingState(eqx.Module):
    """The attention in training: its scalars `at`, the log of the loss of the stage and its descent
    direction there, and the log of the time passed."""

    at: Routing
    V: Features
    downhill: Routing
    log_loss: Float[Array, ""]
    log_time: Float[Array, ""]
    length: Float[Array, ""]


def initial(V: Features, spec: TheorySpec) -> RoutingState:
    """At the beginning, before any stage has a loss."""
    at = routing_model.begin(spec.start_43, spec.start_44)
    return RoutingState(
        at=at,
        V=V,
        downhill=jax.tree.map(jnp.zeros_like, at),
        log_loss=jnp.asarray(NO_LOSS),
        log_time=jnp.asarray(paths.LOG_OF_NO_TIME),
        length=jnp.asarray(2.0),
    )


def enter(x: RoutingState, spec: TheorySpec, log_loss: LogLoss, length: int) -> RoutingState:
    """The same scalars, with the loss and the descent direction of a new stage."""
    value, downhill = log_loss_and_descent_direction(x.at, x.V, spec, log_loss)
    return RoutingState(
        at=x.at,
        V=x.V,
        downhill=downhill,
        log_loss=value,
        log_time=x.log_time,
        length=jnp.asarray(float(length)),
    )


def stage_log_loss(spec: TheorySpec, stage: int) -> LogLoss:
    r"""The log of what stage k trains on: both steps of $T^2$ (Algorithm 1), or step 2 of chains of length $2^k$ (Algorithm 2).

    The constants are worked out inside: a plan is also built for a whole block of lanes, where
    floats are columns.
    """
    action = spec.action
    if stage > 1:
        cases = histograms.population(action, 2**stage)
        return lambda at, V: histograms.log_loss(at, action, feature_model.constants(spec), cases)
    steps = (1, 2) if spec.algorithm == 1 else (2,)
    listed = [(step, _cases(spec, step)) for step in steps]

    def log_loss(at: Routing, V: Features) -> Float[Array, ""]:
        numbers = feature_model.constants(spec)
        found = [routing_model.log_step_loss(at, V, numbers, step, cases) for step, cases in listed]
        return logsumexp(jnp.stack(found))

    return log_loss


def _cases(spec: TheorySpec, step: int) -> routing_model.Cases:
    """Chains of length 2: one of each orbit where the features have the symmetry, else all."""
    if spec.features == "ideal":
        return routing_model.orbit_cases(spec.action, step)
    return routing_model.every_case(spec.action, step)


def log_loss_and_descent_direction(
    at: Routing, V: Features, spec: TheorySpec, log_loss: LogLoss
) -> tuple[Float[Array, ""], Routing]:
    """Of a stage, at given scalars; the direction is that of the logarithm, in units of eta / N."""
    value, gradient = jax.value_and_grad(log_loss)(at, V)
    return value, routing_model.downhill(gradient, spec.vocabulary)


def descend(x: RoutingState, spec: TheorySpec, log_loss: LogLoss) -> RoutingState:
    """One update of gradient descent."""
    eta = spec.attention_eta
    at = paths.move(x.at, x.downhill, eta * jnp.exp(x.log_loss))
    value, downhill = log_loss_and_descent_direction(at, x.V, spec, log_loss)
    log_time = jnp.logaddexp(x.log_time, jnp.log(eta))
    return RoutingState(
        at=at, V=x.V, downhill=downhill, log_loss=value, log_time=log_time, length=x.length
    )


def flow_step(x: RoutingState, spec: TheorySpec, log_loss: LogLoss) -> RoutingState:
    """One stride along the path of the gradient flow."""

    def downhill_at(at: Routing) -> tuple[Float[Array, ""], Routing]:
        return log_loss_and_descent_direction(at, x.V, spec, log_loss)

    at, value, downhill, log_time = paths.heun(
        point=x.at,
        direction=x.downhill,
        downhill=downhill_at,
        stride=spec.stride,
        log_time=x.log_time,
        log_scale=x.log_loss,
    )
    return RoutingState(
        at=at, V=x.V, downhill=downhill, log_loss=value, log_time=log_time, length=x.length
    )


def measure(x: RoutingState, spec: TheorySpec) -> RoutingObserved:
    """All that is recorded."""
    numbers = feature_model.constants(spec)
    scalars = x.at.scalars()
    losses = [
        routing_model.step_loss(x.at, x.V, numbers, step, _cases(spec, step)) for step in (1, 2)
    ]
    right = [routing_model.weights(x.at, 1)[0], routing_model.weights(x.at, 2)[1]]
    both_steps = jnp.array([1.0, 2.0])
    return RoutingObserved(
        stage_loss=jnp.exp(x.log_loss),
        stage_exponent=jnp.where(
            x.log_loss > NO_LOSS / 2, -x.log_loss / jnp.log(spec.vocabulary), 0.0
        ),
        q43=x.at.q43,
        o43=x.at.o43,
        q44=x.at.q44,
        o44=x.at.o44,
        step_loss=jnp.stack(losses),
        epsilon=limits.dilution(*scalars, 2, both_steps),
        gap=limits.gap(*scalars, 2, both_steps),
        attention_right=jnp.stack(right),
        stage_length=x.length,
        stage_epsilon=limits.dilution(*scalars, x.length, 2),
        log_time=x.log_time / LN10,
    )


def test_lengths(spec: TheorySpec) -> np.ndarray:
    """2, 4, ..., four times the length of the last stage; powers of two."""
    return 2 ** np.arange(1, spec.stages + 3)


def inspect(x: RoutingState, spec: TheorySpec) -> RolloutObserved:
    """Accuracies over random chains."""
    found = accuracies(
        key=jr.key(TEST_KEY),
        V=x.V,
        routing=x.at,
        action=spec.action,
        numbers=feature_model.constants(spec),
        lengths=tuple(map(int, test_lengths(spec))),
        count=spec.samples,
    )
    return RolloutObserved(found.rollout, found.forced)
