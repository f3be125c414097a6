"""The observables of the arm `population`: losses are those of fresh samples, sums over a type are means times n.

Words 1, 2, 3 are the special ones; the fourth stands for all irrelevant ones.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jaxtyping import Array, Float

from ..reductions.gram_matrices import Grams, rates
from ..reductions.population_flow import Forward, Patterns, Sector, forces, forward, patterns
from ..reductions.symmetric_words import HAS, scale
from ..spec import LABELS, SHARES, Spec
from . import shared
from .by_symmetry import casimirs, outputs_on_new_words, root_mean_square
from .observed import Observed


def measure_population(state: Sector, spec: Spec) -> Observed:
    """Measure the reduction of the population."""
    sample = forward(state, spec)
    kinds = patterns(spec)
    c, M, _ = forces(state, spec)
    speed = rates(state.trivial, c, spec.attention * M, spec.output_norm)
    g = sigmoid(-_labels(kinds) * sample.F)
    gsum = spec.samples * _sum_by_type(g, kinds)
    return Observed(
        **_losses(sample, kinds),
        **shared.special_words(state.trivial, c, M, speed, gsum, spec),
        **_values(state.trivial, c, speed, spec),
        **_contributions(sample, g, kinds, spec),
        **shared.attention_weights(_weights(sample, kinds), 1 / spec.length, spec.length),
        **_changes(state, spec),
        **shared.new_words(outputs_on_new_words(state.trivial, spec)),
        casimir=casimirs(state.trivial, spec),
    )


def _labels(kinds: Patterns) -> Float[np.ndarray, " pattern"]:
    return np.array(LABELS)[kinds.types]


def _sum_by_type(x: Float[Array, " pattern"], kinds: Patterns) -> Float[Array, "type"]:
    """Sums over the patterns of each type, weighted by their shares of the population."""
    return jnp.zeros(4).at[kinds.types].add(kinds.shares * x)


def _losses(sample: Forward, kinds: Patterns) -> dict[str, Array]:
    """Outputs, margins and losses: means over the population and over its types."""
    y = _labels(kinds)
    losses = jnp.logaddexp(0.0, -y * sample.F)
    return {
        "F_type": _sum_by_type(sample.F, kinds) / np.array(SHARES),
        "margin_min": jnp.min(y * sample.F),
        "loss": jnp.sum(kinds.shares * losses),
        "loss_type": _sum_by_type(losses, kinds) / np.array(SHARES),
    }


def _values(trivial: Grams, c: Array, speed: Grams, spec: Spec) -> dict[str, Array]:
    """Value of one word of each kind, the force on it, and its rate."""
    one_word = jnp.append(jnp.ones(3), (spec.dim - 3.0) ** 0.5)
    return {"G": trivial.G / one_word, "c": c / one_word, "Gdot": speed.G / one_word}


def _contributions(sample: Forward, g: Array, kinds: Patterns, spec: Spec) -> dict[str, Array]:
    """What irrelevant words add to the outputs, and what the margins add to the read-out."""
    counts = kinds.counts
    r = counts.sum(axis=1)
    attended = counts * sample.p_self + (r[:, None] - counts) * sample.p_other
    added = sample.G_r * (r * sample.p_iq.sum(axis=1) + (counts * attended).sum(axis=1))
    growth = jnp.sum(kinds.shares * g * _labels(kinds) * sample.F)
    return {
        "F_random": jnp.zeros(4).at[kinds.types].max(jnp.abs(added)),
        "betadot_outputs": 2 * spec.output_norm * growth,
    }


def _weights(sample: Forward, kinds: Patterns) -> Float[Array, " weight"]:
    """All attention weights that occur, those that do not replaced by one that does."""
    has = HAS[kinds.types]
    counts = kinds.counts
    r = counts.sum(axis=1)
    occurring = (
        (sample.p_kq, has[:, :, None] & has[:, None, :]),
        (sample.p_iq, has & (r > 0)[:, None]),
        (sample.p_kj, has[:, :, None] & (counts > 0)[:, None, :]),
        (sample.p_self, counts > 0),
        (sample.p_other, (counts > 0) & (r[:, None] > counts)),
    )
    one = sample.p_kq[0, 0, 0]
    return jnp.concatenate([jnp.where(occurs, p, one).ravel() for p, occurs in occurring])


def _changes(state: Sector, spec: Spec) -> dict[str, Array]:
    """How far scores and overlaps have moved since the start."""
    trivial = state.trivial
    D = spec.dim - 3.0
    at_start = scale(spec) * jnp.eye(4)
    # Beyond the trivial part S is scale * sinh(2 phi), and Q and K are scale * cosh(2 phi).
    score = scale(spec) * jnp.sinh(2 * state.angle)
    growth = scale(spec) * (jnp.cosh(2 * state.angle) - 1)
    of_S = _largest(trivial.S, score, D)
    of_Q = _largest(trivial.Q - at_start, growth, D)
    of_K = _largest(trivial.K - at_start, growth, D)
    of_A = _largest(trivial.A - at_start, jnp.zeros(()), D)
    return {
        "C": trivial.S[:3, :3],
        "C_random": of_S[1],
        "C_random_rms": root_mean_square(trivial.S, (D - 1) * score**2, spec),
        "S_change": of_S.max(),
        "A_change": of_A.max(),
        "Q_change": of_Q.max(),
        "K_change": of_K.max(),
    }


def _largest(X: Float[Array, "4 4"], rest: Array, D: Any) -> Float[Array, "2"]:
    """The largest entry of a matrix: of special words, and of pairs with an irrelevant one."""
    common = X[3, 3] / D
    mixed = jnp.abs(jnp.concatenate([X[:3, 3], X[3, :3]])).max() / D**0.5
    pairs = jnp.abs(jnp.stack([common + rest * (1 - 1 / D), common - rest / D])).max()
    return jnp.stack([jnp.abs(X[:3, :3]).max(), jnp.maximum(mixed, pairs)])
