r"""Arms of theory.

For $x = w^2$ the flow $\dot w = -w(w^2 - 1)$ gives $\dot x = 2x(1 - x)$, a logistic curve:
$x(t) = 1 / (1 + (1/x_0 - 1) e^{-2t})$.
"""

import jax
import jax.numpy as jnp

import phasescope as ps

from .observables import loss, measure


@ps.arm(reads=("start", "horizon"))
def flow(spec):
    """Gradient flow, by an ODE solver."""
    return _plan(spec, ps.flow(lambda weight: -jax.grad(loss)(weight)))


@ps.arm(reads=("start", "horizon"))
def closed_form(spec):
    """The logistic curve."""
    curve = lambda t: jnp.sqrt(1 / (1 + (1 / spec.start**2 - 1) * jnp.exp(-2 * t)))
    return _plan(spec, ps.formula(curve))


def _plan(spec, dynamics):
    stage = ps.Stage("training", dynamics, ps.linear_times(spec.horizon, 300))
    return ps.Plan(init=lambda key: jnp.asarray(spec.start), stages=(stage,), measure=measure)
