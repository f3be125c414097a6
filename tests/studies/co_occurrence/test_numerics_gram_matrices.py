import jax
import numpy as np
import pytest
from jax import numpy as jnp
from jax import random as jr

from phasescope.studies.co_occurrence import model
from phasescope.studies.co_occurrence.model import descent
from phasescope.studies.co_occurrence.reductions import gram_matrices, overlap_families
from phasescope.studies.co_occurrence.spec import Spec, presets


def test_grams_move_as_those_of_the_weights_do(repeated, begin, close):
    start, batch = begin(repeated)
    rate = descent.velocity(start.weights, start.a, batch, repeated)
    of_weights = lambda weights: gram_matrices.from_start(model.Start(weights, start.a))
    state, expected = jax.jvp(of_weights, (start.weights,), (rate,))
    close(gram_matrices.velocity(state, batch, repeated), expected, atol=2e-15)


def test_a_step_on_the_grams_is_a_step_on_the_weights(repeated, begin, close):
    start, batch = begin(repeated)
    small, state = descent.collapse(start, repeated.dim), gram_matrices.from_start(start)
    both = jax.jit(
        lambda s, g: (descent.step(s, batch, repeated), gram_matrices.step(g, batch, repeated))
    )
    for _ in range(2000):
        small, state = both(small, state)
    expected = gram_matrices.from_start(model.Start(descent.expand(small, start), start.a))
    close(state, expected, rtol=1e-11, atol=1e-11)


def test_the_size_of_the_output_enters_as_the_norm_of_a(repeated, begin):
    start, batch = begin(repeated)
    rate = gram_matrices.velocity(gram_matrices.from_start(start), batch, repeated)
    np.testing.assert_allclose(start.a @ start.a, repeated.output_norm)
    other = gram_matrices.velocity(
        gram_matrices.from_start(start), batch, repeated.replace(output=1.0, neurons=2)
    ).beta
    np.testing.assert_allclose(rate.beta / other, repeated.output_norm / 2)


def test_flow_conserves_the_casimirs(repeated, begin):
    start, batch = begin(repeated)
    state = gram_matrices.from_start(start)
    rate = gram_matrices.velocity(state, batch, repeated)
    change = jax.jvp(lambda g: gram_matrices.casimirs(g, repeated.output_norm), (state,), (rate,))[
        1
    ]
    size = jnp.sum(jnp.abs(state.A) * jnp.abs(rate.A)) + jnp.sum(
        jnp.abs(state.S) * jnp.abs(rate.S)
    )  # what cancels
    np.testing.assert_allclose(change / size, np.zeros(4), atol=1e-14)


def test_unseen_words_are_moved_but_move_nothing(repeated, begin):
    start, batch = begin(repeated)
    state, d = gram_matrices.from_start(start), repeated.dim
    rate = gram_matrices.velocity(state, batch, repeated)
    assert jnp.abs(rate.G[d:]).min() > 0
    cut = lambda g: gram_matrices.Grams(g.beta, g.G[:d], *(X[:d, :d] for X in g[2:]))
    alone = gram_matrices.velocity(cut(state), batch, repeated)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-15), alone, cut(rate))


@pytest.mark.parametrize(
    ("init", "width", "neurons"),
    [
        ("gaussian", 64, 6),
        ("uniform", 130, 100),
        # Each size and each distribution is above; the other two pairs take 11 s.
        pytest.param("gaussian", 130, 100, marks=pytest.mark.full),
        pytest.param("uniform", 64, 6, marks=pytest.mark.full),
    ],
)
def test_grams_summed_block_by_block_are_those_of_the_weights(init, width, neurons, close):
    spec = presets["tiny"].replace(width=width, neurons=neurons, init=init)
    start = model.start(spec, jr.key(5))
    close(
        gram_matrices.random_start(spec, jr.key(5)),
        gram_matrices.from_start(start),
        rtol=1e-13,
        atol=1e-14,
    )
    state, a = overlap_families.random_start(spec, jr.key(5))
    close((state, a), (overlap_families.from_start(start), start.a), rtol=1e-13, atol=1e-14)


def test_the_six_families_move_as_those_of_the_weights_do(repeated, begin, close):
    start, batch = begin(repeated)
    rate = descent.velocity(start.weights, start.a, batch, repeated)
    of_weights = lambda weights: overlap_families.from_start(model.Start(weights, start.a))
    state, expected = jax.jvp(of_weights, (start.weights,), (rate,))
    close(overlap_families.velocity(state, start.a, batch, repeated), expected, atol=2e-15)


def test_the_six_families_hold_more_numbers_than_the_weights_at_the_size_of_the_figure():
    spec = presets["figure1"]
    d, m, m1 = spec.dim, spec.width, spec.neurons
    assert m1 * d + m1 * (m1 + 1) // 2 + d**2 + 3 * d * (d + 1) // 2 == 59_616
    assert m1 * m + 3 * m * d == 57_344


def test_an_orthogonal_start_of_the_families_has_the_orthogonal_grams(close):
    spec = Spec(samples=6, length=4, dim=20, width=5, neurons=3, output=0.4, init="orthogonal")
    a = 0.4 * jnp.array([1.0, -1.0, 1.0])
    close(
        overlap_families.to_grams(overlap_families.orthogonal_start(spec), a),
        gram_matrices.orthogonal_start(spec),
        rtol=1e-14,
    )
