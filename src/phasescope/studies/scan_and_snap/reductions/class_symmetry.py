r"""The exact class-symmetric reduction: $M \times M$ tables become $4D + 3C$ numbers, whatever $K$
and $M$ are.

All classes have the same profile $p_d$ on their $D$ distinct tokens and the same $p_c$ on $C$
common ones, are equally likely, and share their last token with $q - 1$ others. From a symmetric
start, whatever an elementwise optimiser does,

* the attention logits are $z_d$ on the distinct and $z_c$ on the common tokens of a class;
* a distinct token's row of $Y$ holds $A_d$ at its own label, $B_d$ at another label, $O_d$ at every other output;
* a common token's row holds $U_c$ at a label and $V_c$ elsewhere.

With $f \propto (p_d e^{z_d}, p_c e^{z_c})$ of unit norm, the three different logits and their
gradients are in `logits` and `gradient`. Four levels share the coordinates: the true gradient (L0),
the decoupled decoder gradient that the theorems use (L1, `decoupled`); `levels.py` has the closed
theory (L2) and the memoryless control.

Arrays may carry trailing axes, one lane for each independent run; $K$, $M$ and the rates are
numbers or one a lane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data import profile_weights
from ..spec import Spec


class Profile(NamedTuple):
    """What the data are: log weights of the tokens (they need not be normalised), and the sizes."""

    log_distinct: Float[Array, "distinct *lanes"]
    log_common: Float[Array, "common *lanes"]
    K: Any
    M: Any
    q: Any


class State(NamedTuple):
    """What training carries."""

    z_d: Float[Array, "distinct *lanes"]
    A: Float[Array, "distinct *lanes"]
    B: Float[Array, "distinct *lanes"]
    O: Float[Array, "distinct *lanes"]
    z_c: Float[Array, "common *lanes"]
    U: Float[Array, "common *lanes"]
    V: Float[Array, "common *lanes"]


class Direction(NamedTuple):
    r"""$f$, the unit vector of attention, in its distinct and common parts; $\rho = \|f_c\|^2$
    is every overlap."""

    d: Float[Array, "distinct *lanes"]
    c: Float[Array, "common *lanes"]
    rho: Float[Array, "*lanes"]


class Prediction(NamedTuple):
    """Probabilities of the own label's complement, of one other label, of one output that is no
    label; the loss."""

    mu: Float[Array, "*lanes"]  # 1 - alpha_1, as a sum
    other: Float[Array, "*lanes"]
    rest: Float[Array, "*lanes"]
    loss: Float[Array, "*lanes"]


def profile(spec: Spec) -> Profile:
    """The data of the class-symmetric reduction."""
    distinct, common = profile_weights(spec)
    return Profile(jnp.log(distinct), jnp.log(common), spec.K, spec.M, float(spec.per_last))


def by_table(Y: Any, Z: Any) -> State:
    """A number for every entry of the decoder, and one for every entry of the attention."""
    return State(z_d=Z, A=Y, B=Y, O=Y, z_c=Z, U=Y, V=Y)


def zeros(distinct: int, common: int) -> State:
    """The start of every run."""
    d = jnp.zeros(distinct)
    c = jnp.zeros(common)
    return State(d, d, d, d, c, c, c)


def attention(z_d: Array, z_c: Array, profile: Profile) -> tuple[Array, Array]:
    """$c_n$ on its distinct and on the common tokens: their sum is 1."""
    weights_d, weights_c = _weights(z_d, z_c, profile)
    total = weights_d.sum(0) + weights_c.sum(0)
    return weights_d / total, weights_c / total


def direction(z_d: Array, z_c: Array, profile: Profile) -> Direction:
    """$f_n$ and the overlap of two classes."""
    weights_d, weights_c = _weights(z_d, z_c, profile)
    squares_d = (weights_d**2).sum(0)
    squares_c = (weights_c**2).sum(0)
    norm = jnp.sqrt(squares_d + squares_c)
    return Direction(weights_d / norm, weights_c / norm, squares_c / (squares_d + squares_c))


def predict(a: Array, b: Array, o: Array, profile: Profile) -> Prediction:
    """The softmax over all $M$ outputs, from its three different logits."""
    others = profile.K - 1
    rests = profile.M - profile.K
    top = jnp.where(others > 0, b, -jnp.inf)
    top = jnp.maximum(top, jnp.where(rests > 0, o, -jnp.inf))
    top = jnp.where(jnp.isfinite(top), top, 0.0)
    log_wrong = top + jnp.log(
        others * jnp.exp(jnp.minimum(b - top, 0)) + rests * jnp.exp(jnp.minimum(o - top, 0))
    )
    loss = jax.nn.softplus(log_wrong - a)  # log of all outputs over the right one
    everything = a + loss
    return Prediction(
        jax.nn.sigmoid(log_wrong - a), jnp.exp(b - everything), jnp.exp(o - everything), loss
    )


def logits(state: State, f: Direction) -> tuple[Array, Array, Array]:
    """Of the own label, of another label, of an output that is no label."""
    shared = (f.c * state.U).sum(0)
    a = (f.d * state.A).sum(0) + shared
    b = (f.d * state.B).sum(0) + shared
    return a, b, (f.d * state.O).sum(0) + (f.c * state.V).sum(0)


def predicted(state: State, profile: Profile) -> Prediction:
    """What the model says at a state."""
    f = direction(state.z_d, state.z_c, profile)
    return predict(*logits(state, f), profile)


def pull(state: State, p: Prediction, profile: Profile) -> tuple[Array, Array]:
    r"""$g_n = Y r_n$ on the class's own distinct tokens and on the common ones."""
    K = profile.K
    M = profile.M
    g_d = state.A * p.mu - (K - 1) * p.other * state.B - (M - K) * p.rest * state.O
    return g_d, (M - K) * p.rest * (state.U - state.V)


def gradient(state: State, profile: Profile) -> State:
    """L0: the ascent direction of the mean log-likelihood, for each single entry of $Y$ and $Z$."""
    f = direction(state.z_d, state.z_c, profile)
    p = predict(*logits(state, f), profile)
    z_d, z_c = attention_gradient(state, f, p, profile)
    K = profile.K
    M = profile.M
    return State(
        z_d=z_d,
        A=f.d * (p.mu / K),
        B=-f.d * (p.other / K),
        O=-f.d * (p.rest / K),
        z_c=z_c,
        U=f.c * ((M - K) * p.rest / K),
        V=-f.c * p.rest,
    )


def decoupled(state: State, profile: Profile) -> State:
    r"""L1: the decoder's gradient is $F(I+E)^{-1}R/K$, so that classes do not feel each other;
    the attention's is true."""
    f = direction(state.z_d, state.z_c, profile)
    p = predict(*logits(state, f), profile)
    z_d, z_c = attention_gradient(state, f, p, profile)
    K = profile.K
    M = profile.M
    own, other = inverse_gram(f.rho, K)
    both = own + (K - 1) * other
    return State(
        z_d=z_d,
        A=f.d * ((own * p.mu - (K - 1) * other * p.other) / K),
        B=f.d * ((-own * p.other + other * (p.mu - (K - 2) * p.other)) / K),
        O=-f.d * (p.rest * both / K),
        z_c=z_c,
        U=f.c * ((M - K) * p.rest * both / K),
        V=-f.c * p.rest * both,
    )


def inverse_gram(rho: Array, K: Any) -> tuple[Array, Array]:
    r"""Diagonal and off-diagonal of $(I + E)^{-1}$ where all overlaps are $\rho$; $E' = I -
    (I+E)^{-1}$."""
    overlap = rho / ((1 - rho) * (1 + (K - 1) * rho))
    return 1 + (K - 1) * rho * overlap, -overlap


def coefficients(state: State, profile: Profile) -> tuple[Array, Array]:
    r"""Least squares of $g_n$ on $F$: the coefficient of $f_n$ ($\gamma\iota$) and of another
    $f_{n'}$ ($-\gamma\beta$)."""
    f = direction(state.z_d, state.z_c, profile)
    p = predict(*logits(state, f), profile)
    K = profile.K
    M = profile.M
    g_d, g_c = pull(state, p, profile)
    elsewhere = (
        state.B * (p.mu - (K - 2) * p.other) - state.A * p.other - (M - K) * p.rest * state.O
    )
    common = (f.c * g_c).sum(0)
    on_own = (f.d * g_d).sum(0) + common
    on_other = (f.d * elsewhere).sum(0) + common
    own, other = inverse_gram(f.rho, K)
    return own * on_own + (K - 1) * other * on_other, other * on_own + (
        own + (K - 2) * other
    ) * on_other


def lag(state: State, profile: Profile) -> Array:
    r"""$\dot z$ of the common tokens over that of the pull projected on the current $F$, by least
    squares: 1 if the attention never moved."""
    f = direction(state.z_d, state.z_c, profile)
    p = predict(*logits(state, f), profile)
    _, true = attention_gradient(state, f, p, profile)
    _, beta = coefficients(state, profile)
    return true.sum(0) / ((profile.q / profile.K) * f.rho * (1 - f.rho) * (profile.K - 1) * beta)


def attention_gradient(
    state: State, f: Direction, p: Prediction, profile: Profile
) -> tuple[Array, Array]:
    """The ascent direction of the attention's logits under the decoder of `state`, at these residuals."""
    g_d, g_c = pull(state, p, profile)
    mean = (f.d * g_d).sum(0) + (f.c * g_c).sum(0)
    return f.d * (g_d - f.d * mean) / profile.K, (profile.q / profile.K) * f.c * (g_c - f.c * mean)


def _weights(z_d: Array, z_c: Array, profile: Profile) -> tuple[Array, Array]:
    """$P e^z$ up to a factor that neither attention nor direction feels."""
    on_d = z_d + _to_lanes(profile.log_distinct, z_d)
    on_c = z_c + _to_lanes(profile.log_common, z_c)
    top = jnp.max(on_d, axis=0)
    if z_c.shape[0]:
        top = jnp.maximum(top, jnp.max(on_c, axis=0))
    return jnp.exp(on_d - top), jnp.exp(on_c - top)


def _to_lanes(x: Array, like: Array) -> Array:
    return x.reshape(x.shape + (1,) * (like.ndim - x.ndim))
