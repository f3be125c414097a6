r"""The model by its definition, for one sequence: what every reduction is held against.

A strictly causal two-layer transformer of six scalars, read at the last position $L$. Layer 1
averages what came before, $y_s = \sum_{\tau<s} R_{s\tau} x_\tau$ with
$R_{s\cdot} = \mathrm{softmax}(-\tilde p(s-1-\tau))$; $\tilde p = \infty$ copies $x_{s-1}$. Head 1
of layer 2 gives $o_1 = g\sum_s \pi_s y_s$, $\pi = \mathrm{softmax}(-p(L-1-s))$; head 2 gives
$o_2 = h\sum_s a_s x_s$, $a = \mathrm{softmax}(w_Q w_K\, x_L y_s)$; $s$ runs over $2..L-1$. The
target is $(g^\star x_{L-2},\; h^\star\sum_s x_s\,\mathrm{softmax}_s(w^{\star2} x_L x_{s-1}))$, the
loss half the squared distance.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from ..kernels.tabulated import Table
from ..spec import Spec
from . import four_gram

Scalar = Float[Array, "..."]


class Weights(NamedTuple):
    """What is trained; `p_tilde` is absent where the first layer is frozen."""

    p: Scalar
    g: Scalar
    w_k: Scalar
    w_q: Scalar
    h: Scalar
    p_tilde: Scalar | None = None


class Held(NamedTuple):
    """The trained scalars, and the kernels' table where one is needed (it does not move)."""

    weights: Weights
    table: Table | None = None


def start(spec: Spec, joint: bool = False) -> Weights:
    """Every trained scalar at sigma, but for what the spec says otherwise."""
    sigma = jnp.asarray(spec.sigma)
    return Weights(
        p=jnp.asarray(spec.p_first),
        g=sigma,
        w_k=sigma,
        w_q=sigma * spec.imbalance,
        h=sigma,
        p_tilde=sigma if joint else None,
    )


def first_layer(weights: Weights, spec: Spec) -> ArrayLike:
    r"""$\tilde p$, trained or frozen."""
    if weights.p_tilde is not None:
        return weights.p_tilde
    return math.inf if spec.p_tilde is None else spec.p_tilde


def target(x: Float[Array, "position"], spec: Spec) -> Float[Array, "2"]:
    r"""$f^\star(X)$."""
    attention = jax.nn.softmax(spec.c_star * x[-1] * x[:-2])
    return jnp.stack([spec.g_star * x[-3], spec.h_star * attention @ x[1:-1]])


def outputs(weights: Weights, x: Float[Array, "position"], spec: Spec) -> Float[Array, "2"]:
    """What the model says at the last position."""
    seen = slice(None) if spec.index_range == "L-1" else slice(None, -1)
    y = (four_gram.layer_one(first_layer(weights, spec), spec.length) @ x[:-2])[seen]
    values = x[1:-1][seen]
    distance = spec.length - 3 - jnp.arange(y.size)
    head_1 = jax.nn.softmax(-weights.p * distance)
    head_2 = jax.nn.softmax(weights.w_q * weights.w_k * x[-1] * y)
    return jnp.stack([weights.g * head_1 @ y, weights.h * head_2 @ values])


def losses(
    weights: Weights, batch: Float[Array, "sequence position"], spec: Spec
) -> Float[Array, "2"]:
    r"""$(\mathcal L_{G4}, \mathcal L_{IH})$ over a batch."""
    error = jax.vmap(lambda x: outputs(weights, x, spec) - target(x, spec))(batch)
    return 0.5 * jnp.mean(error**2, axis=0)


def loss(
    weights: Weights, batch: Float[Array, "sequence position"], spec: Spec
) -> Float[Array, ""]:
    r"""$\mathcal L = \mathcal L_{G4} + \mathcal L_{IH}$ over a batch."""
    return losses(weights, batch, spec).sum()
