from itertools import product

import jax.random as jr
import numpy as np
import pytest

import phasescope as ps
from phasescope.errors import SpecError
from phasescope.studies.co_occurrence import data, population_loss
from phasescope.studies.co_occurrence.reductions import population_flow
from phasescope.studies.co_occurrence.spec import LABELS, SHARES, Spec, presets

QUIET = {"store": False, "progress": False}


def training_set(**changes):
    return data.training_set(Spec(**changes), jr.key(0))


def test_half_of_the_samples_are_positive_and_a_sixth_of_each_negative_type():
    assert np.bincount(training_set(samples=48, dim=83).types).tolist() == [24, 8, 8, 8]


def test_a_label_says_whether_both_targets_are_there():
    batch = data.training_set(presets["figure1"], jr.key(3))
    both = [{0, 1} <= set(row) for row in np.asarray(batch.tokens).tolist()]
    assert (np.where(both, 1.0, -1.0) == batch.labels).all()
    assert (np.asarray(batch.tokens) == 2).any(axis=1).all()


def test_distinct_words_appear_in_one_place_only_and_fill_the_smallest_vocabulary():
    words, places = np.unique(training_set(samples=48, length=4, dim=83).tokens, return_counts=True)
    assert words.tolist() == list(range(83))
    assert (places[3:] == 1).all()


def test_shared_words_are_drawn_from_the_whole_vocabulary():
    tokens = np.asarray(
        data.training_set(presets["figure1"].replace(samples=6000), jr.key(1)).tokens
    )
    count = np.bincount(tokens[tokens >= 3], minlength=64)[3:]
    expected = 6000 * (3 / 6 * 2 + 2 / 6 * 3 + 1 / 6 * 4) / 61
    assert len(count) == 61
    assert (abs(count - expected) < 5 * np.sqrt(expected)).all()


def test_test_words_are_in_no_training_sample():
    spec = presets["tiny"]
    fresh = data.test_set(spec).tokens
    assert not set(fresh[fresh >= 3].tolist()) & set(
        training_set(samples=12, length=4, dim=24).tokens.ravel().tolist()
    )
    assert fresh.max() == spec.dim + spec.length - 2


@pytest.mark.parametrize("arm", ["weights", "weight_flow", "six_families", "gram", "gram_descent"])
def test_samples_that_six_does_not_divide_are_refused(arm):
    with pytest.raises(SpecError, match=r"divisible by 6.*got samples=50\. Take 48 or 54"):
        ps.run("co_occurrence", arm, samples=50, **QUIET)


def test_fewer_than_six_samples_are_refused_with_the_one_number_that_works():
    with pytest.raises(SpecError, match=r"got samples=4\. Take 6"):
        ps.run("co_occurrence", "gram", samples=4, **QUIET)


@pytest.mark.parametrize("arm", ["weights", "six_families", "gram"])
def test_too_small_a_vocabulary_for_distinct_words_is_refused(arm):
    with pytest.raises(
        SpecError, match=r'needs dim >= 163 .*got dim=162\. Take dim=163, or words="shared"'
    ):
        ps.run("co_occurrence", arm, preset="figure1_distinct", dim=162, **QUIET)


@pytest.mark.parametrize("arm", ["weights", "weight_flow"])
def test_an_orthogonal_start_without_room_is_refused(arm):
    with pytest.raises(
        SpecError, match=r"needs width >= 2 dim = 166.*got width=165\. Take width=166"
    ):
        ps.run("co_occurrence", arm, init="orthogonal", width=165, **QUIET)


def test_samples_shorter_than_the_special_words_are_refused():
    with pytest.raises(SpecError, match="length must be at least 3"):
        ps.run("co_occurrence", "gram", length=2, **QUIET)


def test_there_are_716689_multisets_at_the_size_of_the_figure():
    assert population_loss.count(64, 5) == 1891 + 2 * 39711 + 635376
    assert len(population_loss.samples(8, 5).tokens) == population_loss.count(8, 5) == 155


def test_shares_of_all_multisets_and_of_all_patterns_sum_to_one():
    np.testing.assert_allclose(population_loss.samples(8, 5).shares.sum(), 1, rtol=1e-14)
    np.testing.assert_allclose(
        population_flow.patterns(Spec(dim=8, length=5)).shares.sum(), 1, rtol=1e-14
    )
    assert len(population_flow.patterns(Spec(dim=8, length=5)).types) == 13


def test_a_pattern_is_as_likely_as_the_sequences_that_have_it():
    spec = Spec(dim=7, length=6)
    found, expected = population_flow.patterns(spec), {}
    for kind, special in enumerate(data.SPECIAL_WORDS):
        for word in product(range(4), repeat=6 - len(special)):
            counts = tuple(sorted((n for n in np.bincount(word, minlength=4)), reverse=True))
            expected[kind, counts] = expected.get((kind, counts), 0.0) + SHARES[kind] * 4.0 ** -len(
                word
            )
    for kind, counts, share in zip(*found, strict=True):
        parts = tuple(int(n) for n in (*counts, *[0] * 4)[:4])
        np.testing.assert_allclose(share, expected.get((kind, parts), 0.0), atol=1e-15)


def test_the_population_loss_is_the_mean_over_all_sequences():
    rng, dim, length, width = np.random.default_rng(0), 7, 4, 5
    G, S, total = rng.normal(size=dim), 3 * rng.normal(size=(dim, dim)), np.zeros(4)
    for kind, special in enumerate(data.SPECIAL_WORDS):
        words = list(product(range(3, dim), repeat=length - len(special)))
        for word in words:
            x = np.array([*special, *word])
            weights = np.exp(S[np.ix_(x, x)] / np.sqrt(width))
            F = (G[x] @ (weights / weights.sum(axis=0))).sum()
            total[kind] += np.log1p(np.exp(-LABELS[kind] * F)) / len(words)
    np.testing.assert_allclose(
        population_loss.population_losses(G, S, width, length, dim), total, rtol=1e-13
    )
