"""Training chains of a run: fresh ones at every update, or drawn from a fixed set that is never stored."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import PRNGKeyArray

from .. import data
from ..data import Chains
from ..spec import DecoderSpec


def training_chains(
    spec: DecoderSpec, length: int, count: int, key: PRNGKeyArray, source: PRNGKeyArray
) -> Chains:
    """A batch: with `dataset` = 0 from `key` alone, else `count` members of the set that `source` stands for.

    Member i of the set is made anew from the key `source` folded with the length and i, so a set of any size costs
    nothing, and its size is a number of the program.
    """
    size = jnp.asarray(spec.dataset, jnp.uint32)
    member = jr.bits(key, (count,), jnp.uint32) % jnp.maximum(size, 1)
    root = jnp.where(size == 0, key, jr.fold_in(source, length))
    number = jnp.where(size == 0, jnp.arange(count, dtype=jnp.uint32), member)
    return jax.vmap(lambda i: chain(spec, length, jr.fold_in(root, i)))(number)


def chain(spec: DecoderSpec, length: int, key: PRNGKeyArray) -> Chains:
    """One chain from one draw of random words: the places of the L + 1 largest of N are its names, in that order.

    The remainder of a word favours small numbers by n_g / 2^32.
    """
    action = spec.action
    N = spec.variables
    words = jr.bits(key, (N + 1 + length,), jnp.uint32)
    names = jax.lax.top_k(words[:N], length + 1)[1]
    start = (words[N] % action.values).astype(jnp.int32)
    moves = (words[N + 1 :] % action.actions).astype(jnp.int32)
    return Chains(names, moves, data.follow(action, start, moves))
