"""The reductions by symmetry against the Gram matrices they reduce, integrated by scipy on both sides."""

import jax
import jax.random as jr
import numpy as np
import pytest
from jax import numpy as jnp

from phasescope.studies.co_occurrence import data, population_loss
from phasescope.studies.co_occurrence.model import forces
from phasescope.studies.co_occurrence.observables import (
    measure_grams,
    measure_population,
    measure_symmetric_words,
)
from phasescope.studies.co_occurrence.reductions import (
    gram_matrices,
    population_flow,
    symmetric_words,
)
from phasescope.studies.co_occurrence.spec import Spec

SHARED = (
    "loss", "loss_type", "margin_min", "F_type", "F_random", "gsum", "M", "S", "C", "A", "Q", "K", "Sdot", "Adot", "beta",
    "betadot", "betadot_outputs", "R", "R2", "R_g", "value_share", "p_dev", "p_spread", "S_change", "A_change", "Q_change",
    "K_change", "C_random", "C_random_rms", "test_F", "test_loss", "kappa",
)  # fmt: skip


def setting(samples, length, **changes):
    """Attention that moves by several units, so that no score is negligible."""
    numbers = {
        "width": 40,
        "neurons": 8,
        "sigma_0": 0.4,
        "sigma_1": 0.2,
        "output": 0.1,
        "init": "orthogonal",
    }
    spec = Spec(samples=samples, length=length, dim=500, **numbers | changes)
    return spec.replace(dim=spec.smallest_dim + 2)


@pytest.mark.parametrize(("samples", "length"), [(24, 5), (12, 3)])
def test_149_numbers_carry_the_training_from_an_orthogonal_start(samples, length, scipy_flow):
    spec, taus = setting(samples, length), [3.0, 30.0, 1e5]
    batch = data.training_set(spec, jr.key(0))
    batch = batch._replace(tokens=jnp.asarray(batch.tokens))
    full = scipy_flow(
        lambda g: gram_matrices.velocity(g, batch, spec),
        gram_matrices.orthogonal_start(spec),
        spec.kappa,
        taus,
    )
    small = scipy_flow(
        lambda g: symmetric_words.velocity(g, spec), symmetric_words.start(spec), spec.kappa, taus
    )
    first = gram_matrices.orthogonal_start(spec)
    words = [
        2,
        *(
            int(batch.tokens[batch.types == kind][0, -1])
            for kind in range(4)
            if spec.length > 3 or kind
        ),
    ]
    measure = jax.jit(
        lambda x, g: (measure_grams(x, first, batch, spec), measure_symmetric_words(g, spec))
    )
    for there, here in zip(full, small, strict=True):
        a, b = measure(there, here)
        for name in SHARED:
            np.testing.assert_allclose(
                getattr(b, name), getattr(a, name), rtol=1e-7, atol=1e-8, err_msg=name
            )
        chosen = np.array([2, *(3 + kind for kind in range(4) if spec.length > 3 or kind)])
        for name in ("G", "c", "Gdot"):
            np.testing.assert_allclose(
                getattr(b, name)[chosen], getattr(a, name)[np.array(words)], atol=1e-8
            )
    assert jnp.abs(full[-1].S).max() > 1


def test_the_state_has_149_numbers():
    state = symmetric_words.start(setting(24, 5))
    symmetric = sum(X.size - 21 for X in (state.trivial.A, state.trivial.Q, state.trivial.K))
    rest = (state.trivial.beta, state.trivial.G, state.trivial.S, state.between, state.within)
    assert symmetric + sum(x.size for x in rest) == 149


def test_the_population_flow_is_the_weighted_flow_over_all_multisets(scipy_flow):
    spec, taus = setting(6, 5).replace(dim=8), [3.0, 30.0, 1e4]
    batch = population_loss.samples(8, 5)
    batch = batch._replace(tokens=jnp.asarray(batch.tokens))
    full = scipy_flow(
        lambda g: gram_matrices.velocity(g, batch, spec),
        gram_matrices.orthogonal_start(spec),
        spec.kappa,
        taus,
    )
    small = scipy_flow(
        lambda g: population_flow.velocity(g, spec), population_flow.start(spec), spec.kappa, taus
    )
    measure = jax.jit(lambda g: measure_population(g, spec))
    for there, here in zip(full, small, strict=True):
        seen = measure(here)
        np.testing.assert_allclose(seen.S, there.S[:3, :3], atol=1e-9)
        np.testing.assert_allclose(seen.G, there.G[:4], atol=1e-8)
        loss = population_loss.population_losses(there.G, there.S, spec.width, 5, 8)
        np.testing.assert_allclose(seen.loss_type, loss, rtol=1e-8, atol=1e-10)
        p = forces.attention(there.S, batch, spec.width)
        np.testing.assert_allclose(seen.p_dev, jnp.abs(p - 1 / 5).max(), atol=1e-9)
        np.testing.assert_allclose(seen.C_random, _with_random(there.S[:8, :8]).max(), atol=1e-8)
        np.testing.assert_allclose(
            seen.C_random_rms,
            np.sqrt((_with_random(there.S[:8, :8]) ** 2).sum() / (64 - 9)),
            atol=1e-8,
        )
    assert jnp.abs(full[-1].S).max() > 1


def test_with_few_words_the_irrelevant_ones_act_as_a_shared_bias(scipy_flow):
    spec = Spec(samples=6, length=5, dim=8, width=1024, neurons=64, init="orthogonal")
    G = scipy_flow(
        lambda g: population_flow.velocity(g, spec), population_flow.start(spec), spec.kappa, [1e5]
    )[0].trivial.G
    assert G[3] / np.sqrt(5) < 2 * G[2] < 0


def _with_random(S):
    return np.abs(np.where(np.maximum(*np.ogrid[:8, :8]) >= 3, S, 0.0))
