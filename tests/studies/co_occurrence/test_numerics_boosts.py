import jax
import numpy as np
import pytest
from jax import numpy as jnp

from phasescope.studies.co_occurrence import boosts, descent, grams, model

TAUS = [0.5, 5.0, 200.0]


@pytest.fixture
def setting(repeated, begin):
    start, batch = begin(repeated)
    return repeated, start, batch


def test_boosts_carry_the_weights_along_the_flow(setting, scipy_flow, close):
    spec, start, batch = setting
    first = grams.from_start(start)
    moved = scipy_flow(
        lambda b: boosts.velocity(b, first, batch, spec), boosts.start(len(first.G)), spec.kappa, TAUS, 1e-12, 1e-14
    )
    plain = scipy_flow(
        lambda w: descent.velocity(w, start.a, batch, spec), start.weights, spec.kappa, TAUS, 1e-12, 1e-14
    )
    for found, expected in zip(moved, plain, strict=True):
        close(boosts.weights(found, start), expected, atol=2e-11)


def test_boosts_carry_the_weights_along_descent(setting, close):
    spec, start, batch = setting
    first, words = grams.from_start(start), spec.dim + spec.length - 1
    step = jax.jit(lambda b, s: (boosts.step(b, first, batch, spec), descent.step(s, batch, spec)))
    moved, small = boosts.start(words), descent.collapse(start, spec.dim)
    for _ in range(300):
        moved, small = step(moved, small)
    close(boosts.weights(moved, start), descent.expand(small, start), atol=4e-13)
    close(
        boosts.grams(moved, first, spec),
        grams.from_start(model.Start(boosts.weights(moved, start), start.a)),
        atol=1e-12,
    )


def test_the_boosts_of_the_flow_keep_their_forms(setting, scipy_flow):
    spec, start, batch = setting
    first, words = grams.from_start(start), spec.dim + spec.length - 1
    moved = scipy_flow(
        lambda b: boosts.velocity(b, first, batch, spec), boosts.start(words), spec.kappa, TAUS, 1e-12, 1e-14
    )
    signs = np.diag([*[1.0] * words, -1.0]), np.diag([*[1.0] * words, *[-1.0] * words])
    for found in moved:
        for matrix, form in zip(found, signs, strict=True):
            np.testing.assert_allclose(matrix @ form @ matrix.T, form, atol=1e-11)


def test_descent_leaves_the_forms(setting):
    spec, start, batch = setting
    first = grams.from_start(start)
    Phi = boosts.step(boosts.start(len(first.G)), first, batch, spec.replace(eta=0.5)).Phi
    form = jnp.diag(jnp.array([*[1.0] * len(first.G), -1.0]))
    assert jnp.abs(Phi @ form @ Phi.T - form).max() > 1e-3
