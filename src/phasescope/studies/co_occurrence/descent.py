r"""Motion of the weights themselves: gradient flow of all four matrices (R0), and descent with $W$ collapsed (R1).

$\dot W = a (W_V c)^\top$, $\dot W_V = b c^\top$, $\dot W_K = W_Q M^\top$, $\dot W_Q = W_K M$ with $b = W^\top a$. Of $W$ only $b$
matters, and it moves by itself: $\dot b = \|a\|^2 W_V c$. The rest of $W$ follows from
$W(t) = W(0) + a (b(t) - b(0))^\top / \|a\|^2$, for flow and for descent alike.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .data import Batch
from .forces import forces
from .model import Start, Weights
from .spec import Spec


class Collapsed(NamedTuple):
    """The weights that move the loss; $W$ is in them as $b = W^\\top a$."""

    W_Q: Float[Array, "width word"]
    W_K: Float[Array, "width word"]
    W_V: Float[Array, "width word"]
    b: Float[Array, " width"]


def collapse(begin: Start, words: int) -> Collapsed:
    """The collapsed weights, of the first `words` words."""
    W_Q, W_K, W_V, W = begin.weights
    return Collapsed(W_Q[:, :words], W_K[:, :words], W_V[:, :words], begin.a @ W)


def expand(state: Collapsed, begin: Start) -> Weights:
    """All weights, with the columns of words that no sample holds, which never move."""
    words, a = state.W_Q.shape[1], begin.a
    W_Q, W_K, W_V, W = begin.weights
    join = lambda moved, still: jnp.concatenate([moved, still[:, words:]], axis=1)
    W_now = W + jnp.outer(a, state.b - a @ W) / (a @ a)
    return Weights(join(state.W_Q, W_Q), join(state.W_K, W_K), join(state.W_V, W_V), W_now)


def step(state: Collapsed, batch: Batch, spec: Spec) -> Collapsed:
    """One step of full-batch gradient descent."""
    W_Q, W_K, W_V, b = state
    c, M = forces(b @ W_V, W_K.T @ W_Q, batch, spec.width)[:2]
    M = spec.eta * spec.attention * M
    c = spec.eta * c
    return Collapsed(W_Q + W_K @ M, W_K + W_Q @ M.T, W_V + jnp.outer(b, c), b + spec.output_norm * (W_V @ c))


def velocity(weights: Weights, a: Float[Array, " neuron"], batch: Batch, spec: Spec) -> Weights:
    """Gradient flow of all four matrices."""
    W_Q, W_K, W_V, W = weights
    b = a @ W
    c, M = forces(b @ W_V, W_K.T @ W_Q, batch, spec.width)[:2]
    M = spec.attention * M
    return Weights(W_K @ M, W_Q @ M.T, jnp.outer(b, c), jnp.outer(a, W_V @ c))
