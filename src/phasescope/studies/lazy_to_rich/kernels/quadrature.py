r"""The kernel $F(c, c')$ of the true softmax model for Gaussian tokens, for any number of keys.

Given the query $z = x_L$ the other tokens are independent, and with $Z = \sum_s e^{czx_{s-1}}$,
$Z'$ likewise,

$$\frac1{ZZ'} = \int_0^1\!d\xi\int_0^\infty\!\rho\,e^{-\rho(\xi Z + (1-\xi)Z')}\,d\rho$$

factorises over tokens. Keys and values overlap only between neighbours ($x_s$ is the value of slot
$s$ and the key of slot $s+1$). With $e = e^{czx}$, $e' = e^{c'zx}$,
$\langle f\rangle = \mathbb E_x[f\,e^{-\rho(\xi e+(1-\xi)e')}]$ and $A_k = \langle x^k\rangle$,
$B = \langle e\rangle$, $B' = \langle e'\rangle$, $B_{12} = \langle ee'\rangle$,
$C = \langle xe\rangle$, $C' = \langle xe'\rangle$,

$$F = \mathbb E_z\!\int\!d\xi\!\int\!\rho\,d\rho\,\Big[A_0^{N-1}B_{12} + (N-1)A_0^{N-2}B_{12}A_2 + (N-2)A_0^{N-3}A_1(BC'+B'C)
+ (N-2)(N-3)A_0^{N-4}BB'A_1^2\Big]:$$

the last slot, whose value is no key; equal slots; neighbours; the rest. In $D$ dimensions with
scores $c\,x_L\cdot x$ the length $|z|$ is chi distributed and the $D-1$ components of the values
across $z$ add $(D-1)N A_0^{N-1}B_{12}$.

Everything here is numpy on the host, in float64.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy.special import expit, ndtri, roots_legendre

import phasescope as ps

LARGEST = 3.0  # of c and c': up to here the accuracy of the rule has been measured
DIGITS = 14.0  # of accuracy that the grids are laid out for
NEGLIGIBLE = 1e-15  # weight below which a query is left out
TAIL = 9.5  # standard deviations of a token that are integrated over
Nodes = Float[np.ndarray, "node"]


@dataclasses.dataclass(frozen=True)
class Grid:
    """How many times finer each grid is than usual."""

    query: float = 1.0
    token: float = 1.0
    feynman: float = 1.0
    laplace: float = 1.0

    def coarser(self, weight: float) -> Grid:
        """Enough for a query of this weight: errors fall exponentially with the number of nodes."""
        share = min(max(DIGITS + math.log10(weight), 4.0) / DIGITS, 1.0)
        return Grid(self.query, self.token * share, self.feynman * share, self.laplace * share)


def kernel(c: float, c_prime: float, keys: int, dim: int = 1, grid: Grid | None = None) -> float:
    """$F(c, c')$ for Gaussian tokens under the softmax."""
    low, high = sorted((float(c), float(c_prime)))
    if not 0 <= low <= high <= LARGEST:
        raise ps.SpecError(
            f"the softmax kernel is known for 0 <= c <= {LARGEST:g}, got c={c:g} and c'={c_prime:g}."
        )
    if keys < 2:
        raise ps.SpecError(f"the softmax kernel needs at least 2 keys, got {keys}.")
    grid = grid or Grid()
    lengths, weights = queries(high, dim, grid)
    given = [
        _given_query(low * length, high * length, keys, dim, grid.coarser(weight))
        for length, weight in zip(lengths, weights, strict=True)
    ]
    return float(np.dot(weights, given))


def queries(largest: float, dim: int, grid: Grid) -> tuple[Nodes, Nodes]:
    """Nodes and weights for the length of the query: an even grid, or Gauss-Legendre in more than one dimension."""
    step = min(0.4, 0.2 / max(largest, 1e-9)) / grid.query
    last = 8.3 + 1.5 * math.sqrt(dim - 1)
    if dim == 1:
        z = np.arange(math.ceil(last / step) + 1) * step
        weights = np.where(z == 0, 0.5, 1.0) * np.exp(-(z**2) / 2)
    else:
        node, weight = roots_legendre(math.ceil(1.7 * last / step))
        z = (node + 1) * last / 2
        weights = weight * np.exp((dim - 1) * np.log(z) - z**2 / 2)
    weights = weights / weights.sum()
    kept = weights > NEGLIGIBLE
    return z[kept], weights[kept]


def _given_query(a: float, b: float, keys: int, dim: int, grid: Grid) -> float:
    r"""The kernel given the query, with $a = cz \le b = c'z$."""
    N = keys
    x = _tokens(a, b, grid)
    density = np.exp(-(x**2) / 2) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
    # 1/(Z Z') is scaled by typical sizes of both, so that neither end of the Feynman integral is steep.
    first = np.exp(a * x - _log_mean(a, N))
    second = np.exp(b * x - _log_mean(b, N))
    share, rest, share_weight = _shares(a, b, grid)
    log_rho, step = _laplace(b, N, grid)
    rho = np.exp(log_rho)
    mixed = share[:, None] * first + rest[:, None] * second
    damping = np.exp(-rho[:, None, None] * mixed).reshape(-1, x.size)
    integrands = [np.ones_like(x), x, x**2, first, second, first * second, x * first, x * second]
    read = np.stack(integrands) * density
    A0, A1, A2, B, B_, B12, C, C_ = (damping @ read.T).T.reshape(8, rho.size, share.size)
    log_A0 = np.log(np.maximum(A0, 1e-300))

    def power(missing: int) -> np.ndarray:
        return np.exp((N - missing) * log_A0)

    total = power(1) * B12 * (1 + (dim - 1) * N) + (N - 1) * power(2) * B12 * A2
    if N >= 3:
        total += (N - 2) * power(3) * A1 * (B * C_ + B_ * C)
    if N >= 4:
        total += (N - 2) * (N - 3) * power(4) * B * B_ * A1**2
    return float(rho**2 @ total @ share_weight) * step


def _tokens(a: float, b: float, grid: Grid) -> Nodes:
    """An even grid for a token, finer where the exponential is steep."""
    step = min(0.25, 0.5 / max(b, 1e-9)) / grid.token
    shift = a + b if b < 1.5 else 0.0
    return np.arange(math.floor(-TAIL / step), math.ceil((TAIL + shift) / step) + 1) * step


def _shares(a: float, b: float, grid: Grid) -> tuple[Nodes, Nodes, Nodes]:
    """The Feynman parameter, one minus it, and weights: Gauss-Legendre for small scores, else double exponential."""
    if a == b:
        return np.ones(1), np.zeros(1), np.ones(1)
    if b <= 1.6:
        node, weight = roots_legendre(math.ceil(grid.feynman * _feynman_nodes(b)))
        return (1 + node) / 2, (1 - node) / 2, weight / 2
    step = 0.12 / grid.feynman
    last = math.ceil(math.asinh((38 + TAIL * (b - a)) / math.pi) / step)
    t = np.arange(-last, last + 1) * step
    share = expit(math.pi * np.sinh(t))
    rest = expit(-math.pi * np.sinh(t))
    return share, rest, share * rest * math.pi * np.cosh(t) * step


def _feynman_nodes(b: float) -> int:
    """Nodes of Gauss-Legendre for scores up to b."""
    if b <= 0.6:
        return 8
    if b <= 1.1:
        return 14
    return 32


def _laplace(b: float, keys: int, grid: Grid) -> tuple[Nodes, float]:
    """An even grid in the logarithm of the Laplace parameter, and its step."""
    step = 0.28 / grid.laplace
    low = -math.log(keys) - 18
    high = -math.log(keys) + 5.5 + 0.6 * b**2
    if b >= 1.5:
        smallest = -float(
            ndtri(10 ** (-16 / keys))
        )  # the largest token of `keys` is above -smallest but for 1e-16
        low = low - 3 * b
        high = max(math.log(42) + b * smallest + _log_mean(b, keys), -math.log(keys) + 5.5)
    return np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step, step


def _log_mean(a: float, keys: int) -> float:
    """A typical logarithm of the mean of $e^{ax}$ over `keys` tokens: linear once the largest of them carries it."""
    edge = math.sqrt(2 * math.log(keys))
    return a**2 / 2 if a < edge else edge * a - edge**2 / 2
