"""Arms of training."""

import jax
import jax.numpy as jnp
import optax

import phasescope as ps

from .observables import loss, measure


@ps.arm(reads=("start", "eta", "steps"))
def descent(spec):
    """Gradient descent; time is eta times the number of updates."""
    return _plan(spec, ps.descent(lambda weight, batch: loss(weight), optax.sgd(spec.eta)))


@ps.arm(reads=("start", "eta", "steps", "noise"))
def sgd(spec):
    """Descent on a new sample every step: each seed draws its own noise in the gradient."""
    draw = lambda key, memory: spec.noise * jax.random.normal(key)
    sampled_loss = lambda weight, batch: loss(weight) + batch * weight
    return _plan(spec, ps.descent(sampled_loss, optax.sgd(spec.eta), sample=draw))


def _plan(spec, dynamics):
    stage = ps.Stage("training", dynamics, ps.log_times(spec.steps, 100), unit=spec.eta)
    return ps.Plan(init=lambda key: jnp.asarray(spec.start), stages=(stage,), measure=measure)
