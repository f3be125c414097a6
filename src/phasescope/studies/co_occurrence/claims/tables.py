"""Datasets that need no run: draws of the weights at time 0, and the closed system against automatic differentiation."""

from __future__ import annotations

import functools

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
    own = np.array([np.abs(x).max() for x in found])
    error = np.array([np.abs(x - y).max() for x, y in zip(found, expected, strict=True)])
    return xr.Dataset(
        {"error": ("family", error / size), "size": ("family", size), "own": ("family", own)},
        {"family": list("UNASQK")},
    )


DELTA = 0.05  # the probability that the lemmas leave for exceptions


def draws_over_width(widths: tuple[int, ...], zeta: float, seeds: int) -> xr.Dataset:
    """What Appendices D and E.1 bound at time 0, for several widths, in the theorems' regime."""
    specs = [presets["theory"].replace(zeta=zeta, width=width) for width in widths]
    return _draws(specs, xr.Variable("width", np.array(widths, float)), seeds)


def draws_over_zeta(zetas: tuple[float, ...], width: int, seeds: int) -> xr.Dataset:
    """The same for several sizes of the start."""
    specs = [presets["theory"].replace(zeta=zeta, width=width) for zeta in zetas]
    return _draws(specs, xr.Variable("zeta", np.array(zetas)), seeds)


def draws_over_samples(counts: tuple[int, ...], width: int, seeds: int) -> xr.Dataset:
    """The same for several numbers of samples; the vocabulary grows with them."""
    specs = []
    for n in counts:
        spec = presets["theory"].replace(samples=n, width=width)
        specs.append(spec.replace(dim=spec.smallest_dim))
    return _draws(specs, xr.Variable("samples", np.array(counts, float)), seeds)


def _draws(specs: list[Spec], axis: xr.Variable, seeds: int) -> xr.Dataset:
    found: list[xr.Dataset] = []
    for spec in specs:
        found.append(xr.concat([_draw(spec, seed) for seed in range(seeds)], "seed"))
    return xr.concat(found, axis).transpose(*axis.dims, "seed")


def _draw(spec: Spec, seed: int) -> xr.Dataset:
    """One draw of the weights' overlaps, in plain numpy: measured numbers, and those that the paper bounds over their
    bounds."""
    m = spec.width
    m1 = spec.neurons
    d = spec.dim
    n = spec.samples
    L = spec.length
    s0 = float(spec.scale_0)
    s1 = float(spec.scale_1)
    rng = np.random.default_rng((seed, m, n))
    a = rng.choice([-1.0, 1.0], m1)
    shape = presets["theory"].replace(samples=n, dim=d)  # what is compiled for
    tokens = np.asarray(data.training_set(shape, jr.key(0)).tokens)
    attention = s0**2 * _overlaps(2 * d, m, rng)  # of keys and queries
    K = attention[:d, :d]
    Q = attention[d:, d:]
    S = attention[:d, d:]
    scales = np.repeat([s0, s1], [d, m1])
    mlp = np.outer(scales, scales) * _overlaps(d + m1, m, rng)  # of values and neurons
    A = mlp[:d, :d]
    N = mlp[d:, d:]
    U = mlp[d:, :d]
    G = a @ U
    with jax.enable_x64(True):
        c, F, p = (np.asarray(x) for x in _measure(G, S, np.float64(m), shape))
    # The rate of a_j w_j^T W_V mu: from W_V, and from W.
    rates = np.outer(a * (N @ a), c) + A @ c
    unit = (s0**2 + s1**2) * m
    weights = np.moveaxis(p, 2, 0)  # sample, key, query
    of_sample = A[tokens[:, :, None], tokens[:, None, :]]
    mixed = np.einsum("ihl,ihk,ikl->il", weights, of_sample, weights)
    outputs = np.einsum("jih,ihl->jil", U[:, tokens], weights)

    def tail(count: float) -> float:
        """sqrt(4/m log(count/delta)) + 4/m log(count/delta), as in Lemma H.2."""
        x = 4 / m * np.log(count / DELTA)
        return np.sqrt(x) + x

    def off(X: np.ndarray) -> float:
        return float(np.abs(X - np.diag(np.diag(X))).max())

    def norms(X: np.ndarray, unit: float) -> float:
        return float(np.abs(np.diag(X) / unit - 1).max())

    of_words = s0**2 * m
    of_neurons = s1**2 * m
    keys = max(np.abs(S).max(), off(K), off(Q)) / of_words
    others = np.abs(N @ a - np.diag(N) * a).max()
    value = np.abs(G).max() / (s0 * s1 * (m * m1) ** 0.5)
    F_max = float(np.abs(F).max())
    common = float(np.abs(rates[:, 2]).max())
    noise = s1**2 * (m * m1) ** 0.5 + s0**2 * (m * L) ** 0.5
    irrelevant = float(np.abs(rates[:, 3:]).max())
    values = {
        "D1": max(keys, norms(K, of_words), norms(Q, of_words)) / tail(2 * d),
        "D3": max(
            off(A) / of_words / tail(2 * d),
            off(N) / of_neurons / tail(2 * m1**2),
            np.abs(U).max() / (s0 * s1 * m) / tail(2 * m1 * d),
            norms(N, of_neurons) / tail(2 * m1),
            norms(A, of_words) / tail(2 * d),
        ),
        "D4": np.abs(mixed / (of_words / L) - 1).max() / tail(2 * n * L),
        "D5": np.abs(outputs).max() / (s0 * s1 * (m / L * np.log(m1 * n * L / DELTA)) ** 0.5),
        "D6": abs((a > 0).mean() - 0.5) / (2 * np.log(4 / DELTA) / m1) ** 0.5,
        "D8": F_max / (2 * s0 * s1 * (2 * L * m1 * m * np.log(2 * L * n / DELTA)) ** 0.5),
        "E5_neurons": others
        / (s1**2 * m1**0.5 * m * tail(2 * m1**2) * np.log(4 * m1 / DELTA) ** 0.5),
        "E5_values": np.abs(A @ c - np.diag(A) * c).max()
        / (of_words * L**0.5 * tail(2 * n * L * d)),
        "E6": irrelevant / (unit / n + s0**2 * (m * L) ** 0.5),
        "E16": common / (noise + unit * F_max),
        "L42": common / (noise + of_neurons * F_max),
        "E22_own": max(np.diag(K).max(), np.diag(Q).max()) / of_words * value,
        "E22_cross": max(off(K), off(Q)) / (of_words / m**0.5) * value,
        "F": F_max,
        "G": value,
        "p_spread": np.abs(L * p - 1).max(),
        "rate_low": rates[:, :2].min() / unit,
        "rate_high": rates[:, :2].max() / unit,
        "rate_mean": rates[:, :2].mean() / unit,
        "rate_common": abs(rates[:, 2].mean()) / unit,
        "rate_random": np.abs(rates[:, 3:].mean(axis=0)).max() / unit,
    }
    return xr.Dataset({name: float(value) for name, value in values.items()})


def _overlaps(count: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """All overlaps of so many vectors of standard normal numbers: where they are long, by Bartlett's
    decomposition."""
    if size < 2 * count:
        vectors = rng.standard_normal((size, count))
        return vectors.T @ vectors
    root = np.tril(rng.standard_normal((count, count)), -1)
    root[np.diag_indices(count)] = np.sqrt(rng.chisquare(size - np.arange(count)))
    return root @ root.T


@functools.partial(jax.jit, static_argnames="spec")
def _measure(G, S, width, spec):
    """Forces on the values, outputs and attention in the theorems' regime."""
    batch = data.training_set(spec, jr.key(0))
    c, _, F, _ = forces.forces(G, S, batch, width)
    return c, F, forces.attention(S, batch, width)
