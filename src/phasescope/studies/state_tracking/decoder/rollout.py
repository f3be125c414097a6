"""Greedy rollout: the model continues its own answers, from answer 0 to answer L.

Keys and values of a clause never change (one layer, no positions), so they are computed once and kept: a step costs
O(L) and a rollout O(L^2), where starting over at every step would cost O(L^3).
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..data import Chains
from . import network
from .network import NAME, Decoder


class Cache(eqx.Module):
    """Keys and values of predicates 1..L and of the answers so far, in one buffer of 2L clauses."""

    keys: Float[Array, "*batch head clause size"]
    values: Float[Array, "*batch head clause size"]


class Said(eqx.Module):
    """What the model said at every step, as token numbers: answers 1 to L."""

    names: Int[Array, "*batch move"]
    values: Int[Array, "*batch move"]


def prefill(net: Decoder, chains: Chains) -> Cache:
    """The cache before the first answer: predicates in the first half, room for answers in the second."""
    clauses = network.normalised(net, 0, network.embed_predicates(net, chains))
    keys, values = network.keys_and_values(net, clauses)
    return Cache(_with_room(keys), _with_room(values))


def _with_room(x: Float[Array, "*batch move head size"]) -> Float[Array, "*batch head clause size"]:
    by_head = jnp.moveaxis(x, -2, -3)
    return jnp.concatenate([by_head, jnp.zeros_like(by_head)], axis=-2)


def step(
    net: Decoder,
    cache: Cache,
    number: Int[Array, ""] | int,
    length: Int[Array, ""] | int,
    names: Int[Array, "*batch"],
    values: Int[Array, "*batch"],
) -> tuple[Cache, Float[Array, "*batch 2 token"]]:
    """Answer `number` asks: the scores of the next name and value, and the cache with this answer in it."""
    L = cache.keys.shape[-2] // 2
    plain = network.embed_answers(net, names, values)
    clause = network.normalised(net, 0, plain)
    k, v = network.keys_and_values(net, clause)

    def put(old, new):
        return jax.lax.dynamic_update_slice_in_dim(old, new[..., None, :], L + number, axis=-2)

    cache = Cache(put(cache.keys, k), put(cache.values, v))
    scores = jnp.einsum("...hs,...hcs->...hc", network.queries(net, clause), cache.keys)
    place = jnp.arange(2 * L)
    visible = (place < length) | ((place >= L) & (place <= L + number))
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
    return cache, network.logits(
        net, jnp.einsum("...hc,...hcs->...hs", weights, cache.values), plain, first=NAME
    )


def rollout(
    net: Decoder,
    chains: Chains,
    length: Int[Array, ""] | int | None = None,
    full: Bool[Array, ""] | bool = False,
) -> Said:
    """Greedy answers for a batch of chains; their own answers beyond the first are not looked at.

    The value that was said is fed back, and so is the name if `full`; else the name is taken from the data. With
    `length`, chains are that long and padded; what stands beyond is not to be read.
    """
    L = chains.length
    shown = L if length is None else length
    truth = jnp.asarray(chains.names)
    names = truth[..., 0]
    values = jnp.asarray(chains.values)[..., 0] + net.shape.tokens.first_value
    silence = jnp.zeros((*truth.shape[:-1], L), truth.dtype)

    def put(old, new, number):
        return jax.lax.dynamic_update_slice_in_dim(old, new[..., None], number, axis=-1)

    def say(number, carry):
        cache, names, values, said = carry
        cache, scores = step(net, cache, number, shown, names=names, values=values)
        own, values = (
            jnp.argmax(scores[..., slot, :], axis=-1).astype(names.dtype) for slot in (0, 1)
        )
        said = Said(put(said.names, own, number), put(said.values, values, number))
        given = jax.lax.dynamic_index_in_dim(truth, number + 1, axis=-1, keepdims=False)
        return cache, jnp.where(full, own, given), values, said

    start = (prefill(net, chains), names, values.astype(names.dtype), Said(silence, silence))
    *_, said = jax.lax.fori_loop(0, shown, say, start)
    return said


def right_steps(
    net: Decoder, chains: Chains, said: Said, length: Int[Array, ""] | int | None = None
) -> Bool[Array, "*batch move"]:
    """Which values are those of the chain; steps beyond `length` count as right."""
    truth = jnp.asarray(chains.values)[..., 1:] + net.shape.tokens.first_value
    beyond = np.arange(chains.length) >= (chains.length if length is None else length)
    return (said.values == truth) | beyond


def accuracies(
    net: Decoder, chains: Chains, lengths: tuple[int, ...]
) -> Float[Array, "mode length"]:
    """The share of chains whose values are all right, by mode (`val`, `full`) and length.

    A chain cut short is a chain: one set of the greatest length serves all, and one program, whose number of steps is
    a number, serves all lengths and both modes.
    """

    def share(case):
        length, full = case
        said = rollout(net, chains, length, full)
        return right_steps(net, chains, said, length).all(-1).mean(dtype=net.read_bias.dtype)

    cases = jnp.array([(length, full) for full in (0, 1) for length in lengths])
    return jax.lax.map(share, (cases[:, 0], cases[:, 1] == 1)).reshape(2, len(lengths))


def relabelled(net: Decoder, chains: Chains) -> Chains:
    """The chains with the values that the model gives them (names as in the data)."""
    values = rollout(net, chains).values - net.shape.tokens.first_value
    first = jnp.asarray(chains.values)[..., :1]
    return Chains(
        chains.names, chains.actions, jnp.concatenate([first, values.astype(first.dtype)], axis=-1)
    )
