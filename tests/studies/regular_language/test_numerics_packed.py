"""The packed descent is the dense one."""

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

from phasescope.engine import programs
from phasescope.engine.job import Job
from phasescope.engine.loop import execute
from phasescope.plan.dynamics import State
from phasescope.studies.regular_language import data, training
from phasescope.studies.regular_language.reductions import packed, symmetry
from phasescope.studies.regular_language.spec import Spec

LANES = 5
TASKS = {
    "even pairs 2": data.even_pairs_pivots(2),
    "even pairs 3": data.even_pairs_pivots(3),
    "even pairs 6": data.even_pairs_pivots(6),
    "parity 4": data.parity_pivots(4),
    "parity 5": data.parity_pivots(5),
    "pivots on the last token": np.array([1, 2, 1, 4, 2]),
}
lam, eta = np.linspace(1.5, 18, LANES), np.linspace(0.05, 0.2, LANES)


@pytest.fixture(params=TASKS.values(), ids=TASKS.keys())
def pivots(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["as it is", "in cuts"], autouse=True)
def cuts(request, monkeypatch):
    """A block moves in both ways, whatever this machine would take."""
    monkeypatch.setattr(packed, "cut_for_vectors", lambda dtype: request.param)
    programs.advance_stage_jit._cached.clear_cache()  # type: ignore[attr-defined]


def random_state(pivots, size, seed=0):
    """Any state: zero where there is no score."""
    rng = np.random.default_rng(seed)
    N = len(pivots)
    length, position = packed.entries(pivots)
    start = symmetry.zeros(N, (LANES,))
    return symmetry.State(
        v=jnp.asarray(rng.normal(size=(N, LANES))),
        b=start.b.at[:, 1:].set(size * rng.normal(size=(2, N - 1, LANES))),
        M=start.M.at[length, position].set(size * rng.normal(size=(len(length), LANES))),
    )


def both(start, pivots, steps, eta, lam, k, alpha=None):
    """The state after so many steps, by the packed dynamics and by the dense step."""
    assert len(pivots) <= packed.LONGEST

    def update(t, state):
        return symmetry.step(state, pivots, eta, lam, k, alpha=alpha)

    dense = jax.jit(lambda state: lax.fori_loop(0, steps, update, state))
    return mover(pivots, eta, lam, k, alpha)(start, 0, steps), dense(start)


def mover(*numbers):
    """From a state and two times to the later state."""
    dynamics = packed.descent(*numbers)
    return jax.jit(
        lambda state, t0, t1: dynamics.advance(State(state), t0, t1, jax.random.key(0)).params
    )


def assert_equal(left, right, atol=1e-12):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=0, atol=atol), left, right)


@pytest.mark.parametrize("k", [1.0, 1 / lam], ids=["k = 1", "k = 1 / lam"])
def test_hundreds_of_steps_are_those_of_the_dense_step(pivots, k):
    assert_equal(*both(symmetry.zeros(len(pivots), (LANES,)), pivots, 400, eta, lam, k))


def test_plain_numbers_serve_all_lanes(pivots):
    assert_equal(*both(random_state(pivots, 1.0), pivots, 300, 0.1, 2.0, 0.5))


@pytest.mark.parametrize("each_lane", [False, True])
def test_lengths_may_have_weights(each_lane):
    pivots = data.parity_pivots(4)
    alpha = data.length_weights(len(pivots), first=4)
    if each_lane:
        alpha = alpha[:, None] * np.linspace(0.5, 1.5, LANES)
    assert_equal(*both(random_state(pivots, 0.1), pivots, 300, eta, lam, 1 / lam, alpha))


@pytest.mark.parametrize("size", [30.0, 1e4])
def test_large_scores_are_exact(pivots, size):
    start = random_state(pivots, size * lam)
    found, expected = both(start, pivots, 100, eta, lam, 1.0)
    assert all(np.isfinite(x).all() for x in found)

    def assert_same_change(x, y, x0):
        np.testing.assert_allclose(x - x0, y - x0, rtol=1e-12, atol=1e-14 * size * 18)

    jax.tree.map(assert_same_change, found, expected, start)


def test_packing_moves_numbers_and_changes_none(pivots):
    state = random_state(pivots, 1.0)
    back = packed.unpack(packed.pack(state, pivots), symmetry.zeros(len(pivots), (LANES,)), pivots)
    jax.tree.map(np.testing.assert_array_equal, back, state)
    assert packed.pack(state, pivots).m.shape == (len(pivots) * (len(pivots) - 1) // 2, LANES)


def test_a_path_does_not_depend_on_where_it_is_cut(even_pairs):
    go = mover(even_pairs, eta, lam, 1 / lam)
    start = symmetry.zeros(6, (LANES,))
    jax.tree.map(np.testing.assert_array_equal, go(go(start, 0, 77), 77, 200), go(start, 0, 200))


def test_a_lane_does_not_feel_its_neighbours(even_pairs):
    """Bit for bit, whoever they are."""

    def third(others):
        lanes = [*others[:2], 3, *others[2:]]
        go = mover(even_pairs, eta[lanes], lam[lanes], 1 / lam[lanes])
        return [x[..., 2] for x in go(symmetry.zeros(6, (LANES,)), 0, 200)]

    jax.tree.map(np.testing.assert_array_equal, third([4, 2, 1, 0]), third([0, 0, 3, 4]))


def test_powers_of_two_are_exact_to_the_last_digit():
    y = np.concatenate([np.linspace(-top, top, 40_001) for top in (1e-3, 1.0, 40.0, 1000.0)])
    found = np.asarray(jax.jit(packed.two_to)(y))
    # In the kind of float that numpy has here; where that is no longer than a double, its own rounding is added.
    exact = np.exp2(y.astype(np.longdouble))
    assert np.max(np.abs(found / exact - 1)) < 6e-16
    assert packed.two_to(jnp.zeros(())) == 1
    beyond = packed.two_to(jnp.array([-np.inf, -5000.0, 5000.0, np.inf, np.nan]))
    np.testing.assert_array_equal(beyond, [2.0**-1000] * 2 + [2.0**1000] * 2 + [np.nan])


SPECS = {
    "even pairs 3": Spec(max_length=3, steps=300),
    "even pairs 6": Spec(steps=300),
    "parity 4": Spec(task="parity", steps=300),
    "chain of thought 5": Spec(task="parity", base_length=5, lengths="cot", steps=300),
    "too long to pack": Spec(max_length=packed.LONGEST + 1, steps=150),
}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_a_block_through_the_engine_equals_single_runs(spec):
    block = [
        *execute(Job(training.symmetric, spec, columns={"lam": tuple(lam), "eta": tuple(eta)}))
    ]
    for lane in range(0, LANES, 2):
        alone = [
            *execute(
                Job(training.symmetric, spec.replace(lam=float(lam[lane]), eta=float(eta[lane])))
            )
        ]
        take = lambda x: x[..., lane]  # noqa: B023
        assert_equal(jax.tree.map(take, block[-1].state.params), alone[-1].state.params)
        loss = [np.concatenate([c.records["loss"] for c in chunks]) for chunks in (block, alone)]
        np.testing.assert_allclose(take(loss[0]), loss[1], rtol=1e-12)
