import jax
import numpy as np
import pytest
from jax import numpy as jnp

from phasescope.studies.co_occurrence import model
from phasescope.studies.co_occurrence.model import descent, forces
from phasescope.studies.co_occurrence.reductions import gram_matrices
from phasescope.studies.co_occurrence.spec import Spec, presets


def by_hand(start, tokens):
    """The output of one sample, position by position."""
    (W_Q, W_K, W_V, W), a = jax.tree.map(np.asarray, start)
    total = 0.0
    for query in tokens:
        scores = np.array([W_K[:, key] @ W_Q[:, query] for key in tokens]) / np.sqrt(len(W_Q))
        p = np.exp(scores) / np.exp(scores).sum()
        total += sum(p[h] * (a @ W @ W_V[:, key]) for h, key in enumerate(tokens))
    return total


def test_outputs_are_the_definition(repeated, begin):
    start, batch = begin(repeated)
    expected = [by_hand(start, row) for row in np.asarray(batch.tokens)]
    np.testing.assert_allclose(model.outputs(*start, batch), expected, rtol=1e-12)
    state = gram_matrices.from_start(start)
    np.testing.assert_allclose(
        forces.outputs(state.G, state.S, batch, repeated.width), expected, rtol=1e-12
    )


def test_the_test_setting_repeats_words(repeated, begin):
    tokens = np.asarray(begin(repeated)[1].tokens)
    assert any(len(set(row)) < len(row) for row in tokens.tolist())


def test_forces_are_minus_the_gradients_with_respect_to_values_and_scores(repeated, begin):
    start, batch = begin(repeated)
    state = gram_matrices.from_start(start)

    def loss(G, S):
        F = forces.outputs(G, S, batch, repeated.width)
        return jnp.sum(batch.shares * jnp.logaddexp(0.0, -batch.labels * F))

    c, M = jax.grad(loss, argnums=(0, 1))(state.G, state.S)
    found = forces.forces(state.G, state.S, batch, repeated.width)
    np.testing.assert_allclose(found.c, -c, atol=1e-16)
    np.testing.assert_allclose(found.M, -M, atol=1e-16)


def test_the_flow_of_the_weights_is_minus_the_gradient_of_the_loss(repeated, begin, close):
    start, batch = begin(repeated)
    slope = jax.grad(model.loss)(start.weights, start.a, batch)
    rate = descent.velocity(start.weights, start.a, batch, repeated)
    close(rate, jax.tree.map(jnp.negative, slope), rtol=1e-12, atol=1e-16)


def test_the_gradient_equals_finite_differences(repeated, begin):
    start, batch = begin(repeated)
    rate = descent.velocity(start.weights, start.a, batch, repeated)
    rng, h = np.random.default_rng(0), 1e-5
    loss = jax.jit(lambda w: model.loss(w, start.a, batch))
    for _ in range(5):
        way = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape)), start.weights)
        ahead, behind = (
            jax.tree.map(lambda x, v, s=s: x + s * v, start.weights, way) for s in (h, -h)
        )
        slope = (loss(ahead) - loss(behind)) / (2 * h)
        expected = -sum(jnp.vdot(v, r) for v, r in zip(way, rate, strict=True))
        np.testing.assert_allclose(slope, expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("changes", "sparse"), [({}, False), ({"dim": 30}, True), ({"dim": 30, "length": 3}, True)]
)
def test_descent_with_the_mlp_collapsed_is_descent_on_all_weights(
    changes, sparse, repeated, begin, close
):
    spec = repeated.replace(**changes)
    start, batch = begin(spec)
    slope = jax.jit(jax.grad(model.loss))
    full, small = start.weights, descent.collapse(start, spec.dim)
    step = jax.jit(lambda state: descent.step(state, batch, spec))
    for _ in range(200):
        full = jax.tree.map(lambda x, g: x - spec.eta * g, full, slope(full, start.a, batch))
        small = step(small)
    close(descent.expand(small, start), full, atol=1e-13)
    assert descent.is_sparse(batch, spec.dim) == sparse


def test_freezing_the_attention_stops_keys_and_queries_alone(repeated, begin):
    start, batch = begin(repeated)
    rate = descent.velocity(start.weights, start.a, batch, repeated.replace(attention=0.0))
    free = descent.velocity(start.weights, start.a, batch, repeated)
    assert not rate.W_Q.any()
    assert not rate.W_K.any()
    np.testing.assert_array_equal(rate.W, free.W)
    np.testing.assert_array_equal(rate.W_V, free.W_V)


@pytest.mark.parametrize("init", ["gaussian", "uniform"])
def test_a_random_start_has_the_sizes_asked_for(init, begin):
    spec = Spec(width=300, neurons=200, sigma_0=0.3, sigma_1=0.02, output=0.25, init=init)
    (W_Q, W_K, W_V, W), a = begin(spec)[0]
    for matrix, size in ((W_Q, 0.3), (W_K, 0.3), (W_V, 0.3), (W, 0.02)):
        np.testing.assert_allclose(np.std(matrix), size, rtol=4 / np.sqrt(2 * matrix.size))
        assert abs(np.mean(matrix)) < 4 * size / np.sqrt(matrix.size)
        assert (np.max(np.abs(matrix)) < 3**0.5 * size) == (init == "uniform")
    assert set(np.abs(np.asarray(a)).tolist()) == {0.25}
    assert abs(np.corrcoef(np.asarray(W_Q).ravel(), np.asarray(W_K).ravel())[0, 1]) < 0.03


def test_an_orthogonal_start_has_equal_grams_and_no_overlaps(begin, close):
    spec = presets["tiny"].replace(init="orthogonal", width=60, output=0.3)
    found, expected = gram_matrices.from_start(begin(spec)[0]), gram_matrices.orthogonal_start(spec)
    d = spec.dim
    inside = lambda state: state._replace(
        **{k: getattr(state, k)[:d, :d] for k in "ASQK"}, G=state.G[:d]
    )
    close(inside(found), inside(expected), rtol=1e-15, atol=1e-15)


def test_the_rate_of_the_first_phase_is_that_of_the_variants_of_the_figure():
    """By hand: 128 * 256 |a_j|^2 * (sigma_0^2 + sigma_1^2), with variances 1/192 and 1/384, or 2/64 and 2/128."""
    rates = {name: presets[name].kappa for name in ("figure1", "figure1_literal", "figure1_gain")}
    expected = {"figure1": 1.0, "figure1_literal": 256.0, "figure1_gain": 6.0}
    assert rates == {name: pytest.approx(value, rel=1e-14) for name, value in expected.items()}


def test_the_rate_of_the_first_phase_is_the_width_in_the_scaling_of_the_theory():
    theory = presets["theory"]
    np.testing.assert_allclose(
        theory.kappa, theory.width + theory.zeta**2 * theory.neurons / theory.length
    )
