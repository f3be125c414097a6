r"""Two kernels determine everything in the induction head: closed forms.

$$\mathcal L_{IH}(c, h) = \tfrac12 h^{\star2} S(c^\star) + \tfrac12 h^2 S(c) - h h^\star X(c), \qquad
S(c) = F(c, c), \quad X(c) = F(c, c^\star), \quad
F(c, c') = \mathbb E\Big[\sum_s a_s(c) x_s \sum_t a_t(c') x_t\Big],$$

with $c = w_K w_Q$. What differs between descriptions is $F$ alone:

| description | $N F(c, c')$ | exact for |
|---|---|---|
| `exponential` | $(1 - (c+c')^2)^{-1/2}$ | weights $e^{\cdot}/N$ instead of a softmax (the paper's) |
| `mean_field` | $(1 - 2cc')^{-1/2}$ | the softmax as $N \to \infty$ |
| `boolean_mean_field` | $1 + \tanh c \tanh c'$ | the same, tokens $\pm1$ |
| `boolean` | a finite sum | the softmax, tokens $\pm1$, any $N$ |
| quadrature.py | an integral | the softmax, Gaussian tokens, any $N$ |

Mean field: given the query $z$ the denominator is $N e^{c^2z^2/2}$ by the law of large numbers, then
$\mathbb E[e^{(c+c')zx}] e^{-(c^2+c'^2)z^2/2} = e^{cc'z^2}$. Two different slots contribute nothing, since the value with the
larger index is independent of all else. Behind a first layer of finite slope the keys are $y_s$, of variance
$v = (1-\tilde u)/(1+\tilde u)$, and carry the right token with weight $r = 1 - \tilde u$:
$NX = (1 - 2cc^\star r)^{-1/2}$, $NS = (1 - 2c^2v)^{-1/2}$.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

Scalar = Float[Array, "..."]


class Kernels(NamedTuple):
    """$S$ and $X$ at one $c$, their derivatives, and $S(c^\\star)$."""

    S: Scalar
    X: Scalar
    dS: Scalar
    dX: Scalar
    top: Scalar


def mean_field(c: ArrayLike, c_star: ArrayLike, keys: ArrayLike, u_tilde: ArrayLike = 0.0) -> Kernels:
    """The softmax with infinitely many keys behind a first layer of slope $-\\ln \\tilde u$; needs $2c^2 < 1$."""
    c, c_star, u = jnp.asarray(c), jnp.asarray(c_star), jnp.asarray(u_tilde)
    right, variance = 1 - u, (1 - u) / (1 + u)
    x, s = 1 - 2 * c * c_star * right, 1 - 2 * c**2 * variance
    top = (1 - 2 * c_star**2) ** -0.5
    values = s**-0.5, x**-0.5, 2 * c * variance * s**-1.5, c_star * right * x**-1.5, top
    return Kernels(*(value / keys for value in values))


def exponential(c: ArrayLike, c_star: ArrayLike, keys: ArrayLike) -> Kernels:
    """The paper's simplification, $e^{score}/N$ instead of a softmax; needs $c + c^\\star < 1$ and $2c^\\star < 1$."""
    c, c_star = jnp.asarray(c), jnp.asarray(c_star)
    both = c + c_star
    x, s = 1 - both**2, 1 - 4 * c**2
    values = s**-0.5, x**-0.5, 4 * c * s**-1.5, both * x**-1.5, (1 - 4 * c_star**2) ** -0.5
    return Kernels(*(value / keys for value in values))


def boolean_mean_field(c: ArrayLike, c_star: ArrayLike, keys: ArrayLike) -> Kernels:
    """The softmax with infinitely many keys, tokens $\\pm1$."""
    own, target = jnp.tanh(c), jnp.tanh(c_star)
    slope = 1 - own**2
    values = 1 + own**2, 1 + own * target, 2 * own * slope, slope * target, 1 + target**2
    return Kernels(*(value / keys for value in values))


def boolean(c: float, c_prime: float, keys: int) -> float:
    r"""$F(c, c')$ for tokens $\pm1$ under the softmax: given that $k$ keys agree with the query, all are exchangeable.

    The chance that $a$ given keys agree and $b$ given ones do not is $k^{\underline a}(N-k)^{\underline b}/N^{\underline{a+b}}$.
    """
    N, k = keys, np.arange(keys + 1)
    scaled = lambda c, sign: np.exp(c * sign - abs(c))
    Z = lambda c: k * scaled(c, 1) + (N - k) * scaled(c, -1)

    def chance(*signs: int) -> Float[np.ndarray, "agreeing"]:
        agree = sum(sign > 0 for sign in signs)
        differ = len(signs) - agree
        return _falling(k, agree) * _falling(N - k, differ) / max(float(_falling(np.array(N), len(signs))), 1.0)

    total, signs = np.zeros(N + 1), (1, -1)
    for s, t in itertools.product(signs, signs):
        pairs = (N * chance(s) if s == t else np.zeros(N + 1)) + (N - 2) * (s + t) * sum(
            v * chance(s, t, v) for v in signs
        )
        if N > 3:
            rest = sum(v * w * chance(s, t, v, w) for v, w in itertools.product(signs, signs))
            pairs = pairs + (N - 2) * (N - 3) * rest
        total += scaled(c, s) * scaled(c_prime, t) * pairs
    from scipy.stats import binom  # half a second that few runs need

    return float(np.sum(binom.pmf(k, N, 0.5) * total / (Z(c) * Z(c_prime))))


def _falling(n: np.ndarray, count: int) -> np.ndarray:
    """$n (n-1) \\cdots$, `count` factors, as floats."""
    return np.asarray(np.prod([np.maximum(n - i, 0.0) for i in range(count)], axis=0) + np.zeros(np.shape(n)))


def loss(values: Kernels, h: ArrayLike, h_star: ArrayLike) -> Scalar:
    r"""$\mathcal L_{IH}$."""
    h, h_star = jnp.asarray(h), jnp.asarray(h_star)
    return 0.5 * h_star**2 * values.top + 0.5 * h**2 * values.S - h * h_star * values.X


def drive(values: Kernels, h: ArrayLike, h_star: ArrayLike) -> Scalar:
    r"""$-\partial_c \mathcal L_{IH} = hh^\star X' - \frac12 h^2 S'$."""
    h, h_star = jnp.asarray(h), jnp.asarray(h_star)
    return h * h_star * values.dX - 0.5 * h**2 * values.dS


def plateau_ratio(at_zero: Kernels) -> Scalar:
    r"""The plateau's share of $\frac12h^{\star2}S(c^\star)$: $1 - X(0)^2 / (S(0) S(c^\star))$, from the kernels at $c = 0$."""
    return 1 - at_zero.X**2 / (at_zero.S * at_zero.top)


def floor(c_star: ArrayLike, h_star: ArrayLike, keys: ArrayLike, u_tilde: ArrayLike) -> Scalar:
    r"""Mean field: the least $\mathcal L_{IH}$ behind a frozen first layer, at $c = c^\star(1+\tilde u)$ and $h = h^\star$."""
    blurred = (1 - 2 * c_star**2 * (1 - u_tilde**2)) ** -0.5
    return jnp.asarray(h_star**2 / (2 * keys) * ((1 - 2 * c_star**2) ** -0.5 - blurred))


def short_range_floor(c_star: ArrayLike, h_star: ArrayLike, keys: ArrayLike) -> Scalar:
    r"""Mean field: the least $\mathcal L_{IH}$ of a learner that sees one position less than the target."""
    return jnp.asarray(h_star**2 / (2 * keys**2) * (1 - 2 * c_star**2) ** -0.5)
