r"""R3p: gradient flow of the population loss, exactly, from an orthogonal start.

There is one class of irrelevant words, $D = d - 3$ of them, drawn with replacement. A sample matters only through its
type and the multiplicities $\lambda_1, \ldots, \lambda_q$ of its irrelevant words, a partition of $r$, whose probability is

$$\frac{r!}{\prod_i \lambda_i!} \cdot \frac{D (D - 1) \cdots (D - q + 1)}{\prod_j \mathrm{mult}_j!} \cdot D^{-r}.$$

The trivial part of `symmetric_words` is spanned by $e_1, e_2, e_3, u = D^{-1/2} \sum_r e_r$, and one angle carries the rest:
$M[u, u] = (T_s + T_o) / D$ and $\dot\phi = T_s / D - T_o / (D (D - 1))$ with the sums $T_s$, $T_o$ of the entries of $M$ at
equal and at different irrelevant words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid
from jaxtyping import Array, Float

from ..spec import LABELS, SHARES, Spec
from . import gram_matrices
from .symmetric_words import HAS, scale, trivial_start


class Patterns(NamedTuple):
    """Kinds of samples: type, multiplicities of the irrelevant words (padded by 0), and share of the population."""

    types: np.ndarray
    counts: Float[np.ndarray, "pattern part"]
    shares: Any


class Sector(NamedTuple):
    """The state: Grams in the basis (e_1, e_2, e_3, u) and one angle."""

    trivial: gram_matrices.Grams
    angle: Float[Array, ""]


class Forward(NamedTuple):
    """Attention and values for each pattern; keys and queries are special (k, q) or an irrelevant word (i, j)."""

    p_kq: Float[Array, "pattern key query"]
    p_iq: Float[Array, "pattern query"]
    p_kj: Float[Array, "pattern key part"]
    p_self: Float[Array, "pattern part"]
    p_other: Float[Array, "pattern part"]
    G: Float[Array, "key"]
    G_r: Float[Array, ""]
    mean_q: Float[Array, "pattern query"]
    mean_j: Float[Array, "pattern part"]
    F: Float[Array, " pattern"]


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as a sum of falling positive whole numbers."""
    if total == 0:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def patterns(spec: Spec) -> Patterns:
    """All kinds of samples; the number of words may be any real number."""
    D = spec.dim - 3.0
    types = []
    counts = []
    shares = []
    for kind, special in enumerate(HAS.sum(axis=1)):
        r = spec.length - int(special)
        for parts in partitions(r):
            orders = math.factorial(r) / math.prod(map(math.factorial, parts))
            orders /= math.prod(map(math.factorial, Counter(parts).values()))
            falling = math.prod([(D - i) / D for i in range(len(parts))])
            types.append(kind)
            counts.append([*parts, *[0] * (spec.length - 1 - len(parts))])
            shares.append(SHARES[kind] * orders * falling * D ** (len(parts) - r))
    shares = jnp.stack([jnp.asarray(share, float) for share in shares])
    return Patterns(np.array(types), np.array(counts, float), shares)


def start(spec: Spec) -> Sector:
    """The orthogonal start."""
    return Sector(trivial_start(4, spec), angle=jnp.zeros(()))


def velocity(state: Sector, spec: Spec) -> Sector:
    """Gradient flow of the population loss."""
    c, M, turn = forces(state, spec)
    trivial = gram_matrices.rates(state.trivial, c, spec.attention * M, spec.output_norm)
    return Sector(trivial, spec.attention * turn)


def forces(
    state: Sector, spec: Spec
) -> tuple[Float[Array, "4"], Float[Array, "4 4"], Float[Array, ""]]:
    """c and M in the trivial part, and the rate of the angle."""
    f = forward(state, spec)
    types, counts, shares = patterns(spec)
    D = spec.dim - 3.0
    y = np.array(LABELS)[types]
    r = counts.sum(axis=1)
    pull = shares * y * sigmoid(-y * f.F)
    # Forces on the values.
    c_k = pull @ (f.p_kq.sum(axis=2) + jnp.einsum("akj,aj->ak", f.p_kj, counts))
    seen = (
        counts * f.p_self + (r[:, None] - counts) * f.p_other
    )  # attention on irrelevant words, for each query word
    c_u = pull @ (r * f.p_iq.sum(axis=1) + (counts * seen).sum(axis=1)) / D**0.5
    # Forces on the scores.
    lean = pull / spec.width**0.5
    M_kq = jnp.einsum("a,akq->kq", lean, f.p_kq * (f.G[:, None] - f.mean_q[:, None, :]))
    M_uq = (lean * r) @ (f.p_iq * (f.G_r - f.mean_q)) / D**0.5
    M_ku = (
        jnp.einsum("a,aj,akj->k", lean, counts, f.p_kj * (f.G[:, None] - f.mean_j[:, None, :]))
        / D**0.5
    )
    # Between irrelevant words: the sums T_s and T_o.
    each = lean[:, None] * counts * (f.G_r - f.mean_j)
    itself = jnp.sum(each * counts * f.p_self)
    other = jnp.sum(each * (r[:, None] - counts) * f.p_other)
    M = jnp.block([[M_kq, M_ku[:, None]], [M_uq[None, :], ((itself + other) / D)[None, None]]])
    return jnp.append(c_k, c_u), M, itself / D - other / (D * (D - 1))


def forward(state: Sector, spec: Spec) -> Forward:
    """One sample of each pattern."""
    G = state.trivial.G
    S = state.trivial.S
    types, counts, _ = patterns(spec)
    D = spec.dim - 3.0
    has = HAS[types]
    # S[r', r] is common + score (delta_r'r - 1 / D) for irrelevant words.
    score = scale(spec) * jnp.sinh(2 * state.angle)
    common = S[3, 3] / D
    r = counts.sum(axis=1)
    temper = spec.width**-0.5
    # A special query.
    at_q = jnp.where(has[:, :, None], jnp.exp(temper * S[:3, :3]), 0.0)
    random_q = jnp.exp(temper * S[3, :3] / D**0.5)
    total_q = at_q.sum(axis=1) + r[:, None] * random_q
    p_kq = jnp.where(has[:, None, :], at_q / total_q[:, None, :], 0.0)
    p_iq = jnp.where(has, random_q / total_q, 0.0)
    # An irrelevant query: the same word is another key than other irrelevant words.
    at_j = jnp.where(has, jnp.exp(temper * S[:3, 3] / D**0.5), 0.0)[:, :, None]
    itself = jnp.exp(temper * (common + score * (1 - 1 / D)))
    other = jnp.exp(temper * (common - score / D))
    total_j = at_j.sum(axis=1) + counts * itself + (r[:, None] - counts) * other
    p_kj = at_j / total_j[:, None, :]
    p_self = itself / total_j
    p_other = other / total_j
    # Mean values for each query, and outputs.
    G_k = G[:3]
    G_r = G[3] / D**0.5
    mean_q = jnp.einsum("akq,k->aq", p_kq, G_k) + G_r * r[:, None] * p_iq
    mean_j = jnp.einsum("akj,k->aj", p_kj, G_k) + G_r * (
        counts * p_self + (r[:, None] - counts) * p_other
    )
    F = mean_q.sum(axis=1) + (counts * mean_j).sum(axis=1)
    return Forward(
        p_kq=p_kq,
        p_iq=p_iq,
        p_kj=p_kj,
        p_self=p_self,
        p_other=p_other,
        G=G_k,
        G_r=G_r,
        mean_q=mean_q,
        mean_j=mean_j,
        F=F,
    )
