"""The observables of the arm `orthogonal`, in which a word stands for all words of its kind.

Words 1, 2, 3 are the special ones; after them comes one irrelevant word of each type.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jaxtyping import Array, Float

from ..reductions.gram_matrices import Grams, rates
from ..reductions.symmetric_words import (
    HAS,
    Forward,
    Sectors,
    Y,
    forces,
    forward,
    random_block,
    scale,
    sizes,
)
from ..spec import SHARES, Spec
from . import shared
from .by_symmetry import casimirs, outputs_on_new_words, root_mean_square
from .observed import Observed


def measure_symmetric_words(state: Sectors, spec: Spec) -> Observed:
    """Measure the reduction of the orthogonal start with distinct words."""
    sample = forward(state, spec)
    c, M = forces(state, spec)[:2]
    speed = rates(state.trivial, c, spec.attention * M, spec.output_norm)
    g = sigmoid(-Y * sample.F)
    return Observed(
        **_losses(sample),
        **shared.special_words(state.trivial, c, M, speed, sizes(spec).n * g, spec),
        **_values(state.trivial, c, speed, spec),
        **_contributions(sample, g, spec),
        **shared.attention_weights(_weights(sample, spec), 1 / spec.length, spec.length),
        **_changes(state, spec),
        **shared.new_words(outputs_on_new_words(state.trivial, spec)),
        casimir=casimirs(state.trivial, spec),
    )


def _losses(sample: Forward) -> dict[str, Array]:
    """Outputs, margins and losses of each type."""
    losses = jnp.logaddexp(0.0, -Y * sample.F)
    return {
        "F_type": sample.F,
        "margin_min": jnp.min(Y * sample.F),
        "loss": jnp.sum(np.array(SHARES) * losses),
        "loss_type": losses,
    }


def _values(trivial: Grams, c: Array, speed: Grams, spec: Spec) -> dict[str, Array]:
    """Value of one word of each kind, the force on it, and its rate."""
    one_word = jnp.concatenate([jnp.ones(3), sizes(spec).root])
    return {"G": trivial.G / one_word, "c": c / one_word, "Gdot": speed.G / one_word}


def _contributions(sample: Forward, g: Array, spec: Spec) -> dict[str, Array]:
    """What irrelevant words add to the outputs, and what the margins add to the read-out."""
    r = sizes(spec).r
    attended = sample.p_rq.sum(axis=1) + sample.p_self + (r - 1) * sample.p_other
    added = r * sample.G_r * attended
    growth = jnp.sum(np.array(SHARES) * g * Y * sample.F)
    return {"F_random": jnp.abs(added), "betadot_outputs": 2 * spec.output_norm * growth}


def _weights(sample: Forward, spec: Spec) -> Float[Array, " weight"]:
    """All attention weights that occur, those that do not replaced by one that does."""
    r = sizes(spec).r
    has_random = HAS & (r > 0)[:, None]
    occurring = (
        (sample.p_kq, HAS[:, :, None] & HAS[:, None, :]),
        (sample.p_rq, has_random),
        (sample.p_kr, has_random),
        (sample.p_self, r > 0),
        (sample.p_other, r > 1),
    )
    one = sample.p_kq[0, 0, 0]
    return jnp.concatenate([jnp.where(occurs, p, one).ravel() for p, occurs in occurring])


def _changes(state: Sectors, spec: Spec) -> dict[str, Array]:
    """How far scores and overlaps have moved since the start."""
    trivial = state.trivial
    at_start = scale(spec) * jnp.eye(7)
    # On the parts beyond the trivial one S is scale * sinh(2 phi), and Q and K are scale * cosh(2 phi).
    score_between = scale(spec) * jnp.sinh(2 * state.between)
    score_within = scale(spec) * jnp.sinh(2 * state.within)
    growth_between = scale(spec) * (jnp.cosh(2 * state.between) - 1)
    growth_within = scale(spec) * (jnp.cosh(2 * state.within) - 1)
    of_S = _largest(trivial.S, score_between, score_within, spec)
    of_Q = _largest(trivial.Q - at_start, growth_between, growth_within, spec)
    of_K = _largest(trivial.K - at_start, growth_between, growth_within, spec)
    of_A = _largest(trivial.A - at_start, jnp.zeros(4), jnp.zeros(4), spec)
    beyond = _sum_of_squares(score_between, score_within, spec)
    return {
        "C": trivial.S[:3, :3],
        "C_random": of_S[1],
        "C_random_rms": root_mean_square(trivial.S, beyond, spec),
        "S_change": of_S.max(),
        "A_change": of_A.max(),
        "Q_change": of_Q.max(),
        "K_change": of_K.max(),
    }


def _sum_of_squares(between: Array, within: Array, spec: Spec) -> Float[Array, ""]:
    """Of a matrix on the parts beyond the trivial one: n - 1 differences between samples, n (r - 1) within them."""
    r, n, _, _ = sizes(spec)
    return jnp.sum(jnp.maximum(n - 1, 0) * between**2 + n * jnp.maximum(r - 1, 0) * within**2)


def _largest(
    X: Float[Array, "7 7"], between: Array, within: Array, spec: Spec
) -> Float[Array, "2"]:
    """The largest entry of a matrix: of special words, and of pairs with an irrelevant one."""
    r, n, N, root = sizes(spec)
    diagonal = jnp.diagonal(X)[3:]
    itself, other = random_block(diagonal, between, within, spec)
    elsewhere = (diagonal - between) / root**2
    crossed = X[3:, 3:] / jnp.outer(root, root) * (1 - np.eye(4))
    mixed = jnp.maximum(jnp.abs(X[:3, 3:]), jnp.abs(X[3:, :3].T)) / root
    exists = N > 0
    with_random = (
        _largest_where(exists, itself),
        _largest_where(r > 1, other),
        _largest_where(exists & (n > 1), elsewhere),
        _largest_where(exists[:, None] & exists, crossed),
        _largest_where(exists, mixed),
    )
    return jnp.stack([jnp.abs(X[:3, :3]).max(), jnp.stack(with_random).max()])


def _largest_where(mask: Any, x: Array) -> Float[Array, ""]:
    return jnp.where(mask, jnp.abs(x), 0.0).max()
