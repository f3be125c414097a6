"""Tokens: independent, of mean 0 and variance 1; sequences are the last axis, which CPUs like.

Random numbers are the floor of a sampled step's cost: Gaussian tokens are drawn in single precision
(24 bits of the uniform behind each), everything else is computed in double.
"""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float


def draw(key: Array, tokens: str, *shape: int) -> Float[Array, "..."]:
    """Tokens of this shape; nothing but the key and sizes decides them, so that lanes of a sweep may share a draw."""
    if tokens == "boolean":
        return 1.0 - 2.0 * (jr.bits(key, shape, jnp.uint8) & 1).astype(jnp.float32)
    return jr.normal(key, shape, jnp.float32)
