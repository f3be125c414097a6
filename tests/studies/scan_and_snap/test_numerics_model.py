import jax
import jax.numpy as jnp
import numpy as np
import pytest

import phasescope as ps
from phasescope.studies.scan_and_snap import data, model
from phasescope.studies.scan_and_snap.data import Mixture
from phasescope.studies.scan_and_snap.model import Weights
from phasescope.studies.scan_and_snap.spec import Spec
from phasescope.studies.scan_and_snap.training import sampling

MEDIUM = Spec(num_last=2, per_last=2, common=3, distinct=4)


def random_tables(seed, S, M, last):
    rng = np.random.default_rng(seed)
    return jnp.array(rng.normal(size=(S, M))), jnp.array(rng.normal(size=(last, S)))


def test_syn_small_has_34_outputs_and_the_published_probabilities():
    P = np.asarray(data.syn(Spec()).P)
    assert Spec().M == 34
    np.testing.assert_allclose(P.sum(1), 1, rtol=1e-15)
    np.testing.assert_allclose(P[0, :10], 2 / 31, rtol=1e-14)  # 1 / (10 + 5.5)
    np.testing.assert_allclose(P[0, 10:20], np.arange(1, 11) / 155, rtol=1e-14)
    assert (P[0, 20:] == 0).all() and (P[1, 10:20] == 0).all()


@pytest.mark.parametrize(("last", "M"), [(1, 33), (3, 79), (5, 125), (10, 240)])
def test_syn_medium_has_the_published_vocabularies(last, M):
    assert Spec(num_last=last, per_last=2).M == M


def test_population_gradient_is_the_derivative_of_the_full_model(full_objective):
    mixture = data.syn(MEDIUM)
    S, M, K = MEDIUM.context, int(MEDIUM.M), MEDIUM.labels
    Y, Z = random_tables(0, S, M, 2)
    wide = jnp.zeros((M, M)).at[:S].set(Y), jnp.zeros((M, M)).at[:2, :S].set(Z)
    P = jnp.pad(jnp.asarray(mixture.P), ((0, 0), (0, M - S)))
    slope = jax.jit(jax.value_and_grad(full_objective, argnums=(0, 1)))
    value, slopes = slope(*wide, P, mixture.last, jnp.arange(K))
    ascent, loss = jax.jit(lambda w: model.gradient(w, mixture))(Weights(Y, Z))
    np.testing.assert_allclose(loss, -value, rtol=1e-14)
    np.testing.assert_allclose(ascent.Y, slopes[0][:S], atol=1e-15)
    np.testing.assert_allclose(ascent.Z, slopes[1][:2, :S], atol=1e-15)
    assert abs(slopes[1][2:]).max() == 0 and abs(slopes[0][S:]).max() == 0


def test_columns_that_are_never_predicted_can_be_stored_once():
    mixture = data.syn(MEDIUM)
    S, M, K = MEDIUM.context, int(MEDIUM.M), MEDIUM.labels
    Y, Z = random_tables(1, S, K + 1, 2)
    wide = jnp.concatenate([Y[:, :K], jnp.tile(Y[:, K:], (1, M - K))], axis=1)
    gradient = jax.jit(lambda w: model.gradient(w, mixture))
    narrow, one = gradient(Weights(Y, Z))
    full, two = gradient(Weights(wide, Z))
    np.testing.assert_allclose(one, two, rtol=1e-14)
    np.testing.assert_allclose(narrow.Z, full.Z, atol=1e-15)
    np.testing.assert_allclose(narrow.Y, full.Y[:, : K + 1], atol=1e-16)


@pytest.mark.parametrize("few", [8, 0])
def test_batch_gradient_is_the_derivative_of_the_model_on_explicit_sequences(
    explicit, few, monkeypatch
):
    monkeypatch.setattr(sampling, "FEW", few)  # both ways to multiply with the decoder
    spec = MEDIUM.replace(batch=5, seq_length=9)
    S, M, C, D = spec.context, int(spec.M), spec.common, spec.distinct
    rng = np.random.default_rng(2)
    label = rng.integers(0, 4, 5)
    slot = rng.integers(0, C + D, (5, 8))
    tokens = np.where(slot < C, slot, slot + D * label[:, None])
    counts = jnp.array([[(row == s).sum() for s in range(C + D)] for row in slot], float)
    Y, Z = random_tables(3, S, M, 2)
    wide = jnp.zeros((M, M)).at[:S].set(Y), jnp.zeros((M, M)).at[:2, :S].set(Z)
    mean = lambda Y, Z: jnp.mean(
        jnp.stack([explicit(Y, Z, tokens[i], int(label[i]) // 2, int(label[i])) for i in range(5)])
    )
    value, slopes = jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))(*wide)
    batch = sampling.Batch(jnp.array(label), counts)
    ascent, loss = jax.jit(
        lambda w: sampling.gradient(w, batch, jnp.ones(M), sampling.layout(spec))
    )(Weights(Y, Z))
    np.testing.assert_allclose(loss, -value, rtol=1e-14)
    np.testing.assert_allclose(ascent.Y, slopes[0][:S], atol=1e-15)
    np.testing.assert_allclose(ascent.Z, slopes[1][:2, :S], atol=1e-15)


def test_the_residual_keeps_its_digits_when_the_prediction_is_almost_certain():
    read = model.read_out(jnp.array([[60.0, 0.0, 0.0]]), np.array([0]), jnp.array([1.0, 1.0, 32.0]))
    np.testing.assert_allclose(read.wrong, 33 * np.exp(-60.0), rtol=1e-13)
    np.testing.assert_allclose(read.loss, 33 * np.exp(-60.0), rtol=1e-13)
    np.testing.assert_allclose(
        read.r[0], [33 * np.exp(-60.0), -np.exp(-60.0), -np.exp(-60.0)], rtol=1e-13
    )


def test_nothing_overflows_at_extreme_logits():
    f = model.unit(jnp.array([0.5, 0.5, 0.0]), jnp.array([-1e4, -1.1e4, 1e4]))
    np.testing.assert_array_equal(f, [1, 0, 0])
    read = model.read_out(jnp.array([[-1e4, 1e4]]), np.array([0]), jnp.ones(2))
    np.testing.assert_allclose(read.loss, 2e4)
    assert bool(jnp.isfinite(read.r).all())


def test_counts_have_the_law_of_a_multinomial():
    p, rows, total = data.slots(Spec()), 20_000, 12
    counts = np.asarray(sampling.multinomial(jax.random.key(0), p, total, rows))
    assert (counts.sum(1) == total).all() and counts.min() == 0
    p = np.asarray(p)
    mean, spread = total * p, np.sqrt(total * p * (1 - p) / rows)
    assert (abs(counts.mean(0) - mean) < 4.5 * spread).all()
    # correlations of a multinomial are negative: -n p_i p_j
    np.testing.assert_allclose(np.cov(counts.T), total * (np.diag(p) - np.outer(p, p)), atol=0.03)


def test_both_ways_to_count_agree():
    words = jax.random.bits(jax.random.key(1), (31, 7), jnp.uint32)
    edges = jnp.array([2**29, 2**30, 2**31], jnp.uint32)
    one, two = sampling._below_in_turn(words, edges), sampling._below_at_once(words, edges)
    np.testing.assert_array_equal(one, two)


def test_both_ways_to_add_up_samples_by_class_agree():
    rng = np.random.default_rng(4)
    f, r, label = rng.normal(size=(9, 2)), rng.normal(size=(9, 5)), rng.integers(0, 3, 9)
    wanted = sum(
        np.eye(3)[k][:, None, None] * np.outer(a, b) for k, a, b in zip(label, f, r, strict=True)
    )
    given = jnp.array(label), jnp.array(f), jnp.array(r), jnp.zeros((3, 2, 5))
    for add in (sampling._add_in_turn, sampling._add_at_once):
        np.testing.assert_allclose(jax.jit(add)(*given), wanted, atol=1e-15)


def test_the_draw_of_a_step_does_not_depend_on_rates():
    draw = lambda spec: jax.jit(lambda: sampling.draw(jax.random.key(3), spec))()
    one, two = draw(Spec()), draw(Spec(eta_Y=7.0, eta_Z=0.1, momentum=0.0))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_array_equal(one.label, two.label)


def test_uniform_start_fills_the_published_range():
    spec = Spec(num_last=3, per_last=2, init="uniform")
    start = sampling.uniform_start(jax.random.key(0), spec)
    assert start.Y.shape == (70, 79) and start.Z.shape == (3, 70)
    assert 0.99 < float(abs(start.Y).max()) * 79**0.5 <= 1
    assert abs(float(start.Y.mean())) * 79**0.5 < 0.03


def test_probabilities_that_do_not_add_up_to_one_are_an_error():
    with pytest.raises(ps.SpecError, match=r"add up to 0\.9"):
        data.mixture([[0.5, 0.4, 0.0], [0.5, 0.0, 0.5]], [0, 1])


def test_a_class_without_distinct_tokens_is_an_error():
    with pytest.raises(ps.SpecError, match="class 0 has no distinct token"):
        data.mixture([[1.0, 0.0], [0.5, 0.5]], [0, 1])


def test_a_checked_mixture_counts_its_outputs():
    found = data.mixture([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], [0, 0])
    assert isinstance(found, Mixture) and found.outputs == 3 + 1 + 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seq_length": 1}, "seq_length must be at least 2"),
        ({"eta_Z": -1.0}, "eta_Z must be at least 0"),
        ({"eta_Y": -0.1}, "eta_Y must be above 0"),
        ({"classes": 40.0, "vocabulary": 30.0}, "more classes than outputs"),
        ({"num_last": 40, "vocabulary": 30.0}, "more classes than outputs"),
        ({"distinct": 0}, "distinct must be at least 1"),
    ],
)
def test_impossible_numbers_are_errors(changes, words):
    with pytest.raises(ps.SpecError, match=words):
        Spec(**changes)
