"""Losses of long chains by enumeration: against all chains, against each other, and where sampling is blind."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import multinomial

from phasescope.studies.state_tracking.actions import named
from phasescope.studies.state_tracking.spec import TheorySpec
from phasescope.studies.state_tracking.theory_model import (
    feature_model,
    histograms,
    limits,
    routing_model,
    running_sums,
)


def loss(routing, action, numbers, cases):
    """Compiled, with the cases inside."""
    return jax.jit(lambda r: histograms.loss(r, action, numbers, cases))(routing)


def task(group, clip=10.0):
    spec = TheorySpec(group=group, vocabulary=1e4, clip=clip, power=4)
    return spec.action, feature_model.constants(spec)


def by_hand(action, numbers, routing, L):
    """The loss of step 2 as a mean over every chain of length L."""
    V = limits.ideal_features(action, numbers.clip)
    cases = np.array(list(itertools.product(range(action.values), *[range(action.actions)] * L)))
    y1 = action.table[cases[:, 1], cases[:, 0]]
    y2 = action.table[cases[:, 2], y1]
    moves = jnp.asarray(cases[:, 1:])
    values = jnp.stack([cases[:, 0], y1, y2], axis=1)
    values = jnp.pad(values, ((0, 0), (0, L - 2)))
    chain = lambda m, v: running_sums.chain_logits(V, routing, numbers, m, v)[1]
    F = jax.jit(jax.vmap(chain))(moves, values)
    return jax.nn.softplus(routing_model.excess(F.T, y2, numbers, action.values)).mean()


@pytest.mark.parametrize(("group", "L"), [("S3", 2), ("S3", 4), ("C3", 6), ("D4", 3)])
def test_histograms_sum_to_the_mean_over_every_chain(group, L):
    action, numbers = task(group)
    for q43, q44 in ((0.3, 0.5), (1.5, 1.3)):
        routing = routing_model.Routing(*(jnp.asarray(x) for x in (q43, 0.02, q44, -0.01)))
        found = loss(routing, action, numbers, histograms.exact(action, L))
        assert float(found) == pytest.approx(float(by_hand(action, numbers, routing, L)), rel=1e-10)


def test_the_loss_near_a_threshold_is_carried_by_histograms_that_samples_miss():
    """S3, L = 8, d = 1e4, C_B = 10: 5.50e-14, of which 4000 samples see a hundredth."""
    action, numbers = task("S3")
    routing = routing_model.begin(2.484, 2.395)
    cases = histograms.exact(action, 8)
    assert float(loss(routing, action, numbers, cases)) == pytest.approx(5.50e-14, rel=2e-3)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(cases.probability), 4000, p=cases.probability / cases.probability.sum())
    seen = histograms.Exact(8, cases.counts[drawn], np.full(4000, 1 / 4000))
    assert float(loss(routing, action, numbers, seen)) < 0.1 * 5.50e-14


def test_probabilities_are_those_of_the_multinomial():
    cases = histograms.exact(named("S3"), 5)
    assert cases.probability.sum() == pytest.approx(1.0)
    assert np.allclose(cases.probability, multinomial(4, [1 / 6] * 6).pmf(cases.counts))


@pytest.mark.parametrize("group", ["S3", "C4", "D4"])
def test_the_law_of_the_three_counts_is_that_of_the_histograms(group):
    action = named(group)
    cases = histograms.exact(action, 6)
    laws = histograms.paired(action, 6)
    assert sum(laws.copies) == action.values - 1
    for probability in laws.probability:
        assert probability.sum() == pytest.approx(1.0)
    j = 1
    counts = np.stack(
        [cases.counts @ (action.table[:, a] == b) for a, b in ((0, 0), (0, j), (j, j))]
    )
    law = np.zeros((6, 6, 6))
    np.add.at(law, tuple(counts.astype(int)), cases.probability)
    match = [
        np.allclose(law[tuple(c)], p) for c, p in zip(laws.counts, laws.probability, strict=True)
    ]
    assert any(match)


@pytest.mark.parametrize(("group", "L"), [("S3", 8), ("S3", 16), ("C4", 16), ("D4", 5)])
def test_one_wrong_class_at_a_time_bounds_the_loss_and_meets_it_near_a_threshold(group, L):
    action, numbers = task(group)
    exact = histograms.exact(action, L)
    pairs = histograms.paired(action, L)
    for shift, tolerance in ((0.0, 0.05), (0.5, 1e-3), (1.0, 1e-6)):
        q = np.log(L) - 0.2 + shift
        losses = [
            float(loss(routing_model.begin(q + 0.03, q - 0.03), action, numbers, c))
            for c in (exact, pairs)
        ]
        assert losses[0] * (1 - 1e-9) <= losses[1] <= losses[0] * (1 + tolerance)


def test_long_chains_and_large_groups_are_counted_one_class_at_a_time():
    assert isinstance(histograms.population(named("S3"), 8), histograms.Exact)
    assert isinstance(histograms.population(named("S4"), 64), histograms.Paired)
