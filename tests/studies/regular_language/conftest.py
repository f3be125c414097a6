from functools import partial

import jax
import pytest
from jax import lax
from jax import numpy as jnp

from phasescope.studies.regular_language import data, model
from phasescope.studies.regular_language.reductions import symmetry


def rate(t, lam, switch):
    """The attention's rate k: 1 up to the switch, 1 / lam after it."""
    return jnp.where(t < switch, 1.0, 1 / lam)


@pytest.fixture
def train():
    """The reduced state after `steps` updates from zero; `switch=0` is plain gradient descent."""

    def run(pivots, steps, *, lam=2.0, eta=0.1, switch=100, alpha=None, lanes=()):
        def update(t, state):
            return symmetry.step(state, pivots, eta, lam, rate(t, lam, switch), alpha=alpha)

        start = symmetry.zeros(len(pivots), lanes)
        return jax.jit(lambda state: lax.fori_loop(0, steps, update, state))(start)

    return run


@pytest.fixture
def train_full():
    """The full parameters after `steps` updates from zero, by automatic differentiation."""

    def run(pivots, steps, *, lam=2.0, eta=0.1, switch=100, alpha=None):
        slope = jax.grad(partial(model.loss, batch=model.exhaustive(pivots, alpha), lam=lam))

        def update(t, params):
            steps = {"u": eta, "W": eta * lam * rate(t, lam, switch)}
            return jax.tree.map(lambda x, size, g: x - size * g, params, steps, slope(params))

        return jax.jit(lambda params: lax.fori_loop(0, steps, update, params))(
            model.zeros(len(pivots))
        )

    return run


@pytest.fixture
def even_pairs():
    return data.even_pairs_pivots(6)


@pytest.fixture
def parity():
    return data.parity_pivots(4)
