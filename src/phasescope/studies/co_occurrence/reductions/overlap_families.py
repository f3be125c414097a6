r"""The paper's own closed system (Appendix C): six families of overlaps, in matrix form.

With $U = W W_V$, $N = W W^\top$ and $G = U^\top a$,

$$\dot U = (N a) c^\top + a (A c)^\top, \quad \dot N = (U c) a^\top + a (U c)^\top, \quad \dot A = G c^\top + c G^\top,$$

and $S$, $Q$, $K$ as in `gram_matrices`. It is closed and exact, also where words repeat, but larger than the weights.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data import Batch
from ..model.forces import forces
from ..model.network import BLOCK, Start, Weights, attention_rows, mlp_block, signs
from ..spec import Spec
from . import gram_matrices


class Families(NamedTuple):
    """The six families of the appendix."""

    U: Float[Array, "neuron word"]
    N: Float[Array, "neuron neuron"]
    A: Float[Array, "word word"]
    S: Float[Array, "word word"]
    Q: Float[Array, "word word"]
    K: Float[Array, "word word"]


def from_start(begin: Start) -> Families:
    """The overlaps of some weights."""
    W_Q, W_K, W_V, W = begin.weights
    return Families(
        U=W @ W_V,
        N=W @ W.T,
        A=W_V.T @ W_V,
        S=W_K.T @ W_Q,
        Q=W_Q.T @ W_Q,
        K=W_K.T @ W_K,
    )


def random_start(spec: Spec, key: Array) -> tuple[Families, Float[Array, " neuron"]]:
    """The overlaps of `model.start` and the output signs, summed up block by block: the width is a number here."""
    m1 = spec.neurons
    words = spec.dim + spec.length - 1
    columns = jnp.arange(-(-m1 // BLOCK))
    a = jax.vmap(lambda j: signs(spec, key, j))(columns).reshape(-1)[:m1]

    def add(r, total):
        inside = r * BLOCK + jnp.arange(BLOCK) < spec.width
        rows = jnp.where(inside[:, None], attention_rows(spec, key, r), 0.0)
        W = jax.vmap(lambda j: mlp_block(spec, key, j, r))(columns).reshape(-1, BLOCK)[:m1]
        few = Weights(rows[0], rows[1], rows[2], jnp.where(inside, W, 0.0))
        return jax.tree.map(jnp.add, total, from_start(Start(few, a)))

    square = jnp.zeros((words, words))
    zero = Families(jnp.zeros((m1, words)), jnp.zeros((m1, m1)), square, square, square, square)
    return jax.lax.fori_loop(0, jnp.ceil(spec.width / BLOCK).astype(int), add, zero), a


def orthogonal_start(spec: Spec) -> Families:
    """The orthogonal start, for any width: neurons at right angles to each other and to all values."""
    same = gram_matrices.orthogonal_start(spec)
    N = spec.scale_1**2 * spec.width * jnp.eye(spec.neurons)
    U = jnp.zeros((spec.neurons, len(same.G)))
    return Families(U, N, same.A, same.S, same.Q, same.K)


def to_grams(state: Families, a: Float[Array, " neuron"]) -> gram_matrices.Grams:
    """The Gram matrices, in which the neurons are summed over."""
    return gram_matrices.Grams(
        beta=a @ state.N @ a,
        G=a @ state.U,
        A=state.A,
        S=state.S,
        Q=state.Q,
        K=state.K,
    )


def velocity(state: Families, a: Float[Array, " neuron"], batch: Batch, spec: Spec) -> Families:
    """Gradient flow."""
    summed = to_grams(state, a)
    c, M = forces(summed.G, summed.S, batch, spec.width)[:2]
    rest = gram_matrices.rates(summed, c, spec.attention * M, spec.output_norm)
    turn = jnp.outer(a, state.U @ c)
    return Families(
        U=jnp.outer(state.N @ a, c) + jnp.outer(a, state.A @ c),
        N=turn + turn.T,
        A=rest.A,
        S=rest.S,
        Q=rest.Q,
        K=rest.K,
    )
