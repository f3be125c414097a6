"""The rollout with kept keys and values against starting over at every step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from phasescope.studies.state_tracking import data
from phasescope.studies.state_tracking.data import Chains
from phasescope.studies.state_tracking.decoder import rollout

from .decoders import VARIANTS, chains, plain_forward, small

roll = jax.jit(rollout.rollout)


def starting_over(net, some, full):
    """Greedy answers of every chain, by a full forward over the sentence so far at each step; and all scores."""
    tokens = net.shape.tokens
    L = some.length
    answers = np.asarray(data.answers(some, tokens))
    said = []
    scores = []
    for i, predicates in enumerate(np.asarray(data.predicates(some, tokens))):
        sentence = [*predicates, answers[i, 0]]
        rows = []
        for n in range(L):
            rows.append(plain_forward(net, np.array(sentence), L)[0][-1])
            name = rows[-1][3].argmax()
            value = rows[-1][4].argmax()
            sentence.append(
                np.array([tokens.blank] * 3 + [name if full else answers[i, n + 1, 3], value])
            )
        said.append([[row[3].argmax(), row[4].argmax()] for row in rows])
        scores.append(rows)
    return np.array(said), np.array(scores)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_said_is_what_the_full_forward_says_at_every_step(variant, full):
    net = small(**variant)
    some = chains(length=6, count=4)
    said = roll(net, some, full=full)
    expected, _ = starting_over(net, some, full)
    np.testing.assert_array_equal(said.names, expected[..., 0])
    np.testing.assert_array_equal(said.values, expected[..., 1])


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_scores_are_those_of_the_full_forward(dtype):
    net = small(dtype=dtype)
    some = chains(length=6, count=4)
    exact = jax.tree.map(lambda x: x.astype(jnp.float64), net)
    _, expected = starting_over(exact, some, full=False)
    cache = jax.jit(rollout.prefill)(net, some)
    step = jax.jit(rollout.step)
    assert cache.keys.dtype == dtype
    said = roll(net, some)
    values = jnp.concatenate(
        [some.values[:, :1] + net.shape.tokens.first_value, said.values], axis=1
    )
    for n in range(some.length):
        cache, scores = step(net, cache, n, some.length, some.names[:, n], values[:, n])
        tolerance = (1e-5 if dtype == jnp.float32 else 1e-12) * abs(expected).max()
        np.testing.assert_allclose(scores, expected[:, n, 3:], atol=tolerance)


@pytest.mark.parametrize("full", [False, True])
def test_padding_changes_nothing(full):
    net = small()
    long = chains(length=7)
    short = Chains(long.names[:, :4], long.actions[:, :3], long.values[:, :4])
    padded = roll(net, long, 3, full)
    plain = roll(net, short, full=full)
    np.testing.assert_array_equal(padded.values[:, :3], plain.values)
    np.testing.assert_array_equal(padded.names[:, :3], plain.names)


def test_a_chain_counts_if_all_its_values_are_right():
    net = small()
    some = chains(length=3, count=4)
    truth = some.values[:, 1:] + net.shape.tokens.first_value
    wrong_once = truth.at[1, 2].add(1)
    said = rollout.Said(some.names[:, 1:], wrong_once)
    np.testing.assert_array_equal(
        rollout.right_steps(net, some, said).all(-1), [True, False, True, True]
    )
    assert rollout.right_steps(net, some, said, 2).all()


def test_one_program_serves_all_lengths_and_both_modes():
    net = small()
    some = chains(length=6, count=40)
    found = jax.jit(rollout.accuracies, static_argnums=2)(net, some, (1, 2, 6))
    for mode, full in enumerate((False, True)):
        for i, length in enumerate((1, 2, 6)):
            cut = Chains(
                some.names[:, : length + 1], some.actions[:, :length], some.values[:, : length + 1]
            )
            right = (
                np.asarray(roll(net, cut, full=full).values)
                == cut.values[:, 1:] + net.shape.tokens.first_value
            )
            assert float(found[mode, i]) == pytest.approx(right.all(-1).mean())


def test_a_teacher_keeps_names_moves_and_the_first_value():
    net = small()
    some = chains(length=4)
    labelled = jax.jit(rollout.relabelled)(net, some)
    said = roll(net, some).values - net.shape.tokens.first_value
    np.testing.assert_array_equal(labelled.names, some.names)
    np.testing.assert_array_equal(labelled.actions, some.actions)
    np.testing.assert_array_equal(
        labelled.values, np.concatenate([some.values[:, :1], said], axis=1)
    )
