"""The model of the experiments: one position a clause, one attention layer without positions, a ReLU network.

A clause enters as the sum of five learned embeddings, one for each slot. Only answers ask and only their outputs carry
loss, so queries, network and read-out are computed there alone; predicates give keys and values and nothing else.
There is one layer, so a clause's key and value do not depend on its neighbours.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..data import SLOTS, Chains, Vocabulary

EPSILON = 1e-5  # of layer normalisation
NAME = 3  # the slots of an answer
VALUE = 4


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is fixed in a program: sizes, and which parts there are."""

    tokens: Vocabulary
    width: int
    hidden: int
    heads: int = 2
    residual: bool = False
    layer_norm: bool = False


class Norm(eqx.Module):
    """Layer normalisation with a learned scale and shift."""

    scale: Float[Array, "width"]
    shift: Float[Array, "width"]

    def __call__(self, x: Float[Array, "... width"]) -> Float[Array, "... width"]:
        centred = x - x.mean(-1, keepdims=True)
        return (
            centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * self.scale
            + self.shift
        )


class Decoder(eqx.Module):
    """The parameters; `norms` (before attention, network and read-out) is empty without layer normalisation."""

    embedding: Float[Array, "slot token width"]
    query: Float[Array, "width head size"]
    key: Float[Array, "width head size"]
    value: Float[Array, "width head size"]
    out: Float[Array, "head size width"]
    up: Float[Array, "width hidden"]
    up_bias: Float[Array, "hidden"]
    down: Float[Array, "hidden width"]
    down_bias: Float[Array, "width"]
    read: Float[Array, "width slot token"]
    read_bias: Float[Array, "slot token"]
    norms: tuple[Norm, ...]
    shape: Shape = eqx.field(static=True)


class Embedded(eqx.Module):
    """The clauses of some sentences as they enter the attention (normalised, if the model does that)."""

    predicates: Float[Array, "*batch move width"]
    answers: Float[Array, "*batch step width"]
    plain_answers: Float[Array, "*batch step width"]  # what a residual stream would add


def initial(
    key: PRNGKeyArray, shape: Shape, dtype: Any = jnp.float32, size: Float[Array, ""] | float = 1.0
) -> Decoder:
    """Embeddings of this size (standard deviation), matrices with variance 1 / (inputs), no biases."""
    if shape.width % shape.heads:
        raise ValueError(f"width={shape.width} cannot be cut into {shape.heads} heads.")
    D = shape.width
    H = shape.heads
    F = shape.hidden
    d = shape.tokens.size
    sizes = {
        "embedding": (SLOTS, d, D),
        "query": (D, H, D // H),
        "key": (D, H, D // H),
        "value": (D, H, D // H),
        "out": (H, D // H, D),
        "up": (D, F),
        "down": (F, D),
        "read": (D, SLOTS, d),
    }
    inputs = dict.fromkeys(sizes, D) | {"embedding": 1, "down": F}
    ends = np.cumsum([np.prod(size) for size in sizes.values()])
    parts = jnp.split(
        jr.normal(key, (ends[-1],), dtype), ends[:-1]
    )  # one draw: each would be compiled by itself
    drawn = {
        name: part.reshape(sizes[name]) / np.sqrt(inputs[name]).astype(dtype)
        for name, part in zip(sizes, parts, strict=True)
    }
    drawn["embedding"] *= jnp.asarray(size, dtype)
    norm = Norm(jnp.ones(D, dtype), jnp.zeros(D, dtype))
    return Decoder(
        **drawn,
        up_bias=jnp.zeros(F, dtype),
        down_bias=jnp.zeros(D, dtype),
        read_bias=jnp.zeros((SLOTS, d), dtype),
        norms=(norm,) * 3 if shape.layer_norm else (),
        shape=shape,
    )


def embed_predicates(net: Decoder, chains: Chains) -> Float[Array, "*batch move width"]:
    """(x_n, g_n, x_{n-1}, blank, blank): two slots are the same in all predicates, so they are looked up once."""
    E = net.embedding
    tokens = net.shape.tokens
    names = jnp.asarray(chains.names)
    moves = jnp.asarray(chains.actions)
    blanks = E[NAME, tokens.blank] + E[VALUE, tokens.blank]
    return E[0][names[..., 1:]] + E[1][moves + tokens.first_action] + E[2][names[..., :-1]] + blanks


def embed_answers(
    net: Decoder, names: Int[Array, "*batch"], values: Int[Array, "*batch"]
) -> Float[Array, "*batch width"]:
    """(blank, blank, blank, x_n, y_n); both are token numbers, so that a rollout may feed back whatever it said."""
    E = net.embedding
    blank = net.shape.tokens.blank
    return E[NAME][names] + E[VALUE][values] + (E[0, blank] + E[1, blank] + E[2, blank])


def embed(net: Decoder, chains: Chains) -> Embedded:
    """All predicates, and the answers that ask: 0 to L - 1."""
    names = jnp.asarray(chains.names)[..., :-1]
    values = jnp.asarray(chains.values)[..., :-1]
    answers = embed_answers(net, names, values + net.shape.tokens.first_value)
    return Embedded(
        normalised(net, 0, embed_predicates(net, chains)), normalised(net, 0, answers), answers
    )


def normalised(net: Decoder, place: int, x: Float[Array, "... width"]) -> Float[Array, "... width"]:
    """Layer normalisation at one of its three places, if the model has it."""
    return net.norms[place](x) if net.norms else x


def keys_and_values(net: Decoder, clauses: Float[Array, "... width"]) -> tuple[Array, Array]:
    """What a clause offers to those that ask, for every head."""
    keys = jnp.einsum("...d,dhs->...hs", clauses, net.key)
    values = jnp.einsum("...d,dhs->...hs", clauses, net.value)
    return keys, values


def queries(net: Decoder, clauses: Float[Array, "... width"]) -> Float[Array, "... head size"]:
    """What a clause asks, scaled by the root of a head's size."""
    return jnp.einsum("...d,dhs->...hs", clauses, net.query) / np.sqrt(net.query.shape[-1]).astype(
        clauses.dtype
    )


def logits(
    net: Decoder,
    context: Float[Array, "... head size"],
    answers: Float[Array, "... width"],
    first: int = 0,
) -> Float[Array, "... slot token"]:
    """From what the heads fetched to the scores of the next clause's tokens, from slot `first` on."""
    x = jnp.einsum("...hs,hsd->...d", context, net.out)
    x = x + answers if net.shape.residual else x
    h = jax.nn.relu(normalised(net, 1, x) @ net.up + net.up_bias) @ net.down + net.down_bias
    x = x + h if net.shape.residual else h
    return (
        jnp.einsum("...d,dpt->...pt", normalised(net, 2, x), net.read[:, first:])
        + net.read_bias[first:]
    )


def attention(
    net: Decoder, clauses: Embedded, length: Int[Array, ""] | None = None
) -> tuple[Float[Array, "*batch head query clause"], Float[Array, "*batch query head size"]]:
    """Weights of every answer over predicates 1..L and answers 0..L-1, and what they fetch.

    With `length`, chains are that long and padded: predicates beyond it are not there.
    """
    L = clauses.predicates.shape[-2]
    k, v = keys_and_values(net, jnp.concatenate([clauses.predicates, clauses.answers], axis=-2))
    scores = jnp.einsum("...qhs,...chs->...hqc", queries(net, clauses.answers), k)
    there = jnp.arange(L) < (L if length is None else length)
    visible = jnp.concatenate([jnp.broadcast_to(there, (L, L)), np.tri(L, dtype=bool)], axis=-1)
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
    return weights, jnp.einsum("...hqc,...chs->...qhs", weights, v)


def targets(net: Decoder, chains: Chains) -> Int[Array, "*batch step slot"]:
    """The clauses that follow answers 0..L-1: answers 1..L."""
    tokens = net.shape.tokens
    names = jnp.asarray(chains.names)[..., 1:]
    values = jnp.asarray(chains.values)[..., 1:] + tokens.first_value
    blank = jnp.full_like(names, tokens.blank)
    return jnp.stack([blank, blank, blank, names, values.astype(names.dtype)], axis=-1)


def losses(net: Decoder, chains: Chains) -> Float[Array, "*batch"]:
    """Cross-entropy of the next clause, summed over slots and steps; all earlier answers are given."""
    clauses = embed(net, chains)
    _, context = attention(net, clauses)
    scores = logits(net, context, clauses.plain_answers)
    right = jnp.take_along_axis(scores, targets(net, chains)[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(scores, axis=-1) - right).sum((-2, -1))


def loss(net: Decoder, chains: Chains) -> Float[Array, ""]:
    """The mean over a batch of chains."""
    return losses(net, chains).mean()
