r"""The two forces: minus the gradients of the loss with respect to the word values $G$ and the scores $S$.

The loss depends on all weights through $G(\mu) = b^\top W_V \mu$ and $S[\nu, \mu] = \nu^\top W_K^\top W_Q \mu$ (row: key,
column: query) alone. With $\bar G_l = \sum_h p_{h|l} G(x_h)$ and $g_i = \sigma(-y_i F_i)$,

$$c(\mu) = \sum_i \omega_i g_i y_i \sum_l \sum_{h: x_h = \mu} p_{h|l}, \qquad
  M[\nu, \mu] = \frac{1}{\sqrt m} \sum_i \omega_i g_i y_i \sum_{l: x_l = \mu} \sum_{h: x_h = \nu}
  p_{h|l} (G(\nu) - \bar G_l),$$

where the share $\omega_i$ of a sample is $1/n$. The sums run over positions, so words may repeat. Arrays over positions have
the samples last, where the vector units of a CPU want the long axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..data import Batch

INSIDE: Any = "promise_in_bounds"  # words are numbers below the size of the vocabulary


class Forces(NamedTuple):
    """$c$ and $M$, and the outputs and loss derivatives of the samples."""

    c: Float[Array, " word"]
    M: Float[Array, "word word"]
    F: Float[Array, " sample"]
    g: Float[Array, " sample"]


def attention(
    S: Float[Array, "word word"], batch: Batch, width: Any
) -> Float[Array, "key query sample"]:
    """$p_{h|l}$: the weight on key position h for query position l."""
    scores = S.reshape(-1).at[_pairs(batch, len(S))].get(mode=INSIDE)
    return jax.nn.softmax(scores / width**0.5, axis=0)


def outputs(
    G: Float[Array, " word"], S: Float[Array, "word word"], batch: Batch, width: Any
) -> Float[Array, " sample"]:
    """$F_i$, summed over the queries."""
    return (attention(S, batch, width) * G[batch.tokens.T][:, None]).sum(axis=(0, 1))


def forces(
    G: Float[Array, " word"], S: Float[Array, "word word"], batch: Batch, width: Any
) -> Forces:
    """Both forces on all words."""
    c, lean, F, g = by_position(G, S, batch, width)
    return Forces(c, on_pairs(lean, batch, len(G)), F, g)


def by_position(
    G: Float[Array, " word"], S: Float[Array, "word word"], batch: Batch, width: Any
) -> tuple[
    Float[Array, " word"],
    Float[Array, "key query sample"],
    Float[Array, " sample"],
    Float[Array, " sample"],
]:
    """$c$, the terms of $M$ before they are added up over equal pairs of words, $F$ and $g$."""
    p = attention(S, batch, width)
    values = G.at[batch.tokens.T].get(mode=INSIDE)
    mean = (p * values[:, None]).sum(axis=0)
    F = mean.sum(axis=0)
    g = jax.nn.sigmoid(-batch.labels * F)
    pull = batch.shares * batch.labels * g
    c = jnp.zeros_like(G).at[batch.tokens.T].add(pull * p.sum(axis=1), mode=INSIDE)
    lean = pull / width**0.5 * p * (values[:, None] - mean)
    return c, lean, F, g


def on_pairs(
    lean: Float[Array, "key query sample"], batch: Batch, words: int
) -> Float[Array, "word word"]:
    """$M$: the terms added up over equal pairs of words."""
    return jnp.zeros(words**2).at[_pairs(batch, words)].add(lean, mode=INSIDE).reshape(words, words)


def _pairs(batch: Batch, words: int) -> Int[Array | np.ndarray, "key query sample"]:
    """Where in a flat matrix over pairs of words each pair of positions stands."""
    tokens = batch.tokens.T
    return tokens[:, None] * words + tokens[None]
