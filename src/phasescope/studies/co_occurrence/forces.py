r"""The two forces: minus the gradients of the loss with respect to the word values $G$ and the scores $S$.

The loss depends on all weights through $G(\mu) = b^\top W_V \mu$ and $S[\nu, \mu] = \nu^\top W_K^\top W_Q \mu$ (row: key,
column: query) alone. With $\bar G_l = \sum_h p_{h|l} G(x_h)$ and $g_i = \sigma(-y_i F_i)$,

$$c(\mu) = \sum_i \omega_i g_i y_i \sum_l \sum_{h: x_h = \mu} p_{h|l}, \qquad
  M[\nu, \mu] = \frac{1}{\sqrt m} \sum_i \omega_i g_i y_i \sum_{l: x_l = \mu} \sum_{h: x_h = \nu}
  p_{h|l} (G(\nu) - \bar G_l),$$

where the share $\omega_i$ of a sample is $1/n$. The sums run over positions, so words may repeat.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .data import Batch


class Forces(NamedTuple):
    """$c$ and $M$, and what the samples looked like."""

    c: Float[Array, " word"]
    M: Float[Array, "word word"]
    F: Float[Array, " sample"]
    g: Float[Array, " sample"]


def attention(S: Float[Array, "word word"], batch: Batch, width: Any) -> Float[Array, "sample key query"]:
    """$p_{h|l}$: the weight on key position h for query position l."""
    scores = S[batch.tokens[:, :, None], batch.tokens[:, None, :]]
    return jax.nn.softmax(scores / width**0.5, axis=1)


def outputs(
    G: Float[Array, " word"], S: Float[Array, "word word"], batch: Batch, width: Any
) -> Float[Array, " sample"]:
    """$F_i$, summed over the queries."""
    return jnp.einsum("ihl,ih->i", attention(S, batch, width), G[batch.tokens])


def forces(G: Float[Array, " word"], S: Float[Array, "word word"], batch: Batch, width: Any) -> Forces:
    """Both forces on all words."""
    p, values = attention(S, batch, width), G[batch.tokens]
    mean = jnp.einsum("ihl,ih->il", p, values)
    F = mean.sum(axis=1)
    g = jax.nn.sigmoid(-batch.labels * F)
    pull = batch.shares * batch.labels * g
    c = jnp.zeros_like(G).at[batch.tokens].add(pull[:, None] * p.sum(axis=2))
    lean = pull[:, None, None] * p * (values[:, :, None] - mean[:, None, :]) / width**0.5
    M = jnp.zeros_like(S).at[batch.tokens[:, :, None], batch.tokens[:, None, :]].add(lean)
    return Forces(c, M, F, g)
