r"""The descent of `symmetry` for short runs, one or a block: the same numbers, without those that do not exist.

Of the $N^2$ entries of `State.M` less than half are scores of a key: those with $\ell \le L$, $\ell \ne c_L$. At
small $N$ the exponentials of the others, and their masks, are a third of the time. So the state (a block of one, if it
is a single run) is packed once, advanced, and unpacked: the scores of length 2, then those of length 3, and so on,
follow each other on one axis, and each length is a static slice of it. Length 1 has no scores; it only adds
$\omega^+_1 \sigma(-v_1)$ to $\dot v_1$. Packing moves numbers and changes none, so a path does not depend on where it
was cut.

The mathematics, and the guard against large scores, are those of `symmetry.velocity`.
"""

from functools import reduce
from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from jax import numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Float

import phasescope as ps

from .. import data
from . import symmetry
from .symmetry import Pivots

LONGEST = 8  # up to here packing saves 30 to 60%; it unrolls the lengths, and beyond costs seconds to compile


class descent(ps.Dynamics):
    r"""Steps $\eta$ on the read-out and $\eta k$ on the attention: `symmetry.step`, packed where that is faster."""

    pivots: Pivots
    eta: ArrayLike
    lam: ArrayLike
    k: ArrayLike
    alpha: ArrayLike | None = None
    lanes_last = True

    def advance(self, state: ps.State, t0: Array, t1: Array, key: Array) -> ps.State:
        dense, numbers = state.params, (self.pivots, self.eta, self.lam, self.k)
        if dense.v.ndim <= 2 and 2 <= len(self.pivots) <= LONGEST:
            block = dense if dense.v.ndim == 2 else jax.tree.map(lambda x: x[..., None], dense)
            update = lambda t, packed: step(packed, *numbers, alpha=self.alpha)
            moved = unpack(jax.lax.fori_loop(t0, t1, update, pack(block, self.pivots)), block, self.pivots)
            params = moved if dense.v.ndim == 2 else jax.tree.map(lambda x: x[..., 0], moved)
        else:
            update = lambda t, dense: symmetry.step(dense, *numbers, alpha=self.alpha)
            params = jax.lax.fori_loop(t0, t1, update, dense)
        return ps.State(params, state.memory, state.carry)


class Packed(NamedTuple):
    """The numbers that move, of lengths 2 to N."""

    v: Float[Array, "position lanes"]
    b: Float[Array, "case length-1 lanes"]
    m: Float[Array, "score lanes"]  # m and s of length 2, of length 3, ...


class Row(NamedTuple):
    """One length: its pivot and its other keys, counted from 0, and where their scores are."""

    pivot: int
    others: list[int]
    scores: slice


def layout(pivots: Pivots) -> list[Row]:
    """The rows of lengths 2 to N, which have 1 to N - 1 scores."""
    return [
        Row(c, [j for j in range(L) if j != c], slice((L - 1) * (L - 2) // 2, L * (L - 1) // 2))
        for L, c in enumerate((int(c) - 1 for c in pivots[1:]), start=2)
    ]


def pack(state: symmetry.State, pivots: Pivots) -> Packed:
    return Packed(state.v, state.b[:, 1:], state.M[_entries(pivots)])


def unpack(packed: Packed, like: symmetry.State, pivots: Pivots) -> symmetry.State:
    """`like`, with the numbers that moved."""
    return symmetry.State(packed.v, like.b.at[:, 1:].set(packed.b), like.M.at[_entries(pivots)].set(packed.m))


def step(
    state: Packed, pivots: Pivots, eta: ArrayLike, lam: ArrayLike, k: ArrayLike, *, alpha: ArrayLike | None = None
) -> Packed:
    """`symmetry.step`; what has the same name there is the same here."""
    v, b, m = state
    rows, scale = layout(pivots), 1 / lam
    weights = symmetry.align(data.class_weights(pivots, alpha), b)
    sign = np.array([1.0, -1.0])[:, None, None]

    # Kept as an array of its own, or each score would look for the largest of its row again.
    top = jax.lax.optimization_barrier(jnp.stack([reduce(jnp.maximum, list(m[row.scores])) for row in rows]))
    E = jnp.exp(jnp.concatenate([m[row.scores] - top[i] for i, row in enumerate(rows)]) * scale)
    B = jnp.exp(jnp.minimum((b - top) * scale, 300.0))
    E_of = [dict(zip(row.others, E[row.scores], strict=True)) for row in rows]  # by length and position

    at_pivot = jnp.stack([v[row.pivot] for row in rows])
    Z = jnp.stack([sum(e.values()) for e in E_of]) + B
    T = (jnp.stack([sum(x * v[j] for j, x in e.items()) for e in E_of]) + B * at_pivot) / Z
    G = sign * weights[:, 1:] / (Z * (1 + jnp.exp(sign * T)))
    F = G * B
    D, C, F_both = G[0] + G[1], G[0] * T[0] + G[1] * T[1], F[0] + F[1]

    reads: list[list[Array]] = [[] for _ in pivots]  # what each position gets from each length
    reads[0].append(weights[0, 0] / (1 + jnp.exp(v[0])))
    for i, row in enumerate(rows):
        reads[row.pivot].append(F_both[i])
        for j, x in E_of[i].items():
            reads[j].append(x * D[i])
    v_of = [jnp.concatenate([v[: row.pivot], v[row.pivot + 1 : len(row.others) + 1]]) for row in rows]
    pull = [E[row.scores] * (D[i] * v_of[i] - C[i]) for i, row in enumerate(rows)]
    length, position = _entries(pivots)
    share = np.where(length == position, 0.5, 0.25)[:, None]
    return Packed(
        v=v + (0.5 * eta) * jnp.stack([sum(parts) for parts in reads]),
        b=b + (0.5 * eta * k) * F * (at_pivot - T),
        m=m + (eta * k * share) * jnp.concatenate(pull),
    )


def _entries(pivots: Pivots) -> tuple[np.ndarray, np.ndarray]:
    """Length and position, counted from 0, of each packed score."""
    pairs = [(i, j) for i, row in enumerate(layout(pivots), start=1) for j in row.others]
    length, position = np.array(pairs).T
    return length, position
