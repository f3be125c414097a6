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
    return Grams(
        beta=b @ b,
        G=b @ W_V,
        A=W_V.T @ W_V,
        S=W_K.T @ W_Q,
        Q=W_Q.T @ W_Q,
        K=W_K.T @ W_K,
    )


def random_start(spec: Spec, key: Array) -> Grams:
    """The Grams of `model.start`, summed up block by block: widths are numbers here, not shapes."""
    words = spec.dim + spec.length - 1

    def add(row, total):
        inside = row * BLOCK + jnp.arange(BLOCK) < spec.width
        W_Q, W_K, W_V = jnp.where(inside[:, None], attention_rows(spec, key, row), 0.0)
        b = jnp.where(inside, _read_out(spec, key, row), 0.0)
        return jax.tree.map(jnp.add, total, from_collapsed(W_Q, W_K, W_V, b))

    matrix = jnp.zeros((words, words))
    zero = Grams(jnp.zeros(()), jnp.zeros(words), matrix, matrix, matrix, matrix)
    return jax.lax.fori_loop(0, _blocks(spec.width), add, zero)


def _read_out(spec: Spec, key: Array, row: Any) -> Float[Array, "block"]:
    r"""One block of $b = W^\top a$, summed up over the neurons."""

    def add(neuron, b):
        inside = neuron * BLOCK + jnp.arange(BLOCK) < spec.neurons
        a = jnp.where(inside, signs(spec, key, neuron), 0.0)
        return b + a @ mlp_block(spec, key, neuron, row)

    return jax.lax.fori_loop(0, _blocks(spec.neurons), add, jnp.zeros(BLOCK))


def _blocks(size: Any) -> Array:
    """How many blocks hold so many rows."""
    return jnp.ceil(size / BLOCK).astype(int)


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
    SM = S.T @ M
    MS = S @ M.T
    Gc = jnp.outer(G, c)
    return Grams(
        beta=2 * norm * (G @ c),
        G=beta * c + norm * (A @ c),
        A=Gc + Gc.T,
        S=K @ M + M @ Q,
        Q=SM + SM.T,
        K=MS + MS.T,
    )


def step(state: Grams, batch: Batch, spec: Spec) -> Grams:
    """One step of gradient descent on the weights, in their Grams; exact."""
    beta, G, A, S, Q, K = state
    c, M = forces(G, S, batch, spec.width)[:2]
    M = spec.attention * M
    norm = spec.output_norm
    eta = spec.eta
    KM = K @ M
    MQ = M @ Q
    SM = S.T @ M
    MS = S @ M.T
    Ac = A @ c
    Gc = jnp.outer(G, c)
    return Grams(
        beta=beta + 2 * eta * norm * (G @ c) + eta**2 * norm**2 * (c @ Ac),
        G=G + eta * (beta * c + norm * Ac) + eta**2 * norm * (G @ c) * c,
        A=A + eta * (Gc + Gc.T) + eta**2 * beta * jnp.outer(c, c),
        S=S + eta * (KM + MQ) + eta**2 * M @ SM,
        Q=Q + eta * (SM + SM.T) + eta**2 * M.T @ KM,
        K=K + eta * (MS + MS.T) + eta**2 * MQ @ M.T,
    )


def of_words(state: Grams, count: int) -> Grams:
    """The Grams of the first words: of the vocabulary, without the words that are for tests."""
    beta, G, *matrices = state
    return Grams(beta, G[:count], *(X[:count, :count] for X in matrices))


def casimirs(state: Grams, norm: Any) -> Float[Array, "casimir"]:
    """Four numbers that gradient flow conserves."""
    beta, G, A, S, Q, K = state
    of_values = jnp.trace(A) - beta / norm
    of_values_squared = _squares(A) - 2 * _squares(G) / norm + beta**2 / norm**2
    of_scores = jnp.trace(Q) - jnp.trace(K)
    of_scores_squared = _squares(Q) + _squares(K) - 2 * _squares(S)
    return jnp.stack([of_values, of_values_squared, of_scores, of_scores_squared])


def _squares(X: Array) -> Float[Array, ""]:
    return jnp.sum(X**2)
