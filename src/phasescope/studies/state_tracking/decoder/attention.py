"""The attention of trained decoders: heat maps over clauses, and their two bands along the chain."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..data import Chains
from . import network
from .network import VALUE, Decoder, Embedded


def heat(
    net: Decoder, chains: Chains, order: Int[Array | np.ndarray, " move"] | None = None
) -> Float[Array, "head query clause"]:
    """Mean weights of answers 0..L-1 (rows) on predicates 1..L, then answers 0..L-1; with `order`, place i of the
    predicates holds predicate `order[i]`."""
    clauses = network.embed(net, chains)
    if order is not None:
        clauses = Embedded(
            clauses.predicates[..., order, :], clauses.answers, clauses.plain_answers
        )
    weights, _ = network.attention(net, clauses)
    return weights.mean(axis=tuple(range(weights.ndim - 3)))


def bands(
    weights: Float[Array, "... query clause"],
) -> tuple[Float[Array, "... query"], Float[Array, "... query"]]:
    """What answer l gives to predicate l + 1, which holds its variable, and to itself."""
    L = weights.shape[-2]
    on_predicates = weights[..., :L]
    on_answers = weights[..., L:]
    return jnp.diagonal(on_predicates, axis1=-2, axis2=-1), jnp.diagonal(
        on_answers, axis1=-2, axis2=-1
    )


def along_chain(
    net: Decoder, chains: Chains, length: Int[Array, ""] | int
) -> tuple[Float[Array, "step"], Float[Array, "step"], Float[Array, ""]]:
    """Both bands, means over heads and chains, and the share of right next values; all earlier answers are given.

    Chains are `length` long and padded; steps beyond it are NaN.
    """
    clauses = network.embed(net, chains)
    weights, context = network.attention(net, clauses, jnp.asarray(length))
    scores = network.logits(net, context, clauses.plain_answers, first=VALUE)[..., 0, :]
    right = jnp.argmax(scores, axis=-1) == network.targets(net, chains)[..., VALUE]
    there = jnp.arange(chains.length) < length
    predicate, answer = (band.mean(axis=(0, 1)) for band in bands(weights))
    share = jnp.where(there, right, False).sum(dtype=predicate.dtype) / (right.shape[0] * length)
    return (
        jnp.where(there, predicate, jnp.nan),
        jnp.where(there, answer, jnp.nan),
        share.astype(predicate.dtype),
    )


def at_lengths(
    net: Decoder, chains: Chains, lengths: tuple[int, ...]
) -> tuple[Float[Array, "length step"], Float[Array, "length step"], Float[Array, "length"]]:
    """`along_chain` at several lengths, on prefixes of one set of chains."""
    return jax.lax.map(lambda length: along_chain(net, chains, length), jnp.array(lengths))
