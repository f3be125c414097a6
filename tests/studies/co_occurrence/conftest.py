from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp

from phasescope.studies.co_occurrence import data, model
from phasescope.studies.co_occurrence.spec import Spec


@pytest.fixture
def repeated():
    """A small setting whose samples share words and repeat them, far from its start's symmetry."""
    return Spec(
        samples=12,
        length=5,
        dim=9,
        width=7,
        neurons=4,
        sigma_0=0.7,
        sigma_1=0.6,
        output=0.8,
        words="shared",
        eta=0.05,
    )


@pytest.fixture
def begin():
    """Weights, and a training set, of a setting."""

    def draw(spec, seed=0):
        of_weights, of_words = jr.split(jr.key(seed))
        batch = data.training_set(spec, of_words)
        return model.start(spec, of_weights), batch._replace(tokens=jnp.asarray(batch.tokens))

    return draw


@pytest.fixture
def scipy_flow():
    """The flow of `velocity` from `state`, in log time, by an integrator that is not ours."""

    def solve(velocity, state, kappa, taus, rtol=1e-11, atol=1e-14):
        flat, unravel = ravel_pytree(state)
        rate = jax.jit(lambda x: ravel_pytree(velocity(unravel(x)))[0])
        field = lambda s, x: np.asarray(rate(x)) * np.exp(s) / kappa
        times = np.log1p(np.asarray(taus))
        found = solve_ivp(
            field,
            (0.0, times[-1]),
            np.asarray(flat),
            method="DOP853",
            t_eval=times,
            rtol=rtol,
            atol=atol,
        )
        assert found.success
        return [unravel(jnp.asarray(x)) for x in found.y.T]

    return solve


@pytest.fixture
def close():
    """Two trees agree entry by entry."""

    def check(found, expected, rtol=0.0, atol=0.0):
        jax.tree.map(partial(np.testing.assert_allclose, rtol=rtol, atol=atol), found, expected)

    return check
