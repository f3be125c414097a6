"""The mean cross-entropy whose gradient is made with it, against plain differentiation."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import phasescope as ps
from phasescope.networks import decoder, filled_types, initial
from phasescope.networks.decoder import Dropping, Shape
from phasescope.networks.read_out import cut, mean_cross_entropy
from phasescope.networks.starts import Draws

TYPES = 5
ROW = TYPES * 8  # bytes of the scores of one place


@pytest.fixture(autouse=True)
def exact():
    with ps.exact_numbers():
        yield


def plain(x, matrix, bias, targets):
    scores = x @ matrix if bias is None else x @ matrix + bias
    chances = jax.nn.log_softmax(scores, axis=-1)
    return -jnp.take_along_axis(chances, targets[:, None], axis=-1).mean()


def numbers(places, biased, seed=0):
    rng = np.random.default_rng(seed)
    x, matrix, bias = rng.normal(size=(places, 3)), rng.normal(size=(3, TYPES)), rng.normal(size=5)
    targets = jnp.asarray(rng.integers(TYPES, size=places))
    return (jnp.asarray(x), jnp.asarray(matrix), jnp.asarray(bias) if biased else None), targets


def of(function, targets, *held):
    return lambda given: function(*given, targets, *held)


def close(found, wanted, tolerance=1e-12):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    ("places", "held"), [(12, 4 * ROW), (12, 5 * ROW), (13, 4 * ROW), (13, 1), (13, None), (1, 1)]
)
def test_loss_and_gradient_are_those_of_plain_differentiation(places, held, biased):
    given, targets = numbers(places, biased)
    wanted = jax.value_and_grad(of(plain, targets))(given)
    close(jax.jit(jax.value_and_grad(of(mean_cross_entropy, targets, held)))(given), wanted)
    close(mean_cross_entropy(*given, targets, held), wanted[0])


def test_the_gradient_is_the_slope_of_the_loss():
    given, targets = numbers(13, True)
    loss = of(mean_cross_entropy, targets, 4 * ROW)
    way, _ = numbers(13, True, seed=1)
    slope = sum(
        jax.tree.leaves(jax.tree.map(lambda a, b: (a * b).sum(), jax.grad(loss)(given), way))
    )
    ends = [loss(jax.tree.map(lambda x, y, s=s: x + s * y, given, way)) for s in (1e-5, -1e-5)]
    np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, slope, rtol=1e-8)


def test_second_derivatives_are_those_of_plain_differentiation():
    given, targets = numbers(7, True)
    wanted = jax.hessian(of(plain, targets))(given)
    close(jax.hessian(of(mean_cross_entropy, targets, 2 * ROW))(given), wanted)


def test_lanes_and_loops_change_nothing():
    """As seeds are trained: lanes of a loop of updates."""
    lanes = [numbers(13, True, seed) for seed in range(3)]
    given, targets = jax.tree.map(lambda *each: jnp.stack(each), *lanes)

    def trained(loss, held=()):
        def update(now, targets):
            slopes = jax.grad(of(loss, targets, *held))(now)
            return jax.tree.map(lambda x, slope: x - 0.5 * slope, now, slopes)

        def run(now, targets):
            return jax.lax.fori_loop(0, 4, lambda _, now: update(now, targets), now)

        return jax.jit(jax.vmap(run))(given, targets)

    close(trained(mean_cross_entropy, (4 * ROW,)), trained(plain))


def test_scores_far_from_zero_do_not_overflow():
    given, targets = numbers(5, True)
    x, matrix, bias = given
    assert bias is not None
    far = (x * 1e3, matrix, bias + 1e4)
    close(
        jax.value_and_grad(of(mean_cross_entropy, targets, 2 * ROW))(far),
        jax.value_and_grad(of(plain, targets))(far),
    )


def test_what_is_trained_in_32_bits_stays_so():
    given, targets = numbers(13, True)
    given = jax.tree.map(lambda x: x.astype(jnp.float32), given)
    loss, slopes = jax.value_and_grad(of(mean_cross_entropy, targets, 4 * ROW))(given)
    assert {x.dtype for x in (loss, *slopes)} == {jnp.dtype("float32")}


def test_all_places_are_in_a_part_and_no_part_is_larger_than_asked_for():
    for places in (1, 7, 12, 97, 6400, 6397):
        for most in (1, 2, 5, 96, 7000):
            parts, rows = cut(places, ROW, most * ROW)
            assert rows <= most
            assert places <= parts * rows < places + parts
    assert cut(6397, ROW, 100 * ROW) == (64, 100)


@pytest.mark.parametrize("tied", [True, False])
def test_the_loss_of_a_decoder_is_the_mean_over_tokens_with_dropout_too(tied):
    shape = Shape(vocabulary=11, context=7, width=6, hidden=10, layers=1, tied=tied)
    draws = Draws(jr.key(0), "gaussian", 0.5, shape.layers, shape.drawn, jnp.float64)
    net = initial(draws, shape, 0.3)
    windows = jnp.asarray(np.random.default_rng(5).integers(11, size=(3, 8)))
    for dropping in (None, Dropping(0.3, jr.key(2))):
        found = jax.value_and_grad(decoder.loss)(net, windows, dropping)
        wanted = jax.value_and_grad(
            lambda net, d=dropping: decoder.token_losses(net, windows, d).mean()
        )
        close(found, wanted(net))


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("lanes", [1, 3])
def test_types_that_fill_up_change_nothing(biased, lanes):
    """On a GPU the scores of a large vocabulary are filled up to whole tiles."""
    many = [numbers(13, biased, seed) for seed in range(lanes)]
    given, targets = jax.tree.map(lambda *each: jnp.stack(each), *many)

    def both(function, *more):
        return jax.jit(jax.vmap(lambda g, t: jax.value_and_grad(of(function, t, *more))(g)))

    wanted = both(plain)(given, targets)
    close(both(filled_types.mean_cross_entropy, True)(given, targets), wanted)
    close(both(filled_types.mean_cross_entropy)(given, targets), wanted)


def test_types_are_filled_up_on_a_gpu_if_they_are_many(monkeypatch):
    filled, as_they_are = jnp.float32(1), jnp.float32(2)
    monkeypatch.setattr(filled_types, "_mean", lambda *given: filled)
    monkeypatch.setattr(filled_types.read_out, "mean_cross_entropy", lambda *given: as_they_are)
    x, targets = jnp.zeros((4, 3), np.float32), jnp.zeros(4, int)

    def asked(types):
        return filled_types.mean_cross_entropy(x, jnp.zeros((3, types), x.dtype), None, targets)

    assert asked(33_278) == as_they_are
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert asked(33_278) == filled
    assert asked(33_280) == as_they_are
    assert asked(65) == as_they_are
    monkeypatch.setattr(filled_types.read_out, "IN_MEMORY", 4 * 33_278 * 4 - 1)
    assert asked(33_278) == as_they_are
