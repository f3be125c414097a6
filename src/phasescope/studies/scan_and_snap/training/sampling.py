r"""Mini-batches: counts instead of sequences.

A sequence enters the model only by how often each token occurs in it: $X^\top b = k \odot e^z /
\sum k e^z$. So a batch is a label and multinomial counts $k$ on the support of its class for
each sequence, which is identical in law. All classes of a synthetic mixture have one profile, so
the counts do not depend on the label, and the draw on nothing but the key and the profile: runs
of a sweep that share their key share their draws.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

import phasescope as ps

from .. import model
from ..data import last_tokens, own_tokens, slots
from ..model import Weights
from ..spec import Spec

FEW = (
    8  # up to this many classes it is faster to multiply with all context tokens than to pick rows
)


class Layout(NamedTuple):
    """Where things are: the number of common tokens, and the last token of every class."""

    common: int
    last: Int[np.ndarray, " class"]

    @property
    def labels(self) -> int:
        return len(self.last)


def layout(spec: Spec) -> Layout:
    """Of the synthetic mixture."""
    return Layout(spec.common, last_tokens(spec))


class Batch(NamedTuple):
    """The class of every sequence, and how often each token of its support occurs: common tokens
    first."""

    label: Int[Array, " sample"]
    counts: Float[Array, "sample slot"]


def draw(key: Array, spec: Spec) -> Batch:
    """A mini-batch of `batch` sequences of length `seq_length`, the query included."""
    which, what = jr.split(key)
    label = jr.randint(which, (spec.batch,), 0, spec.labels)
    return Batch(label, multinomial(what, slots(spec), spec.seq_length - 1, spec.batch))


def counted(
    tokens: Int[np.ndarray, "*batch sample position"],
    label: Int[np.ndarray, "*batch sample"],
    spec: Spec,
) -> dict[str, np.ndarray]:
    """Batches of sequences, as other programs have them, as the arrays of a `Batch`: context tokens by their ids, without
    the query."""
    place = tokens[..., None] == support(spec)[label][..., None, :]
    if not place.any(-1).all():
        strange = np.argwhere(~place.any(-1))[0]
        raise ps.SpecError(
            f"the token {tokens[tuple(strange)]} at {strange.tolist()} does not occur in the class "
            f"{label[tuple(strange[:-1])]}: common tokens are 0 to {spec.common - 1}, then come the {spec.distinct} distinct "
            "ones of each class."
        )
    return {"label": label, "counts": place.sum(-2).astype(float)}


def support(spec: Spec) -> Int[np.ndarray, "class slot"]:
    """The ids of the tokens of every class: common ones first."""
    common = np.tile(np.arange(spec.common), (spec.labels, 1))
    return np.concatenate([common, own_tokens(spec)], axis=1)


def multinomial(
    key: Array, p: Float[Array, " slot"], total: int, rows: int
) -> Float[Array, "row slot"]:
    """Counts of `total` independent tokens, in every row; probabilities are rounded to multiples
    of 2^-32."""
    words = jr.bits(key, (total, rows), jnp.uint32)
    edges = jnp.minimum(jnp.round(jnp.cumsum(p) * 2.0**32), 2.0**32 - 1).astype(jnp.uint32)[:-1]
    below = jax.lax.platform_dependent(words, edges, cpu=_below_in_turn, default=_below_at_once)
    ends = jnp.pad(below, ((1, 0), (0, 0)))
    whole = jnp.full((1, rows), total, below.dtype)
    return jnp.diff(jnp.concatenate([ends, whole]), axis=0).T.astype(float)


def _below_in_turn(
    words: UInt32[Array, "token row"], edges: UInt32[Array, " edge"]
) -> Int[Array, "edge row"]:
    """How many tokens of a row lie below each edge; a CPU likes one token after the other."""

    def add(below, word):
        return below + (word[None] < edges[:, None]), None

    none = jnp.zeros((len(edges), words.shape[1]), jnp.int32)
    return jax.lax.scan(add, none, words)[0]


def _below_at_once(
    words: UInt32[Array, "token row"], edges: UInt32[Array, " edge"]
) -> Int[Array, "edge row"]:
    """The same in one go, as a GPU likes it."""
    return (words[None] < edges[:, None, None]).sum(1, dtype=jnp.int32)


def uniform_start(key: Array, spec: Spec) -> Weights:
    r"""Every entry of $Y$ and $Z$ uniform within $M^{-1/2}$ of zero; all outputs have columns of
    their own."""
    columns = spec.context + spec.num_last + spec.labels
    width = columns**-0.5
    one, two = jr.split(key)
    return Weights(
        jr.uniform(one, (spec.context, columns), float, -width, width),
        jr.uniform(two, (spec.num_last, spec.context), float, -width, width),
    )


def gradient(
    weights: Weights, batch: Batch, copies: Float[Array, " output"], layout: Layout
) -> tuple[Weights, Float[Array, ""]]:
    """The ascent direction of the batch's mean log-likelihood, and its loss; `copies` as in the
    model."""
    mine = (batch.label[:, None] == np.arange(layout.labels)).astype(weights.Y.dtype)
    decode = _by_class if layout.labels > FEW else _at_once
    dY, by_class, loss = decode(weights, batch, mine, copies, layout)
    B = len(batch.label)
    return Weights(dY / B, to_table(by_class, layout) / B), loss.mean()


def _at_once(
    weights: Weights, batch: Batch, mine: Array, copies: Array, layout: Layout
) -> tuple[Array, Array, Array]:
    """By products with all context tokens, samples on the last axis: fast for few classes."""
    Y = weights.Y
    C = layout.common
    K = layout.labels
    f = model.unit(batch.counts.T, own_logits(weights.Z, layout).T @ mine.T, axis=0)

    def own(x):
        """Zero for all classes but the sample's own; axes are class, distinct token, sample."""
        return mine.T[:, None, :] * x

    wide = jnp.concatenate([f[:C], own(f[C:]).reshape(len(Y) - C, -1)])
    read = model.read_out(Y.T @ wide, batch.label, copies, axis=0)
    g = Y @ (read.r * copies[:, None])
    g = jnp.concatenate([g[:C], own(g[C:].reshape(K, len(f) - C, -1)).sum(0)])
    return wide @ read.r.T, mine.T @ model.project(f, g, axis=0).T, read.loss


def _by_class(
    weights: Weights, batch: Batch, mine: Array, copies: Array, layout: Layout
) -> tuple[Array, Array, Array]:
    """The same with only those rows of Y that a sample's own class has: fast for many classes."""
    Y = weights.Y
    C = layout.common
    label = batch.label
    f = model.unit(batch.counts, own_logits(weights.Z, layout)[label])
    shared = Y[:C]
    blocks = Y[C:].reshape(layout.labels, -1, Y.shape[1])
    own = blocks[label]
    read = model.read_out(
        f[:, :C] @ shared + jnp.einsum("sd,sdo->so", f[:, C:], own), label, copies
    )
    weighted = read.r * copies
    g = jnp.concatenate([weighted @ shared.T, jnp.einsum("so,sdo->sd", weighted, own)], axis=1)
    of_own = jax.lax.platform_dependent(
        label, f[:, C:], read.r, blocks, cpu=_add_in_turn, default=_add_at_once
    )
    dY = jnp.concatenate([f[:, :C].T @ read.r, of_own.reshape(-1, Y.shape[1])])
    return dY, mine.T @ model.project(f, g), read.loss


def _add_in_turn(label: Array, f: Array, r: Array, like: Array) -> Array:
    """The outer products of f and r, added up by class; a CPU likes one sample after the other."""

    def add(i, into):
        return into.at[label[i]].add(f[i, :, None] * r[i])

    return jax.lax.fori_loop(0, len(label), add, jnp.zeros_like(like))


def _add_at_once(label: Array, f: Array, r: Array, like: Array) -> Array:
    """The same in one go, as a GPU likes it."""
    return jnp.zeros_like(like).at[label].add(f[:, :, None] * r[:, None, :])


def own_logits(Z: Float[Array, "last token"], layout: Layout) -> Float[Array, "class slot"]:
    """The attention logits of every class on its support."""
    C = layout.common
    last = layout.last
    blocks = Z[:, C:].reshape(len(Z), len(last), -1)
    return jnp.concatenate([Z[:, :C][last], blocks[last, np.arange(len(last))]], axis=1)


def to_table(by_class: Float[Array, "class slot"], layout: Layout) -> Float[Array, "last token"]:
    """What the classes' logits receive, as rows of the attention table."""
    C = layout.common
    own = model.rows(layout.last, int(layout.last.max()) + 1).astype(by_class.dtype)
    distinct = (own[:, :, None] * by_class[None, :, C:]).reshape(len(own), -1)
    return jnp.concatenate([own @ by_class[:, :C], distinct], axis=1)
