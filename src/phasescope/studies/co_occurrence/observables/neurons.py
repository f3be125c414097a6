"""What is measured of single neurons, where an arm knows them: their values of words, and the rates of these."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data import Batch
from ..model.forces import attention, forces
from ..reductions.overlap_families import Families, to_grams
from ..spec import Spec


def measure_neurons(
    state: Families, begin: Families, a: Float[Array, " neuron"], batch: Batch, spec: Spec
) -> dict[str, Array]:
    """Changes since the start, and the parts of the rate of $a_j w_j^\\top W_V \\mu$ (Lemma C.1)."""
    summed = to_grams(state, a)
    c = forces(summed.G, summed.S, batch, spec.width).c[: spec.dim]
    values = state.A[: spec.dim, : spec.dim]
    moved = jnp.abs(state.U - begin.U)[:, : spec.dim]
    own = jnp.diag(state.N)
    rates = jnp.outer(a * (state.N @ a), c) + spec.output**2 * (values @ c)
    others = jnp.abs(state.N @ a - own * a)
    other_words = values @ c - jnp.diag(values) * c
    norms = own[:, None] + jnp.diag(values)[None, :2]
    return {
        "N_change": jnp.abs(state.N - begin.N).max(),
        "U_change": moved[:, :3].max(),
        "U_change_random": moved[:, 3:].max(),
        "U_output_change": jnp.abs(
            _of_queries(state, batch, spec) - _of_queries(begin, batch, spec)
        ).max(),
        "U_rate_random": jnp.abs(rates[:, 3:]).max(),
        "U_rate_common": jnp.abs(rates[:, 2]).max(),
        "U_norms": jnp.stack([norms.min(), norms.max()]),
        "U_cross_neurons": others.max() * jnp.abs(c[:2]).max(),
        "U_cross_values": jnp.abs(other_words[:2]).max(),
    }


def _of_queries(state: Families, batch: Batch, spec: Spec) -> Float[Array, "neuron query sample"]:
    """What every neuron gives for every query of every sample."""
    p = attention(state.S, batch, spec.width)
    return jnp.einsum("jhi,hli->jli", state.U[:, batch.tokens.T], p)
