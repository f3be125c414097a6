"""The observables of the two reductions by symmetry, in which a word stands for all words of its kind.

Words 1, 2, 3 are the special ones; after them comes one irrelevant word of each type (`orthogonal`), or one (`population`).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jaxtyping import Array, Float

from ..reductions import gram_matrices, population_flow, symmetric_words
from ..reductions.symmetric_words import HAS, Y, scale, sizes
from ..spec import LABELS, SHARES, Spec
from .observed import Observed, common, on_new_words


def measure_sectors(state: symmetric_words.Sectors, spec: Spec) -> Observed:
    """Look at the reduction of the orthogonal start with distinct words."""
    f, (r, n, _, root) = symmetric_words.forward(state, spec), sizes(spec)
    c, M = symmetric_words.forces(state, spec)[:2]
    speed = gram_matrices.rates(state.trivial, c, spec.attention * M, spec.output_norm)
    g, losses = sigmoid(-Y * f.F), jnp.logaddexp(0.0, -Y * f.F)
    one_word = jnp.concatenate([jnp.ones(3), root])
    from_random = r * f.G_r * (f.p_rq.sum(axis=1) + f.p_self + (r - 1) * f.p_other)
    weights = _weights(f, r)
    angles = lambda curve: (scale(spec) * curve(2 * state.between), scale(spec) * curve(2 * state.within))
    of_S = _changes(state.trivial.S, *angles(jnp.sinh), spec)
    less = lambda x: jnp.cosh(x) - 1
    of_Q, of_K, of_A = (
        _changes(X - scale(spec) * jnp.eye(7), *more, spec)
        for X, more in (
            (state.trivial.Q, angles(less)),
            (state.trivial.K, angles(less)),
            (state.trivial.A, (jnp.zeros(4), jnp.zeros(4))),
        )
    )
    squares = jnp.sum(state.trivial.S**2) - jnp.sum(state.trivial.S[:3, :3] ** 2)
    b, w = angles(jnp.sinh)
    squares += jnp.sum(jnp.maximum(n - 1, 0) * b**2 + n * jnp.maximum(r - 1, 0) * w**2)
    return Observed(
        loss=jnp.sum(np.array(SHARES) * losses), loss_type=losses, margin_min=jnp.min(Y * f.F), F_type=f.F,
        F_random=jnp.abs(from_random), **common(state.trivial, c, M, speed, n * g, spec),
        G=state.trivial.G / one_word, c=c / one_word, Gdot=speed.G / one_word, C=state.trivial.S[:3, :3],
        betadot_outputs=2 * spec.output_norm * jnp.sum(np.array(SHARES) * g * Y * f.F),
        p_dev=jnp.abs(weights - 1 / spec.length).max(), p_spread=jnp.abs(spec.length * weights - 1).max(),
        S_change=of_S.max(), A_change=of_A.max(), Q_change=of_Q.max(), K_change=of_K.max(), C_random=of_S[1],
        C_random_rms=jnp.sqrt(squares / (1.0 * spec.dim**2 - 9)),
        **on_new_words(_new_outputs(state.trivial, spec)), casimir=_casimirs(state.trivial, spec),
    )  # fmt: skip


def measure_population(state: population_flow.Sector, spec: Spec) -> Observed:
    """Look at the population's reduction: losses are those of fresh samples, and sums over a type are means times n."""
    f, (types, counts, shares) = population_flow.forward(state, spec), population_flow.patterns(spec)
    c, M, _ = population_flow.forces(state, spec)
    speed = gram_matrices.rates(state.trivial, c, spec.attention * M, spec.output_norm)
    y, D = np.array(LABELS)[types], spec.dim - 3.0
    g, losses = sigmoid(-y * f.F), jnp.logaddexp(0.0, -y * f.F)
    over = lambda x: jnp.zeros(4).at[types].add(shares * x)
    r = counts.sum(axis=1)
    seen = counts * f.p_self + (r[:, None] - counts) * f.p_other
    from_random = f.G_r * (r * f.p_iq.sum(axis=1) + (counts * seen).sum(axis=1))
    one_word = jnp.append(jnp.ones(3), D**0.5)
    score = scale(spec) * jnp.sinh(2 * state.angle)
    stretch = scale(spec) * (jnp.cosh(2 * state.angle) - 1)
    start = scale(spec) * jnp.eye(4)
    of_S = _single_changes(state.trivial.S, score, D)
    of_Q, of_K = (_single_changes(X - start, stretch, D) for X in (state.trivial.Q, state.trivial.K))
    of_A = _single_changes(state.trivial.A - start, jnp.zeros(()), D)
    has, there = HAS[types], lambda p, mask: jnp.where(mask, p, f.p_kq[0, 0, 0]).ravel()
    weights = jnp.concatenate([
        there(f.p_kq, has[:, :, None] & has[:, None, :]), there(f.p_iq, has & (r > 0)[:, None]),
        there(f.p_kj, has[:, :, None] & (counts > 0)[:, None, :]), there(f.p_self, counts > 0),
        there(f.p_other, (counts > 0) & (r[:, None] > counts)),
    ])  # fmt: skip
    squares = jnp.sum(state.trivial.S**2) - jnp.sum(state.trivial.S[:3, :3] ** 2) + (D - 1) * score**2
    return Observed(
        loss=jnp.sum(shares * losses), loss_type=over(losses) / np.array(SHARES), margin_min=jnp.min(y * f.F),
        F_type=over(f.F) / np.array(SHARES), F_random=jnp.zeros(4).at[types].max(jnp.abs(from_random)),
        **common(state.trivial, c, M, speed, spec.samples * over(g), spec),
        G=state.trivial.G / one_word, c=c / one_word, Gdot=speed.G / one_word, C=state.trivial.S[:3, :3],
        betadot_outputs=2 * spec.output_norm * jnp.sum(shares * g * y * f.F),
        p_dev=jnp.abs(weights - 1 / spec.length).max(), p_spread=jnp.abs(spec.length * weights - 1).max(),
        S_change=of_S.max(), A_change=of_A.max(), Q_change=of_Q.max(), K_change=of_K.max(), C_random=of_S[1],
        C_random_rms=jnp.sqrt(squares / (1.0 * spec.dim**2 - 9)),
        **on_new_words(_new_outputs(state.trivial, spec)), casimir=_casimirs(state.trivial, spec),
    )  # fmt: skip


def _casimirs(trivial: gram_matrices.Grams, spec: Spec) -> Float[Array, "casimir"]:
    r"""Those of the whole vocabulary. On every direction beyond the trivial part $A$ keeps its value $\sigma_0^2 m$ and
    $Q = K = \sigma_0^2 m \cosh 2\phi$, $S = \sigma_0^2 m \sinh 2\phi$, so that $Q^2 + K^2 - 2 S^2$ is constant too."""
    others = spec.dim - trivial.G.shape[0]
    here = scale(spec)
    beyond = others * jnp.stack([here, here**2, 0 * here, 2 * here**2])
    return gram_matrices.casimirs(trivial, spec.output_norm) + beyond


def _weights(f: symmetric_words.Forward, r: Any) -> Float[Array, " weight"]:
    """All attention weights that occur, those that do not replaced by one that does."""
    there = lambda p, mask: jnp.where(mask, p, f.p_kq[0, 0, 0]).ravel()
    return jnp.concatenate([
        there(f.p_kq, HAS[:, :, None] & HAS[:, None, :]), there(f.p_rq, HAS & (r > 0)[:, None]),
        there(f.p_kr, HAS & (r > 0)[:, None]), there(f.p_self, r > 0), there(f.p_other, r > 1),
    ])  # fmt: skip


def _new_outputs(state: gram_matrices.Grams, spec: Spec) -> Float[Array, "type"]:
    """Outputs with words that no sample held, whose values and scores are 0 for ever."""
    weights = jnp.where(HAS[:, :, None], jnp.exp(state.S[:3, :3] / spec.width**0.5), 0.0)
    r = spec.length - HAS.sum(axis=1)
    p = jnp.where(HAS[:, None, :], weights / (weights.sum(axis=1) + r[:, None])[:, None, :], 0.0)
    uniform = (r / spec.length)[:, None] * HAS
    return (p.sum(axis=2) + uniform) @ state.G[:3]


def _changes(X: Float[Array, "7 7"], between: Array, within: Array, spec: Spec) -> Float[Array, "2"]:
    """The largest change of an entry: of special words, and of pairs with an irrelevant one."""
    r, n, N, root = sizes(spec)
    itself, other = symmetric_words.random_block(jnp.diagonal(X)[3:], between, within, spec)
    elsewhere = (jnp.diagonal(X)[3:] - between) / root**2
    crossed = X[3:, 3:] / jnp.outer(root, root) * (1 - np.eye(4))
    there = lambda x, mask: jnp.where(mask, jnp.abs(x), 0.0).max()
    mixed = jnp.maximum(jnp.abs(X[:3, 3:]), jnp.abs(X[3:, :3].T)) / root
    with_random = jnp.stack([
        there(itself, N > 0), there(other, r > 1), there(elsewhere, (N > 0) & (n > 1)),
        there(crossed, (N > 0)[:, None] & (N > 0)), there(mixed, N > 0),
    ])  # fmt: skip
    return jnp.stack([jnp.abs(X[:3, :3]).max(), with_random.max()])


def _single_changes(X: Float[Array, "4 4"], rest: Array, D: Any) -> Float[Array, "2"]:
    """The same where all irrelevant words are of one kind."""
    common_part = X[3, 3] / D
    mixed = jnp.abs(jnp.concatenate([X[:3, 3], X[3, :3]])).max() / D**0.5
    pairs = jnp.abs(jnp.stack([common_part + rest * (1 - 1 / D), common_part - rest / D])).max()
    return jnp.stack([jnp.abs(X[:3, :3]).max(), jnp.maximum(mixed, pairs)])
