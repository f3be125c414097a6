"""The model: one layer of softmax attention without positions, then a linear two-layer MLP. Parameters, outputs, loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

import phasescope as ps

from ..data import Batch
from ..spec import Spec

BLOCK = 64  # rows that are drawn at once


class Weights(NamedTuple):
    """All that is trained. Words beyond the vocabulary have columns too; nothing moves them."""

    W_Q: Float[Array, "width word"]
    W_K: Float[Array, "width word"]
    W_V: Float[Array, "width word"]
    W: Float[Array, "neuron width"]


class Start(NamedTuple):
    """Weights at time 0 and the fixed output signs."""

    weights: Weights
    a: Float[Array, " neuron"]


def start(spec: Spec, key: Array) -> Start:
    r"""Independent entries of size $\sigma_0$ ($W$: $\sigma_1$), or the orthogonal start, and $a_j = \pm$ `output`."""
    rows = jnp.arange(-(-spec.width // BLOCK))
    columns = jnp.arange(-(-spec.neurons // BLOCK))
    a = jax.vmap(lambda j: signs(spec, key, j))(columns).reshape(-1)[: spec.neurons]
    if spec.init == "orthogonal":
        return Start(_orthogonal(spec, a), a)
    inner = jax.vmap(lambda r: attention_rows(spec, key, r))(rows)
    W_Q, W_K, W_V = inner.swapaxes(0, 1).reshape(3, -1, inner.shape[-1])[:, : spec.width]
    blocks = jax.vmap(lambda j: jax.vmap(lambda r: mlp_block(spec, key, j, r))(rows))(columns)
    W = blocks.swapaxes(1, 2).reshape(len(columns) * BLOCK, -1)
    return Start(Weights(W_Q, W_K, W_V, W[: spec.neurons, : spec.width]), a)


# The start is drawn block by block, so that its Grams can be summed up whatever the widths are, without recompiling.


def attention_rows(spec: Spec, key: Array, row: Any) -> Float[Array, "3 block word"]:
    """One block of rows of W_Q, W_K and W_V."""
    shape = (3, BLOCK, spec.dim + spec.length - 1)
    return spec.scale_0 * _draw(spec, jr.fold_in(jr.fold_in(key, 0), row), shape)


def mlp_block(spec: Spec, key: Array, neuron: Any, row: Any) -> Float[Array, "block block"]:
    """One block of W: some neurons, some rows of the attention matrices."""
    key = jr.fold_in(jr.fold_in(jr.fold_in(key, 1), neuron), row)
    return spec.scale_1 * _draw(spec, key, (BLOCK, BLOCK))


def signs(spec: Spec, key: Array, neuron: Any) -> Float[Array, "block"]:
    """The output weights of a block of neurons."""
    return spec.output * jr.rademacher(jr.fold_in(jr.fold_in(key, 2), neuron), (BLOCK,), float)


def _draw(spec: Spec, key: Array, shape: tuple[int, ...]) -> Array:
    """Independent numbers with variance 1."""
    if spec.init == "uniform":
        return 3**0.5 * jr.uniform(key, shape, float, -1.0, 1.0)
    return jr.normal(key, shape, float)


def check_orthogonal(spec: Spec) -> None:
    """As matrices, an orthogonal start needs room for the columns of W_Q beside those of W_K."""
    if spec.init == "orthogonal" and spec.width < 2 * spec.dim:
        raise ps.SpecError(
            f'init="orthogonal" needs width >= 2 dim = {2 * spec.dim} for matrices, got width={spec.width}. Take '
            f"width={2 * spec.dim}, or the arms gram, six_families and orthogonal, which need no matrices."
        )


def outputs(weights: Weights, a: Float[Array, " neuron"], batch: Batch) -> Float[Array, " sample"]:
    """$F$ as the definition says, sample by sample; nothing is shared with the reductions."""
    W_Q, W_K, W_V, W = weights

    def one(tokens):
        X = jnp.eye(W_Q.shape[1])[:, tokens]
        scores = X.T @ W_K.T @ W_Q @ X / W_Q.shape[0] ** 0.5
        return (a @ W @ W_V @ X @ jax.nn.softmax(scores, axis=0)).sum()

    return jax.vmap(one)(jnp.asarray(batch.tokens))


def loss(weights: Weights, a: Float[Array, " neuron"], batch: Batch) -> Float[Array, ""]:
    """The mean logistic loss."""
    return jnp.sum(batch.shares * jnp.logaddexp(0.0, -batch.labels * outputs(weights, a, batch)))


def _orthogonal(spec: Spec, a: Float[Array, " neuron"]) -> Weights:
    """Equal Grams and no overlaps. Words beyond the vocabulary would neither move nor be moved: their columns are 0."""
    words = spec.dim + spec.length - 1
    column = jnp.arange(words) < spec.dim

    def unit_columns(shift: int) -> Array:
        """Columns along the unit vectors from number `shift` on."""
        rows = jnp.eye(spec.width, words, -shift)
        return spec.scale_0 * spec.width**0.5 * jnp.where(column, rows, 0.0)

    b = spec.scale_1 * (spec.width * spec.output_norm) ** 0.5 * jnp.eye(1, spec.width, spec.dim)[0]
    return Weights(
        W_Q=unit_columns(0),
        W_K=unit_columns(spec.dim),
        W_V=unit_columns(0),
        W=jnp.outer(a, b) / spec.output_norm,
    )
