r"""The 4-gram head: its exact loss, and its flow when the first layer is sharp.

$o_1 = g\sum_\tau \beta_\tau x_\tau$ with $\beta_\tau = \sum_{s>\tau} \pi_s R_{s\tau}$ is linear in
independent tokens of unit variance, so

$$\mathcal L_{G4} = \tfrac12 g^{\star2} - g g^\star \beta_{L-2} + \tfrac12 g^2 \|\beta\|^2 .$$

For $\tilde p = \infty$: $\beta_{L-2} = 1/M(p)$ and $\|\beta\|^2 = M(2p)/M(p)^2$ with
$M(p) = \sum_{k<N} e^{-pk}$; and with $m = -M'$

$$\dot p = \frac{m(p)\,g}{M(p)^2}\Big(g^\star - g\frac{M(2p)}{M(p)} + g\frac{m(2p)}{m(p)}\Big), \qquad
\dot g = \frac1{M(p)}\Big(g^\star - g\frac{M(2p)}{M(p)}\Big).$$
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float
from scipy.special import bernoulli

Scalar = Float[Array, "..."]
SERIES = [
    B / math.factorial(n) for n, B in enumerate(bernoulli(22)) if n and n % 2 == 0
]  # 1e-17 at x = 1


@jax.custom_jvp
def partition(p: ArrayLike, keys: ArrayLike) -> Scalar:
    r"""$M(p) = \sum_{k=0}^{N-1} e^{-pk}$."""
    p = jnp.asarray(p, float)
    keys = jnp.asarray(keys, float)
    safe = jnp.where(p == 0, 1.0, p)
    return jnp.where(p == 0, keys, jnp.expm1(-keys * safe) / jnp.expm1(-safe))


@partition.defjvp
def _(primals, tangents):
    # M' = -m; the number of keys is no variable.
    return partition(*primals), -moment(*primals) * tangents[0]


def moment(p: ArrayLike, keys: ArrayLike) -> Scalar:
    r"""$m(p) = -M'(p) = \sum_k k e^{-pk}$, the mean distance times $M$."""
    p = jnp.asarray(p, float)
    keys = jnp.asarray(keys, float)
    small = keys * p < 1
    safe = jnp.where(small, 1.0, p)
    far = _distance(-jnp.expm1(-safe), -jnp.expm1(-keys * safe), keys)
    return partition(p, keys) * jnp.where(
        small, _near_distance(jnp.where(small, p, 0.0), keys), far
    )


def _distance(q: Scalar, Q: Scalar, keys: Scalar) -> Scalar:
    r"""$m/M = 1/(e^p - 1) - N/(e^{Np} - 1)$ from $q = 1 - e^{-p}$ and $Q = 1 - e^{-Np}$; loses its digits as $p \to 0$."""
    return (1 - q) / q - keys * (1 - Q) / Q


def _near_distance(p: Scalar, keys: Scalar) -> Scalar:
    r"""The same for $Np \le 1$: $(f(p) - f(Np))/p$ with $f(x) = x/(e^x - 1) = 1 - x/2 + \sum_k B_{2k} x^{2k}/(2k)!$."""

    def odd(x: Scalar) -> Scalar:
        total = jnp.zeros_like(x)
        for term in SERIES[::-1]:
            total = total * x**2 + term
        return total * x

    return (keys - 1) / 2 + odd(p) - keys * odd(keys * p)


def coefficients(p_tilde: ArrayLike, p: ArrayLike, length: int) -> Float[Array, "position"]:
    r"""$\beta_\tau$ for $\tau = 1..L-2$: how much of token $\tau$ head 1 reads."""
    keys = length - 2
    return jnp.asarray(head_weights(p, keys) @ layer_one(p_tilde, length))


def head_weights(p: ArrayLike, keys: int) -> Float[Array, "slot"]:
    r"""$\pi_s$ for $s = 2..L-1$."""
    weights = decay(p, np.arange(keys)[::-1])
    return weights / weights.sum()


def layer_one(p_tilde: ArrayLike, length: int) -> Float[Array, "slot position"]:
    r"""$R_{s\tau}$ for $s = 2..L-1$ and $\tau = 1..L-2$; the identity if $\tilde p = \infty$."""
    distance = np.subtract.outer(np.arange(length - 2), np.arange(length - 2))
    weights = jnp.where(distance >= 0, decay(p_tilde, np.maximum(distance, 0)), 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def decay(p: ArrayLike, distance: np.ndarray) -> Float[Array, "..."]:
    """$e^{-pd}$; for an infinite slope 1 at distance 0 and 0 beyond."""
    exponent = jnp.where(distance == 0, 0.0, -jnp.asarray(p) * np.maximum(distance, 1))
    return jnp.exp(exponent)


def loss(p: ArrayLike, g: ArrayLike, g_star: ArrayLike, keys: ArrayLike) -> Scalar:
    r"""$\mathcal L_{G4}$ behind a sharp first layer, the closed form (7)."""
    p = jnp.asarray(p)
    g = jnp.asarray(g)
    g_star = jnp.asarray(g_star)
    M = partition(p, keys)
    others = jnp.exp(-2 * p) * partition(2 * p, keys - 1)  # M(2p) - 1
    return 0.5 * (g_star - g / M) ** 2 + 0.5 * (g / M) ** 2 * others


def blurred_loss(
    p_tilde: ArrayLike, p: ArrayLike, g: ArrayLike, g_star: ArrayLike, length: int
) -> Scalar:
    r"""$\mathcal L_{G4}$ for any slope of the first layer, from the coefficients."""
    g = jnp.asarray(g)
    g_star = jnp.asarray(g_star)
    beta = coefficients(p_tilde, p, length)
    return 0.5 * (g_star - g * beta[-1]) ** 2 + 0.5 * g**2 * jnp.sum(beta[:-1] ** 2)


def velocity(
    p: ArrayLike, g: ArrayLike, g_star: ArrayLike, keys: ArrayLike
) -> tuple[Scalar, Scalar]:
    r"""$(\dot p, \dot g)$ behind a sharp first layer.

    With $q = 1 - e^{-p}$ and $Q = 1 - e^{-Np}$, everything at $2p$ follows without another exponential: $M = Q/q$,
    $M(2p)/M = (2 - Q)/(2 - q)$.
    """
    p, g, g_star, keys = (jnp.asarray(x, float) for x in (p, g, g_star, keys))
    small = keys * p < 0.5
    tiny = jnp.where(small, p, 0.0)
    safe = jnp.where(p == 0, 1.0, p)
    q = -jnp.expm1(-safe)
    Q = -jnp.expm1(-keys * safe)
    M = jnp.where(p == 0, keys, Q / q)
    ratio = jnp.where(p == 0, 1.0, (2 - Q) / (2 - q))
    once = jnp.where(small, _near_distance(tiny, keys), _distance(q, Q, keys))
    far = _distance(q * (2 - q), Q * (2 - Q), keys)
    twice = jnp.where(small, _near_distance(2 * tiny, keys), far)
    error = g_star - g * ratio
    return g * (once * error + twice * g * ratio) / M, error / M


def spread(p_tilde: ArrayLike, p: ArrayLike, length: int) -> Scalar:
    r"""$q = N^2 \|\beta\|^2$: from $1.9 N$ at $\tilde p = 0$ down to $N$ (at $p = 0$)."""
    return (length - 2) ** 2 * jnp.sum(coefficients(p_tilde, p, length) ** 2)


def floor(p_tilde: ArrayLike, g_star: ArrayLike) -> Scalar:
    r"""$\min \mathcal L_{G4} = \frac12 g^{\star2} e^{-2\tilde p}$ behind a frozen first layer, as $p, L \to \infty$.

    At $\tilde p = 1.2$ it is 0.75% too high for $L = 5$ and $5 \cdot 10^{-8}$ for $L = 10$.
    """
    return 0.5 * jnp.asarray(g_star) ** 2 * jnp.exp(-2 * jnp.asarray(p_tilde))
