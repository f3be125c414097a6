"""Stage 1: the activation, the reduced gradient, conservation, limit features, and the full model behind them."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import phasescope as ps
from phasescope.studies.state_tracking import data
from phasescope.studies.state_tracking.actions import named
from phasescope.studies.state_tracking.spec import TheorySpec
from phasescope.studies.state_tracking.theory_model import (
    dense,
    feature_model,
    features,
    limits,
    paths,
)
from phasescope.studies.state_tracking.theory_model.activation import VARPI, Activation


@pytest.mark.parametrize("kind", ["main", "zero", "app"])
def test_the_slope_is_the_derivative_of_the_activation(kind):
    f = Activation(kind, 4, 0.3, 7.0)
    x = jnp.concatenate(
        [jnp.linspace(-9.0, 2.0, 401) + 1e-4, jnp.linspace(-1.5 * VARPI, VARPI, 20)]
    )
    h = 1e-7
    between = (f(x + h) - f(x - h)) / (2 * h)
    assert np.allclose(between, f.slope(x), atol=2e-7)
    assert np.allclose(jax.jit(jax.vmap(jax.grad(f)))(x), f.slope(x), atol=1e-14)


def test_readings_of_the_activation_by_hand():
    main, zero, app = (Activation(kind, 4, 0.5, 7.0) for kind in ("main", "zero", "app"))
    at = lambda f, x: float(f(jnp.asarray(x)))
    assert at(main, 2.0) == at(zero, 2.0) == at(app, 2.0) == 2.0 - 0.5 * 0.75
    assert at(main, -0.25) == at(main, 0.25) == 0.25**4 / (4 * 0.125)
    assert at(main, -3.0) == 0.5 / 4
    assert at(zero, -3.0) == 0.0
    assert at(app, -9.0) == pytest.approx(7 * VARPI)


def warm(
    group: str, **changes
) -> tuple[TheorySpec, feature_model.Features, feature_model.Constants]:
    """Features of the size that they have in the middle of training."""
    spec = TheorySpec(group=group, power=4, **changes)
    V = feature_model.start(jr.key(3), spec)
    grown = jax.tree.map(lambda v: v * 3 / v.std(), V)
    return spec, grown, feature_model.constants(spec)


@pytest.mark.parametrize("group", ["C3", "C5", "S3", "S4", "D4"])
def test_the_hand_written_direction_is_minus_the_gradient(group):
    spec, V, numbers = warm(group, vocabulary=1e3)
    slope = jax.jit(jax.grad(lambda V: feature_model.loss(V, spec.action, numbers)))(V)
    found = jax.jit(lambda V: feature_model.descent_direction(V, spec.action, numbers))(V)
    for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(found), strict=True):
        assert np.abs(a).max() > 1e-3
        assert np.abs(a + b).max() < 1e-15


def test_the_direction_does_not_vanish_where_probabilities_are_one():
    """1 - p is below the spacing of floats near 1 here; its sum over the other classes is not."""
    spec = TheorySpec(group="C3", vocabulary=1e6, clip=9.0)
    numbers = feature_model.constants(spec)
    V = limits.ideal_features(spec.action, 0.9 * numbers.clip)
    found = feature_model.descent_direction(V, spec.action, numbers)
    B = 0.9 * numbers.clip
    F = B + numbers.bias - numbers.activation.knee * (1 - 1 / spec.power)
    idle = np.exp(float(numbers.rest(3, 3)))
    dead = float(numbers.activation(jnp.asarray(-5.0)))
    miss = idle / np.exp(F + 2 * dead)
    assert float(found.g.max()) == pytest.approx(miss / 18, rel=0.05)
    assert 0 < float(found.g.max()) < 1e-40


@pytest.mark.parametrize("group", ["C3", "S3"])
def test_the_reduced_gradient_is_that_of_the_full_model_over_every_chain(group):
    spec, V, _ = warm(group, variables=4)
    tokens = spec.tokens
    numbers = feature_model.constants(spec, float(tokens.size))
    model = dense.with_features(V, spec)
    chain = data.every_chain(spec.action, 4, 1)
    full_loss = lambda model: dense.answer_loss(model, 0, 4, chain, tokens, numbers, 1)
    loss, slope = jax.jit(jax.value_and_grad(full_loss))(model)
    assert float(loss) == pytest.approx(
        float(feature_model.loss(V, spec.action, numbers)), abs=1e-15
    )
    reduced = feature_model.descent_direction(V, spec.action, numbers)
    full = dense.features_of(slope.W[0], tokens)
    assert np.abs(full.g + reduced.g).max() < 1e-15
    assert np.abs(full.y + reduced.y).max() < 1e-15


def test_features_are_conserved_under_descent_with_the_clip_at_work():
    spec, V, numbers = warm("S3", vocabulary=1e3, clip=1.2)
    raw = numbers.activation(feature_model.preactivations(V, numbers.bias)).sum(axis=1)
    assert 0.1 < float((raw > numbers.clip).mean()) < 0.9
    start = feature_model.conserved(V)
    update = lambda i, V: paths.move(
        V, feature_model.descent_direction(V, spec.action, numbers), 9.0
    )
    V = jax.lax.fori_loop(0, 200, update, V)
    assert np.abs(feature_model.conserved(V) - start).max() < 1e-12


def test_combined_features_average_over_the_fibre():
    spec, V, _ = warm("S3")
    table = spec.action.table
    by_hand = np.zeros((3, 6, 3))
    for j in range(3):
        for y in range(3):
            fibre = [g for g in range(6) if table[g, y] == j]
            by_hand[j, :, y] = np.mean([0.5 * (V.g[j, :, g] + V.y[j, :, y]) for g in fibre], axis=0)
    assert np.allclose(feature_model.combined(V, spec.action), by_hand, atol=1e-15)


@pytest.mark.parametrize(
    ("group", "ratio"), [("C3", 1.0), ("C6", 1.0), ("S3", 1.25), ("S4", 19 / 9), ("S5", 97 / 28)]
)
def test_limit_features_cancel_confounders_reach_the_clip_and_conserve(group, ratio):
    action = named(group)
    assert limits.imbalance(action) == pytest.approx(ratio)
    B = 7.0
    V = limits.ideal_features(action, B)
    both = V.g[..., :, None] + V.y[..., None, :]
    for j in range(action.values):
        for y in range(action.values):
            on = action.table[:, y] == j
            assert np.allclose(both[j, y, on, y], 2 * B)
            assert np.allclose(both[j, y, ~on, y], 0.0)
            others = np.arange(action.values) != y
            assert np.allclose(both[j, y][np.ix_(on, others)], 0.0)
    assert np.allclose(feature_model.conserved(V), 0.0, atol=1e-10)


def test_gradient_descent_and_its_path_agree_where_both_go():
    """After emergence the path of the flow passes through what small steps of descent reach."""
    spec = TheorySpec(group="C3", vocabulary=1e4, power=10, steps=1, eta=0.02)
    V = limits.ideal_features(spec.action, 6.0)
    x = features.initial(
        jax.tree.map(lambda v: v + 0.1 * jnp.sin(jnp.arange(v.size)).reshape(v.shape), V)
    )
    walk = jax.jit(lambda x: features.flow_step(x, spec))
    far = x
    for _ in range(40):
        far = walk(far)
    slow = lambda x: features.descend(x, jnp.zeros(()), spec)
    near = x
    steps = int(np.exp(far.log_time) / 0.02)
    near = jax.lax.fori_loop(0, steps, lambda i, y: slow(y), near)
    moved = np.abs(far.V.g - x.V.g).max()
    assert moved > 0.5
    assert np.abs(near.V.g - far.V.g).max() < 0.01 * moved


def test_emergence_is_timed_to_the_update():
    ds = ps.run(
        "state_tracking",
        "features",
        group="C3",
        vocabulary=1e6,
        power=10,
        steps=12_000,
        store=False,
        at=[0, 10_250, 11_500],
        progress=False,
    )
    spec = TheorySpec(group="C3", vocabulary=1e6, power=10, steps=12_000)
    learned = ds.learned.isel(time=-1)
    first = int(learned.min())
    again = ps.run(
        "state_tracking",
        "features",
        group="C3",
        vocabulary=1e6,
        power=10,
        steps=12_000,
        store=False,
        at=[first - 1, first],
        progress=False,
    )
    where = learned.argmin(...)
    before, after = (float(again.combined.sel(time=t).isel(where)) for t in (first - 1, first))
    assert before <= 0.5 * np.log(spec.vocabulary) < after


def test_the_order_parameter_by_hand():
    """kappa by hand at d = 1e6, q = 10: rho = 1/13.816, b = 1e-3 * 13.816."""
    log_d = np.log(1e6)
    by_hand = ((1 / log_d) / (1e-3 * log_d)) ** 8 * (1 / log_d) / (8 * log_d)
    assert limits.order_parameter(1e6, 10) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(370, rel=0.01)


def test_specs_with_their_own_constants_use_them():
    numbers = feature_model.constants(TheorySpec(bias=0.1, knee=0.3, init_scale=0.02))
    assert (numbers.bias, numbers.activation.knee) == (0.1, 0.3)
    assert dataclasses.asdict(numbers.activation)["power"] == 10
