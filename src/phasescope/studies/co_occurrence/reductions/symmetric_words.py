r"""R3: with an orthogonal start and distinct words, 149 numbers carry the whole training, whatever the sizes are.

The flow commutes with exchanging irrelevant words inside a sample and samples inside a type. Vectors over words split
into a *trivial* part, spanned by the special words $e_1, e_2, e_3$ and one $u_c = N_c^{-1/2} \sum_r e_r$ for each type
($N_c = n_c r_c$ irrelevant words), and, for each type, differences *between* samples and differences *within* a sample.
On the last two every matrix is a multiple of 1. In the trivial part the equations of `gram_matrices` hold as they stand. In the
others $\dot S = (K + Q) M$ with $K = Q$, so that

$$S = \sigma_0^2 m \sinh 2\phi, \quad K = Q = \sigma_0^2 m \cosh 2\phi, \quad
  \dot\phi^b_c = x_c + r_c y_c, \quad \dot\phi^w_c = x_c,$$

where $x_c 1 + y_c J$ is the block of $M$ on the irrelevant words of one sample. Sizes enter as real numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jaxtyping import Array, Float

from ..spec import LABELS, SHARES, Spec
from . import gram_matrices

HAS = np.array(
    [[1, 1, 1], [1, 0, 1], [0, 1, 1], [0, 0, 1]], bool
)  # which special words a type holds
Y = np.array(LABELS)


class Sectors(NamedTuple):
    """The state: Grams in the basis (e_1, e_2, e_3, u_1, ..., u_4), and two angles for each type."""

    trivial: gram_matrices.Grams
    between: Float[Array, "type"]
    within: Float[Array, "type"]


class Sizes(NamedTuple):
    """How many irrelevant words a sample of each type has, how many samples, and how many words in all."""

    r: Any
    n: Any
    N: Any
    root: Any  # square root of N, or 1 where there is no such word


class Forward(NamedTuple):
    """Attention weights and values in a sample of each type: a key or query is special (k, q) or irrelevant (r)."""

    p_kq: Float[Array, "type key query"]
    p_rq: Float[Array, "type query"]
    p_kr: Float[Array, "type key"]
    p_self: Float[Array, "type"]
    p_other: Float[Array, "type"]
    G: Float[Array, "key"]
    G_r: Float[Array, "type"]
    mean_q: Float[Array, "type query"]
    mean_r: Float[Array, "type"]
    F: Float[Array, "type"]


def sizes(spec: Spec) -> Sizes:
    """The counts, as real numbers."""
    r = spec.length - jnp.asarray(HAS.sum(axis=1), float)
    n = 1.0 * spec.samples * jnp.array(SHARES)
    return Sizes(r, n, n * r, jnp.sqrt(jnp.where(n * r > 0, n * r, 1.0)))


def start(spec: Spec) -> Sectors:
    """The orthogonal start."""
    return Sectors(trivial_start(7, spec), between=jnp.zeros(4), within=jnp.zeros(4))


def trivial_start(size: int, spec: Spec) -> gram_matrices.Grams:
    """The Grams of the orthogonal start in an orthonormal basis of so many vectors."""
    same = scale(spec) * jnp.eye(size)
    zero = jnp.zeros((size, size))
    beta = jnp.asarray(spec.scale_1**2 * spec.width * spec.output_norm, float)
    return gram_matrices.Grams(
        beta=beta,
        G=jnp.zeros(size),
        A=same,
        S=zero,
        Q=same,
        K=same,
    )


def scale(spec: Spec) -> Any:
    r"""$\sigma_0^2 m$, the squared length of every column at the start."""
    return spec.scale_0**2 * spec.width


def velocity(state: Sectors, spec: Spec) -> Sectors:
    """Gradient flow."""
    c, M, between, within = forces(state, spec)
    speed = spec.attention
    trivial = gram_matrices.rates(state.trivial, c, speed * M, spec.output_norm)
    return Sectors(trivial, speed * between, speed * within)


def forces(
    state: Sectors, spec: Spec
) -> tuple[Float[Array, "7"], Float[Array, "7 7"], Array, Array]:
    """c and M in the trivial part, and the rates of the angles between and within samples."""
    f = forward(state, spec)
    r, n, N, root = sizes(spec)
    pull = Y * sigmoid(-Y * f.F) / spec.samples
    exists = jnp.where(N > 0, root, 0.0)
    # Forces on the values.
    c_k = (n * pull) @ (f.p_kq.sum(axis=2) + r[:, None] * f.p_kr)
    c_u = exists * pull * (f.p_rq.sum(axis=1) + f.p_self + (r - 1) * f.p_other)
    # Forces on the scores.
    lean = pull / spec.width**0.5
    M_kq = jnp.einsum("t,tkq->kq", n * lean, f.p_kq * (f.G[:, None] - f.mean_q[:, None, :]))
    M_rq = (exists * lean)[:, None] * f.p_rq * (f.G_r[:, None] - f.mean_q)
    M_kr = (exists * lean)[:, None] * f.p_kr * (f.G - f.mean_r[:, None])
    # Between irrelevant words of one sample: the block x 1 + y J, with y = other.
    itself = lean * f.p_self * (f.G_r - f.mean_r)
    other = lean * f.p_other * (f.G_r - f.mean_r)
    within = itself - other
    between = jnp.where(N > 0, within + r * other, 0.0)
    M = jnp.block([[M_kq, M_kr.T], [M_rq, jnp.diag(between)]])
    return jnp.concatenate([c_k, c_u]), M, between, within


def forward(state: Sectors, spec: Spec) -> Forward:
    """One sample of each type."""
    size = sizes(spec)
    r = size.r
    S = state.trivial.S
    itself, other = random_block(jnp.diagonal(S)[3:], *_scores(state, spec), spec)
    G_k = state.trivial.G[:3]
    G_r = state.trivial.G[3:] / size.root
    p_kq, p_rq = _special_queries(S, size, spec)
    p_kr, p_self, p_other = _irrelevant_queries(S, itself, other, size, spec)
    mean_q = jnp.einsum("tkq,k->tq", p_kq, G_k) + (r * G_r)[:, None] * p_rq
    mean_r = p_kr @ G_k + (p_self + (r - 1) * p_other) * G_r
    return Forward(
        p_kq=p_kq,
        p_rq=p_rq,
        p_kr=p_kr,
        p_self=p_self,
        p_other=p_other,
        G=G_k,
        G_r=G_r,
        mean_q=mean_q,
        mean_r=mean_r,
        F=mean_q.sum(axis=1) + r * mean_r,
    )


def _special_queries(S: Float[Array, "7 7"], size: Sizes, spec: Spec) -> tuple[Array, Array]:
    """Attention weights of a special query, on special and on irrelevant keys; 0 where a type does not hold it."""
    special = (S[:3, :3] / spec.width**0.5)[None]
    irrelevant = S[3:, :3] / size.root[:, None] / spec.width**0.5
    p_kq, p_rq = _softmax(special, irrelevant, HAS[:, :, None], size.r[:, None])
    return jnp.where(HAS[:, None, :], p_kq, 0.0), jnp.where(HAS, p_rq, 0.0)


def _irrelevant_queries(
    S: Float[Array, "7 7"],
    itself: Float[Array, "type"],
    other: Float[Array, "type"],
    size: Sizes,
    spec: Spec,
) -> tuple[Array, Array, Array]:
    """Attention weights of an irrelevant query: on special keys, on itself, on each other irrelevant word.

    `itself` and `other` are its scores with itself and with another irrelevant word of its sample.
    """
    # The query itself is one more key beside the special ones.
    keys = jnp.concatenate([S[:3, 3:].T / size.root[:, None], itself[:, None]], axis=1)
    has = np.pad(HAS, ((0, 0), (0, 1)), constant_values=True)
    p_keys, p_other = _softmax(
        special=(keys / spec.width**0.5)[:, :, None],
        random=(other / spec.width**0.5)[:, None],
        has=has[:, :, None],
        count=jnp.maximum(size.r - 1, 0.0)[:, None],
    )
    return p_keys[:, :3, 0], p_keys[:, 3, 0], p_other[:, 0]


def random_block(trivial: Array, between: Array, within: Array, spec: Spec) -> tuple[Array, Array]:
    """Entries of a matrix at (r, r) and at (r', r), both words of one sample, from its values on the three parts."""
    r, _, N, root = sizes(spec)
    room = jnp.where(N > 0, r, 1.0)
    common = trivial / root**2 + between * (1 / room - 1 / root**2)
    return common + within * (1 - 1 / room), common - within / room


def _scores(state: Sectors, spec: Spec) -> tuple[Array, Array]:
    """The score between samples and within a sample."""
    return scale(spec) * jnp.sinh(2 * state.between), scale(spec) * jnp.sinh(2 * state.within)


def _softmax(special: Array, random: Array, has: np.ndarray, count: Array) -> tuple[Array, Array]:
    """Softmax over special keys (axis 1, where there are any) and `count` equal irrelevant ones."""
    special = jnp.where(has, special, -jnp.inf)
    top = jnp.maximum(special.max(axis=1), random)
    at_special = jnp.exp(special - top[:, None])
    at_random = jnp.exp(random - top)
    total = at_special.sum(axis=1) + count * at_random
    return at_special / total[:, None], at_random / total
