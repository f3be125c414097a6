import jax
import numpy as np
import pytest
from jax import numpy as jnp
from jax.flatten_util import ravel_pytree

from phasescope.studies.regular_language import data, model


def is_even_pairs(string):
    return sum(string[i : i + 2] in ("ab", "ba") for i in range(len(string) - 1)) % 2 == 0


def letters(strings):
    return [
        "".join("ab"[w] for w in row[:L])
        for row, L in zip(strings.tokens, strings.lengths, strict=True)
    ]


def random_params(max_length, seed=0):
    rng = np.random.default_rng(seed)
    d = 2 * max_length
    return {"u": jnp.asarray(rng.normal(size=d)), "W": jnp.asarray(rng.normal(size=(d, d)))}


def test_every_string_appears_once():
    assert sorted(letters(data.all_strings(3))) == sorted(
        ["a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb"]
    )


def test_pivot_one_is_the_language_of_even_pairs():
    strings = data.all_strings(7)
    expected = [1.0 if is_even_pairs(string) else -1.0 for string in letters(strings)]
    assert data.labels(strings, data.even_pairs_pivots(7)).tolist() == expected


def test_parity_pivots_of_base_four_are_1_1_1_1_2_3():
    assert data.parity_pivots(4).tolist() == [1, 1, 1, 1, 2, 3]


def test_parity_labels_reproduce_the_teacher_forced_chain_of_thought():
    pivots = data.parity_pivots(4)
    for word in data.strings_of(4):
        chain = list(word)
        for _ in range(3):
            seen = np.array([chain + [0] * (6 - len(chain))])
            label = data.labels(data.Strings(seen, np.array([len(chain)])), pivots)[0]
            chain.append(0 if label > 0 else 1)
        assert chain[-1] == word.sum() % 2


def test_a_pivot_outside_its_string_is_refused():
    with pytest.raises(ValueError, match=r"pivot of length 2 must lie in 1\.\.2, got 3"):
        data.check_pivots(np.array([1, 3]))


def test_length_one_weighs_only_on_the_matching_class():
    weights = data.class_weights(data.even_pairs_pivots(3), np.array([5.0, 2.0, 1.0]))
    assert weights.tolist() == [[5.0, 1.0, 0.5], [0.0, 1.0, 0.5]]


def test_a_pivot_on_the_last_token_leaves_no_string_that_differs():
    pivots = np.array([1, 2, 1])
    strings = data.all_strings(3)
    shares = [np.mean(data.labels(strings, pivots)[strings.lengths == L] > 0) for L in (1, 2, 3)]
    assert data.class_fractions(pivots)[0].tolist() == shares


def test_the_loss_at_zero_is_N_log_2(even_pairs):
    loss = model.loss(model.zeros(6), model.exhaustive(even_pairs), 2.0)
    np.testing.assert_allclose(loss, 6 * np.log(2), rtol=1e-14)


def test_the_loss_is_the_average_over_the_strings_of_each_length():
    params = random_params(4)
    pivots = data.parity_pivots(3)
    lam = 1.7
    total = 0.0
    for L in range(1, 5):
        for word in data.strings_of(L):
            entries = 2 * np.arange(L) + word
            scores = np.asarray(params["W"])[entries, entries[-1]] / lam
            phi = np.exp(scores) / np.exp(scores).sum()
            T = phi @ np.asarray(params["u"])[entries]
            y = 1 if word[-1] == word[pivots[L - 1] - 1] else -1
            total += 0.5**L * np.log1p(np.exp(-y * T))
    np.testing.assert_allclose(model.loss(params, model.exhaustive(pivots), lam), total, rtol=1e-13)


@pytest.mark.parametrize(
    "pivots", [data.even_pairs_pivots(4), data.parity_pivots(3), np.array([1, 2, 2])]
)
def test_the_gradient_equals_finite_differences(pivots):
    params = random_params(len(pivots), seed=1)
    batch = model.exhaustive(pivots)
    flat, unravel = ravel_pytree(params)
    loss = jax.jit(lambda x: model.loss(unravel(x), batch, 1.3))
    h = 1e-5
    differences = [
        (loss(flat.at[i].add(h)) - loss(flat.at[i].add(-h))) / (2 * h) for i in range(len(flat))
    ]
    np.testing.assert_allclose(jax.grad(loss)(flat), differences, atol=1e-10)


def test_attention_of_a_word_is_its_row_of_the_exhaustive_attention():
    params = random_params(4)
    batch = model.exhaustive(data.even_pairs_pivots(4))
    row = letters(data.all_strings(4)).index("bab")
    expected = model.attention(params, batch, 2.0)[row, :3]
    np.testing.assert_allclose(model.attention_of("bab", params, 2.0), expected, rtol=1e-14)


def test_attention_of_foreign_letters_is_refused():
    with pytest.raises(ValueError, match="letters a and b"):
        model.attention_of("abc", model.zeros(3), 2.0)


@pytest.mark.parametrize("length", [40, 70, 2000])
def test_strings_that_no_machine_can_hold_are_refused_before_one_is_written(length, monkeypatch):
    monkeypatch.setattr(data, "strings_of", lambda length: pytest.fail("a string was written"))
    with pytest.raises(MemoryError):
        data.all_strings(length)
