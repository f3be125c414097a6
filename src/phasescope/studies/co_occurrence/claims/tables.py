"""Datasets that need no run: draws of the weights at time 0, and the closed system against automatic differentiation."""

from __future__ import annotations

import functools
from typing import NamedTuple

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
    drawn = _drawn(spec, seed)
    values = (
        _concentration(drawn)
        | _cross_terms(drawn)
        | _sizes(drawn)
        | _in_units(drawn, _rates(drawn))
    )
    return xr.Dataset({name: float(value) for name, value in values.items()})


class _Drawn(NamedTuple):
    """One draw of the weights, by their overlaps, and the forces on them at the start.

    - `a`: signs of the read-out; `G`: overlaps of the read-out with the words.
    - `K`, `Q`, `S`: overlaps of keys, of queries, and of keys with queries.
    - `A`, `N`, `U`: overlaps of values, of neurons, and of neurons with values.
    - `c`, `F`, `p`: weights of the words in the gradient, outputs of the samples, attention.
    - `tokens`: of the samples.
    """

    spec: Spec
    a: np.ndarray
    G: np.ndarray
    K: np.ndarray
    Q: np.ndarray
    S: np.ndarray
    A: np.ndarray
    N: np.ndarray
    U: np.ndarray
    c: np.ndarray
    F: np.ndarray
    p: np.ndarray
    tokens: np.ndarray

    @property
    def of_words(self) -> float:
        """The squared norm of a word's vector, in the mean."""
        return float(self.spec.scale_0) ** 2 * self.spec.width

    @property
    def of_neurons(self) -> float:
        """The squared norm of a neuron's vector, in the mean."""
        return float(self.spec.scale_1) ** 2 * self.spec.width

    @property
    def keys_and_queries(self) -> float:
        """The largest overlap of two different ones, over the squared norm of one."""
        largest = max(np.abs(self.S).max(), _off_diagonal(self.K), _off_diagonal(self.Q))
        return largest / self.of_words

    @property
    def read_out(self) -> float:
        """The largest overlap of the read-out with a word, over what is typical."""
        scales = float(self.spec.scale_0) * float(self.spec.scale_1)
        return np.abs(self.G).max() / (scales * (self.spec.width * self.spec.neurons) ** 0.5)

    def tail(self, count: float) -> float:
        """sqrt(4/m log(count/delta)) + 4/m log(count/delta), as in Lemma H.2."""
        x = 4 / self.spec.width * np.log(count / DELTA)
        return np.sqrt(x) + x


def _drawn(spec: Spec, seed: int) -> _Drawn:
    """One draw, with what is compiled for all widths of its shape."""
    m = spec.width
    d = spec.dim
    s0 = float(spec.scale_0)
    s1 = float(spec.scale_1)
    rng = np.random.default_rng((seed, m, spec.samples))
    a = rng.choice([-1.0, 1.0], spec.neurons)
    shape = presets["theory"].replace(samples=spec.samples, dim=d)  # what is compiled for
    tokens = np.asarray(data.training_set(shape, jr.key(0)).tokens)
    attention = s0**2 * _overlaps(2 * d, m, rng)  # of keys and queries
    scales = np.repeat([s0, s1], [d, spec.neurons])
    mlp = np.outer(scales, scales) * _overlaps(d + spec.neurons, m, rng)  # of values and neurons
    S = attention[:d, d:]
    U = mlp[d:, :d]
    G = a @ U
    with jax.enable_x64(True):
        c, F, p = (np.asarray(x) for x in _measure(G, S, np.float64(m), shape))
    return _Drawn(
        spec=spec,
        a=a,
        G=G,
        K=attention[:d, :d],
        Q=attention[d:, d:],
        S=S,
        A=mlp[:d, :d],
        N=mlp[d:, d:],
        U=U,
        c=c,
        F=F,
        p=p,
        tokens=tokens,
    )


def _off_diagonal(X: np.ndarray) -> float:
    return float(np.abs(X - np.diag(np.diag(X))).max())


def _off_norm(X: np.ndarray, unit: float) -> float:
    """How far the squared norms of some vectors are from one number."""
    return float(np.abs(np.diag(X) / unit - 1).max())


def _concentration(it: _Drawn) -> dict[str, float]:
    """Lemmas D.1 to D.8: what the paper bounds at the start, over its bounds."""
    m = it.spec.width
    m1 = it.spec.neurons
    d = it.spec.dim
    n = it.spec.samples
    L = it.spec.length
    s0 = float(it.spec.scale_0)
    s1 = float(it.spec.scale_1)
    weights = np.moveaxis(it.p, 2, 0)  # sample, key, query
    of_sample = it.A[it.tokens[:, :, None], it.tokens[:, None, :]]
    mixed = np.einsum("ihl,ihk,ikl->il", weights, of_sample, weights)
    outputs = np.einsum("jih,ihl->jil", it.U[:, it.tokens], weights)
    norms = (_off_norm(it.K, it.of_words), _off_norm(it.Q, it.of_words))
    return {
        "D1": max(it.keys_and_queries, *norms) / it.tail(2 * d),
        "D3": max(
            _off_diagonal(it.A) / it.of_words / it.tail(2 * d),
            _off_diagonal(it.N) / it.of_neurons / it.tail(2 * m1**2),
            np.abs(it.U).max() / (s0 * s1 * m) / it.tail(2 * m1 * d),
            _off_norm(it.N, it.of_neurons) / it.tail(2 * m1),
            _off_norm(it.A, it.of_words) / it.tail(2 * d),
        ),
        "D4": np.abs(mixed / (it.of_words / L) - 1).max() / it.tail(2 * n * L),
        "D5": np.abs(outputs).max() / (s0 * s1 * (m / L * np.log(m1 * n * L / DELTA)) ** 0.5),
        "D6": abs((it.a > 0).mean() - 0.5) / (2 * np.log(4 / DELTA) / m1) ** 0.5,
        "D8": float(np.abs(it.F).max())
        / (2 * s0 * s1 * (2 * L * m1 * m * np.log(2 * L * n / DELTA)) ** 0.5),
    }


def _cross_terms(it: _Drawn) -> dict[str, float]:
    """Lemmas E.5 and E.22: products of different neurons, of different words, of keys and of queries."""
    m = it.spec.width
    m1 = it.spec.neurons
    L = it.spec.length
    s1 = float(it.spec.scale_1)
    of_others = np.abs(it.N @ it.a - np.diag(it.N) * it.a).max()
    return {
        "E5_neurons": of_others
        / (s1**2 * m1**0.5 * m * it.tail(2 * m1**2) * np.log(4 * m1 / DELTA) ** 0.5),
        "E5_values": np.abs(it.A @ it.c - np.diag(it.A) * it.c).max()
        / (it.of_words * L**0.5 * it.tail(2 * it.spec.samples * L * it.spec.dim)),
        "E22_own": max(np.diag(it.K).max(), np.diag(it.Q).max()) / it.of_words * it.read_out,
        "E22_cross": max(_off_diagonal(it.K), _off_diagonal(it.Q))
        / (it.of_words / m**0.5)
        * it.read_out,
    }


def _sizes(it: _Drawn) -> dict[str, float]:
    """Outputs, the read-out, and how far attention is from uniform."""
    return {
        "F": float(np.abs(it.F).max()),
        "G": it.read_out,
        "p_spread": np.abs(it.spec.length * it.p - 1).max(),
    }


def _rates(it: _Drawn) -> np.ndarray:
    """The rate of a_j w_j^T W_V mu for every neuron and word: from W_V, and from W."""
    return np.outer(it.a * (it.N @ it.a), it.c) + it.A @ it.c


def _in_units(it: _Drawn, rates: np.ndarray) -> dict[str, float]:
    """The first rates of signal words (two), the common word (one) and the others, over what they are held against."""
    m = it.spec.width
    m1 = it.spec.neurons
    L = it.spec.length
    s0 = float(it.spec.scale_0)
    s1 = float(it.spec.scale_1)
    unit = (s0**2 + s1**2) * m
    F_max = float(np.abs(it.F).max())
    common = float(np.abs(rates[:, 2]).max())
    irrelevant = float(np.abs(rates[:, 3:]).max())
    noise = s1**2 * (m * m1) ** 0.5 + s0**2 * (m * L) ** 0.5
    return {
        "E6": irrelevant / (unit / it.spec.samples + s0**2 * (m * L) ** 0.5),
        "E16": common / (noise + unit * F_max),
        "L42": common / (noise + it.of_neurons * F_max),
        "rate_low": rates[:, :2].min() / unit,
        "rate_high": rates[:, :2].max() / unit,
        "rate_mean": rates[:, :2].mean() / unit,
        "rate_common": abs(rates[:, 2].mean()) / unit,
        "rate_random": np.abs(rates[:, 3:].mean(axis=0)).max() / unit,
    }


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
