"""The mean cross-entropy of a read-out, whose gradient is made while the loss is: its scores are never kept.

Scores of all tokens of a batch are by far the largest array of a small decoder (6,400 tokens times 33,278 types). On a CPU, what
is done with them takes longer than the products that make them; so a few tokens at a time have their scores made, turned into
losses and gradients, and forgotten, while a cache still holds them. A GPU is fastest with one product of all tokens.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

IN_CACHE = 2**25  # bytes of scores at a time on a CPU
IN_MEMORY = 2**31  # and elsewhere


def mean_cross_entropy(
    x: Float[Array, "place width"],
    matrix: Float[Array, "width token"],
    bias: Float[Array, "token"] | None,
    targets: Int[Array, " place"],
    held: int | None = None,
) -> Float[Array, ""]:
    """The mean over all places of the cross-entropy of `x @ matrix + bias`, in nats.

    It has a gradient, and derivatives of the gradient; forward-mode differentiation of the loss itself is refused by JAX.

    **Arguments:** `x`: what is read out. `matrix`, `bias`: of the read-out; the bias may be None. `targets`: the right
    tokens. `held`: bytes of scores that may be there at a time when a gradient is asked for; by default what suits the backend.
    """
    if held is None:
        held = IN_CACHE if jax.default_backend() == "cpu" else IN_MEMORY
    return _mean(x, matrix, bias, targets, held)


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def _mean(x: Array, matrix: Array, bias: Array | None, targets: Array, held: int) -> Array:
    scores = _scores(x, matrix, bias)
    right = jnp.take_along_axis(scores, targets[:, None], axis=-1)[:, 0]
    return (jax.nn.logsumexp(scores, axis=-1) - right).mean()


def _with_derivatives(
    x: Array, matrix: Array, bias: Array | None, targets: Array, held: int
) -> tuple[Array, tuple[Array, Array, Array | None]]:
    """The loss, and what it is differentiated by: `x`, `matrix` and `bias`."""
    places, width = x.shape
    types = matrix.shape[1]
    parts, rows = cut(places, types * x.dtype.itemsize, held)
    share = jnp.full(
        places, 1 / places, x.dtype
    )  # in the mean; places that are filled up have none

    def part(sums: Any, some: tuple[Array, ...]) -> tuple[Any, Array]:
        some_x, some_targets, some_share = some
        scores = _scores(some_x, matrix, bias)
        highest = jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True))
        weights = jnp.exp(scores - highest)
        total = weights.sum(axis=-1, keepdims=True)
        right = jnp.arange(types) == some_targets[:, None]
        losses = (jnp.log(total) + highest)[:, 0] - jnp.where(right, scores, 0).sum(axis=-1)
        slope = (weights / total - right) * some_share[:, None]
        by_bias = None if bias is None else slope.sum(axis=0)
        found = ((losses * some_share).sum(), some_x.T @ slope, by_bias)
        return jax.tree.map(jnp.add, sums, found), slope @ matrix.T

    nothing = (
        jnp.zeros((), x.dtype),
        jnp.zeros_like(matrix),
        None if bias is None else jnp.zeros_like(bias),
    )
    pieces = tuple(_in_parts(each, parts, rows) for each in (x, targets, share))
    (loss, by_matrix, by_bias), by_x = jax.lax.scan(part, nothing, pieces)
    return loss, (by_x.reshape(parts * rows, width)[:places], by_matrix, by_bias)


def _scaled(held: int, derivatives: Any, slope: Array) -> tuple[Any, ...]:
    by_x, by_matrix, by_bias = derivatives
    return slope * by_x, slope * by_matrix, None if by_bias is None else slope * by_bias, None


_mean.defvjp(_with_derivatives, _scaled)


def cut(places: int, row: int, held: int) -> tuple[int, int]:
    """How many parts the places are cut into, and how many places a part has, so that its scores fit in `held`.

    Parts are as even as can be: less than one place a part is filled up. A part has at least one place.

    **Arguments:** `places`: how many. `row`: bytes of the scores of one. `held`: bytes that may be there at a time.
    """
    most = min(places, max(1, held // row))
    parts = -(-places // most)
    return parts, -(-places // parts)


def _in_parts(each: Array, parts: int, rows: int) -> Array:
    """Cut along the places, after zeros at the end."""
    more = [(0, parts * rows - len(each)), *((0, 0) for _ in each.shape[1:])]
    return jnp.pad(each, more).reshape(parts, rows, *each.shape[1:])


def _scores(x: Array, matrix: Array, bias: Array | None) -> Float[Array, "place token"]:
    scores = x @ matrix
    return scores if bias is None else scores + bias
