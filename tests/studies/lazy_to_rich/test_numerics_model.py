"""The hand-written gradient of a sampled step, against automatic differentiation of the model by its definition."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from phasescope.studies.lazy_to_rich import data
from phasescope.studies.lazy_to_rich.kernels import quadrature
from phasescope.studies.lazy_to_rich.model import definition, gradient
from phasescope.studies.lazy_to_rich.model.definition import Weights
from phasescope.studies.lazy_to_rich.spec import Spec

SETTINGS = {
    "sharp": Spec(length=9),
    "one more block of slots": Spec(length=14, alpha=3.0, w_star=0.8),
    "blurred": Spec(length=9, p_tilde=0.9404),
    "printed range": Spec(length=9, index_range="L-2"),
    "boolean": Spec(length=7, tokens="boolean"),
}


@pytest.fixture
def weights():
    return Weights(*(jnp.asarray(x) for x in (0.4, 0.3, 0.6, 0.35, 0.45)))


def batch_of(spec, sequences=300):
    return data.draw(jr.key(3), spec.tokens, spec.length, sequences).astype(float)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_gradient_is_that_of_the_definition(name, weights):
    spec = SETTINGS[name]
    batch = batch_of(spec)
    expected = jax.grad(definition.loss)(weights, batch.T, spec)
    found = gradient.gradient(weights, batch, spec)
    np.testing.assert_allclose(found[:5], expected[:5], rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_losses_are_those_of_the_definition(name, weights):
    spec = SETTINGS[name]
    batch = batch_of(spec)
    np.testing.assert_allclose(
        gradient.losses(weights, batch, spec),
        definition.losses(weights, batch.T, spec),
        rtol=1e-12,
        atol=1e-17,
    )


def test_joint_training_differentiates_the_first_layer_too(weights):
    spec, weights = Spec(length=8), weights._replace(p_tilde=jnp.asarray(0.3))
    batch = batch_of(spec)
    loss = lambda p_tilde: definition.loss(weights._replace(p_tilde=p_tilde), batch.T, spec)
    difference = (loss(0.3 + 1e-5) - loss(0.3 - 1e-5)) / 2e-5
    found = jax.grad(lambda w: gradient.losses(w, batch, spec).sum())(weights)
    assert found.p_tilde == pytest.approx(float(difference), rel=1e-8)


def test_the_definition_in_plain_loops(weights):
    """Every sum of the model written out for one sequence, positions counted from 1 as in the paper."""
    L, p_tilde, p, g, w_k, w_q, h = 6, 0.7, 0.4, 0.3, 0.6, 0.35, 0.45
    x = dict(enumerate([0.3, -1.2, 0.8, 0.1, -0.5, 1.4], start=1))
    y = {}
    for s in range(2, L):
        row = {tau: np.exp(-p_tilde * (s - 1 - tau)) for tau in range(1, s)}
        y[s] = sum(row[tau] * x[tau] for tau in row) / sum(row.values())
    pi = {s: np.exp(-p * (L - 1 - s)) for s in range(2, L)}
    a = {s: np.exp(w_q * w_k * x[L] * y[s]) for s in range(2, L)}
    outputs = [
        g * sum(pi[s] * y[s] for s in pi) / sum(pi.values()),
        h * sum(a[s] * x[s] for s in a) / sum(a.values()),
    ]
    b = {s: np.exp(0.49**2 * x[L] * x[s - 1]) for s in range(2, L)}
    target = [0.5 * x[L - 2], 0.5 * sum(b[s] * x[s] for s in b) / sum(b.values())]
    spec, tokens = Spec(length=L, p_tilde=p_tilde), jnp.array(list(x.values()))
    np.testing.assert_allclose(definition.outputs(weights, tokens, spec), outputs, rtol=1e-14)
    np.testing.assert_allclose(definition.target(tokens, spec), target, rtol=1e-14)


def test_sampling_estimates_the_exact_loss(weights):
    spec = Spec()
    S, X, top = (
        quadrature.kernel(c, d, 38) for c, d in ((0.21, 0.21), (0.21, 0.2401), (0.2401, 0.2401))
    )
    exact = 0.5 * 0.25 * top + 0.5 * 0.45**2 * S - 0.45 * 0.5 * X
    estimate = gradient.estimate(weights, jr.key(0), spec)[1]
    assert estimate == pytest.approx(
        exact, rel=0.02
    )  # 65,536 squares of nearly Gaussian errors: 0.55 % a sigma


def test_tokens_have_mean_zero_and_variance_one_and_follow_from_the_key():
    for tokens in ("gaussian", "boolean"):
        x = data.draw(jr.key(1), tokens, 40, 5000)
        assert abs(float(x.mean())) < 3.5 / np.sqrt(x.size)
        assert float(x.var()) == pytest.approx(1.0, abs=0.01)
        np.testing.assert_array_equal(x, data.draw(jr.key(1), tokens, 40, 5000))
    assert set(np.unique(data.draw(jr.key(1), "boolean", 40, 50))) == {-1.0, 1.0}
