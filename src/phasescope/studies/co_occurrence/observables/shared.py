"""Groups of observables that are measured in the same way in every arm; each function gives one of them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..reductions.gram_matrices import Grams
from ..spec import LABELS, SHARES, Spec


def special_words(
    state: Grams, c: Array, M: Array, speed: Grams, gsum: Array, spec: Spec
) -> dict[str, Any]:
    """What follows from the special words, which come first in every basis, and from the sums of g over the types."""
    return {
        "kappa": jnp.asarray(spec.kappa, float),
        "gsum": gsum,
        "beta": state.beta,
        "betadot": speed.beta,
        "M": _special(M),
        "S": _special(state.S),
        "A": _special(state.A),
        "Q": _special(state.Q),
        "K": _special(state.K),
        "Sdot": _special(speed.S),
        "Adot": _special(speed.A),
        **_ratios_of_rates(speed.G),
        **_ratios_of_derivatives(gsum),
        "value_share": _share_of_the_values(state, c, spec),
    }


def _special(X: Float[Array, "word word"]) -> Float[Array, "key query"]:
    """The entries of a matrix at pairs of special words."""
    return X[:3, :3]


def _ratios_of_rates(Gdot: Float[Array, " word"]) -> dict[str, Array]:
    """How fast the common word falls, compared with the targets."""
    one, two, three = Gdot[0], Gdot[1], Gdot[2]
    return {"R": -three / jnp.maximum(one, two), "R2": -three / (one + two)}


def _ratios_of_derivatives(gsum: Float[Array, "type"]) -> dict[str, Array]:
    """The first of these ratios for a frozen kernel, and how far the two types with one target are from balance."""
    return {
        "R_g": (gsum[1:].sum() - gsum[0]) / (gsum[0] - gsum[1]),
        "balance": jnp.abs(gsum[1] - gsum[2]) / jnp.minimum(gsum[1], gsum[2]),
    }


def _share_of_the_values(state: Grams, c: Float[Array, " word"], spec: Spec) -> Float[Array, ""]:
    """The part |a|^2 A c of the rates of the special words' values over the part beta c."""
    part = spec.output_norm * (state.A @ c)[:3]
    return jnp.abs(part / (state.beta * c[:3])).max()


def attention_weights(weights: Array, at_start: Any, length: Any) -> dict[str, Array]:
    """How far all attention weights are from their start, and from 1 / L."""
    return {
        "p_dev": jnp.abs(weights - at_start).max(),
        "p_spread": jnp.abs(length * weights - 1).max(),
    }


def new_words(F: Float[Array, "type"]) -> dict[str, Array]:
    """Outputs and loss on samples whose irrelevant words are all new."""
    losses = jnp.logaddexp(0.0, -np.array(LABELS) * F)
    return {"test_F": F, "test_loss": jnp.sum(np.array(SHARES) * losses)}
