"""The loss of a large vocabulary on a GPU: scores are made for a whole number of tiles, which types that no token has fill up.

The 33,278 types of WikiText-2 are no multiple of 4, so that products of matrices take slow kernels or copy all scores first. With
33,280 an update of Figure 2's decoder takes 2.5 ms on an H200 in place of 3.6. The numbers are those of `read_out` to rounding.

An arm asks for it by `with_filled_types`. The arms whose runs were recorded before keep the program that they were recorded with.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..plan.dynamics import descent
from ..plan.plan import Plan
from . import read_out
from .decoder import Decoder, Dropping, forward
from .spec import TextSpec
from .training import Batch, TextState, products_of

TILE = 128  # types that a product of matrices takes at once
FEW = 1024  # types up to which filling up is more work than it saves


def with_filled_types(plan: Plan, spec: TextSpec) -> Plan:
    """The plan of `text_plan(spec)`, trained by the loss of this module."""
    [stage] = plan.stages
    assert isinstance(stage.dynamics, descent)
    stage = dataclasses.replace(stage, dynamics=filling_up(stage.dynamics, spec))
    return dataclasses.replace(plan, stages=(stage,))


def filling_up(learning: descent, spec: TextSpec) -> descent:
    """The descent of `training(spec)` on the loss of this module."""

    def mean_loss(state: TextState, batch: Batch) -> Float[Array, ""]:
        dropping = None
        if spec.dropout is not None and batch.key is not None:
            dropping = Dropping(spec.dropout, batch.key)
        with products_of(spec):
            return loss(state.net, batch.windows, dropping)

    return dataclasses.replace(learning, loss=mean_loss)


def loss(
    net: Decoder, windows: Int[Array, "*batch place"], dropping: Dropping | None = None
) -> Float[Array, ""]:
    """The mean over all tokens of a batch of windows, which are one token longer than the context."""
    x, _ = forward(net, windows[..., :-1], dropping)
    return mean_cross_entropy(
        x.reshape(-1, net.shape.width),
        net.embedding.T if net.read is None else net.read,
        net.read_bias,
        windows[..., 1:].reshape(-1),
    )


def mean_cross_entropy(
    x: Float[Array, "place width"],
    matrix: Float[Array, "width token"],
    bias: Float[Array, "token"] | None,
    targets: Int[Array, " place"],
    fills_up: bool | None = None,
) -> Float[Array, ""]:
    """`read_out.mean_cross_entropy`, with the types filled up on a GPU if they are many, and if all scores fit in memory.

    **Arguments:** as there. `fills_up`: whether it does so; by default what suits the backend and the sizes.
    """
    types = matrix.shape[1]
    if fills_up is None:
        size = len(x) * types * x.dtype.itemsize
        is_large = types > FEW and types % TILE > 0 and size <= read_out.IN_MEMORY
        fills_up = is_large and jax.default_backend() != "cpu"
    if not fills_up:
        return read_out.mean_cross_entropy(x, matrix, bias, targets)
    return _mean(x, matrix, bias, targets)


@jax.custom_vjp
def _mean(x: Array, matrix: Array, bias: Array | None, targets: Array) -> Array:
    return read_out.mean_cross_entropy(x, matrix, bias, targets)


def _with_derivatives(
    x: Array, matrix: Array, bias: Array | None, targets: Array
) -> tuple[Array, tuple[Array, Array, Array | None]]:
    """The loss, and what it is differentiated by: `x`, `matrix` and `bias`."""
    types = matrix.shape[1]
    more = -types % TILE
    matrix = jnp.pad(matrix, ((0, 0), (0, more)))
    biases = jnp.zeros(types, x.dtype) if bias is None else bias
    never = jnp.finfo(x.dtype).min / 2  # the score of what fills up: its exponential is 0
    scores = x @ matrix + jnp.pad(biases, (0, more), constant_values=never)
    highest = scores.max(axis=-1, keepdims=True)
    weights = jnp.exp(scores - highest)
    total = weights.sum(axis=-1, keepdims=True)
    right = jnp.arange(types + more) == targets[:, None]
    losses = (jnp.log(total) + highest)[:, 0] - jnp.where(right, scores, 0).sum(axis=-1)
    # Kept as an array of its own: both products read it, and neither makes it again.
    slope = jax.lax.optimization_barrier((weights / total - right) / len(x))
    by_bias = None if bias is None else slope.sum(axis=0)[:types]
    return losses.mean(), (slope @ matrix.T, (x.T @ slope)[:, :types], by_bias)


def _scaled(derivatives: Any, slope: Array) -> tuple[Any, ...]:
    by_x, by_matrix, by_bias = derivatives
    return slope * by_x, slope * by_matrix, None if by_bias is None else slope * by_bias, None


_mean.defvjp(_with_derivatives, _scaled)
