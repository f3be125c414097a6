import jax
import numpy as np
import pytest
from jax import numpy as jnp

from phasescope.studies.co_occurrence import model
from phasescope.studies.co_occurrence.model import descent
from phasescope.studies.co_occurrence.reductions import gram_matrices, weight_recovery

TAUS = [0.5, 5.0, 200.0]


@pytest.fixture
def setting(repeated, begin):
    start, batch = begin(repeated)
    return repeated, start, batch


def test_boosts_carry_the_weights_along_the_flow(setting, scipy_flow, close):
    spec, start, batch = setting
    first = gram_matrices.from_start(start)
    moved = scipy_flow(
        lambda b: weight_recovery.velocity(b, first, batch, spec),
        weight_recovery.start(len(first.G)),
        spec.kappa,
        TAUS,
        1e-12,
        1e-14,
    )
    plain = scipy_flow(
        lambda w: descent.velocity(w, start.a, batch, spec),
        start.weights,
        spec.kappa,
        TAUS,
        1e-12,
        1e-14,
    )
    for found, expected in zip(moved, plain, strict=True):
        close(weight_recovery.weights(found, start), expected, atol=2e-11)


def test_boosts_carry_the_weights_along_descent(setting, close):
    spec, start, batch = setting
    first, words = gram_matrices.from_start(start), spec.dim + spec.length - 1
    step = jax.jit(
        lambda b, s: (weight_recovery.step(b, first, batch, spec), descent.step(s, batch, spec))
    )
    moved, small = weight_recovery.start(words), descent.collapse(start, spec.dim)
    for _ in range(300):
        moved, small = step(moved, small)
    close(weight_recovery.weights(moved, start), descent.expand(small, start), atol=4e-13)
    close(
        weight_recovery.grams(moved, first, spec),
        gram_matrices.from_start(model.Start(weight_recovery.weights(moved, start), start.a)),
        atol=1e-12,
    )


def test_the_boosts_of_the_flow_keep_their_forms(setting, scipy_flow):
    spec, start, batch = setting
    first, words = gram_matrices.from_start(start), spec.dim + spec.length - 1
    moved = scipy_flow(
        lambda b: weight_recovery.velocity(b, first, batch, spec),
        weight_recovery.start(words),
        spec.kappa,
        TAUS,
        1e-12,
        1e-14,
    )
    signs = np.diag([*[1.0] * words, -1.0]), np.diag([*[1.0] * words, *[-1.0] * words])
    for found in moved:
        for matrix, form in zip(found, signs, strict=True):
            np.testing.assert_allclose(matrix @ form @ matrix.T, form, atol=1e-11)


def test_descent_leaves_the_forms(setting):
    spec, start, batch = setting
    first = gram_matrices.from_start(start)
    Phi = weight_recovery.step(
        weight_recovery.start(len(first.G)), first, batch, spec.replace(eta=0.5)
    ).Phi
    form = jnp.diag(jnp.array([*[1.0] * len(first.G), -1.0]))
    assert jnp.abs(Phi @ form @ Phi.T - form).max() > 1e-3
