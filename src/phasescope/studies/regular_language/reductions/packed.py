r"""The descent of `symmetry` for short runs, one or a block: the same numbers, without those that do not exist.

Of the $N^2$ entries of `State.M` less than half are scores of a key: those with $\ell \le L$, $\ell \ne c_L$. At
small $N$ the exponentials of the others, and their masks, are a third of the time. So the state (a block of one, if it
is a single run) is packed once, advanced, and unpacked: the scores of length 2, then those of length 3, and so on,
follow each other on one axis, and each length is a static slice of it. Length 1 has no scores; it only adds
$\omega^+_1 \sigma(-v_1)$ to $\dot v_1$. Packing moves numbers and changes none, so a path does not depend on where it
was cut.

The mathematics, and the guard against large scores, are those of `symmetry.velocity`.

A block on a CPU is moved in *cuts*: barriers part the step into loops that do the same to every entry, which the
compiler turns into vector instructions; left to itself it fuses a sum over the keys of each length with what follows,
and computes some of that number by number. And its exponential divides once for every number; `two_to` does not.
"""

import math
from functools import reduce
from typing import Any, NamedTuple

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
LN_2 = math.log(2)
# Of 2^r by powers of r: the polynomial of degree 11 through it at the Chebyshev points of [-1/2, 1/2].
POWERS = (
    1.0,
    0.6931471805599453,
    0.24022650695910158,
    0.055504108664821625,
    0.009618129107587256,
    0.001333355814640647,
    0.00015403530463724353,
    1.5252733841556773e-05,
    1.3215432535912375e-06,
    1.0178057087733941e-07,
    7.074194297288521e-09,
    4.4558179083360645e-10,
)
KEEPS_BARRIERS = (0, 11, 1)  # before this version of JAX, XLA forgets barriers before it fuses


class descent(ps.Dynamics):
    r"""Steps $\eta$ on the read-out and $\eta k$ on the attention: `symmetry.step`, packed where that is faster."""

    pivots: Pivots
    eta: ArrayLike
    lam: ArrayLike
    k: ArrayLike
    alpha: ArrayLike | None = None

    def advances_blocks(self) -> bool:
        return True

    def advance(self, state: ps.State, t0: Array, t1: Array, key: Array) -> ps.State:
        dense: symmetry.State = state.params
        lanes = dense.v.ndim - 1
        if lanes > 1 or not 2 <= len(self.pivots) <= LONGEST:
            params = self.move_dense(dense, t0, t1)
        elif lanes == 1:
            params = self.move_packed(dense, t0, t1, cut_for_vectors(dense.v.dtype))
        else:
            block = jax.tree.map(lambda x: x[..., None], dense)
            params = jax.tree.map(lambda x: x[..., 0], self.move_packed(block, t0, t1))
        return ps.State(params, state.memory, state.carry)

    def move_dense(self, dense: symmetry.State, t0: Array, t1: Array) -> symmetry.State:
        """The steps from t0 to t1 on the state as it is."""

        def update(t: Array, state: symmetry.State) -> symmetry.State:
            return symmetry.step(state, self.pivots, self.eta, self.lam, self.k, alpha=self.alpha)

        return jax.lax.fori_loop(t0, t1, update, dense)

    def move_packed(
        self, block: symmetry.State, t0: Array, t1: Array, cuts: bool = False
    ) -> symmetry.State:
        """The same steps on the packed state of a block of runs."""

        def update(t: Array, packed: Packed) -> Packed:
            numbers = self.pivots, self.eta, self.lam, self.k
            return step(packed, *numbers, alpha=self.alpha, cuts=cuts)

        moved = jax.lax.fori_loop(t0, t1, update, pack(block, self.pivots))
        return unpack(moved, block, self.pivots)


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
    rows = []
    for L in range(2, len(pivots) + 1):
        pivot = int(pivots[L - 1]) - 1
        others = [j for j in range(L) if j != pivot]
        first = (L - 1) * (L - 2) // 2  # scores of the shorter lengths
        rows.append(Row(pivot, others, slice(first, first + L - 1)))
    return rows


def entries(pivots: Pivots) -> tuple[np.ndarray, np.ndarray]:
    """Length and position, counted from 0, of each packed score."""
    pairs = [(i, j) for i, row in enumerate(layout(pivots), start=1) for j in row.others]
    length, position = np.array(pairs).T
    return length, position


def pack(state: symmetry.State, pivots: Pivots) -> Packed:
    """The numbers of a state that move."""
    return Packed(state.v, state.b[:, 1:], state.M[entries(pivots)])


def unpack(packed: Packed, like: symmetry.State, pivots: Pivots) -> symmetry.State:
    """`like`, with the numbers that moved."""
    return symmetry.State(
        v=packed.v,
        b=like.b.at[:, 1:].set(packed.b),
        M=like.M.at[entries(pivots)].set(packed.m),
    )


def cut_for_vectors(dtype: np.dtype) -> bool:
    """Whether a block of runs is moved in cuts: in double precision, on a CPU, where barriers hold."""
    is_cpu = jax.default_backend() == "cpu"
    return is_cpu and dtype == np.float64 and jax.__version_info__ >= KEEPS_BARRIERS


in_its_own_loop = jax.lax.optimization_barrier


def as_it_is(x: Any) -> Any:
    """Left to the compiler."""
    return x


def step(
    state: Packed,
    pivots: Pivots,
    eta: ArrayLike,
    lam: ArrayLike,
    k: ArrayLike,
    *,
    alpha: ArrayLike | None = None,
    cuts: bool = False,
) -> Packed:
    """`symmetry.step`; what has the same name there is the same here."""
    v, b, m = state
    rows = layout(pivots)
    weights = symmetry.align(data.class_weights(pivots, alpha), b)
    sign = np.array([1.0, -1.0])[:, None, None]
    # `power(unit * x)` is e^x.
    power, unit, kept = (two_to, 1 / LN_2, in_its_own_loop) if cuts else (jnp.exp, 1.0, as_it_is)

    # Softmax: exponentials of the scores, [score, lanes], and of the pivots' scores, [case, length, lanes].
    E, B = (kept(power(x)) for x in exponents(state, rows, lam, unit))
    keys = [dict(zip(row.others, E[row.scores], strict=True)) for row in rows]
    is_shared = len({row.pivot for row in rows}) == 1
    at_pivot = v[rows[0].pivot] if is_shared else kept(jnp.stack([v[row.pivot] for row in rows]))

    # Outputs of the two classes of each length.
    Z = kept(jnp.stack([sum(key.values()) for key in keys])) + B
    weighted = kept(jnp.stack([sum(x * v[j] for j, x in key.items()) for key in keys]))
    T = kept((weighted + B * at_pivot) / Z)

    # Gradients of the loss by the outputs, over Z; F is that of the pivots, D and C those of the other keys.
    G = kept(sign * weights[:, 1:] / (Z * (1 + power(T * (unit * sign)))))
    F = G * B
    D = G[0] + G[1]
    C = G[0] * T[0] + G[1] * T[1]

    length_1 = kept(weights[0, 0] / (1 + power(unit * v[0])))
    length, position = entries(pivots)
    share = np.where(length == position, 0.5, 0.25)[:, None]
    return Packed(
        v=v + (0.5 * eta) * read_out_rates(keys, rows, length_1, F[0] + F[1], D),
        b=b + (0.5 * eta * k) * F * (at_pivot - T),
        m=m + (eta * k * share) * score_rates(v, E, rows, D, C),
    )


def exponents(
    state: Packed, rows: list[Row], lam: ArrayLike, unit: float
) -> tuple[Float[Array, "score lanes"], Float[Array, "case row lanes"]]:
    r"""$m/\lambda$ and $b/\lambda$, each length less its largest $m/\lambda$, times `unit`."""
    m = state.m
    scale = unit / lam
    largest = jnp.stack([reduce(jnp.maximum, list(m[row.scores])) for row in rows])
    # Kept as an array of its own, or each score would look for the largest of its row again.
    top = in_its_own_loop(largest)
    below_top = [m[row.scores] - top[i] for i, row in enumerate(rows)]
    return jnp.concatenate(below_top) * scale, jnp.minimum((state.b - top) * scale, 300.0 * unit)


def two_to(y: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""$2^y = 2^n 2^r$ in double precision, with $n$ the whole number nearest to $y$.

    Neither division nor table: half the time of XLA's own exponential on AVX-512. Its relative error is at most 4e-16.
    Beyond $\pm 1000$ it stays what it is there; what is not a number stays none.
    """
    y = jnp.clip(y, -1000.0, 1000.0)
    n = jnp.round(y)
    r = y - n
    square = r * r
    fourth = square * square
    pairs = [a + b * r for a, b in zip(POWERS[::2], POWERS[1::2], strict=True)]
    low, middle, high = (a + b * square for a, b in zip(pairs[::2], pairs[1::2], strict=True))
    fraction = (high * fourth + middle) * fourth + low
    # The last bits of a number of this size are n + 1023, the exponent of 2^n.
    bits = jax.lax.bitcast_convert_type(n + (1.5 * 2**52 + 1023), jnp.uint64)
    whole = jax.lax.bitcast_convert_type(bits << np.uint64(52), jnp.float64)
    return fraction * whole


def read_out_rates(
    keys: list[dict[int, Array]],
    rows: list[Row],
    length_1: Float[Array, " lanes"],
    of_pivots: Float[Array, "row lanes"],
    of_others: Float[Array, "row lanes"],
) -> Float[Array, "position lanes"]:
    """What each position gets from every length: from length 1, as a pivot, and as another key."""
    parts: list[list[Array]] = [[] for _ in range(len(rows) + 1)]
    parts[0].append(length_1)
    for i, row in enumerate(rows):
        parts[row.pivot].append(of_pivots[i])
        for j, x in keys[i].items():
            parts[j].append(x * of_others[i])
    return jnp.stack([sum(terms) for terms in parts])


def score_rates(
    v: Float[Array, "position lanes"],
    E: Float[Array, "score lanes"],
    rows: list[Row],
    D: Float[Array, "row lanes"],
    C: Float[Array, "row lanes"],
) -> Float[Array, "score lanes"]:
    """$X - Y = E (D v - C)$ of every score."""
    rates = []
    for i, row in enumerate(rows):
        end = len(row.others) + 1
        v_of_others = jnp.concatenate([v[: row.pivot], v[row.pivot + 1 : end]])
        rates.append(E[row.scores] * (D[i] * v_of_others - C[i]))
    return jnp.concatenate(rates)
