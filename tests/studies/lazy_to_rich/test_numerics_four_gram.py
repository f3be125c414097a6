"""The 4-gram head: sums, coefficients, losses and the flow, against direct sums, autodiff and sampling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import phasescope as ps
from phasescope.studies.lazy_to_rich.model import definition, four_gram
from phasescope.studies.lazy_to_rich.spec import Spec


@pytest.mark.parametrize("N", [3, 38, 10_000])
@pytest.mark.parametrize("p", [0.0, 1e-6, 1e-3, 0.02, 0.3, 3.0])
def test_the_sums_have_all_their_digits(N, p):
    k = np.arange(N)
    assert four_gram.partition(p, N) == pytest.approx(np.exp(-p * k).sum(), rel=1e-14)
    assert four_gram.moment(p, N) == pytest.approx((k * np.exp(-p * k)).sum(), rel=2e-14)


@pytest.mark.parametrize("p_tilde", [0.0, 0.7, np.inf])
def test_coefficients_are_what_the_model_reads(p_tilde):
    """Head 1 is linear: its response to one token at a time."""
    spec = Spec(length=9, p_tilde=p_tilde)
    weights = definition.Weights(*(jnp.asarray(x) for x in (0.3, 0.6, 0.1, 0.2, 0.5)))
    response = [definition.outputs(weights, jnp.eye(9)[i], spec)[0] for i in range(7)]
    assert 0.6 * four_gram.coefficients(p_tilde, 0.3, 9) == pytest.approx(
        np.array(response), abs=1e-16
    )


def test_the_closed_form_is_the_sum_over_coefficients():
    for p, g in ((0.3, 0.6), (0.01, 0.01), (4.0, 0.5)):
        direct = four_gram.blurred_loss(np.inf, p, g, 0.5, 40)
        assert four_gram.loss(p, g, 0.5, 38) == pytest.approx(float(direct), abs=1e-16)


def test_the_closed_form_agrees_with_sampling():
    x = np.random.default_rng(5).standard_normal((200_000, 39))
    weights = np.exp(-0.3 * np.arange(38)[::-1])
    samples = 0.5 * (0.6 * x[:, :38] @ (weights / weights.sum()) - 0.5 * x[:, 37]) ** 2
    value = float(four_gram.loss(0.3, 0.6, 0.5, 38))
    assert value == pytest.approx(0.07404, abs=5e-6)
    assert abs(samples.mean() - value) < 3.5 * samples.std() / np.sqrt(samples.size)


@pytest.mark.parametrize(("p", "g"), [(0.01, 0.01), (0.5, 0.6), (3.0, 0.52), (0.0, 0.1)])
def test_the_flow_is_downhill(p, g):
    slope = jax.grad(lambda p, g: four_gram.blurred_loss(np.inf, p, g, 0.5, 40), argnums=(0, 1))(
        p, g
    )
    assert np.array(four_gram.velocity(p, g, 0.5, 38)) == pytest.approx(
        -np.array(slope), rel=1e-12, abs=1e-15
    )


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5])
def test_the_sums_and_the_closed_form_can_be_differentiated_anywhere(p):
    """At p = 0 too, where the closed sums are limits."""
    k = np.arange(38)
    assert jax.grad(four_gram.partition)(p, 38) == pytest.approx(
        -(k * np.exp(-p * k)).sum(), rel=1e-13
    )
    assert jax.grad(jax.grad(four_gram.partition))(p, 38) == pytest.approx(
        (k**2 * np.exp(-p * k)).sum(), rel=1e-11
    )
    slope = jax.grad(lambda p: four_gram.loss(p, 0.3, 0.5, 38))(p)
    assert slope == pytest.approx(-float(four_gram.velocity(p, 0.3, 0.5, 38)[0]), rel=1e-12)


@pytest.mark.parametrize("N", [5, 38, 198])
def test_the_spread_falls_from_about_twice_n_to_n(N):
    q = lambda p: four_gram.spread(p, 0.0, N + 2)
    slopes = jax.jit(jax.vmap(jax.grad(q)))(jnp.linspace(0.01, 12.0, 200))
    assert (slopes < 0).all()
    assert q(30.0) == pytest.approx(N, rel=1e-10)


def test_the_floor_behind_a_blurred_first_layer_is_the_least_loss():
    p_tilde, g_star = 0.9404, 0.5
    loss = lambda x: float(four_gram.blurred_loss(p_tilde, np.exp(x[0]), x[1], g_star, 40))
    found = minimize(
        loss, [np.log(8.0), 0.6], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-16}
    )
    assert found.fun == pytest.approx(float(four_gram.floor(p_tilde, g_star)), rel=1e-6)
    assert found.x[1] == pytest.approx(g_star * (1 + np.exp(-p_tilde)), rel=1e-4)


def test_a_gradient_in_the_first_layers_slope():
    loss = lambda p_tilde: four_gram.blurred_loss(p_tilde, 0.2, 0.4, 0.5, 12)
    difference = (loss(0.5 + 1e-5) - loss(0.5 - 1e-5)) / 2e-5
    assert jax.grad(loss)(0.5) == pytest.approx(float(difference), rel=1e-8)


@pytest.mark.parametrize(("length", "too_high"), [(5, 0.0075), (10, 5e-8), (40, 0.0)])
def test_the_floor_is_that_of_long_sequences(length, too_high):
    with ps.exact_numbers():
        beta = np.asarray(four_gram.coefficients(1.2, np.inf, length))
        least = 0.5 * (1 - beta[-1] ** 2 / np.sum(beta**2))  # over g
        found = float(four_gram.floor(1.2, 1.0)) / least - 1
    assert found == pytest.approx(too_high, rel=0.1, abs=1e-12)
