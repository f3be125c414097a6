r"""The model: two tables of token pairs, $Y$ (decoder) and $Z$ (attention), and their exact
gradients.

For a class with attention $c \propto k \odot e^{z}$ ($k$ are counts of a sequence, or $P_n$ for an
endless one),

$$f = c / \|c\|, \quad w = Y^\top f, \quad \alpha = \mathrm{softmax}(w), \quad r = e_{lab} - \alpha, \quad
\partial_Y J = f r^\top, \quad \partial_z J = \mathrm{diag}(f)(I - ff^\top)\,Y r .$$

Columns of $Y$ that are never predicted and start equal stay equal: they are stored once, with
the number of their copies. $1 - \alpha$ is always a sum of what is wrong, never a difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .data import Mixture

SMALL = 4096  # multiplications up to which a product of matrices is written as a sum


class Weights(NamedTuple):
    """Decoder and attention logits. Labels are the first K columns of Y, in order of the
    classes."""

    Y: Float[Array, "token output"]
    Z: Float[Array, "last token"]


class Readout(NamedTuple):
    """Residuals (for each single column), the probability of all that is wrong, and the loss, of
    every sample."""

    r: Float[Array, "_ _"]
    wrong: Float[Array, " sample"]
    loss: Float[Array, " sample"]


def zeros(tokens: int, last: int, labels: int) -> Weights:
    """The theory's start, with all other outputs in one column."""
    return Weights(jnp.zeros((tokens, labels + 1)), jnp.zeros((last, tokens)))


def copies(labels: int, columns: int, outputs: Any) -> Float[Array, " output"]:
    """How many outputs each column of Y stands for."""
    if columns == labels + 1:
        return jnp.ones(columns).at[-1].set(outputs - labels)
    return jnp.ones(columns)


def unit(
    k: Float[Array, "*axes"], z: Float[Array, "*axes"], axis: int = -1
) -> Float[Array, "*axes"]:
    """$f$ of each sample: $k e^z$ over its norm; tokens lie along `axis`, and those that do not
    occur stay 0."""
    top = jnp.max(jnp.where(k > 0, z, -jnp.inf), axis=axis, keepdims=True)
    weights = k * jnp.exp(jnp.where(k > 0, z - top, 0.0))
    return weights / jnp.sqrt((weights**2).sum(axis, keepdims=True))


def attention(Z: Float[Array, "last token"], data: Mixture) -> Float[Array, "class token"]:
    """$c_n$: where an endless sequence of each class looks."""
    f = unit(jnp.asarray(data.P), Z[data.last])
    return f / f.sum(-1, keepdims=True)


def read_out(
    w: Float[Array, "_ _"], label: Any, copies: Float[Array, " output"], axis: int = 1
) -> Readout:
    """Softmax over all outputs against the right one; `label` is an index for each sample,
    outputs lie along `axis`."""
    many = jnp.expand_dims(copies, 1 - axis)
    outputs = jnp.expand_dims(jnp.arange(w.shape[axis]), 1 - axis)
    right = outputs == jnp.expand_dims(jnp.asarray(label), axis)
    wrong = jnp.where(right, -jnp.inf, w + jnp.log(many))
    top = jnp.max(wrong, axis=axis, keepdims=True)
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    shares = jnp.exp(wrong - top)
    total = shares.sum(axis, keepdims=True)
    gap = top + jnp.log(total) - jnp.where(right, w, 0.0).sum(axis, keepdims=True)
    mass = jax.nn.sigmoid(gap)
    r = jnp.where(right, mass, -shares / many * (mass / total))
    return Readout(r, jnp.squeeze(mass, axis), jnp.squeeze(jax.nn.softplus(gap), axis))


def pull(
    Y: Float[Array, "token output"], r: Float[Array, "sample output"], copies: Array
) -> Float[Array, "sample token"]:
    """$g = Y r$ of each sample."""
    return times(r * copies, Y.T)


def times(
    a: Float[Array, "row inner"], b: Float[Array, "inner column"]
) -> Float[Array, "row column"]:
    """The matrix product; a small one as a sum, which the compiler joins with its neighbours."""
    return (a[:, :, None] * b).sum(1) if a.size * b.shape[1] <= SMALL else a @ b


def project(f: Float[Array, "_ _"], g: Float[Array, "_ _"], axis: int = 1) -> Float[Array, "_ _"]:
    r"""$\mathrm{diag}(f)(I - ff^\top) g$ of each sample; tokens lie along `axis`."""
    return f * (g - f * (f * g).sum(axis, keepdims=True))


def gradient(weights: Weights, data: Mixture) -> tuple[Weights, Float[Array, ""]]:
    """The ascent direction of the mean log-likelihood over endless sequences of all classes, and
    the loss."""
    K = len(data.last)
    f = unit(jnp.asarray(data.P), weights.Z[data.last])
    many = copies(K, weights.Y.shape[1], data.outputs)
    read = read_out(times(f, weights.Y), np.arange(K), many)
    dZ = times(
        jnp.asarray(rows(data.last, len(weights.Z))), project(f, pull(weights.Y, read.r, many))
    )
    return Weights(times(f.T, read.r) / K, dZ / K), read.loss.mean()


def rows(last: Int[np.ndarray, " class"], count: int) -> Float[np.ndarray, "last class"]:
    """The matrix that adds up classes with the same last token."""
    return (np.arange(count)[:, None] == last).astype(float)


def loss(weights: Weights, data: Mixture) -> Float[Array, ""]:
    """The mean of minus the log-likelihood over endless sequences of all classes."""
    return gradient(weights, data)[1]
