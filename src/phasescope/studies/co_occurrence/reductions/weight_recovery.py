r"""The weights themselves at any time of a run in Gram matrices: two boosts carry them along.

With $\Theta = [W_V, b / \|a\|]$ and $Z = [W_Q, W_K]$ both motions act from the right,

$$\dot\Theta = \Theta N_1, \quad N_1 = \|a\| \begin{pmatrix} 0 & c \\ c^\top & 0 \end{pmatrix}; \qquad
  \dot Z = Z N_2, \quad N_2 = \begin{pmatrix} 0 & M^\top \\ M & 0 \end{pmatrix},$$

so that $\Theta(t) = \Theta(0) \Phi(t)$ and $Z(t) = Z(0) \Psi(t)$ with $\Phi \in SO(d, 1)$, $\Psi \in SO(d, d)$. A step of
descent is $\Phi \leftarrow \Phi (1 + \eta N_1)$, likewise $\Psi$, exactly. Values and scores follow from the initial Grams,
$\Phi^\top (\Theta^\top \Theta)(0) \Phi$ and $\Psi^\top (Z^\top Z)(0) \Psi$: neither width matters.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data import Batch
from ..model.forces import forces
from ..model.network import Start, Weights
from ..spec import Spec
from .gram_matrices import Grams


class Boosts(NamedTuple):
    """The two boosts."""

    Phi: Float[Array, "word+1 word+1"]
    Psi: Float[Array, "2*word 2*word"]


def start(words: int) -> Boosts:
    """No boost."""
    return Boosts(jnp.eye(words + 1), jnp.eye(2 * words))


def grams(boosts: Boosts, begin: Grams, spec: Spec) -> Grams:
    """The Gram matrices now, given those at the start."""
    d = len(begin.G)
    norm = spec.output_norm
    column = begin.G[:, None] / norm**0.5
    of_values = jnp.block([[begin.A, column], [column.T, begin.beta[None, None] / norm]])
    of_scores = jnp.block([[begin.Q, begin.S.T], [begin.S, begin.K]])
    values = boosts.Phi.T @ of_values @ boosts.Phi
    scores = boosts.Psi.T @ of_scores @ boosts.Psi
    return Grams(
        beta=norm * values[d, d],
        G=norm**0.5 * values[:d, d],
        A=values[:d, :d],
        S=scores[d:, :d],
        Q=scores[:d, :d],
        K=scores[d:, d:],
    )


def velocity(boosts: Boosts, begin: Grams, batch: Batch, spec: Spec) -> Boosts:
    """Gradient flow."""
    N1, N2 = generators(boosts, begin, batch, spec)
    return Boosts(boosts.Phi @ N1, boosts.Psi @ N2)


def step(boosts: Boosts, begin: Grams, batch: Batch, spec: Spec) -> Boosts:
    """One step of gradient descent, exactly."""
    rate = velocity(boosts, begin, batch, spec)
    return Boosts(boosts.Phi + spec.eta * rate.Phi, boosts.Psi + spec.eta * rate.Psi)


def generators(boosts: Boosts, begin: Grams, batch: Batch, spec: Spec) -> tuple[Array, Array]:
    """$N_1$ and $N_2$."""
    now = grams(boosts, begin, spec)
    c, M = forces(now.G, now.S, batch, spec.width)[:2]
    M = spec.attention * M
    zero = jnp.zeros_like(M)
    turn = spec.output_norm**0.5 * c
    N1 = jnp.block([[zero, turn[:, None]], [turn[None], jnp.zeros((1, 1))]])
    return N1, jnp.block([[zero, M.T], [M, zero]])


def weights(boosts: Boosts, begin: Start) -> Weights:
    """All four matrices now, given those at the start."""
    W_Q, W_K, W_V, W = begin.weights
    d = W_Q.shape[1]
    a = begin.a
    size = jnp.sqrt(a @ a)
    Theta = jnp.concatenate([W_V, (a @ W)[:, None] / size], axis=1) @ boosts.Phi
    Z = jnp.concatenate([W_Q, W_K], axis=1) @ boosts.Psi
    W_now = W + jnp.outer(a, size * Theta[:, d] - a @ W) / size**2
    return Weights(W_Q=Z[:, :d], W_K=Z[:, d:], W_V=Theta[:, :d], W=W_now)
