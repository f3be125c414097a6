"""Datasets that need no run: draws of the weights at time 0, and the closed system against automatic differentiation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import xarray as xr

from .. import data, model
from ..model import forces
from ..reductions import overlap_families
from ..spec import Spec, presets


def closed_system_errors(words: str) -> xr.Dataset:
    """The right-hand side of Appendix C against automatic differentiation of the loss of the weights."""
    spec = presets["tiny"].replace(words=words)
    if words == "shared":
        spec = spec.replace(dim=10)  # so few that words repeat

    @jax.jit
    def both(key):
        batch = data.training_set(spec, key)
        begin = model.start(spec, key)
        downhill = jax.tree.map(jnp.negative, jax.grad(model.loss)(begin.weights, begin.a, batch))

        def overlaps(weights):
            return overlap_families.from_start(model.Start(weights, begin.a))

        state, expected = jax.jvp(overlaps, (begin.weights,), (downhill,))
        return overlap_families.velocity(state, begin.a, batch, spec), expected

    with jax.enable_x64(True):
        found, expected = jax.device_get(both(jr.key(0)))
    size = np.array([np.abs(y).max() for y in expected])
    error = np.array([np.abs(x - y).max() for x, y in zip(found, expected, strict=True)])
    return xr.Dataset(
        {"error": ("family", error / size), "size": ("family", size)}, {"family": list("UNASQK")}
    )


def starts(widths: tuple[int, ...], zeta: float, seeds: int) -> xr.Dataset:
    """Outputs, attention and rates at time 0 for several widths and seeds, in the theorems' regime."""
    spec = presets["theory"].replace(zeta=zeta)
    found: list[xr.Dataset] = []
    for width in widths:
        draws = [_start(spec.replace(width=width), seed) for seed in range(seeds)]
        found.append(xr.concat(draws, "seed"))
    return xr.concat(found, xr.Variable("width", list(widths)))


def _start(spec: Spec, seed: int) -> xr.Dataset:
    """One draw, in plain numpy."""
    m = spec.width
    neurons = spec.neurons
    words = spec.dim
    draw = np.random.default_rng((seed, m)).standard_normal
    W_Q, W_K, W_V = (spec.scale_0 * draw((m, words)) for _ in range(3))
    W = spec.scale_1 * draw((neurons, m))
    a = np.sign(draw(neurons))
    b = a @ W
    with jax.enable_x64(True):
        c, F, p = (np.asarray(x) for x in _measure(b @ W_V, W_K.T @ W_Q, np.float64(m)))
    # The rate of a_j w_j^T W_V mu has a part from W_V and one from W.
    rates = np.outer(a * (W @ b), c) + W_V.T @ (W_V @ c)
    return xr.Dataset(
        {
            "F": ("sample", F),
            "p_spread": np.abs(spec.length * p - 1).max(),
            "G": ("word", b @ W_V / (spec.scale_0 * spec.scale_1 * (m * neurons) ** 0.5)),
            "rate": (("neuron", "word"), rates / ((spec.scale_0**2 + spec.scale_1**2) * m / 6)),
        },
        {"word": np.arange(1, words + 1)},
        {"samples": spec.samples, "length": spec.length, "zeta": spec.zeta},
    )


@jax.jit
def _measure(G, S, width):
    """Forces on the values, outputs and attention in the theorems' regime."""
    batch = data.training_set(presets["theory"], jr.key(0))
    c, _, F, _ = forces.forces(G, S, batch, width)
    return c, F, forces.attention(S, batch, width)
