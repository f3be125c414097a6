r"""Mixtures of sequence classes: the next token $n$ fixes the last token $\psi(n)$ and a context
distribution $P_n$.

Context tokens have ids $0..S-1$. A token is *distinct* if it occurs in one class only, *common*
if in several. In the synthetic mixtures the common tokens are $0..C-1$, and class $k$ has the
distinct tokens $C+kD, ..., C+kD+D-1$, rarest first. Last tokens and labels have ids of their
own, which never occur in a context.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

import phasescope as ps

from .spec import Spec

SUM = 1e-9  # how far the probabilities of a class may add up to something else than one


class Mixture(NamedTuple):
    """Context distributions, the last token of every class, and how many outputs there are."""

    P: Float[Array | np.ndarray, "class token"]
    last: Int[np.ndarray, " class"]
    outputs: Any  # M


def mixture(P: Any, last: Any, outputs: int | None = None) -> Mixture:
    """Data given as tables, checked. By default the outputs are context tokens, last tokens and
    labels."""
    P = np.asarray(P, float)
    last = np.asarray(last, int)
    if P.ndim != 2 or last.shape != P.shape[:1]:
        raise ps.SpecError(
            f"P has one row and `last` one entry for each class, got shapes {P.shape} and {last.shape}."
        )
    if (P < 0).any() or (abs(P.sum(1) - 1) > SUM).any():
        worst = int(np.argmax(np.where((P < 0).any(1), np.inf, abs(P.sum(1) - 1))))
        raise ps.SpecError(
            f"the context probabilities of a class must not be negative and must add up to one; "
            f"those of class {worst} add up to {P[worst].sum():.6g}: divide by the sum."
        )
    if set(last) != set(range(last.max() + 1)):
        raise ps.SpecError(
            f"last tokens are counted from 0 without gaps, got {sorted(set(last.tolist()))}."
        )
    lonely = ~(is_distinct(P) & (P > 0)).any(1)
    if lonely.any():
        raise ps.SpecError(
            f"class {int(np.argmax(lonely))} has no distinct token: nothing tells it from the others."
        )
    M = P.shape[1] + int(last.max()) + 1 + len(P) if outputs is None else outputs
    if len(P) > M:
        raise ps.SpecError(
            f"there are more classes than outputs (K > M): {len(P)} classes, {M} outputs."
        )
    return Mixture(P, last, M)


def is_distinct(P: Float[np.ndarray, "class token"]) -> Bool[np.ndarray, " token"]:
    """Whether a token occurs in one class only."""
    return (P > 0).sum(0) == 1


def profile_weights(spec: Spec) -> tuple[Array, Array]:
    """The weights of a class's distinct tokens, rarest first, and of the common ones; they do not
    add up to one.

    A swept weight has its lanes on the last axis.
    """
    ramp = np.linspace(0.0, 1.0, spec.distinct) if spec.distinct > 1 else np.ones(1)
    spread = jnp.asarray(spec.p_max - spec.p_min)
    distinct = spec.p_min + spread * ramp.reshape((-1,) + (1,) * spread.ndim)
    weight = jnp.asarray(spec.p_common, float)
    return jnp.asarray(distinct), jnp.ones((spec.common,) + (1,) * weight.ndim) * weight


def slots(spec: Spec) -> Float[Array, " slot"]:
    """The context distribution of any class on its own support: common tokens first, then its
    distinct ones."""
    distinct, common = profile_weights(spec)
    weights = jnp.concatenate([common, distinct])
    return weights / weights.sum()


def syn(spec: Spec) -> Mixture:
    """The synthetic mixture: `num_last * per_last` classes with one profile."""
    p = slots(spec)
    C = spec.common
    D = spec.distinct
    own = np.kron(np.eye(spec.labels), np.ones((1, D)))
    P = jnp.concatenate(
        [jnp.tile(p[:C], (spec.labels, 1)), own * jnp.tile(p[C:], spec.labels)], axis=1
    )
    return Mixture(P, last_tokens(spec), spec.M)


def last_tokens(spec: Spec) -> Int[np.ndarray, " class"]:
    r"""$\psi(n)$: classes are grouped by their last token."""
    return np.arange(spec.labels) // spec.per_last


def own_tokens(spec: Spec) -> Int[np.ndarray, "class distinct"]:
    """The ids of every class's distinct tokens."""
    return spec.common + np.arange(spec.labels * spec.distinct).reshape(spec.labels, spec.distinct)


def common_weight(
    rho: Any, distinct: int = 10, p_min: float = 0.1, p_max: float = 1.0, common: int = 1
) -> Any:
    r"""The `p_common` with which two classes overlap by $\rho$ at the start."""
    squares = (np.linspace(p_min, p_max, distinct) ** 2).sum() if distinct > 1 else p_max**2
    return np.sqrt(rho / (1 - rho) * squares / common)
