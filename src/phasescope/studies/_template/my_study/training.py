"""Arms of training."""

import jax.numpy as jnp
import optax

import phasescope as ps

from .observables import loss, measure


@ps.arm(reads=("start", "eta", "steps"))
def descent(spec):
    """Gradient descent; time is eta times the number of updates."""
    gd = ps.descent(lambda weight, batch: loss(weight), optax.sgd(spec.eta))
    stage = ps.Stage("training", gd, ps.log_times(spec.steps, 100), unit=spec.eta)
    return ps.Plan(init=lambda key: jnp.asarray(spec.start), stages=(stage,), measure=measure)
