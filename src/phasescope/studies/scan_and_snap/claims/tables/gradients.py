"""Lemmas 1 and 2: the gradient of one sequence, and what is left of it when sequences are long."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

Vector = Float[Array | np.ndarray, "token"]


def log_likelihood(tables: tuple[Array, Array], sequence: Array, label: int) -> Array:
    """$J$ of one sequence $x_1 .. x_T$ on full tables Y and Z, straight from the model's
    definition."""
    Y, Z = tables
    keys = sequence[:-1]
    query = sequence[-1]
    one_hot = jax.nn.one_hot(keys, Y.shape[0])
    mass = one_hot.T @ jax.nn.softmax(Z[query, keys])
    logits = Y.T @ (mass / jnp.linalg.norm(mass))
    return logits[label] - jax.nn.logsumexp(logits)


def lemma_1(
    Y: np.ndarray, Z: np.ndarray, sequence: np.ndarray, label: int
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients as the lemma writes them, in numpy."""
    keys = sequence[:-1]
    query = sequence[-1]
    X = np.eye(len(Y))[keys]
    b = np.exp(Z[query, keys] - Z[query, keys].max())
    b = b / b.sum()
    v = X.T @ b
    f = v / np.linalg.norm(v)
    w = Y.T @ f
    r = np.eye(len(Y))[label] - np.exp(w - w.max()) / np.exp(w - w.max()).sum()
    inner = (np.eye(len(Y)) - np.outer(f, f)) / np.linalg.norm(v)
    row = X.T @ np.diag(b) @ X @ inner @ Y @ r
    return np.outer(f, r), np.outer(np.eye(len(Y))[query], row)


def batch_1_gradients(tokens: int, length: int, samples: int) -> xr.Dataset:
    """Random tables and sequences: the lemma's gradients, automatic ones, and the rows that do
    not belong to the query."""
    generator = np.random.default_rng(0)
    found = []
    slope = jax.jit(jax.grad(log_likelihood), static_argnums=2)
    for label in range(samples):
        Y, Z = generator.standard_normal((2, tokens, tokens))
        sequence = generator.integers(tokens, size=length)
        automatic = slope((jnp.asarray(Y), jnp.asarray(Z)), jnp.asarray(sequence), label)
        found.append((np.stack(lemma_1(Y, Z, sequence, label)), np.stack(automatic), sequence[-1]))
    by_hand, automatic, queries = (np.stack(x) for x in zip(*found, strict=True))
    dims = ("sample", "table", "row", "column")
    names = ["Y", "Z"]
    values = {
        "by_hand": (dims, by_hand),
        "automatic": (dims, automatic),
        "query": ("sample", queries),
    }
    return xr.Dataset(values, {"table": names, "row": np.arange(tokens)})


def attention_gradient(k: Vector, z: Vector, Y: Float[Array | np.ndarray, "token output"]) -> Array:
    """The gradient of the query's row of Z for counts (or frequencies) k; the first output is
    right."""
    c = k * jnp.exp(z)
    f = c / jnp.linalg.norm(c)
    r = jnp.eye(Y.shape[1])[0] - jax.nn.softmax(Y.T @ f)
    g = Y @ r
    return f * (g - f * (f @ g))


def finite_length(lengths: tuple[int, ...], samples: int) -> xr.Dataset:
    """How far the gradient of a sequence is from that of an infinite one: rms, and the length of
    the mean.

    The mean deviation is small beside its spread. What is linear in the counts has no mean, and
    is taken off.
    """
    p = np.concatenate([np.ones(10), np.linspace(0.1, 1.0, 10)])
    p = p / p.sum()
    generator = np.random.default_rng(1)
    z = generator.standard_normal(20)
    Y = generator.standard_normal((20, 34))

    def deviation(counts):
        share = counts / counts.sum()
        limit, linear = jax.jvp(lambda k: attention_gradient(k, z, Y), (p,), (share - p,))
        off = attention_gradient(share, z, Y) - limit
        return off, off - linear

    deviations = jax.jit(jax.vmap(deviation))
    rms = []
    bias = []
    size = np.linalg.norm(attention_gradient(p, z, Y))
    for length in lengths:
        counts = generator.multinomial(length - 1, p, samples).astype(float)
        off, curved = deviations(counts)
        rms.append(np.sqrt((np.asarray(off) ** 2).sum(axis=1).mean()))
        bias.append(np.linalg.norm(np.asarray(curved).mean(axis=0)))
    return xr.Dataset(
        {"rms": ("length", np.array(rms) / size), "bias": ("length", np.array(bias) / size)},
        {"length": list(lengths)},
    )


def frequencies(lengths: tuple[int, ...], draws: int, probability: tuple[float, ...]) -> xr.Dataset:
    """How far the share of a token in a sequence is from its probability, over many draws."""
    generator = np.random.default_rng(7)
    p = np.array(probability)
    off = [np.abs(generator.binomial(T - 1, p, (draws, len(p))) / (T - 1) - p) for T in lengths]
    coords = {"length": list(lengths), "draw": np.arange(draws), "probability": p}
    return xr.Dataset({"off": (("length", "draw", "probability"), np.stack(off))}, coords)
