import jax
import numpy as np
import pytest
from jax import numpy as jnp

from phasescope.studies.regular_language import data, model
from phasescope.studies.regular_language.reductions import symmetry

TASKS = {
    "even pairs 4": data.even_pairs_pivots(4),
    "even pairs 6": data.even_pairs_pivots(6),
    "even pairs 8": data.even_pairs_pivots(8),
    "parity 4": data.parity_pivots(4),
    "parity 4, one length more": data.parity_pivots(4, 7),
    "parity 5": data.parity_pivots(5),
    "pivots on the last token": np.array([1, 2, 1, 4, 2]),
}


@pytest.fixture(params=TASKS.values(), ids=TASKS.keys())
def pivots(request):
    return request.param


def random_state(pivots, seed=0, lanes=(), size=1.0):
    rng = np.random.default_rng(seed)
    N = len(pivots)
    shape = {"u": (2 * N, *lanes), "W": (2 * N, 2 * N, *lanes)}
    state = symmetry.from_full(
        {name: jnp.asarray(size * rng.normal(size=s)) for name, s in shape.items()}, pivots
    )
    to_itself = (pivots == np.arange(1, N + 1)).reshape(N, *(1,) * len(lanes))
    return state._replace(b=state.b.at[1].set(jnp.where(to_itself, 0.0, state.q)))


def assert_equal(left, right, **tolerance):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, **tolerance), left, right)


@pytest.mark.parametrize("switch", [0, 100], ids=["vanilla", "two phases"])
def test_the_reduced_run_is_the_full_run(pivots, switch, train, train_full):
    reduced, full = train(pivots, 400, switch=switch), train_full(pivots, 400, switch=switch)
    assert_equal(symmetry.to_full(reduced, pivots), full, atol=1e-12)


def test_loss_and_norms_are_those_of_the_full_model(pivots, train):
    state = train(pivots, 300)
    full = symmetry.to_full(state, pivots)
    measured = [symmetry.loss(state, pivots, 2.0), symmetry.u_norm(state), symmetry.W_norm(state)]
    expected = [
        model.loss(full, model.exhaustive(pivots), 2.0),
        jnp.linalg.norm(full["u"]),
        jnp.linalg.norm(full["W"]),
    ]
    np.testing.assert_allclose(measured, expected, rtol=1e-13)


def test_outputs_and_attention_are_those_of_every_string(pivots):
    state = random_state(pivots)
    strings = data.all_strings(len(pivots))
    batch = model.exhaustive(pivots)
    full = symmetry.to_full(state, pivots)
    case = (batch.labels < 0).astype(int)
    T = symmetry.outputs(state, pivots, 1.5)[case, strings.lengths - 1]
    phi = symmetry.attention(state, pivots, 1.5)[case, strings.lengths - 1]
    np.testing.assert_allclose(T, model.outputs(full, batch, 1.5), atol=1e-13)
    np.testing.assert_allclose(phi, model.attention(full, batch, 1.5), atol=1e-14)


def test_accuracy_is_the_share_of_strings_called_right(pivots):
    state = random_state(pivots, seed=3)
    strings = data.all_strings(len(pivots))
    batch = model.exhaustive(pivots)
    called = np.where(model.outputs(symmetry.to_full(state, pivots), batch, 1.5) > 0, 1, -1)
    shares = [
        np.mean((called == batch.labels)[strings.lengths == L]) for L in range(1, len(pivots) + 1)
    ]
    T = symmetry.outputs(state, pivots, 1.5)
    assert symmetry.accuracy_by_length(T, pivots).tolist() == shares


def test_at_zero_every_string_is_called_minus_one(even_pairs):
    T = symmetry.outputs(symmetry.zeros(6), even_pairs, 2.0)
    assert symmetry.accuracy_by_length(T, even_pairs).tolist() == [0, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_the_velocity_is_the_gradient_divided_by_the_multiplicities(pivots):
    state = random_state(pivots, seed=1)
    lam = 1.7
    k = 0.3
    gradient = jax.grad(symmetry.loss)(state, pivots, lam)
    # u counts each v twice, W counts p, q and s twice and m four times; W moves at lam * k times its gradient.
    copies = np.where(np.eye(len(pivots)) > 0, 2, 4)
    expected = symmetry.State(
        -gradient.v / 2, -lam * k * gradient.b / 2, -lam * k * gradient.M / copies
    )
    assert_equal(symmetry.velocity(state, pivots, lam, k), expected, atol=1e-14)


def test_the_velocity_is_the_gradient_of_the_full_model(pivots):
    state = random_state(pivots, seed=2)
    lam = 2.0
    alpha = np.linspace(0.0, 2.0, len(pivots))
    full = symmetry.to_full(state, pivots)
    gradient = jax.grad(model.loss)(full, model.exhaustive(pivots, alpha), lam)
    velocity = symmetry.to_full(symmetry.velocity(state, pivots, lam, 1 / lam, alpha=alpha), pivots)
    assert_equal(velocity, jax.tree.map(jnp.negative, gradient), atol=1e-14)


def test_the_map_to_full_and_back_is_the_identity(pivots):
    state = random_state(pivots, lanes=(3,))
    assert_equal(symmetry.from_full(symmetry.to_full(state, pivots), pivots), state, rtol=1e-15)


def test_training_keeps_the_weighted_sum_of_scores_at_zero(pivots, train):
    np.testing.assert_allclose(symmetry.invariant(train(pivots, 2000)), 0, atol=1e-12)


def test_vanilla_at_lambda_is_phase_one_at_lambda_squared(even_pairs, train):
    vanilla = train(even_pairs, 2000, lam=3.0, switch=0)
    first_phase = train(even_pairs, 2000, lam=9.0, switch=2000)
    np.testing.assert_allclose(vanilla.v, first_phase.v, rtol=1e-12)
    np.testing.assert_allclose(vanilla.M / 3, first_phase.M / 9, atol=1e-13)


def test_a_lane_equals_the_single_run(pivots, train):
    lam, eta = jnp.array([1.0, 2.0, 18.0]), jnp.array([0.1, 0.5, 0.2])
    block = train(pivots, 500, lam=lam, eta=eta, lanes=(3,))
    for lane in range(3):
        single = train(pivots, 500, lam=lam[lane], eta=eta[lane])
        assert_equal(jax.tree.map(lambda x: x[..., lane], block), single, atol=1e-13)  # noqa: B023


def test_measures_of_a_lane_equal_those_of_the_single_run(pivots):
    block = random_state(pivots, lanes=(2, 2))
    lam = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    alpha = jnp.asarray(np.random.default_rng(0).uniform(size=(len(pivots), 2, 2)))

    def measures(state, lam, alpha):
        T = symmetry.outputs(state, pivots, lam)
        return (
            T,
            symmetry.loss(state, pivots, lam, alpha),
            symmetry.loss_floor(T, pivots, alpha),
            symmetry.attention(state, pivots, lam),
            symmetry.accuracy_by_length(T, pivots),
            symmetry.W_norm(state),
            symmetry.u_norm(state),
            symmetry.invariant(state),
        )

    single = measures(jax.tree.map(lambda x: x[..., 1, 0], block), lam[1, 0], alpha[..., 1, 0])
    assert_equal(
        jax.tree.map(lambda x: x[..., 1, 0], measures(block, lam, alpha)), single, atol=1e-13
    )


def test_padding_with_weightless_lengths_changes_nothing(train):
    short, long = data.even_pairs_pivots(4), data.even_pairs_pivots(7)
    padded = train(long, 300, alpha=data.length_weights(7, last=4))
    expected = train(short, 300)
    np.testing.assert_allclose(padded.v[:4], expected.v, atol=1e-14)
    np.testing.assert_allclose(padded.M[:4, :4], expected.M, atol=1e-14)


def test_scores_of_any_size_give_the_limit_of_the_softmax(even_pairs):
    state = random_state(even_pairs, size=1e4)
    phi = np.asarray(symmetry.attention(state, even_pairs, 1.0))
    winners = np.asarray(state.p) > np.max(
        np.where(np.tri(6, 6, 0) > 0, state.M, -np.inf)[:, 1:], axis=1
    )
    assert np.all(np.isfinite(phi))
    assert np.all((phi[0, 1:, 0] > 0.5) == winners[1:])
    assert all(np.all(np.isfinite(x)) for x in symmetry.velocity(state, even_pairs, 1.0, 1.0))


def test_the_pivot_wins_alone_when_its_score_is_beyond_all_exponents(even_pairs):
    state = symmetry.zeros(6)._replace(v=jnp.arange(6.0), b=jnp.full((2, 6), 1e5))
    np.testing.assert_allclose(symmetry.outputs(state, even_pairs, 1.0), 0.0, atol=1e-100)


def test_frozen_attention_does_not_move(parity):
    velocity = symmetry.velocity(random_state(parity), parity, 2.0, 0.0)
    assert np.all(velocity.b == 0)
    assert np.all(velocity.M == 0)
    assert np.any(velocity.v != 0)


def test_no_read_out_beats_the_loss_floor(pivots, train):
    state = train(pivots, 50)
    T = symmetry.outputs(state, pivots, 2.0)
    shifts = np.linspace(
        -3, 3, 61
    )  # a common shift of both outputs is what a read-out could still gain
    best = sum(
        min(float(symmetry.loss_by_length(T + c, pivots)[L]) for c in shifts)
        for L in range(len(pivots))
        if pivots[L] != L + 1
    )
    to_itself = pivots == np.arange(1, len(pivots) + 1)
    fixed = float(jnp.sum(jnp.where(to_itself, symmetry.loss_by_length(T, pivots), 0.0)))
    assert symmetry.loss_floor(T, pivots) <= best + fixed + 1e-12
