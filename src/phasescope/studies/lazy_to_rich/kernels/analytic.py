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

Mean field: given the query $z$ the denominator is $N e^{c^2z^2/2}$ by the law of large numbers,
then $\mathbb E[e^{(c+c')zx}] e^{-(c^2+c'^2)z^2/2} = e^{cc'z^2}$. Two different slots contribute
nothing, since the value with the larger index is independent of all else. Behind a first layer of
finite slope the keys are $y_s$, of variance $v = (1-\tilde u)/(1+\tilde u)$, and carry the right
token with weight $r = 1 - \tilde u$: $NX = (1 - 2cc^\star r)^{-1/2}$, $NS = (1 - 2c^2v)^{-1/2}$.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

Scalar = Float[Array, "..."]
SIGNS = (1, -1)  # of a key, relative to the query


class Kernels(NamedTuple):
    """$S$ and $X$ at one $c$, their derivatives, and $S(c^\\star)$."""

    S: Scalar
    X: Scalar
    dS: Scalar
    dX: Scalar
    top: Scalar


def mean_field(
    c: ArrayLike, c_star: ArrayLike, keys: ArrayLike, u_tilde: ArrayLike = 0.0
) -> Kernels:
    """The softmax with infinitely many keys behind a first layer of slope $-\\ln \\tilde u$; needs $2c^2 < 1$."""
    c = jnp.asarray(c)
    c_star = jnp.asarray(c_star)
    u = jnp.asarray(u_tilde)
    right = 1 - u
    variance = (1 - u) / (1 + u)
    x = 1 - 2 * c * c_star * right
    s = 1 - 2 * c**2 * variance
    return Kernels(
        S=s**-0.5 / keys,
        X=x**-0.5 / keys,
        dS=2 * c * variance * s**-1.5 / keys,
        dX=c_star * right * x**-1.5 / keys,
        top=(1 - 2 * c_star**2) ** -0.5 / keys,
    )


def exponential(c: ArrayLike, c_star: ArrayLike, keys: ArrayLike) -> Kernels:
    """The paper's simplification, $e^{score}/N$ instead of a softmax; needs $c + c^\\star < 1$ and $2c^\\star < 1$."""
    c = jnp.asarray(c)
    c_star = jnp.asarray(c_star)
    both = c + c_star
    x = 1 - both**2
    s = 1 - 4 * c**2
    return Kernels(
        S=s**-0.5 / keys,
        X=x**-0.5 / keys,
        dS=4 * c * s**-1.5 / keys,
        dX=both * x**-1.5 / keys,
        top=(1 - 4 * c_star**2) ** -0.5 / keys,
    )


def boolean_mean_field(c: ArrayLike, c_star: ArrayLike, keys: ArrayLike) -> Kernels:
    """The softmax with infinitely many keys, tokens $\\pm1$."""
    own = jnp.tanh(c)
    target = jnp.tanh(c_star)
    slope = 1 - own**2
    return Kernels(
        S=(1 + own**2) / keys,
        X=(1 + own * target) / keys,
        dS=2 * own * slope / keys,
        dX=slope * target / keys,
        top=(1 + target**2) / keys,
    )


def boolean(c: float, c_prime: float, keys: int) -> float:
    r"""$F(c, c')$ for tokens $\pm1$ under the softmax: given that $k$ keys agree with the query, all are exchangeable.

    The chance that $a$ given keys agree and $b$ given ones do not is $k^{\underline a}(N-k)^{\underline b}/N^{\underline{a+b}}$.
    """
    from scipy.stats import binom  # half a second that few runs need

    N = keys
    agreeing = np.arange(N + 1)
    total = np.zeros(N + 1)
    for s, t in itertools.product(SIGNS, SIGNS):
        total += _scaled(c, s) * _scaled(c_prime, t) * _pairs(s, t, N)
    sums = _partition(c, N) * _partition(c_prime, N)
    return float(np.sum(binom.pmf(agreeing, N, 0.5) * total / sums))


def _scaled(c: float, sign: int) -> float:
    """$e^{\\pm c}$ over the larger of the two."""
    return np.exp(c * sign - abs(c))


def _partition(c: float, keys: int) -> Float[np.ndarray, "agreeing"]:
    """The sum of the scaled weights of all keys, for each number of keys that agree with the query."""
    agreeing = np.arange(keys + 1)
    return agreeing * _scaled(c, 1) + (keys - agreeing) * _scaled(c, -1)


def _pairs(s: int, t: int, keys: int) -> Float[np.ndarray, "agreeing"]:
    """What pairs of slots with keys of signs `s` and `t` contribute: products of their values, summed."""
    N = keys
    equal = N * _chance(N, s) if s == t else np.zeros(N + 1)
    neighbours = (N - 2) * (s + t) * sum(v * _chance(N, s, t, v) for v in SIGNS)
    pairs = equal + neighbours
    if N > 3:
        rest = sum(v * w * _chance(N, s, t, v, w) for v, w in itertools.product(SIGNS, SIGNS))
        pairs = pairs + (N - 2) * (N - 3) * rest
    return pairs


def _chance(keys: int, *signs: int) -> Float[np.ndarray, "agreeing"]:
    """The chance that given keys have these signs, for each number of keys that agree with the query."""
    agreeing = np.arange(keys + 1)
    agree = sum(sign > 0 for sign in signs)
    differ = len(signs) - agree
    ways = max(float(_falling(np.array(keys), len(signs))), 1.0)
    return _falling(agreeing, agree) * _falling(keys - agreeing, differ) / ways


def _falling(n: np.ndarray, count: int) -> np.ndarray:
    """$n (n-1) \\cdots$, `count` factors, as floats."""
    return np.asarray(
        np.prod([np.maximum(n - i, 0.0) for i in range(count)], axis=0) + np.zeros(np.shape(n))
    )


def loss(values: Kernels, h: ArrayLike, h_star: ArrayLike) -> Scalar:
    r"""$\mathcal L_{IH}$."""
    h = jnp.asarray(h)
    h_star = jnp.asarray(h_star)
    return 0.5 * h_star**2 * values.top + 0.5 * h**2 * values.S - h * h_star * values.X


def drive(values: Kernels, h: ArrayLike, h_star: ArrayLike) -> Scalar:
    r"""$-\partial_c \mathcal L_{IH} = hh^\star X' - \frac12 h^2 S'$."""
    h = jnp.asarray(h)
    h_star = jnp.asarray(h_star)
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
