r"""Motion of the weights themselves: gradient flow of all four matrices (R0), and descent with $W$ collapsed (R1).

$\dot W = a (W_V c)^\top$, $\dot W_V = b c^\top$, $\dot W_K = W_Q M^\top$, $\dot W_Q = W_K M$ with $b = W^\top a$. Of $W$ only $b$
matters, and it moves by itself: $\dot b = \|a\|^2 W_V c$. The rest of $W$ follows from
$W(t) = W(0) + a (b(t) - b(0))^\top / \|a\|^2$, for flow and for descent alike.

Most entries of $M$ are 0: only a special word meets all others, irrelevant words meet within a sample. Descent adds up
what does not vanish, unless the samples are so many or so long that the full products are faster.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data import Batch
from ..spec import SPECIAL, Spec
from .forces import INSIDE, by_position, forces, on_pairs
from .network import Start, Weights

WORTH = 5  # how many times faster a number of a product of matrices is than one that is added up by itself


class Collapsed(NamedTuple):
    """The weights that move the loss, one row for each word; $W$ is in them as $b = W^\\top a$."""

    W_Q: Float[Array, "word width"]
    W_K: Float[Array, "word width"]
    W_V: Float[Array, "word width"]
    b: Float[Array, " width"]


def collapse(begin: Start, words: int) -> Collapsed:
    """The collapsed weights, of the first `words` words."""
    W_Q, W_K, W_V, W = begin.weights
    return Collapsed(W_Q[:, :words].T, W_K[:, :words].T, W_V[:, :words].T, begin.a @ W)


def expand(state: Collapsed, begin: Start) -> Weights:
    """All weights, with the columns of words that no sample holds, which never move."""
    W_Q, W_K, W_V, W = begin.weights
    a = begin.a
    return Weights(
        W_Q=_with_still_columns(state.W_Q, W_Q),
        W_K=_with_still_columns(state.W_K, W_K),
        W_V=_with_still_columns(state.W_V, W_V),
        W=W + jnp.outer(a, state.b - a @ W) / (a @ a),
    )


def _with_still_columns(
    moved: Float[Array, "word width"], start: Float[Array, "width each_word"]
) -> Float[Array, "width each_word"]:
    """A matrix whose first columns are the rows of `moved`, and whose others are what they were at the start."""
    return jnp.concatenate([moved.T, start[:, len(moved) :]], axis=1)


def step(state: Collapsed, batch: Batch, spec: Spec) -> Collapsed:
    """One step of full-batch gradient descent."""
    W_Q, W_K, W_V, b = state
    c, lean = by_position(W_V @ b, W_K @ W_Q.T, batch, spec.width)[:2]
    lean = spec.eta * spec.attention * lean
    c = spec.eta * c
    M = on_pairs(lean, batch, len(W_V))
    if is_sparse(batch, len(W_V)):
        moved_Q = _add_sparse(W_Q, W_K, M.T, lean.swapaxes(0, 1), batch)
        moved_K = _add_sparse(W_K, W_Q, M, lean, batch)
    else:
        moved_Q = W_Q + M.T @ W_K
        moved_K = W_K + M @ W_Q
    return Collapsed(
        W_Q=moved_Q,
        W_K=moved_K,
        W_V=W_V + jnp.outer(c, b),
        b=b + spec.output_norm * (c @ W_V),
    )


def is_sparse(batch: Batch, words: int) -> bool:
    """Whether so few pairs of irrelevant words meet that adding them up one by one beats a product of matrices."""
    length = batch.tokens.shape[1]
    meetings = sum(
        (stop - first) * (length - special) ** 2 for first, stop, special in _groups(batch)
    )
    return WORTH * meetings < words**2


def _add_sparse(
    still: Float[Array, "word width"],
    other: Float[Array, "word width"],
    M: Float[Array, "word word"],
    lean: Float[Array, "key query sample"],
    batch: Batch,
) -> Float[Array, "word width"]:
    """`still + M @ other` without the zeros of M."""
    moved = still + sum(M[:, k, None] * other[k] for k in range(3))
    rows = []
    words = []
    for first, stop, special in _groups(batch):
        tokens = batch.tokens[first:stop, special:]
        terms = lean[special:, special:, first:stop]
        near = other.at[tokens].get(mode=INSIDE)
        added = sum(terms[:, l].T[:, :, None] * near[:, l, None] for l in range(tokens.shape[1]))
        rows.append(jnp.reshape(added, (-1, other.shape[1])))
        words.append(tokens.reshape(-1))
    moved = moved.at[jnp.concatenate(words)].add(jnp.concatenate(rows), mode=INSIDE)
    return moved.at[:3].add(M[:3, 3:] @ other[3:])


def _groups(batch: Batch) -> list[tuple[int, int, int]]:
    """Samples with irrelevant words, which follow one another: the first, where they stop, how many words are special."""
    special = np.array(SPECIAL)[np.asarray(batch.types)]
    groups = []
    for count in (3, 2, 1):
        if count < batch.tokens.shape[1]:
            samples = np.flatnonzero(special == count)
            groups.append((int(samples[0]), int(samples[-1]) + 1, count))
    return groups


def velocity(weights: Weights, a: Float[Array, " neuron"], batch: Batch, spec: Spec) -> Weights:
    """Gradient flow of all four matrices."""
    W_Q, W_K, W_V, W = weights
    b = a @ W
    c, M = forces(b @ W_V, W_K.T @ W_Q, batch, spec.width)[:2]
    M = spec.attention * M
    return Weights(
        W_Q=W_K @ M,
        W_K=W_Q @ M.T,
        W_V=jnp.outer(b, c),
        W=jnp.outer(a, W_V @ c),
    )
