"""Descent on samples follows the flows; the matrix model's closed form against sampling and autodiff."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import phasescope as ps
from phasescope.studies.lazy_to_rich.model import matrix
from phasescope.studies.lazy_to_rich.spec import Spec

RUN = {"store": False, "progress": False}


def test_descent_follows_the_exact_flow():
    times = [50.0, 100.0, 200.0]
    descent = ps.run("lazy_to_rich", "online_sgd", batch=1000, steps=2000, at=times, **RUN).sel(
        time=times
    )
    flow = ps.run("lazy_to_rich", "exact_flow", horizon=200.0, at=times, **RUN).sel(time=times)
    for name, tolerance in (("p", 4e-3), ("g", 3e-3), ("w_kq", 1e-4), ("h", 1e-3)):
        np.testing.assert_allclose(descent[name], flow[name], atol=tolerance)
    np.testing.assert_array_equal(descent.w_k, descent.w_q)


def test_boolean_descent_follows_the_boolean_flow():
    times = [20.0, 100.0]
    descent = ps.run(
        "lazy_to_rich", "online_sgd", tokens="boolean", batch=250, steps=1000, at=times, **RUN
    )
    flow = ps.run("lazy_to_rich", "exact_flow", tokens="boolean", horizon=100.0, at=times, **RUN)
    for name, tolerance in (("p", 2e-2), ("g", 1e-2), ("w_kq", 2e-4), ("h", 3e-3)):
        np.testing.assert_allclose(
            descent[name].sel(time=times), flow[name].sel(time=times), atol=tolerance
        )


def test_lanes_of_one_seed_share_their_batches_and_equal_single_runs():
    few = {"batch": 32, "steps": 60, "length": 8, "at": [3.0, 6.0]}
    lanes = ps.sweep("lazy_to_rich", "online_sgd", alpha=[1.0, 3.0], **few, **RUN)
    for alpha in (1.0, 3.0):
        one = ps.run("lazy_to_rich", "online_sgd", alpha=alpha, **few, **RUN)
        for name in ("p", "g", "w_k", "h", "loss_ih"):
            np.testing.assert_allclose(lanes[name].sel(alpha=alpha), one[name], rtol=1e-12)


def test_descent_multiplies_the_imbalance_by_one_minus_a_square():
    """w_Q^2 - w_K^2 is multiplied by 1 - (eta dL/dc)^2, and dL/dc is read off the step itself."""
    found = ps.run(
        "lazy_to_rich",
        "online_sgd",
        imbalance=2.0,
        eta=1.0,
        batch=64,
        steps=50,
        at=np.arange(51.0),
        **RUN,
    )
    w_k, w_q, balance = found.w_k.values, found.w_q.values, found.balance.values
    push = (w_k[1:] - w_k[:-1]) / w_q[:-1]
    np.testing.assert_allclose(balance[1:], balance[:-1] * (1 - push**2), rtol=1e-13)


def test_joint_descent_follows_the_joint_flow():
    """From a large start: from a small one the first layer's escape is a matter of noise."""
    times, same = [5.0, 20.0], {"sigma": 0.3, "length": 10}
    descent = ps.run(
        "lazy_to_rich", "online_sgd", joint=True, batch=1000, steps=200, at=times, **same, **RUN
    )
    flow = ps.run("lazy_to_rich", "joint_flow", horizon=20.0, at=times, **same, **RUN)
    for name in ("first_slope", "p", "g"):
        np.testing.assert_allclose(
            descent[name].sel(time=times), flow[name].sel(time=times), atol=0.02
        )


def test_the_printed_range_never_reads_the_token_to_copy():
    found = ps.run(
        "lazy_to_rich",
        "online_sgd",
        index_range="L-2",
        length=12,
        batch=250,
        steps=300,
        at=[30.0],
        **RUN,
    )
    assert float(found.loss_g4.sel(time=30.0)) == pytest.approx(0.125, abs=1e-4)
    assert abs(float(found.g.sel(time=30.0))) < 0.05


@pytest.fixture
def some():
    spec = Spec(dim=4, alpha=2.0)
    keys = jr.split(jr.key(2), 2)
    W_K, W_Q = (0.3 * jr.normal(k, (4, 4)) for k in keys)
    return spec, matrix.MatrixWeights(
        jnp.asarray(0.4), jnp.asarray(0.3), jnp.asarray(0.25), W_K, W_Q
    )


def test_the_closed_form_of_matrices_and_its_gradient(some):
    spec, w = some
    a, star = 0.49 / 4, 1 / 3

    def direct(w):
        A, B, I = w.W_Q.T @ w.W_K, a * jnp.eye(4), jnp.eye(4)
        root = lambda A, B: jnp.exp(-0.5 * jnp.linalg.slogdet(I - A @ B.T - B @ A.T)[1])
        return (star**2 * root(B, B) + w.h**2 * root(A, A) - 2 * w.h * star * root(A, B)) / (2 * 38)

    assert matrix.losses(w, spec)[1] == pytest.approx(float(direct(w)), rel=1e-13)
    found, expected = jax.grad(lambda w: matrix.losses(w, spec)[1])(w), jax.grad(direct)(w)
    np.testing.assert_allclose(found.W_K, expected.W_K, rtol=1e-11, atol=1e-17)
    np.testing.assert_allclose(found.W_Q, expected.W_Q, rtol=1e-11, atol=1e-17)
    assert found.h == pytest.approx(float(expected.h), rel=1e-12)


def test_the_closed_form_of_matrices_is_the_limit_of_many_keys(some):
    spec, w = some
    long = spec.replace(length=402)
    w = w._replace(W_K=0.5 * w.W_K, W_Q=0.5 * w.W_Q)
    draws = [matrix.sampled_losses(w, matrix.draw(jr.key(i), 256, long), long) for i in range(16)]
    mean, error = np.mean(draws, axis=0), np.std(draws, axis=0) / 4
    assert np.abs(mean - matrix.losses(w, long)) == pytest.approx(np.zeros(2), abs=4 * error.max())
    assert mean[1] == pytest.approx(float(matrix.losses(w, long)[1]), rel=0.05)


def test_one_dimension_is_the_scalar_model():
    spec = Spec(dim=1, w_star=0.3)
    w = matrix.MatrixWeights(
        *(jnp.asarray(x) for x in (0.4, 0.3, 0.25)), jnp.array([[0.5]]), jnp.array([[0.6]])
    )
    S, X, top = ((1 - 2 * c * d) ** -0.5 for c, d in ((0.3, 0.3), (0.3, 0.3), (0.3, 0.3)))
    assert matrix.losses(w, spec)[1] == pytest.approx(
        0.5 * (0.25 * top + 0.0625 * S - 0.25 * X) / 38, rel=1e-12
    )


def test_the_sum_over_coordinates_is_the_dimension_times_the_mean(some):
    spec, w = some
    np.testing.assert_allclose(
        matrix.losses(w, spec.replace(reduction="sum")), 4 * matrix.losses(w, spec), rtol=1e-14
    )
    batch = matrix.draw(jr.key(0), 8, spec)
    total, mean = (
        matrix.sampled_losses(w, batch, spec.replace(reduction=r)) for r in ("sum", "mean")
    )
    np.testing.assert_allclose(total, 4 * mean, rtol=1e-14)


def test_matrices_start_with_the_norm_sigma():
    w = matrix.start(jr.key(0), Spec(dim=7))
    assert (jnp.linalg.norm(w.W_K), jnp.linalg.norm(w.W_Q)) == pytest.approx(
        (0.01, 0.01), rel=1e-12
    )


def test_adam_learns_the_induction_head_first():
    times = [0.25, 0.5, 1.0, 1.5]
    few = {"preset": "figure_4_adam", "dim": 20, "sampled": False, "steps": 3000, "at": times}
    found = ps.run("lazy_to_rich", "high_dimensional", **few, **RUN)
    found = found.sel(time=times)
    assert found.loss_g4.values == pytest.approx([8.1e-2, 3.7e-2, 1.7e-2, 9.8e-3], rel=0.05)
    assert found.loss_ih.values == pytest.approx([9.8e-4, 2.0e-4, 1.1e-6, 8e-11], rel=0.1)


def test_gradient_descent_is_stuck():
    few = {"preset": "figure_4_gd", "dim": 20, "sampled": False, "steps": 40_000}
    found = ps.run("lazy_to_rich", "high_dimensional", at=[400.0, 4000.0], **few, **RUN)
    late = found.sel(time=4000.0)
    assert float(late.loss_g4) == pytest.approx(6.3e-5, rel=0.01)
    assert float(late.loss_ih) == pytest.approx(3.98e-5, rel=2e-3)
    assert float(late.loss_ih / found.loss_ih.sel(time=400.0)) == pytest.approx(1.0, abs=2e-3)
    assert float(late.score_error) > 0.99


def test_sampled_adam_follows_the_closed_form():
    few = {"preset": "figure_4_adam", "steps": 150, "at": [0.05, 0.075], "dim": 6}
    sampled = ps.run("lazy_to_rich", "high_dimensional", batch=64, **few, **RUN)
    closed = ps.run("lazy_to_rich", "high_dimensional", sampled=False, **few, **RUN)
    for name in ("p", "g", "h"):
        np.testing.assert_allclose(sampled[name], closed[name], rtol=0.05)
    np.testing.assert_allclose(sampled.loss_ih, closed.loss_ih, rtol=0.05)


def test_the_target_has_two_readings():
    assert matrix.target_score(Spec(dim=20)) == pytest.approx(0.0245)
    assert matrix.target_score(Spec(dim=20, reading="squared")) == pytest.approx(0.0245**2)


@pytest.mark.parametrize("arm", ["online_sgd", "exact_flow", "mean_field_flow", "paper_flow"])
def test_times_asked_for_are_the_same_numbers_in_every_arm(arm):
    asked = [0.1, 0.3, 0.7]
    step = {"eta": 0.1} if arm == "online_sgd" else {}
    found = ps.run(
        "lazy_to_rich", arm, preset="tiny", at=asked, store=False, progress=False, **step
    )
    assert found.time.values.tolist() == asked
    assert found.sel(time=0.3).loss.ndim == 0


def test_a_slope_that_is_given_hides_no_observable():
    tiny = {"preset": "tiny", "at": [1.0], "store": False, "progress": False}
    sharp = ps.run("lazy_to_rich", "mean_field_flow", **tiny)
    given = ps.sweep("lazy_to_rich", "mean_field_flow", p_tilde=[0.5, 0.9404], **tiny)
    assert set(given.data_vars) == set(sharp.data_vars)
    assert given.p_tilde.values.tolist() == [0.5, 0.9404]
    weights = given.prev_token_weight.sel(time=1.0).values
    np.testing.assert_allclose(weights, [1 - np.exp(-0.5), 1 - np.exp(-0.9404)], rtol=1e-12)


def test_a_slope_that_is_trained_is_an_observable():
    found = ps.run("lazy_to_rich", "stage_one", preset="tiny", store=False, progress=False)
    assert "first_slope" in found


def test_diagonal_weights_are_matrices_without_the_rest():
    spec = Spec(dim=5, shape="diagonal")
    w = matrix.start(jr.key(3), spec)
    full = w._replace(W_K=jnp.diag(w.W_K), W_Q=jnp.diag(w.W_Q))
    assert float(jnp.sum(w.W_K**2)) == pytest.approx(spec.sigma**2)
    np.testing.assert_allclose(matrix.losses(w, spec), matrix.losses(full, spec), rtol=1e-14)
    batch = matrix.draw(jr.key(4), 16, spec)
    np.testing.assert_allclose(
        matrix.sampled_losses(w, batch, spec), matrix.sampled_losses(full, batch, spec), rtol=1e-14
    )
