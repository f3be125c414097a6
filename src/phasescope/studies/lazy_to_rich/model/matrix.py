r"""Tokens of $D$ dimensions: scores $x_L^\top A x_{s-1}$, $A = W_Q^\top W_K$; scalars $g$ and $h$.

With infinitely many keys, and losses averaged over the $D$ coordinates of an output,

$$\mathcal L_{IH} = \frac1{2N}\Big[h^{\star2}\det(I - 2A^\star A^{\star\top})^{-1/2} + h^2\det(I - 2AA^\top)^{-1/2}
- 2hh^\star\det(I - AA^{\star\top} - A^\star A^\top)^{-1/2}\Big],$$

the mean field of kernels/ with a Gaussian query of $D$ dimensions. The target is
$A^\star = a^\star I$ with $a^\star = w^\star/D$ (or its square). $\mathcal L_{G4}$ is that of
scalars. Usable while $\|A\|_2 < 1/\sqrt2$.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from .. import data
from ..spec import Spec
from . import four_gram

Square = Float[Array, "dim dim"]


class MatrixWeights(NamedTuple):
    """What is trained."""

    p: Float[Array, "..."]
    g: Float[Array, "..."]
    h: Float[Array, "..."]
    W_K: Float[Array, "dim *columns"]
    W_Q: Float[Array, "dim *columns"]


def start(key: Array, spec: Spec) -> MatrixWeights:
    """Scalars at sigma, matrices (or their diagonals) Gaussian and scaled to the norm sigma."""
    shape = (spec.dim, spec.dim) if spec.shape == "matrix" else (spec.dim,)
    drawn = jr.normal(key, (2, *shape))
    size = jnp.sqrt(jnp.sum(drawn**2, axis=tuple(range(1, drawn.ndim)), keepdims=True))
    matrices = spec.sigma * drawn / size
    sigma = jnp.asarray(spec.sigma)
    return MatrixWeights(
        p=jnp.asarray(spec.p_first), g=sigma, h=sigma, W_K=matrices[0], W_Q=matrices[1]
    )


def scores(w: MatrixWeights) -> Square:
    r"""$A = W_Q^\top W_K$."""
    if w.W_K.ndim == 1:
        return jnp.diag(w.W_Q * w.W_K)
    return w.W_Q.T @ w.W_K


def target_score(spec: Spec):
    r"""$a^\star$."""
    once = spec.w_star / spec.dim
    return once if spec.reading == "linear" else once**2


def losses(w: MatrixWeights, spec: Spec) -> Float[Array, "2"]:
    r"""$(\mathcal L_{G4}, \mathcal L_{IH})$ in closed form."""
    D = spec.dim
    A = scores(w)
    a = target_score(spec)
    own, cross = root_determinants(A, a)
    top = (1 - 2 * a**2) ** (-D / 2)
    h = w.h
    h_star = spec.h_star
    induction = (h_star**2 * top + h**2 * own - 2 * h * h_star * cross) / (2 * spec.keys)
    pair = jnp.stack([four_gram.loss(w.p, w.g, spec.g_star, spec.keys), induction])
    return pair * (D if spec.reduction == "sum" else 1)


@jax.custom_jvp
def root_determinants(A: Square, a: ArrayLike) -> tuple[Float[Array, ""], Float[Array, ""]]:
    r"""$\det(I - 2AA^\top)^{-1/2}$ and $\det(I - a(A + A^\top))^{-1/2}$; nan beyond where they exist."""
    return _inverse_root(_own(A)), _inverse_root(_cross(A, a))


@root_determinants.defjvp
def _(primals, tangents):
    # d det(M)^(-1/2) = -det(M)^(-1/2) tr(M^-1 dM) / 2, with one inverse for each matrix; a is no variable.
    A, a = primals
    dA, _ = tangents
    own, cross = root_determinants(A, a)
    slope = 2 * own * jnp.linalg.solve(_own(A), A)
    inverse = jnp.linalg.inv(_cross(A, a))
    return (own, cross), (jnp.vdot(slope, dA), a * cross * jnp.vdot(inverse, dA))


def draw(key: Array, sequences: int, spec: Spec) -> Float[Array, "position dim sequence"]:
    """A fresh batch, sequences last."""
    return data.draw(key, spec.tokens, spec.length, spec.dim, sequences).astype(float)


def sampled_losses(
    w: MatrixWeights, batch: Float[Array, "position dim sequence"], spec: Spec
) -> Float[Array, "2"]:
    """Both losses over a batch, by definition."""
    N = spec.keys
    A = scores(w)
    query = batch[-1]
    keys = batch[:N]
    values = batch[1 : N + 1]

    def attention(queries: Float[Array, "dim sequence"]) -> Float[Array, "slot sequence"]:
        return jax.nn.softmax(jnp.sum(queries * keys, axis=1), axis=0)

    learnt = attention(A.T @ query)
    wanted = attention(target_score(spec) * query)
    induction = jnp.sum((w.h * learnt - spec.h_star * wanted)[:, None] * values, axis=0)
    copied = w.g * jnp.tensordot(four_gram.head_weights(w.p, N), keys, 1) - spec.g_star * batch[-3]
    mean = 0.5 * jnp.stack([jnp.mean(copied**2), jnp.mean(induction**2)])
    return mean * (spec.dim if spec.reduction == "sum" else 1)


def _own(A: Square) -> Square:
    return jnp.eye(len(A)) - 2 * A @ A.T


def _cross(A: Square, a: ArrayLike) -> Square:
    return jnp.eye(len(A)) - a * (A + A.T)


def _inverse_root(M: Square) -> Float[Array, ""]:
    return 1 / jnp.prod(jnp.diagonal(jnp.linalg.cholesky(M)))
