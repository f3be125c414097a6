from itertools import product

import jax
import numpy as np
import pytest

from phasescope.studies.regular_language import chain_of_thought, data
from phasescope.studies.regular_language.reductions import symmetry

TASKS = {
    "even pairs": data.even_pairs_pivots(6),
    "parity 4": data.parity_pivots(4),
    "parity 5": data.parity_pivots(5),
}
TIMES = [0, 1, 50, 150, 200, 240, 300, 400, 700, 2000]


def by_reduction(state, pivots, lam, lengths, truncated):
    T = np.asarray(symmetry.outputs(state, pivots, lam))
    beyond = np.asarray(np.sum(state.v, axis=0) > 0)
    T = np.moveaxis(T, 1, -1)  # lengths last, lanes first
    return chain_of_thought.cot_accuracy(T[0], T[1], beyond, pivots, lengths, truncated=truncated)


@pytest.mark.parametrize("truncated", [True, False], ids=["truncated", "full"])
@pytest.mark.parametrize("pivots", TASKS.values(), ids=TASKS.keys())
def test_linear_algebra_equals_enumeration_along_a_run(pivots, truncated, train):
    lengths = range(1, 9)
    for time in TIMES:
        state = train(pivots, time)
        full = jax.tree.map(np.asarray, symmetry.to_full(state, pivots))
        expected = [
            chain_of_thought.cot_accuracy_by_enumeration(full, 2.0, L, truncated=truncated)
            for L in lengths
        ]
        assert by_reduction(state, pivots, 2.0, lengths, truncated).tolist() == expected, time


@pytest.mark.parametrize("truncated", [True, False], ids=["truncated", "full"])
def test_linear_algebra_equals_enumeration_for_random_models_and_pivots(truncated):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        pivots = np.array([rng.integers(1, L + 1) for L in range(1, 7)])
        W = 3 * rng.normal(size=(2, 6)), 3 * np.tril(rng.normal(size=(6, 6)))
        state = symmetry.State(rng.normal(size=6), *W)
        state = symmetry.from_full(
            symmetry.to_full(jax.tree.map(jax.numpy.asarray, state), pivots), pivots
        )
        full = jax.tree.map(np.asarray, symmetry.to_full(state, pivots))
        expected = [
            chain_of_thought.cot_accuracy_by_enumeration(full, 1.0, L, truncated=truncated)
            for L in range(1, 8)
        ]
        assert by_reduction(state, pivots, 1.0, range(1, 8), truncated).tolist() == expected
        seen |= set(expected)
    assert seen == {0.0, 0.5, 1.0}


def test_leading_axes_are_independent():
    rng = np.random.default_rng(1)
    pivots = data.parity_pivots(4)
    match = rng.normal(size=(3, 4, 6))
    differ = rng.normal(size=(3, 4, 6))
    beyond = rng.normal(size=(3, 4)) > 0
    together = chain_of_thought.cot_accuracy(
        match, differ, beyond, pivots, range(1, 7), truncated=False
    )
    assert together.shape == (3, 4, 6)
    for i, j in product(range(3), range(4)):
        alone = chain_of_thought.cot_accuracy(
            match[i, j], differ[i, j], np.array(beyond[i, j]), pivots, range(1, 7), truncated=False
        )
        assert together[i, j].tolist() == alone.tolist()


def test_one_token_is_its_own_parity():
    for truncated in (True, False):
        assert chain_of_thought.cot_accuracy(
            -np.ones(3),
            np.ones(3),
            np.array(False),
            data.even_pairs_pivots(3),
            [1],
            truncated=truncated,
        ).tolist() == [1.0]


def test_a_perfect_even_pairs_model_computes_parity_up_to_its_length_and_not_beyond():
    accuracy = chain_of_thought.cot_accuracy(
        np.ones(1500),
        -np.ones(1500),
        np.array(True),
        data.even_pairs_pivots(1500),
        [2, 63, 64, 65, 1499, 1500, 1501],
        truncated=True,
    )
    assert accuracy.tolist() == [1, 1, 1, 1, 1, 1, 0.5]


def test_a_perfect_parity_model_computes_parity_by_full_thought_at_its_base_length():
    base = 700
    pivots = data.parity_pivots(base)
    accuracy = chain_of_thought.cot_accuracy(
        np.ones(len(pivots)), -np.ones(len(pivots)), np.array(True), pivots, [base], truncated=False
    )
    assert accuracy.tolist() == [1.0]


def test_the_trained_even_pairs_model_of_figure_2_does_truncated_thought(even_pairs, train):
    for time in (400, 1000):
        accuracy = by_reduction(train(even_pairs, time), even_pairs, 2.0, range(2, 10), True)
        assert accuracy.tolist() == [1.0] * 5 + [0.5] * 3


def test_the_trained_parity_model_thinks_freely_at_its_base_length_only(parity, train):
    state = train(parity, 1000)
    assert by_reduction(state, parity, 2.0, [2, 3, 4, 5, 6], False).tolist() == [
        1.0,
        0.5,
        1.0,
        0.5,
        0.5,
    ]
    assert by_reduction(state, parity, 2.0, [2, 3, 4], True).tolist() == [1.0, 1.0, 1.0]
