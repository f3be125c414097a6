"""How a decoder is trained: optimiser, rate over time, and the dynamics of a stage."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..plan.dynamics import descent
from . import decoder
from .decoder import Decoder, Dropping
from .sampling import Windows, anywhere, in_turn
from .spec import TextSpec

NETWORK = ("up", "down", "up_bias", "down_bias")
NOT_DECAYED = ("bias", "scale", "shift", "slopes")


class TextState(eqx.Module):
    """A decoder, and the fixed sequences that it is measured on."""

    net: Decoder
    windows: Windows


class Batch(eqx.Module):
    """Sequences, and the key of what is dropped, if anything is."""

    windows: Int[Array, "sequence place"]
    key: PRNGKeyArray | None


class reading_in_turn(descent):
    """Descent whose batches follow one another in the text: `sample` gets the number of the step."""

    def batch(self, key: Array, t: Array, memory: PyTree) -> PyTree:
        return self.sample(jr.fold_in(key, t), (t, memory))


def training(spec: TextSpec) -> descent:
    """Descent on batches of a corpus, whose tokens are the memory of the run."""

    def batch(windows: Array, key: PRNGKeyArray) -> Batch:
        return Batch(windows, None if spec.dropout is None else key)

    def draw(key: PRNGKeyArray, tokens: Int[Array, " text"]) -> Batch:
        for_text, for_dropping = jr.split(key)
        return batch(anywhere(for_text, tokens, spec.sequences, spec.context), for_dropping)

    def follow(key: PRNGKeyArray, place: tuple[Array, Int[Array, " text"]]) -> Batch:
        number, tokens = place
        return batch(in_turn(number, tokens, spec.sequences, spec.context), key)

    def loss(state: TextState, batch: Batch) -> Float[Array, ""]:
        dropping = None
        if spec.dropout is not None and batch.key is not None:
            dropping = Dropping(spec.dropout, batch.key)
        with products_of(spec):
            return decoder.loss(state.net, batch.windows, dropping)

    kind, sample = (reading_in_turn, follow) if spec.windows == "in_turn" else (descent, draw)
    return kind(loss, optimiser(spec), sample, lambda state: state.net)


def products_of(spec: TextSpec) -> contextlib.AbstractContextManager[None]:
    """The precision of products of matrices: that of the run, or lower where the spec asks for it."""
    if spec.arithmetic == "tf32":
        return jax.default_matmul_precision("tensorfloat32")
    return contextlib.nullcontext()


def optimiser(spec: TextSpec) -> optax.GradientTransformation:
    """SGD or AdamW with a rate that may rise and fall, the gradient clipped first."""
    steps: list[optax.GradientTransformation] = []
    if spec.clip is not None:
        steps.append(optax.clip_by_global_norm(_number(spec, spec.clip)))
    if spec.method == "adamw":
        steps.append(optax.scale_by_adam(b2=_number(spec, spec.second_moment)))
        steps.append(optax.add_decayed_weights(_number(spec, spec.weight_decay), mask=_decayed))
    steps.append(_faster_networks(_number(spec, spec.network_rate)))
    rate = rate_over_time(spec)
    steps.append(optax.scale_by_schedule(lambda t: _number(spec, -rate(t))))
    return optax.chain(*steps)


def rate_over_time(spec: TextSpec) -> Callable[[Any], Float[Array, ""]]:
    """The learning rate of an update: a straight rise, then half a cosine down, then constant."""

    def rate(t: Any) -> Float[Array, ""]:
        t = jnp.asarray(t, float)
        rise = (t + 1) / (jnp.asarray(spec.warm_up, float) + 1)
        span = jnp.maximum(jnp.asarray(spec.cosine - spec.warm_up, float), 1)
        part = jnp.clip((t - spec.warm_up) / span, 0, 1)
        fall = spec.last_rate + 0.5 * (1 - spec.last_rate) * (1 + jnp.cos(jnp.pi * part))
        later = jnp.where(jnp.asarray(spec.cosine) > 0, fall, 1.0)
        return spec.rate * jnp.where(t < spec.warm_up, rise, later)

    return rate


def _faster_networks(factor: Array) -> optax.GradientTransformation:
    """The updates of the feed-forward layers, times a factor."""

    def scaled(updates: Any, params: Any) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, x: x * factor if _name(path) in NETWORK else x, updates
        )

    return optax.stateless(scaled)


def _decayed(params: Any) -> Any:
    """Which parameters are drawn to zero: matrices and embeddings."""
    return jax.tree_util.tree_map_with_path(
        lambda path, x: not _name(path).endswith(NOT_DECAYED), params
    )


def _name(path: Any) -> str:
    """Of a parameter, without the module that it is in."""
    return jax.tree_util.keystr(path[-1:], simple=True)


def _number(spec: TextSpec, x: Any) -> Array:
    """In the precision of the parameters: of 64 bits it would turn 32-bit ones into 64-bit ones."""
    return jnp.asarray(x, spec.dtype)
