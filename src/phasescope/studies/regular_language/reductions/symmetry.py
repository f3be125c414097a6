r"""The exact symmetry reduction: $2^{N+1}$ strings and $(2N)^2 + 2N$ parameters become $O(N^2)$ numbers.

All strings are present and the start is symmetric under exchanging the tokens, so at all times (Lemma B.1)

* $\langle u, E_\ell^w\rangle = v_\ell$ does not depend on the token;
* the score of a key against the last token of a string of length $L$ is $p_L$ or $q_L$ at the pivot $c_L$ (token equal
  to the last, or not), $m_{L\ell}$ at any other $\ell < L$ whatever its token, and $s_L$ at $\ell = L$;
* hence a length has two outputs only, $T_L^+ = \varphi^{L+} \cdot v$ for matching strings and $T_L^-$ for the others.

With $G^+ = \sigma(-T^+)$, $G^- = \sigma(T^-)$, the class weights $\omega^\pm$, and $k$ the rate of the attention
relative to the read-out ($1$ in phase 1; $1/\lambda$ in phase 2 and in plain gradient descent),

$$\dot v_\ell = \tfrac12 \sum_L (\omega^+ G^+ \varphi^{L+}_\ell - \omega^- G^- \varphi^{L-}_\ell), \quad
X_\ell = \omega^+ G^+ \varphi^{L+}_\ell (v_\ell - T^+), \quad Y_\ell = \omega^- G^- \varphi^{L-}_\ell (v_\ell - T^-),$$
$$\dot p = \tfrac k2 X_c, \quad \dot q = -\tfrac k2 Y_c, \quad \dot m_\ell = \tfrac k4 (X - Y)_\ell, \quad
\dot s = \tfrac k2 (X - Y)_L.$$

$s$ moves twice as fast as $m$: only two of the four token pairs occur at $\ell = L$ (the lemma overlooks this).

Arrays may carry trailing axes, one lane per independent run; `eta`, `lam` and `k` are then scalars or one number a
lane. Pivots are a static numpy array. `case` is 0 for matching strings and 1 for the others. Where the pivot is the
last token itself, all strings match, and $q$ and $s$ stay 0.
"""

from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from jax import numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Float, Int

from .. import data

Pivots = Int[np.ndarray, " length"]


class State(NamedTuple):
    """What training carries. Stacking $p$ on $q$, and putting $s$ on the diagonal of $m$, saves array operations."""

    v: Float[Array, "position *lanes"]
    b: Float[Array, "case length *lanes"]  # scores of the pivot: p, then q
    M: Float[
        Array, "length position *lanes"
    ]  # m below the diagonal, s on it; 0 above it and at the pivot

    @property
    def p(self) -> Float[Array, "length *lanes"]:
        return self.b[0]

    @property
    def q(self) -> Float[Array, "length *lanes"]:
        return self.b[1]

    @property
    def s(self) -> Float[Array, "length *lanes"]:
        return self.M[np.diag_indices(len(self.M))]


def zeros(max_length: int, lanes: tuple[int, ...] = ()) -> State:
    """The start of every run."""
    N = max_length
    return State(jnp.zeros((N, *lanes)), jnp.zeros((2, N, *lanes)), jnp.zeros((N, N, *lanes)))


def step(
    state: State,
    pivots: Pivots,
    eta: ArrayLike,
    lam: ArrayLike,
    k: ArrayLike,
    *,
    alpha: ArrayLike | None = None,
) -> State:
    r"""One update of gradient descent: step $\eta$ on the read-out, net step $\eta k$ on the attention."""
    rates = velocity(state, pivots, lam, k, alpha=alpha)
    return jax.tree.map(lambda x, rate: x + eta * rate, state, rates)


def velocity(
    state: State, pivots: Pivots, lam: ArrayLike, k: ArrayLike, *, alpha: ArrayLike | None = None
) -> State:
    r"""$d\,\mathrm{state}/d\tau$: gradient flow in the coordinates of the reduction. `k=0` freezes the attention."""
    v = state.v
    to_lanes = _lifter(v.ndim - 1)
    E, B = _exponentials(state, pivots, lam)
    at_pivot = v[pivots - 1]
    Z = jnp.sum(E, axis=1) + B
    T = (jnp.sum(E * v, axis=1) + B * at_pivot) / Z
    sign = to_lanes(np.array([[1.0], [-1.0]]))
    weights = data.class_weights(pivots, alpha)
    G = (
        sign * align(weights, T) / (Z * (1 + jnp.exp(sign * T)))
    )  # +- omega G / Z: times an exponential, omega G phi
    F = G * B

    # X - Y = E (D v - C): the two softmaxes share every exponential but the pivot's.
    D = G[0] + G[1]
    C = G[0] * T[0] + G[1] * T[1]
    is_pivot, _, share = _masks(pivots)
    read_out = jnp.where(to_lanes(is_pivot), (F[0] + F[1])[:, None], E * D[:, None])
    return State(
        v=0.5 * jnp.sum(read_out, axis=0),
        b=(0.5 * k) * F * (at_pivot - T),
        M=(k * to_lanes(share)) * (E * (D[:, None] * v - C[:, None])),
    )


def attention(
    state: State, pivots: Pivots, lam: ArrayLike
) -> Float[Array, "case length position *lanes"]:
    r"""$\varphi^{L\pm}$, 0 beyond the end of the string. Where the pivot is the last token, case 1 does not occur."""
    E, B = _exponentials(state, pivots, lam)
    is_pivot, _, _ = _masks(pivots)
    numerator = jnp.where(_lifter(state.v.ndim - 1)(is_pivot), B[:, :, None], E)
    return numerator / (jnp.sum(E, axis=1) + B)[:, :, None]


def outputs(state: State, pivots: Pivots, lam: ArrayLike) -> Float[Array, "case length *lanes"]:
    """$T_L^+$ and $T_L^-$."""
    E, B = _exponentials(state, pivots, lam)
    return (jnp.sum(E * state.v, axis=1) + B * state.v[pivots - 1]) / (jnp.sum(E, axis=1) + B)


def loss(
    state: State, pivots: Pivots, lam: ArrayLike, alpha: ArrayLike | None = None
) -> Float[Array, "*lanes"]:
    """The same number as the full model's loss."""
    return jnp.sum(loss_by_length(outputs(state, pivots, lam), pivots, alpha), axis=0)


def loss_by_length(
    T: Float[Array, "case length *lanes"],
    pivots: Pivots,
    alpha: ArrayLike | None = None,
) -> Float[Array, "length *lanes"]:
    r"""$\omega^+_L \log(1 + e^{-T^+_L}) + \omega^-_L \log(1 + e^{T^-_L})$; the loss is its sum."""
    weights = align(data.class_weights(pivots, alpha), T)
    return weights[0] * jax.nn.softplus(-T[0]) + weights[1] * jax.nn.softplus(T[1])


def loss_floor(
    T: Float[Array, "case length *lanes"],
    pivots: Pivots,
    alpha: ArrayLike | None = None,
) -> Float[Array, "*lanes"]:
    r"""No common shift of a length's two outputs brings the loss lower: $\sum_L \alpha_L \log(1 + e^{-|T^+ - T^-|/2})$."""
    weights = align(data.class_weights(pivots, alpha), T)
    to_itself = align(pivots == np.arange(1, len(pivots) + 1), T[0])
    margin = jnp.where(to_itself, T[0], jnp.abs(T[0] - T[1]) / 2)
    return jnp.sum((weights[0] + weights[1]) * jax.nn.softplus(-margin), axis=0)


def accuracy_by_length(
    T: Float[Array, "case length *lanes"], pivots: Pivots
) -> Float[Array, "length *lanes"]:
    """0, 1/2 or 1: both classes wrong, one right, or both. The predicted label is +1 iff $T > 0$."""
    fractions = align(data.class_fractions(pivots), T)
    return jnp.where(T[0] > 0, fractions[0], 0.0) + jnp.where(T[1] > 0, 0.0, fractions[1])


def u_norm(state: State) -> Float[Array, "*lanes"]:
    r"""$\|u\| = \sqrt2 \|v\|$: each $v_\ell$ stands for two tokens."""
    return jnp.sqrt(2 * jnp.sum(state.v**2, axis=0))


def W_norm(state: State) -> Float[Array, "*lanes"]:
    r"""$\|W\|_F^2 = 2 \sum p^2 + 2 \sum q^2 + 4 \sum m^2 + 2 \sum s^2$."""
    M = 4 * jnp.sum(state.M**2, axis=(0, 1)) - 2 * jnp.sum(state.s**2, axis=0)
    return jnp.sqrt(2 * jnp.sum(state.b**2, axis=(0, 1)) + M)


def invariant(state: State) -> Float[Array, "length *lanes"]:
    r"""$p_L + q_L + 2 \sum_\ell m_{L\ell} + s_L$, which training keeps at 0."""
    return jnp.sum(state.b, axis=0) + 2 * jnp.sum(state.M, axis=1) - state.s


def to_full(state: State, pivots: Pivots) -> dict[str, Array]:
    """The parameters $u$, $W$ of the full model that the state stands for."""
    N = len(pivots)
    lanes = state.v.shape[1:]
    to_lanes = _lifter(len(lanes))
    is_pivot, is_other, _ = _masks(pivots)
    M = jnp.where(to_lanes(is_other), state.M, 0.0)
    same = jnp.where(to_lanes(is_pivot), state.p[:, None], M)
    # The key E_L^{-w} never meets the query E_L^w: its score stays 0.
    off_diagonal = jnp.where(to_lanes(np.eye(N, dtype=bool)), 0.0, M)
    differ = jnp.where(to_lanes(is_pivot), state.q[:, None], off_diagonal)
    # [key token, query token, length, position]
    W = jnp.stack([jnp.stack([same, differ]), jnp.stack([differ, same])])
    W = jnp.moveaxis(W, (3, 0, 2, 1), (0, 1, 2, 3))
    return {"u": jnp.repeat(state.v, 2, axis=0), "W": W.reshape(2 * N, 2 * N, *lanes)}


def from_full(params: dict[str, Array], pivots: Pivots) -> State:
    """The state whose full parameters are nearest to these: each number is the mean over the entries it stands for."""
    N = len(pivots)
    lanes = params["u"].shape[1:]
    rows = np.arange(N)
    to_lanes = _lifter(len(lanes))
    _, is_other, _ = _masks(pivots)
    # [length, position, key token, query token]
    W = jnp.moveaxis(params["W"].reshape(N, 2, N, 2, *lanes), 2, 0)
    same = (W[:, :, 0, 0] + W[:, :, 1, 1]) / 2
    differ = (W[:, :, 0, 1] + W[:, :, 1, 0]) / 2
    M = jnp.where(to_lanes(np.eye(N, dtype=bool)), same, (same + differ) / 2)
    return State(
        v=jnp.mean(params["u"].reshape(N, 2, *lanes), axis=1),
        b=jnp.stack([same[rows, pivots - 1], differ[rows, pivots - 1]]),
        M=jnp.where(to_lanes(is_other), M, 0.0),
    )


def _exponentials(state: State, pivots: Pivots, lam: ArrayLike):
    r"""$e^{M/\lambda}$, with 0 at the pivot and where there is no key, and $e^{b/\lambda}$.

    Each row is divided by its largest $e^{M/\lambda}$, which a softmax does not feel, and the pivot's factor is capped
    at $e^{300}$, where all other weights are below the last digit of 1. So scores of any size are exact; it costs 10%.
    """
    to_lanes = _lifter(state.v.ndim - 1)
    _, is_other, _ = _masks(pivots)
    scale = 1 / lam
    floor = to_lanes(np.where(is_other, 0.0, -np.inf))
    # Length 1 has no other key: its one weight is 1, whatever the score.
    has_others = to_lanes(np.any(is_other, axis=1))
    top = jnp.where(has_others, jnp.max(state.M + floor, axis=1), 0.0)
    E = jnp.exp((state.M - top[:, None]) * scale + floor)
    B = jnp.exp(jnp.where(has_others, jnp.minimum((state.b - top) * scale, 300.0), 0.0))
    return E, B


def _masks(pivots: Pivots):
    """Which (length, position) is the pivot; which is another key; its share of the gradient, 1/4 or, for s, 1/2."""
    length, position = np.ogrid[1 : len(pivots) + 1, 1 : len(pivots) + 1]
    is_pivot = position == pivots[:, None]
    is_other = (position <= length) & ~is_pivot
    return is_pivot, is_other, np.where(position == length, 0.5, 0.25) * is_other


def _lifter(lanes: int):
    """Appends that many axes of size 1 to an array."""
    return lambda x: x.reshape(x.shape + (1,) * lanes)


def align(x: np.ndarray | Array, like: Array) -> np.ndarray | Array:
    """Append axes of size 1 until x broadcasts against trailing lanes."""
    return x.reshape(x.shape + (1,) * (like.ndim - x.ndim))
