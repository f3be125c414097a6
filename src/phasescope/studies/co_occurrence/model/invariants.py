r"""What gradient flow conserves, and by how much exactly a step of descent does not.

Along the flow $W_Q W_Q^\top - W_K W_K^\top$, $W_V W_V^\top - W^\top W$ and $(I - a a^\top / \|a\|^2) W$ are constant. A step of
descent changes the first by $\eta^2 (W_K M M^\top W_K^\top - W_Q M^\top M W_Q^\top)$, the second by
$\eta^2 (\|c\|^2 b b^\top - \|a\|^2 r r^\top)$ with $r = W_V c$, and the third not at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .network import Weights


class Invariants(NamedTuple):
    """The three conserved matrices, or their changes."""

    attention: Float[Array, "width width"]
    value: Float[Array, "width width"]
    rows: Float[Array, "neuron width"]


def invariants(weights: Weights, a: Float[Array, " neuron"]) -> Invariants:
    """The three matrices that gradient flow conserves."""
    W_Q, W_K, W_V, W = weights
    return Invariants(
        attention=W_Q @ W_Q.T - W_K @ W_K.T,
        value=W_V @ W_V.T - W.T @ W,
        rows=W - jnp.outer(a, a @ W) / (a @ a),
    )


def violation(
    weights: Weights,
    a: Float[Array, " neuron"],
    c: Float[Array, " word"],
    M: Float[Array, "word word"],
    eta: Any,
) -> Invariants:
    """What one step of descent under the forces `c` and `M` adds to them."""
    W_Q, W_K, W_V, W = weights
    b = a @ W
    r = W_V @ c
    KM = W_K @ M
    QM = W_Q @ M.T
    return Invariants(
        attention=eta**2 * (KM @ KM.T - QM @ QM.T),
        value=eta**2 * ((c @ c) * jnp.outer(b, b) - (a @ a) * jnp.outer(r, r)),
        rows=jnp.zeros_like(W),
    )


def sizes(now: Invariants, before: Invariants) -> Float[Array, "invariant"]:
    """The largest entry of each difference."""
    return jnp.stack([jnp.abs(x - y).max() for x, y in zip(now, before, strict=True)])
