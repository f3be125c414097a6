r"""The closed theory (L2) and the memoryless control, in the coordinates of the class-symmetric
reduction.

**L2** keeps only the attention. The decoder enters by the clock $\gamma(t)$ and by the current overlap $\rho$:

$$\xi = \gamma (K-1) \beta \rho, \quad \dot z_d = \tfrac{\eta_Z}{K} f_d^2\, \xi, \quad
\dot z_c = -\tfrac{q\eta_Z}{K} f_c^2 (1-\rho)\, \gamma (K-1) \beta.$$

**The memoryless control** is the true dynamics but for one thing: the decoder is $Y = F(t) S$ with the *current* $F$ and
the accumulated residuals $S$, $\dot S = \eta_Y R / K$, so that it forgets how attention looked when it learnt.

**Training with residuals** is the true dynamics, with $S$ summed beside it: it says at every time what the present
attention would have made of the residuals that training has met.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import closed_forms
from . import class_symmetry
from .class_symmetry import Direction, Prediction, Profile, direction, inverse_gram, predict


class Closed(NamedTuple):
    r"""The state of L2; $B = \eta_Z \int \xi$ (over $K$ if updates are averaged) is carried
    along."""

    z_d: Float[Array, "distinct *lanes"]
    z_c: Float[Array, "common *lanes"]
    t: Float[Array, "*lanes"]
    B: Float[Array, "*lanes"]


class Memoryless(NamedTuple):
    """The state of the control: accumulated residuals of the own label, of another, of an output
    that is no label."""

    z_d: Float[Array, "distinct *lanes"]
    z_c: Float[Array, "common *lanes"]
    own: Float[Array, "*lanes"]
    other: Float[Array, "*lanes"]
    rest: Float[Array, "*lanes"]


class WithResiduals(NamedTuple):
    """Training, and the residuals that it has met: of the own label, of another, of an output that is no label."""

    weights: class_symmetry.State
    own: Float[Array, "*lanes"]
    other: Float[Array, "*lanes"]
    rest: Float[Array, "*lanes"]


def closed_zeros(distinct: int, common: int) -> Closed:
    """The start of L2."""
    return Closed(jnp.zeros(distinct), jnp.zeros(common), jnp.zeros(()), jnp.zeros(()))


def memoryless_zeros(distinct: int, common: int) -> Memoryless:
    """The start of the control."""
    nothing = jnp.zeros(())
    return Memoryless(jnp.zeros(distinct), jnp.zeros(common), nothing, nothing, nothing)


def beta(rho: Array, K: Any, M: Any, sign: float = 1.0) -> Array:
    r"""$\beta$ of two classes at overlap $\rho$. `sign=-1` is the printed sign of its $q_0$
    part, `sign=0` drops it."""
    overlap = -inverse_gram(rho, K)[1]
    q_1 = M / (M - 1)
    q_0 = -M / (M - 1) ** 2
    return q_1 * overlap - sign * q_0 * (1 + (K - 1) * rho * overlap - (K - 2) * overlap)


def theory_velocity(
    state: Closed, profile: Profile, eta_Y: Any, eta_Z: Any, share: Any, sign: float = 1.0
) -> tuple[Closed, Array]:
    r"""L2, and $\xi$. `share` is $1/K$ for averaged updates and 1 for summed ones, as printed."""
    K = profile.K
    M = profile.M
    f = direction(state.z_d, state.z_c, profile)
    force = closed_forms.gamma(state.t, K, M, eta_Y) * (K - 1) * beta(f.rho, K, M, sign)
    rate = share * eta_Z
    xi = force * f.rho
    moving = Closed(
        z_d=rate * f.d**2 * xi,
        z_c=-rate * profile.q * f.c**2 * (1 - f.rho) * force,
        t=jnp.ones_like(state.t),
        B=rate * xi,
    )
    return moving, xi


def memoryless_prediction(state: Memoryless, f: Direction, profile: Profile) -> Prediction:
    """What the decoder that has forgotten says."""
    K = profile.K
    a = state.own + (K - 1) * f.rho * state.other
    b = state.other + f.rho * (state.own + (K - 2) * state.other)
    return predict(a, b, state.rest * (1 + (K - 1) * f.rho), profile)


def memoryless_force(state: Memoryless, p: Prediction, profile: Profile) -> Array:
    r"""$\gamma\beta$ of the control."""
    K = profile.K
    M = profile.M
    mass = (state.own + (K - 2) * state.other) * p.other
    return -(state.other * p.mu - mass - (M - K) * state.rest * p.rest)


def memoryless_velocity(state: Memoryless, profile: Profile, eta_Y: Any, eta_Z: Any) -> Memoryless:
    """The control's gradient flow."""
    K = profile.K
    f = direction(state.z_d, state.z_c, profile)
    p = memoryless_prediction(state, f, profile)
    force = (K - 1) * memoryless_force(state, p, profile)
    return Memoryless(
        z_d=(eta_Z / K) * f.d**2 * force * f.rho,
        z_c=-(profile.q * eta_Z / K) * f.c**2 * (1 - f.rho) * force,
        own=(eta_Y / K) * p.mu,
        other=-(eta_Y / K) * p.other,
        rest=-(eta_Y / K) * p.rest,
    )


def with_residuals_zeros(distinct: int, common: int) -> WithResiduals:
    """The start of training with residuals."""
    nothing = jnp.zeros(())
    return WithResiduals(class_symmetry.zeros(distinct, common), nothing, nothing, nothing)


def with_residuals_velocity(
    state: WithResiduals, profile: Profile, eta_Y: Any, eta_Z: Any
) -> WithResiduals:
    """Gradient flow of training, and of the sum of its residuals."""
    K = profile.K
    rates = class_symmetry.by_table(eta_Y, eta_Z)
    ascent = class_symmetry.gradient(state.weights, profile)
    p = class_symmetry.predicted(state.weights, profile)
    return WithResiduals(
        weights=jax.tree.map(lambda g, eta: eta * g, ascent, rates),
        own=(eta_Y / K) * p.mu,
        other=-(eta_Y / K) * p.other,
        rest=-(eta_Y / K) * p.rest,
    )


def present_lag(state: WithResiduals, profile: Profile) -> Array:
    r"""$\dot z$ of the common tokens over the one that the decoder $Y = F(t) S(t)$ would give them,
    at the residuals of training: 1 if the attention never moved."""
    weights = state.weights
    K = profile.K
    f = direction(weights.z_d, weights.z_c, profile)
    p = class_symmetry.predicted(weights, profile)
    forgetful = weights._replace(
        A=f.d * state.own,
        B=f.d * state.other,
        O=f.d * state.rest,
        U=f.c * (state.own + (K - 1) * state.other),
        V=f.c * (K * state.rest),
    )
    _, true = class_symmetry.attention_gradient(weights, f, p, profile)
    _, present = class_symmetry.attention_gradient(forgetful, f, p, profile)
    return true.sum(0) / present.sum(0)
