r"""Mini-batches: counts instead of sequences.

A sequence enters the model only by how often each token occurs in it: $X^\top b = k \odot e^z / \sum k e^z$. So a batch is
a label and multinomial counts $k$ on the support of its class for each sequence, which is identical in law. All classes
of a synthetic mixture have one profile, so the counts do not depend on the label, and the draw on nothing but the key
and the profile: runs of a sweep that share their key share their draws.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from . import model
from .data import last_tokens, slots
from .model import Weights
from .spec import Spec

FEW = 8  # up to this many classes it is faster to multiply with all context tokens than to pick rows


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
    """The class of every sequence, and how often each token of its support occurs: common tokens first."""

    label: Int[Array, " sample"]
    counts: Float[Array, "sample slot"]


def draw(key: Array, spec: Spec) -> Batch:
    """A mini-batch of `batch` sequences of length `seq_length`, the query included."""
    which, what = jr.split(key)
    label = jr.randint(which, (spec.batch,), 0, spec.labels)
    return Batch(label, multinomial(what, slots(spec), spec.seq_length - 1, spec.batch))


def multinomial(key: Array, p: Float[Array, " slot"], total: int, rows: int) -> Float[Array, "row slot"]:
    """Counts of `total` independent tokens, in every row; probabilities are rounded to multiples of 2^-32."""
    words = jr.bits(key, (total, rows), jnp.uint32)
    edges = jnp.minimum(jnp.round(jnp.cumsum(p) * 2.0**32), 2.0**32 - 1).astype(jnp.uint32)[:-1]
    below = jax.lax.platform_dependent(words, edges, cpu=_below_in_turn, default=_below_at_once)
    ends = jnp.pad(below, ((1, 0), (0, 0)))
    whole = jnp.full((1, rows), total, below.dtype)
    return jnp.diff(jnp.concatenate([ends, whole]), axis=0).T.astype(float)


def _below_in_turn(words: UInt32[Array, "token row"], edges: UInt32[Array, " edge"]) -> Int[Array, "edge row"]:
    """How many tokens of a row lie below each edge; a CPU likes one token after the other."""
    add = lambda seen, word: (seen + (word[None] < edges[:, None]), None)
    return jax.lax.scan(add, jnp.zeros((len(edges), words.shape[1]), jnp.int32), words)[0]


def _below_at_once(words: UInt32[Array, "token row"], edges: UInt32[Array, " edge"]) -> Int[Array, "edge row"]:
    return (words[None] < edges[:, None, None]).sum(1, dtype=jnp.int32)


def uniform_start(key: Array, spec: Spec) -> Weights:
    r"""Every entry of $Y$ and $Z$ uniform within $M^{-1/2}$ of zero; all outputs have columns of their own."""
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
    """The ascent direction of the batch's mean log-likelihood, and its loss; `copies` as in the model."""
    C, B = layout.common, len(batch.label)
    f = model.unit(batch.counts, own_logits(weights.Z, layout)[batch.label])
    mine = (batch.label[:, None] == np.arange(layout.labels)).astype(f.dtype)
    decode = _decode_by_class if layout.labels > FEW else _decode_at_once
    read, dY, g = decode(weights.Y, f, mine, batch.label, copies, C)
    by_class = mine.T @ model.project(f, g)
    return Weights(dY / B, to_table(by_class, layout) / B), read.loss.mean()


def _decode_at_once(Y, f, mine, label, copies, C):
    """Residuals, the decoder's gradient and its pull, by products with all context tokens: fast for few classes."""
    distinct = (mine[:, :, None] * f[:, None, C:]).reshape(len(f), -1)
    wide = jnp.concatenate([f[:, :C], distinct], axis=1)
    read = model.read_out(wide @ Y, label, copies)
    g = model.pull(Y, read.r, copies)
    own = (mine[:, :, None] * g[:, C:].reshape(*mine.shape, -1)).sum(1)
    return read, wide.T @ read.r, jnp.concatenate([g[:, :C], own], axis=1)


def _decode_by_class(Y, f, mine, label, copies, C):
    """The same, with only those rows of Y that a sample's own class has: fast for many classes."""
    shared, blocks = Y[:C], Y[C:].reshape(mine.shape[1], -1, Y.shape[1])
    own = blocks[label]
    read = model.read_out(f[:, :C] @ shared + jnp.einsum("sd,sdo->so", f[:, C:], own), label, copies)
    weighted = read.r * copies
    g = jnp.concatenate([weighted @ shared.T, jnp.einsum("so,sdo->sd", weighted, own)], axis=1)
    into = jnp.zeros_like(blocks).at[label].add(f[:, C:, None] * read.r[:, None, :])
    return read, jnp.concatenate([f[:, :C].T @ read.r, into.reshape(-1, Y.shape[1])]), g


def own_logits(Z: Float[Array, "last token"], layout: Layout) -> Float[Array, "class slot"]:
    """The attention logits of every class on its support."""
    C, last = layout.common, layout.last
    blocks = Z[:, C:].reshape(len(Z), len(last), -1)
    return jnp.concatenate([Z[:, :C][last], blocks[last, np.arange(len(last))]], axis=1)


def to_table(by_class: Float[Array, "class slot"], layout: Layout) -> Float[Array, "last token"]:
    """What the classes' logits receive, as rows of the attention table."""
    C, own = layout.common, model.rows(layout.last, int(layout.last.max()) + 1).astype(by_class.dtype)
    distinct = (own[:, :, None] * by_class[None, :, C:]).reshape(len(own), -1)
    return jnp.concatenate([own @ by_class[:, :C], distinct], axis=1)
