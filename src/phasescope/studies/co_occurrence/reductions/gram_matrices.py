r"""R2: the Gram matrices of the words close among themselves, whatever the widths $m$ and $m_1$ are.

With $\beta = \|b\|^2$, $A = W_V^\top W_V$, $Q = W_Q^\top W_Q$, $K = W_K^\top W_K$, and $\|a\|^2$ in the place of $m_1$,

$$\dot\beta = 2 \|a\|^2 G \cdot c, \quad \dot G = \beta c + \|a\|^2 A c, \quad \dot A = G c^\top + c G^\top,$$
$$\dot S = K M + M Q, \quad \dot Q = S^\top M + M^\top S, \quad \dot K = S M^\top + M S^\top.$$

A step of descent adds the second-order terms of `step`, exactly. Words that no sample holds are passive: $c$ and $M$
vanish on them, yet their values and scores move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data import Batch
from ..model.forces import forces
from ..model.network import BLOCK, Start, attention_rows, mlp_block, signs
from ..spec import Spec


class Grams(NamedTuple):
    """The state: all that the loss and its future depend on."""

    beta: Float[Array, ""]
    G: Float[Array, " word"]
    A: Float[Array, "word word"]
    S: Float[Array, "word word"]
    Q: Float[Array, "word word"]
    K: Float[Array, "word word"]


def from_start(begin: Start) -> Grams:
    """The Grams of some weights."""
    W_Q, W_K, W_V, W = begin.weights
    return from_collapsed(W_Q, W_K, W_V, W.T @ begin.a)


def from_collapsed(
    W_Q: Float[Array, "width word"],
    W_K: Float[Array, "width word"],
    W_V: Float[Array, "width word"],
    b: Float[Array, " width"],
) -> Grams:
    """The Grams, where the MLP is given by $b = W^\\top a$."""
    return Grams(b @ b, b @ W_V, W_V.T @ W_V, W_K.T @ W_Q, W_Q.T @ W_Q, W_K.T @ W_K)


def random_start(spec: Spec, key: Array) -> Grams:
    """The Grams of `model.start`, summed up block by block: widths are numbers here, not shapes."""
    words = spec.dim + spec.length - 1

    def read_out(r):
        def add(j, b):
            inside = j * BLOCK + jnp.arange(BLOCK) < spec.neurons
            return b + jnp.where(inside, signs(spec, key, j), 0.0) @ mlp_block(spec, key, j, r)

        return jax.lax.fori_loop(0, blocks(spec.neurons), add, jnp.zeros(BLOCK))

    def add(r, total):
        inside = (r * BLOCK + jnp.arange(BLOCK) < spec.width)[:, None]
        W_Q, W_K, W_V = jnp.where(inside, attention_rows(spec, key, r), 0.0)
        return jax.tree.map(jnp.add, total, from_collapsed(W_Q, W_K, W_V, jnp.where(inside[:, 0], read_out(r), 0.0)))

    blocks = lambda size: jnp.ceil(size / BLOCK).astype(int)
    zero = jnp.zeros((words, words))
    return jax.lax.fori_loop(0, blocks(spec.width), add, Grams(jnp.zeros(()), jnp.zeros(words), zero, zero, zero, zero))


def orthogonal_start(spec: Spec) -> Grams:
    r"""$A = K = Q = \sigma_0^2 m I$, $S = 0$, $G = 0$: what a Gaussian start tends to as $m \to \infty$."""
    words = spec.dim + spec.length - 1
    same = spec.scale_0**2 * spec.width * jnp.eye(words)
    beta = jnp.asarray(spec.scale_1**2 * spec.width * spec.output_norm)
    return Grams(beta, jnp.zeros(words), same, jnp.zeros((words, words)), same, same)


def velocity(state: Grams, batch: Batch, spec: Spec) -> Grams:
    """Gradient flow."""
    c, M = forces(state.G, state.S, batch, spec.width)[:2]
    return rates(state, c, spec.attention * M, spec.output_norm)


def rates(state: Grams, c: Float[Array, " word"], M: Float[Array, "word word"], norm: Any) -> Grams:
    """The time derivatives under given forces."""
    beta, G, A, S, Q, K = state
    SM, MS = S.T @ M, S @ M.T
    Gc = jnp.outer(G, c)
    return Grams(2 * norm * (G @ c), beta * c + norm * (A @ c), Gc + Gc.T, K @ M + M @ Q, SM + SM.T, MS + MS.T)


def step(state: Grams, batch: Batch, spec: Spec) -> Grams:
    """One step of gradient descent on the weights, in their Grams; exact."""
    beta, G, A, S, Q, K = state
    c, M = forces(G, S, batch, spec.width)[:2]
    M, norm, eta = spec.attention * M, spec.output_norm, spec.eta
    KM, MQ, SM, MS = K @ M, M @ Q, S.T @ M, S @ M.T
    Ac, Gc = A @ c, jnp.outer(G, c)
    return Grams(
        beta + 2 * eta * norm * (G @ c) + eta**2 * norm**2 * (c @ Ac),
        G + eta * (beta * c + norm * Ac) + eta**2 * norm * (G @ c) * c,
        A + eta * (Gc + Gc.T) + eta**2 * beta * jnp.outer(c, c),
        S + eta * (KM + MQ) + eta**2 * M @ SM,
        Q + eta * (SM + SM.T) + eta**2 * M.T @ KM,
        K + eta * (MS + MS.T) + eta**2 * MQ @ M.T,
    )


def of_words(state: Grams, count: int) -> Grams:
    """The Grams of the first words: of the vocabulary, without the words that are for tests."""
    beta, G, *matrices = state
    return Grams(beta, G[:count], *(X[:count, :count] for X in matrices))


def casimirs(state: Grams, norm: Any) -> Float[Array, "casimir"]:
    """Four numbers that gradient flow conserves."""
    beta, G, A, S, Q, K = state
    square = lambda X: jnp.sum(X**2)
    return jnp.stack([
        jnp.trace(A) - beta / norm,
        square(A) - 2 * square(G) / norm + beta**2 / norm**2,
        jnp.trace(Q) - jnp.trace(K),
        square(Q) + square(K) - 2 * square(S),
    ])  # fmt: skip
