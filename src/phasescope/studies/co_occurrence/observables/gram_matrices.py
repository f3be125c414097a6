"""The observables of all arms that have samples, from the Gram matrices of their words."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data import Batch, test_set
from ..model.forces import Forces, attention, forces, outputs
from ..reductions.gram_matrices import Grams, casimirs, of_words, rates
from ..spec import Spec
from . import shared
from .observed import AtEnd, Observed


def measure_grams(state: Grams, begin: Grams, batch: Batch, spec: Spec, **more: Any) -> Observed:
    """Measure the Gram matrices, given those at the start; `more` is what an arm knows beyond them."""
    force = forces(state.G, state.S, batch, spec.width)
    speed = rates(state, force.c, spec.attention * force.M, spec.output_norm)
    gsum = _sum_by_type(force.g, batch)
    return Observed(
        **_losses(force.F, batch),
        **shared.special_words(state, force.c, force.M, speed, gsum, spec),
        **_values(state, force, speed, spec.dim),
        **_contributions(state, force, batch, spec),
        **_parts_of_rates(state, force, speed, batch, spec),
        **_attention_weights(state, begin, batch, spec),
        **_changes(state, begin, spec.dim),
        **shared.new_words(outputs(state.G, state.S, test_set(spec), spec.width)),
        casimir=casimirs(of_words(state, spec.dim), spec.output_norm),
        **more,
    )


def at_end(state: Grams, begin: Grams) -> AtEnd:
    """The state in full."""
    return AtEnd(state.G, state.S, state.S - begin.S)


def _losses(F: Float[Array, " sample"], batch: Batch) -> dict[str, Array]:
    """Outputs, margins and losses: of every sample, and means over the types."""
    margin = jnp.asarray(batch.labels) * F
    losses = jnp.logaddexp(0.0, -margin)
    count = np.bincount(np.asarray(batch.types), minlength=4)
    return {
        "F": F,
        "F_type": _sum_by_type(F, batch) / count,
        "margin": margin,
        "margin_min": margin.min(),
        "loss": jnp.sum(batch.shares * losses),
        "loss_type": _sum_by_type(losses, batch) / count,
    }


def _sum_by_type(x: Float[Array, " sample"], batch: Batch) -> Float[Array, "type"]:
    """Sums over the samples of each type."""
    return jnp.zeros(4).at[batch.types].add(x)


def _values(state: Grams, force: Forces, speed: Grams, words: int) -> dict[str, Array]:
    """Values of the words of the vocabulary, the forces on them, and their rates."""
    return {"G": state.G[:words], "c": force.c[:words], "Gdot": speed.G[:words]}


def _contributions(state: Grams, force: Forces, batch: Batch, spec: Spec) -> dict[str, Array]:
    """What irrelevant words add to the outputs, and what the margins add to the read-out."""
    words = batch.tokens.T
    irrelevant = jnp.where(words >= 3, state.G[words], 0.0)
    p = attention(state.S, batch, spec.width)
    added = jnp.abs((p * irrelevant[:, None]).sum(axis=(0, 1)))
    margin = jnp.asarray(batch.labels) * force.F
    return {
        "F_random": jnp.zeros(4).at[batch.types].max(added),
        "betadot_outputs": 2 * spec.output_norm * jnp.sum(batch.shares * force.g * margin),
    }


def _parts_of_rates(
    state: Grams, force: Forces, speed: Grams, batch: Batch, spec: Spec
) -> dict[str, Array]:
    """What the values and the attention weights add to the motion, in units of beta times the mean of g."""
    unit = state.beta * jnp.sum(batch.shares * force.g)
    of_values = spec.output_norm * (state.A @ force.c)[: spec.dim]

    def with_scores(S):
        return outputs(state.G, S, batch, spec.width)

    _, of_attention = jax.jvp(with_scores, (state.S,), (speed.S,))
    return {
        "value_part": jnp.abs(of_values).max() / unit,
        "softmax_part": jnp.abs(of_attention).max() / unit,
    }


def _attention_weights(state: Grams, begin: Grams, batch: Batch, spec: Spec) -> dict[str, Array]:
    """The attention weights in the training samples, against those at the start."""
    now = attention(state.S, batch, spec.width)
    at_start = attention(begin.S, batch, spec.width)
    return shared.attention_weights(now, at_start, spec.length)


def _changes(state: Grams, begin: Grams, words: int) -> dict[str, Array]:
    """How far scores and overlaps have moved since the start."""
    change = jax.tree.map(jnp.subtract, state, begin)
    pairs = change.S[:words, :words]
    is_random = np.maximum(*np.ogrid[:words, :words]) >= 3
    random = jnp.where(is_random, pairs, 0.0)
    return {
        "C": change.S[:3, :3],
        "C_random": jnp.abs(random).max(),
        "C_random_rms": jnp.sqrt(jnp.sum(random**2) / (words**2 - 9)),
        "S_change": _largest(change.S, words),
        "A_change": _largest(change.A, words),
        "Q_change": _largest(change.Q, words),
        "K_change": _largest(change.K, words),
    }


def _largest(X: Float[Array, "word word"], words: int) -> Float[Array, ""]:
    """The largest entry over the vocabulary."""
    return jnp.abs(X[:words, :words]).max()
