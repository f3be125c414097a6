"""A small decoder of text: causal attention with or without positions, a network of one hidden layer, a read-out.

One model covers what the papers train on text. Without normalisation the stream is what is added to it; with `pre` it is
normalised before attention, network and read-out, with `post` after each addition.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .read_out import mean_cross_entropy
from .starts import Draws

EPSILON = 1e-5  # of layer normalisation
POSITIONS = ("alibi", "sinusoidal", "learned", "none")
NORMALISATIONS = ("none", "pre", "post")
ACTIVATIONS = ("relu", "gelu")


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is fixed in a program: sizes, and which parts there are.

    `context` is the longest sequence that learned positions have room for. `sees_itself` leaves the diagonal of the
    attention in; without it the first token looks at nothing. `scaled_embedding` multiplies embeddings by the root of the
    width. `attention_bias` is of queries, keys, values and their output, `bias` of all other layers.
    """

    vocabulary: int
    context: int
    width: int = 32
    hidden: int = 128
    layers: int = 2
    heads: int = 2
    positions: str = "alibi"
    normalisation: str = "none"
    activation: str = "gelu"
    tied: bool = False
    sees_itself: bool = True
    attention_bias: bool = False
    bias: bool = True
    scaled_embedding: bool = False

    @property
    def drawn(self) -> int:
        """How many parameters are drawn at the start; scales, shifts, slopes and other biases are not."""
        D = self.width
        network = 2 * D * self.hidden + (self.hidden + D if self.bias else 0)
        embeddings = self.vocabulary * D * (1 if self.tied else 2)
        positions = self.context * D if self.positions == "learned" else 0
        return embeddings + positions + self.layers * (4 * D * D + network)


class Norm(eqx.Module):
    """Layer normalisation with a learned scale and, if the model has biases, a shift."""

    scale: Float[Array, "width"]
    shift: Float[Array, "width"] | None

    def __call__(self, x: Float[Array, "... width"]) -> Float[Array, "... width"]:
        centred = x - x.mean(-1, keepdims=True)
        out = centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * self.scale
        return out if self.shift is None else out + self.shift


class Block(eqx.Module):
    """One layer; `slopes` is there with ALiBi, `norms` (of attention and of the network) with normalisation."""

    query: Float[Array, "width head size"]
    key: Float[Array, "width head size"]
    value: Float[Array, "width head size"]
    out: Float[Array, "head size width"]
    up: Float[Array, "width hidden"]
    down: Float[Array, "hidden width"]
    query_bias: Float[Array, "head size"] | None
    key_bias: Float[Array, "head size"] | None
    value_bias: Float[Array, "head size"] | None
    out_bias: Float[Array, "width"] | None
    up_bias: Float[Array, "hidden"] | None
    down_bias: Float[Array, "width"] | None
    slopes: Float[Array, "head"] | None
    norms: tuple[Norm, ...]


class Decoder(eqx.Module):
    """The parameters. `read` is not there if it is tied to the embedding."""

    embedding: Float[Array, "token width"]
    positions: Float[Array, "position width"] | None
    blocks: tuple[Block, ...]
    final_norm: Norm | None
    read: Float[Array, "width token"] | None
    read_bias: Float[Array, "token"] | None
    shape: Shape = eqx.field(static=True)


class Dropping(NamedTuple):
    """Which numbers are dropped in training: the share of them, and the key of the choice."""

    rate: Float[Array, ""] | float
    key: PRNGKeyArray


def initial(draws: Draws, shape: Shape, slope: Float[Array, ""] | float) -> Decoder:
    """A decoder at the start: `draws` makes its matrices, all slopes are `slope`."""
    D = shape.width
    H = shape.heads
    F = shape.hidden
    S = D // H
    dtype = draws.dtype

    def norm() -> Norm:
        return Norm(jnp.ones(D, dtype), jnp.zeros(D, dtype) if shape.bias else None)

    def attention_bias(*sizes: int) -> Array | None:
        return jnp.zeros(sizes, dtype) if shape.attention_bias else None

    def block() -> Block:
        return Block(
            query=draws.attention(D, (D, H, S)),
            key=draws.attention(D, (D, H, S)),
            value=draws.attention(D, (D, H, S)),
            out=draws.residual(D, (H, S, D)),
            up=draws.matrix(D, (D, F)),
            down=draws.residual(F, (F, D)),
            query_bias=attention_bias(H, S),
            key_bias=attention_bias(H, S),
            value_bias=attention_bias(H, S),
            out_bias=attention_bias(D),
            up_bias=draws.bias(D, F) if shape.bias else None,
            down_bias=draws.bias(F, D) if shape.bias else None,
            slopes=jnp.full(H, slope, dtype) if shape.positions == "alibi" else None,
            norms=(norm(), norm()) if shape.normalisation != "none" else (),
        )

    learned = shape.positions == "learned"
    return Decoder(
        embedding=draws.embedding((shape.vocabulary, D)),
        positions=draws.embedding((shape.context, D)) if learned else None,
        blocks=tuple(block() for _ in range(shape.layers)),
        final_norm=norm() if shape.normalisation == "pre" else None,
        read=None if shape.tied else draws.embedding((D, shape.vocabulary)),
        read_bias=jnp.zeros(shape.vocabulary, dtype) if shape.bias and not shape.tied else None,
        shape=shape,
    )


def forward(
    net: Decoder, tokens: Int[Array, "*batch position"], dropping: Dropping | None = None
) -> tuple[
    Float[Array, "*batch position width"], tuple[Float[Array, "*batch head query key"], ...]
]:
    """The stream that is read out, and the attention of every layer before anything of it is dropped.

    **Arguments:** `net`: the parameters. `tokens`: of any length that the positions have room for. `dropping`: in
    training with dropout; nothing is dropped without it.
    """
    drop = _Dropper(dropping)
    x = drop(embed(net, tokens))
    patterns = []
    for block in net.blocks:
        before = _normalised(block, 0, x, net.shape.normalisation == "pre")
        pattern, attended = attend(net.shape, block, before, drop)
        patterns.append(pattern)
        x = _normalised(block, 0, x + drop(attended), net.shape.normalisation == "post")
        before = _normalised(block, 1, x, net.shape.normalisation == "pre")
        x = x + drop(network(net.shape, block, before, drop))
        x = _normalised(block, 1, x, net.shape.normalisation == "post")
    return (x if net.final_norm is None else net.final_norm(x)), tuple(patterns)


def embed(
    net: Decoder, tokens: Int[Array, "*batch position"]
) -> Float[Array, "*batch position width"]:
    """Embeddings of the tokens, with positions if the model has absolute ones; NaN for a token beyond the vocabulary."""
    x = jnp.take(net.embedding, tokens, axis=0, mode="fill", fill_value=jnp.nan)
    length = tokens.shape[-1]
    if net.shape.scaled_embedding:
        x = x * float(np.sqrt(net.shape.width))
    if net.positions is not None:
        x = x + net.positions[:length]
    if net.shape.positions == "sinusoidal":
        x = x + jnp.asarray(sinusoids(length, net.shape.width), x.dtype)
    return x


def sinusoids(length: int, width: int) -> np.ndarray:
    """Fixed positions: sines in the even places, cosines in the odd ones, of waves from 2 pi to 20,000 pi."""
    place = np.arange(length)[:, None]
    wave = np.exp(-np.log(10_000.0) * np.arange(0, width, 2) / width)
    out = np.zeros((length, width))
    out[:, 0::2] = np.sin(place * wave)
    out[:, 1::2] = np.cos(place * wave)[:, : width // 2]
    return out


def attend(
    shape: Shape, block: Block, x: Float[Array, "*batch position width"], drop: _Dropper
) -> tuple[Float[Array, "*batch head query key"], Float[Array, "*batch position width"]]:
    """The weights of every position on itself and those before, and what they fetch."""
    q = _plus(jnp.einsum("...td,dhs->...hts", x, block.query), block.query_bias)
    k = _plus(jnp.einsum("...td,dhs->...hts", x, block.key), block.key_bias)
    v = _plus(jnp.einsum("...td,dhs->...hts", x, block.value), block.value_bias)
    scores = jnp.einsum("...hqs,...hks->...hqk", q, k) / float(np.sqrt(q.shape[-1]))
    T = x.shape[-2]
    back = np.arange(T)[:, None] - np.arange(T)
    if block.slopes is not None:
        scores = scores - block.slopes[:, None, None] * jnp.asarray(back, x.dtype)
    seen = back >= (0 if shape.sees_itself else 1)
    weights = jax.nn.softmax(jnp.where(seen, scores, jnp.finfo(x.dtype).min), axis=-1)
    if not shape.sees_itself:
        weights = jnp.where(seen, weights, 0)  # the first position sees nothing
    fetched = jnp.einsum("...hqk,...hks->...qhs", drop(weights), v)
    out = jnp.einsum("...qhs,hsd->...qd", fetched, block.out)
    return weights, out if block.out_bias is None else out + block.out_bias


def network(
    shape: Shape, block: Block, x: Float[Array, "*batch position width"], drop: _Dropper
) -> Float[Array, "*batch position width"]:
    """The network of one hidden layer."""
    h = x @ block.up
    h = h if block.up_bias is None else h + block.up_bias
    h = jax.nn.relu(h) if shape.activation == "relu" else jax.nn.gelu(h, approximate=False)
    out = drop(h) @ block.down
    return out if block.down_bias is None else out + block.down_bias


def logits(
    net: Decoder, x: Float[Array, "*batch position width"]
) -> Float[Array, "*batch position token"]:
    """The scores of the next token."""
    scores = x @ (net.embedding.T if net.read is None else net.read)
    return scores if net.read_bias is None else scores + net.read_bias


def losses_and_attention(
    net: Decoder, windows: Int[Array, "*batch place"], dropping: Dropping | None = None
) -> tuple[Float[Array, "*batch position"], Float[Array, "*batch layer head query key"]]:
    """Cross-entropy of every token of the windows but the first, in nats, and the attention of all layers."""
    x, patterns = forward(net, windows[..., :-1], dropping)
    scores = logits(net, x)
    right = jnp.take_along_axis(scores, windows[..., 1:, None], axis=-1)[..., 0]
    return jax.nn.logsumexp(scores, axis=-1) - right, jnp.stack(patterns, axis=-4)


def token_losses(
    net: Decoder, windows: Int[Array, "*batch place"], dropping: Dropping | None = None
) -> Float[Array, "*batch position"]:
    """Cross-entropy of every token of the windows but the first, in nats."""
    return losses_and_attention(net, windows, dropping)[0]


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


class _Dropper:
    """Drops a share of the numbers and scales up the rest; each call with a key of its own."""

    def __init__(self, dropping: Dropping | None) -> None:
        self.dropping = dropping
        self.calls = 0

    def __call__(self, x: Array) -> Array:
        if self.dropping is None:
            return x
        self.calls += 1
        keep = 1 - jnp.asarray(self.dropping.rate, x.dtype)
        kept = jr.bernoulli(jr.fold_in(self.dropping.key, self.calls), keep, x.shape)
        return jnp.where(kept, x / keep, 0)


def _plus(
    x: Float[Array, "*batch head position size"], bias: Float[Array, "head size"] | None
) -> Float[Array, "*batch head position size"]:
    return x if bias is None else x + bias[:, None, :]


def _normalised(block: Block, place: int, x: Array, here: bool) -> Array:
    return block.norms[place](x) if here else x
