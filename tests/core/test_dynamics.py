"""Each kind of motion against numbers from outside: closed forms, finite differences, scipy."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
import toys
from scipy.integrate import solve_ivp

import phasescope as ps
from phasescope.engine.precision import exact_numbers
from phasescope.plan.dynamics import is_finite


@pytest.fixture(autouse=True)
def precision():
    with exact_numbers():
        yield


def key(seed: int = 0):
    return jr.key(seed, impl="threefry2x32")


def advance(dynamics, params, t0, t1, memory=None):
    return onward(dynamics, ps.State(params, memory, dynamics.init(params)), t0, t1)


def onward(dynamics, state, t0, t1):
    return dynamics.advance(state, jnp.asarray(t0), jnp.asarray(t1), key())


def bits(tree):
    return [np.asarray(x).tobytes() for x in jax.tree.leaves(tree)]


# --- descent --------------------------------------------------------------------------------------------------------


def net(w, batch):
    return (
        jnp.sum(jnp.tanh(w["a"] * jnp.array([0.3, -1.2])) ** 2) * jnp.exp(w["b"][0])
        + w["b"][1] ** 3
    )


def test_a_step_of_descent_is_the_gradient_by_finite_differences():
    start = {"a": np.array([0.7, 0.2]), "b": np.array([-0.4, 0.9])}
    end = advance(ps.descent(net, optax.sgd(1.0)), jax.tree.map(jnp.asarray, start), 0, 1).params
    h = 1e-6
    for name in start:
        for i in range(2):
            up, down = (jax.tree.map(np.copy, start) for _ in range(2))
            up[name][i] += h
            down[name][i] -= h
            slope = (net(up, None) - net(down, None)) / (2 * h)
            np.testing.assert_allclose(start[name][i] - end[name][i], slope, rtol=1e-7, atol=1e-9)


def test_descent_on_a_quadratic_shrinks_by_one_minus_eta_a_step():
    end = advance(ps.descent(toys.loss, optax.sgd(0.1)), jnp.array([2.0]), 0, 7).params
    np.testing.assert_allclose(end, 2.0 * 0.9**7, rtol=1e-14)


def test_momentum_is_carried_from_step_to_step():
    end = advance(ps.descent(toys.loss, optax.sgd(0.1, momentum=0.5)), jnp.array(1.0), 0, 2).params
    # v1 = 1, w1 = 0.9; v2 = 0.5 + 0.9 = 1.4, w2 = 0.9 - 0.14
    np.testing.assert_allclose(end, 0.76, rtol=1e-15)


def test_the_first_step_of_adam_has_the_size_of_eta_in_every_coordinate():
    end = advance(
        ps.descent(toys.loss, optax.adam(0.01, eps=0.0)), jnp.array([5.0, -0.2]), 0, 1
    ).params
    np.testing.assert_allclose(end, [4.99, -0.19], rtol=1e-12)


def test_what_where_leaves_out_is_frozen_bit_for_bit():
    start = {"a": jnp.array([0.7, 0.2]), "b": jnp.array([-0.4, 0.9])}
    end = advance(ps.descent(net, optax.adam(0.1), where=lambda w: w["a"]), start, 0, 9).params
    assert bits(end["b"]) == bits(start["b"])


def test_the_optimiser_carries_nothing_for_what_is_frozen():
    start = {"a": jnp.zeros(3), "b": jnp.zeros(5)}
    carry = ps.descent(net, optax.adam(0.1), where=lambda w: w["a"]).init(start)
    assert {x.size for x in jax.tree.leaves(carry)} == {1, 3}


def test_a_batch_is_drawn_from_the_key_of_its_step_and_the_memory():
    draw = lambda key, memory: memory * jr.normal(key)
    end = advance(
        ps.descent(toys.loss, optax.sgd(1.0), sample=draw),
        jnp.array(0.0),
        0,
        3,
        memory=jnp.array(10.0),
    )
    # With eta = 1 the weight becomes the last batch.
    np.testing.assert_allclose(end.params, 10.0 * jr.normal(jr.fold_in(key(), 2)), rtol=1e-14)


# --- iterate and formula --------------------------------------------------------------------------------------------


def test_iterate_hands_over_the_absolute_step():
    end = advance(ps.iterate(lambda w, t, key: w + t), jnp.array(0), 3, 6).params
    assert int(end) == 3 + 4 + 5


def test_iterate_hands_over_the_key_of_the_absolute_step():
    end = advance(ps.iterate(lambda w, t, key: jr.normal(key)), jnp.array(0.0), 3, 6).params
    assert bits(end) == bits(jr.normal(jr.fold_in(key(), 5)))


def test_a_formula_gives_the_parameters_at_the_end_of_the_interval():
    assert float(advance(ps.formula(lambda t: t**2), jnp.array(0.0), 1.0, 3.0).params) == 9.0


@pytest.mark.parametrize("cut", [1, 5, 16])
@pytest.mark.parametrize(
    "dynamics",
    [
        ps.descent(toys.loss, optax.adam(0.1), sample=lambda key, memory: jr.normal(key, (2,))),
        ps.iterate(lambda w, t, key: w + jr.normal(key, (2,)) * jnp.sin(t)),
    ],
    ids=["descent", "iterate"],
)
def test_to_advance_in_two_pieces_is_to_advance_in_one(dynamics, cut):
    start = ps.State(jnp.array([1.0, 2.0]), None, dynamics.init(jnp.array([1.0, 2.0])))
    half = onward(dynamics, start, 0, cut)
    assert bits(onward(dynamics, half, cut, 17)) == bits(onward(dynamics, start, 0, 17))


# --- flow -----------------------------------------------------------------------------------------------------------


def test_a_flow_follows_its_closed_form():
    end = advance(ps.flow(lambda w: -(w**3)), jnp.array(2.0), 0.0, 50.0).params
    np.testing.assert_allclose(end, 2 / np.sqrt(1 + 2 * 4 * 50), rtol=1e-8)


def predator_and_prey(w):
    return {"prey": w["prey"] * (1 - w["predator"]), "predator": w["predator"] * (w["prey"] - 1)}


def test_a_flow_agrees_with_scipy():
    start = {"prey": jnp.array(2.0), "predator": jnp.array(0.5)}
    end = advance(ps.flow(predator_and_prey), start, 0.0, 9.0).params
    field = lambda t, y: [y[0] * (1 - y[1]), y[1] * (y[0] - 1)]
    truth = solve_ivp(field, (0, 9), [2.0, 0.5], rtol=1e-12, atol=1e-14, method="DOP853").y[:, -1]
    np.testing.assert_allclose([end["prey"], end["predator"]], truth, rtol=1e-7)


@pytest.mark.parametrize("kappa", [0.01, 1.0, 100.0])
def test_log_time_and_linear_time_give_the_same_flow(kappa):
    slow = advance(ps.flow(lambda w: -(w**3)), jnp.array(2.0), 3.0, 50.0).params
    fast = advance(ps.flow(lambda w: -(w**3), kappa=kappa), jnp.array(2.0), 3.0, 50.0).params
    np.testing.assert_allclose(fast, slow, rtol=1e-8)


def test_log_time_reaches_times_that_linear_time_cannot():
    late = ps.flow(lambda w: -(w**3), kappa=1.0, atol=1e-20, max_steps=2000)
    end = advance(late, jnp.array(1.0), 0.0, np.exp(40.0)).params
    np.testing.assert_allclose(end, 1 / np.sqrt(1 + 2 * np.exp(40.0)), rtol=1e-6)


def test_a_flow_moves_only_where_it_is_told():
    start = {"a": jnp.array(1.0), "b": jnp.array(3.0)}
    end = advance(
        ps.flow(lambda w: -w["a"] * w["b"], where=lambda w: w["a"]), start, 0.0, 0.5
    ).params
    np.testing.assert_allclose([end["a"], end["b"]], [np.exp(-1.5), 3.0], rtol=1e-9)


def test_a_solve_that_fails_gives_nan():
    end = advance(ps.flow(lambda w: -(w**3), max_steps=2), jnp.array(2.0), 0.0, 50.0).params
    assert np.isnan(end)


def test_a_flow_from_nan_stays_nan_and_returns():
    assert np.isnan(advance(ps.flow(lambda w: -w), jnp.array(np.nan), 0.0, 1.0).params)


# --- a fifth kind, and finiteness -----------------------------------------------------------------------------------


class jumps(ps.Dynamics):
    """A user's own: the weight doubles at every whole time."""

    def advance(self, state, t0, t1, key):
        return dataclasses.replace(state, params=state.params * 2.0 ** (t1 - t0))


def doubling(spec):
    """Written with a dynamics of its own."""
    return toys.plan(spec, jumps(), ps.linear_times(spec.steps, 2))


def test_a_dynamics_of_ones_own_runs_like_the_others():
    ds = ps.run(toys.study, doubling, steps=10, store=False)
    assert ds.weight.sel(coordinate=0).values.tolist() == [1.0, 32.0, 1024.0]


def test_a_dynamics_must_say_how_it_advances():
    with pytest.raises(TypeError, match="abstract"):
        ps.Dynamics()


def test_finite_means_every_number_of_the_tree():
    assert not is_finite({"a": jnp.ones(3), "b": jnp.array([1.0, jnp.inf]), "c": jnp.array(1)})


def test_finite_is_asked_of_each_lane_by_itself():
    tree = {
        "a": jnp.array([[1.0, jnp.nan, 1.0], [1.0, 1.0, 1.0]]),
        "b": jnp.array([1.0, 1.0, -jnp.inf]),
    }
    assert is_finite(tree, lanes=True).tolist() == [True, False, False]


def test_integers_are_always_finite():
    assert bool(is_finite({"count": jnp.array(3)}))


def test_runs_one_by_one_take_their_own_steps_only():
    taken = []

    def halved(x, times):
        def step(i, x):
            jax.debug.callback(lambda: taken.append(1))
            return x / 2

        return jax.lax.fori_loop(0, times, step, x)

    halve = jax.vmap(ps.one_by_one(halved))
    result = halve(jnp.array([8.0, 8.0, 8.0]), jnp.array([1, 3, 0]))
    jax.effects_barrier()
    assert result.tolist() == [4.0, 1.0, 8.0]
    assert len(taken) == 1 + 3


def test_runs_one_by_one_share_what_does_not_differ_and_what_is_no_array():
    def scaled(tree, by, name):
        return by[name] * tree["x"]

    one = ps.one_by_one(scaled)
    all_of_them = jax.vmap(lambda x: one({"x": x}, {"twice": 2.0}, "twice"))
    assert all_of_them(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
