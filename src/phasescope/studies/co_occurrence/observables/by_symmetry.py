"""What the two reductions by symmetry measure alike, from their trivial part."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..reductions import gram_matrices
from ..reductions.symmetric_words import HAS, scale
from ..spec import Spec


def casimirs(trivial: gram_matrices.Grams, spec: Spec) -> Float[Array, "casimir"]:
    r"""The conserved numbers of the whole vocabulary.

    On every direction beyond the trivial part $A$ keeps its value $\sigma_0^2 m$ and
    $Q = K = \sigma_0^2 m \cosh 2\phi$, $S = \sigma_0^2 m \sinh 2\phi$, so that $Q^2 + K^2 - 2 S^2$ is
    constant too.
    """
    others = spec.dim - trivial.G.shape[0]
    here = scale(spec)
    beyond = others * jnp.stack([here, here**2, 0 * here, 2 * here**2])
    return gram_matrices.casimirs(trivial, spec.output_norm) + beyond


def outputs_on_new_words(trivial: gram_matrices.Grams, spec: Spec) -> Float[Array, "type"]:
    """Outputs with words that no sample held, whose values and scores are 0 for ever."""
    weights = jnp.where(HAS[:, :, None], jnp.exp(trivial.S[:3, :3] / spec.width**0.5), 0.0)
    r = spec.length - HAS.sum(axis=1)
    total = weights.sum(axis=1) + r[:, None]
    p = jnp.where(HAS[:, None, :], weights / total[:, None, :], 0.0)
    uniform = (r / spec.length)[:, None] * HAS
    return (p.sum(axis=2) + uniform) @ trivial.G[:3]


def root_mean_square(S: Float[Array, "basis basis"], beyond: Any, spec: Spec) -> Float[Array, ""]:
    """Of the scores of pairs with an irrelevant word; `beyond` is the sum of squares outside the trivial part."""
    squares = jnp.sum(S**2) - jnp.sum(S[:3, :3] ** 2) + beyond
    return jnp.sqrt(squares / (1.0 * spec.dim**2 - 9))
