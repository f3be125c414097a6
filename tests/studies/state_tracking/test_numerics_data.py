"""Chains, clauses and sentences."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from phasescope.errors import SpecError
from phasescope.studies.state_tracking import data
from phasescope.studies.state_tracking.actions import named


@pytest.fixture(scope="module")
def some():
    return data.chains(jr.key(0), named("S4"), variables=9, length=5, count=4000)


def test_every_chain_follows_its_moves(some):
    table = named("S4").table
    for n in range(5):
        assert (some.values[:, n + 1] == table[some.actions[:, n], some.values[:, n]]).all()


def test_names_do_not_repeat_and_all_orders_are_equally_likely(some):
    names = np.sort(np.asarray(some.names), axis=1)
    assert (np.diff(names, axis=1) > 0).all()
    pairs = np.zeros((9, 9))
    np.add.at(pairs, (some.names[:, 0], some.names[:, 1]), 1)
    expected = 4000 / 72
    chi2 = ((pairs - expected) ** 2 / expected)[~np.eye(9, dtype=bool)].sum()
    assert chi2 < 71 + 5 * np.sqrt(2 * 71)  # five standard deviations


def test_consecutive_values_are_uniform_and_independent(some):
    pairs = np.zeros((4, 4))
    np.add.at(pairs, (some.values[:, 2], some.values[:, 3]), 1)
    expected = 4000 / 16
    assert ((pairs - expected) ** 2 / expected).sum() < 15 + 5 * np.sqrt(2 * 15)


def test_a_sentence_is_predicates_then_answers():
    chain = data.Chains(jnp.array([[3, 0, 2]]), jnp.array([[1, 2]]), jnp.array([[0, 1, 0]]))
    tokens = data.Vocabulary(variables=4, actions=3, values=3)
    assert tokens.size == 11
    blank = 10
    assert data.sentence(chain, tokens).tolist() == [
        [
            [0, 5, 3, blank, blank],
            [2, 6, 0, blank, blank],
            [blank, blank, blank, 3, 7],
            [blank, blank, blank, 0, 8],
            [blank, blank, blank, 2, 7],
        ]
    ]


def test_truncated_and_permuted_sentences(some):
    tokens = data.vocabulary(named("S4"), 9)
    full = data.sentence(some, tokens)
    assert (data.truncated(full, 5, 2) == data.sentence(some, tokens, 2)).all()
    order = np.array([2, 0, 4, 1, 3])
    moved = data.permuted(full, order)
    assert (moved[:, :5] == full[:, order]).all()
    assert (moved[:, 5:] == full[:, 5:]).all()
    for broken in (
        lambda: data.truncated(full, 5, 6),
        lambda: data.permuted(full, np.array([0, 0, 1])),
        lambda: data.sentence(some, tokens, 6),
    ):
        with pytest.raises(SpecError):
            broken()


def test_every_chain_lists_each_once():
    action = named("S3")
    chain = data.every_chain(action, 4, 2)
    assert len(chain.names) == 4 * 3 * 2 * 3 * 6 * 6
    rows = np.concatenate([chain.names, chain.actions, chain.values], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    for start, *moves in itertools.product(range(3), range(6), range(6)):
        y1 = action.table[moves[0], start]
        here = (chain.values[:, 0] == start) & (chain.actions == moves).all(axis=1)
        assert (chain.values[here, 1:] == [y1, action.table[moves[1], y1]]).all()


def test_a_chain_longer_than_its_variables_is_refused():
    with pytest.raises(SpecError, match="needs 10 different variables"):
        data.chains(jr.key(0), named("C3"), variables=9, length=9, count=1)
    with pytest.raises(SpecError, match="at least one move"):
        data.check_length(0, 5)
