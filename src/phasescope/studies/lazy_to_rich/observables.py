"""What the theorems talk about. An arm that does not know a quantity leaves it out."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

import phasescope as ps

from .kernels import analytic
from .kernels.analytic import Kernels
from .model import four_gram, matrix
from .model.definition import Weights
from .model.matrix import MatrixWeights
from .spec import Spec

Scalar = Float[Array, ""]


class Observed(ps.Observables):
    """All arms but `high_dimensional`. Rates are known along flows."""

    loss: Scalar = ps.field(symbol=r"\mathcal{L}", doc="loss")
    loss_g4: Scalar = ps.field(symbol=r"\mathcal{L}_{G4}", doc="loss of the 4-gram")
    loss_ih: Scalar = ps.field(symbol=r"\mathcal{L}_{IH}", doc="loss of the induction head")
    p: Scalar = ps.field(symbol="p", doc="slope of head 1")
    g: Scalar = ps.field(symbol="g", doc="value of head 1")
    w_k: Scalar = ps.field(symbol="w_K", doc="key weight of head 2")
    w_q: Scalar = ps.field(symbol="w_Q", doc="query weight of head 2")
    h: Scalar = ps.field(symbol="h", doc="value of head 2")
    first_slope: Scalar | None = ps.field(
        symbol=r"\tilde p", doc="slope of the first layer, where it is trained"
    )
    w_kq: Scalar = ps.field(symbol=r"\sqrt{|w_K w_Q|}", doc="dot-product weight")
    balance: Scalar = ps.field(symbol="w_Q^2 - w_K^2", doc="what the flow conserves")
    prev_token_weight: Scalar = ps.field(
        symbol=r"1 - \tilde u", doc="weight of the previous token in the first layer"
    )
    h_qe: Scalar | None = ps.field(
        symbol=r"h^\star X(c) / S(c)", doc="value of head 2 in quasi-equilibrium"
    )
    lyap_uv: Scalar = ps.field(symbol="G(u, v)", doc="Lyapunov function of the 4-gram")
    lyap_vh: Scalar = ps.field(symbol="G(v, h)", doc="Lyapunov function of the induction head")
    growth_rate: Scalar = ps.field(
        symbol=r"d \ln w / dt", doc="growth rate of the dot-product weight"
    )
    lyap_uv_rate: Scalar = ps.field(doc="dG(u, v) / dt")
    lyap_vh_rate: Scalar = ps.field(doc="dG(v, h) / dt")


class MatrixObserved(ps.Observables):
    """What `high_dimensional` reports."""

    loss: Scalar = ps.field(symbol=r"\mathcal{L}", doc="loss")
    loss_g4: Scalar = ps.field(symbol=r"\mathcal{L}_{G4}", doc="loss of the 4-gram")
    loss_ih: Scalar = ps.field(symbol=r"\mathcal{L}_{IH}", doc="loss of the induction head")
    p: Scalar = ps.field(symbol="p", doc="slope of head 1")
    g: Scalar = ps.field(symbol="g", doc="value of head 1")
    h: Scalar = ps.field(symbol="h", doc="value of head 2")
    score_norm: Scalar = ps.field(symbol=r"\|A\|_F", doc="norm of the bilinear form")
    score_spread: Scalar = ps.field(
        symbol=r"\|A\|_2", doc="largest singular value of the bilinear form"
    )
    score_error: Scalar = ps.field(
        symbol=r"\|A - A^\star\|_F / \|A^\star\|_F", doc="relative error of the bilinear form"
    )


def measure(
    weights: Weights,
    spec: Spec,
    values: Kernels | None,
    velocity: Weights | None = None,
    losses: Float[Array, "2"] | None = None,
) -> Observed:
    """Measure the second layer.

    Both losses follow from the kernels `values` unless they are given; rates need the velocity of the weights.
    """
    if losses is None:
        assert values is not None
        losses = jnp.stack(
            [loss_of_4_gram(weights, spec), analytic.loss(values, weights.h, spec.h_star)]
        )
    return Observed(
        loss=losses.sum(),
        loss_g4=losses[0],
        loss_ih=losses[1],
        p=weights.p,
        g=weights.g,
        w_k=weights.w_k,
        w_q=weights.w_q,
        h=weights.h,
        first_slope=weights.p_tilde,
        w_kq=jnp.sqrt(jnp.abs(weights.w_k * weights.w_q)),
        balance=weights.w_q**2 - weights.w_k**2,
        prev_token_weight=_previous_token_weight(weights, spec),
        h_qe=None if values is None else spec.h_star * values.X / values.S,
        **_lyapunov_functions(weights, spec),
        **_rates(weights, velocity, spec),
    )


def measure_first_layer(slope: Scalar, p: Scalar, g: Scalar, loss_g4: Scalar) -> Observed:
    """Measure Stage I, where only the first layer moves, and only the 4-gram's part of the loss."""
    return Observed(
        loss_g4=loss_g4, p=p, g=g, first_slope=slope, prev_token_weight=-jnp.expm1(-slope)
    )


def measure_matrices(
    weights: MatrixWeights, spec: Spec, losses: Float[Array, "2"]
) -> MatrixObserved:
    """Measure the model with matrices of scores; `losses` are those of the 4-gram and of the induction head."""
    scores = matrix.scores(weights)
    target = matrix.target_score(spec)
    error = jnp.linalg.norm(scores - target * jnp.eye(spec.dim))
    return MatrixObserved(
        loss=losses.sum(),
        loss_g4=losses[0],
        loss_ih=losses[1],
        p=weights.p,
        g=weights.g,
        h=weights.h,
        score_norm=jnp.linalg.norm(scores),
        score_spread=jnp.linalg.norm(scores, 2),
        score_error=error / (target * spec.dim**0.5),
    )


def _previous_token_weight(weights: Weights, spec: Spec) -> Scalar:
    """$1 - \\tilde u$ of the first layer, trained or frozen."""
    u_tilde = spec.u_tilde if weights.p_tilde is None else jnp.exp(-weights.p_tilde)
    return 1 - jnp.asarray(u_tilde, float)


def _distances(weights: Weights, spec: Spec) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """What both Lyapunov functions are squares of: $u$ and $v$ of the 4-gram, $c - c^\\star$ and $h - h^\\star$."""
    u = jnp.exp(-weights.p)
    v = u * spec.g_star + spec.g_star - weights.g
    return u, v, weights.w_k * weights.w_q - spec.c_star, weights.h - spec.h_star


def _lyapunov_functions(weights: Weights, spec: Spec) -> dict[str, Scalar]:
    u, v, below, above = _distances(weights, spec)
    return {"lyap_uv": 0.5 * (u**2 + v**2), "lyap_vh": 0.5 * (below**2 + above**2)}


def _rates(weights: Weights, velocity: Weights | None, spec: Spec) -> dict[str, Scalar]:
    """Derivatives in time; none without a velocity."""
    if velocity is None:
        return {}
    u, v, below, above = _distances(weights, spec)
    u_rate = -u * velocity.p
    c_rate = velocity.w_k * weights.w_q + weights.w_k * velocity.w_q
    return {
        "growth_rate": c_rate / (2 * (weights.w_k * weights.w_q)),
        "lyap_uv_rate": u * u_rate + v * (u_rate * spec.g_star - velocity.g),
        "lyap_vh_rate": below * c_rate + above * velocity.h,
    }


def loss_of_4_gram(weights: Weights, spec: Spec) -> Scalar:
    """The exact loss of head 1, behind whatever first layer there is."""
    if weights.p_tilde is None and spec.p_tilde is None:
        return four_gram.loss(weights.p, weights.g, spec.g_star, spec.keys)
    slope = spec.p_tilde if weights.p_tilde is None else weights.p_tilde
    assert slope is not None
    return four_gram.blurred_loss(slope, weights.p, weights.g, spec.g_star, spec.length)
