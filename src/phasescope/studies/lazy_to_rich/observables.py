"""What the theorems talk about. An arm that does not know a quantity leaves it out."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

import phasescope as ps

from .kernels import analytic
from .kernels.analytic import Kernels
from .model import four_gram
from .model.definition import Weights
from .spec import Spec

field = ps.field
Scalar = Float[Array, ""]


class Observed(ps.Observables):
    """All arms but `high_dimensional`. Rates are known along flows."""

    loss: Scalar = field(symbol=r"\mathcal{L}", doc="loss")
    loss_g4: Scalar = field(symbol=r"\mathcal{L}_{G4}", doc="loss of the 4-gram")
    loss_ih: Scalar | None = field(symbol=r"\mathcal{L}_{IH}", doc="loss of the induction head")
    p: Scalar = field(symbol="p", doc="slope of head 1")
    g: Scalar = field(symbol="g", doc="value of head 1")
    w_k: Scalar | None = field(symbol="w_K", doc="key weight of head 2")
    w_q: Scalar | None = field(symbol="w_Q", doc="query weight of head 2")
    h: Scalar | None = field(symbol="h", doc="value of head 2")
    first_slope: Scalar | None = field(symbol=r"\tilde p", doc="slope of the first layer, where it is trained")
    w_kq: Scalar | None = field(symbol=r"\sqrt{|w_K w_Q|}", doc="dot-product weight")
    balance: Scalar | None = field(symbol="w_Q^2 - w_K^2", doc="what the flow conserves")
    prev_token_weight: Scalar = field(symbol=r"1 - \tilde u", doc="weight of the previous token in the first layer")
    h_qe: Scalar | None = field(symbol=r"h^\star X(c) / S(c)", doc="value of head 2 in quasi-equilibrium")
    lyap_uv: Scalar | None = field(symbol="G(u, v)", doc="Lyapunov function of the 4-gram")
    lyap_vh: Scalar | None = field(symbol="G(v, h)", doc="Lyapunov function of the induction head")
    growth_rate: Scalar | None = field(symbol=r"d \ln w / dt", doc="growth rate of the dot-product weight")
    lyap_uv_rate: Scalar | None = field(doc="dG(u, v) / dt")
    lyap_vh_rate: Scalar | None = field(doc="dG(v, h) / dt")


class MatrixObserved(ps.Observables):
    """What `high_dimensional` reports."""

    loss: Scalar = field(symbol=r"\mathcal{L}", doc="loss")
    loss_g4: Scalar = field(symbol=r"\mathcal{L}_{G4}", doc="loss of the 4-gram")
    loss_ih: Scalar = field(symbol=r"\mathcal{L}_{IH}", doc="loss of the induction head")
    p: Scalar = field(symbol="p", doc="slope of head 1")
    g: Scalar = field(symbol="g", doc="value of head 1")
    h: Scalar = field(symbol="h", doc="value of head 2")
    score_norm: Scalar = field(symbol=r"\|A\|_F", doc="norm of the bilinear form")
    score_spread: Scalar = field(symbol=r"\|A\|_2", doc="largest singular value of the bilinear form")
    score_error: Scalar = field(symbol=r"\|A - A^\star\|_F / \|A^\star\|_F", doc="relative error of the bilinear form")


def see(
    weights: Weights,
    spec: Spec,
    values: Kernels | None,
    velocity: Weights | None = None,
    losses: Float[Array, "2"] | None = None,
) -> Observed:
    """Look at the second layer. Losses follow from the kernels unless they are given; rates need the velocity."""
    p, g, w_k, w_q, h, p_tilde = weights
    c, u_tilde = w_k * w_q, spec.u_tilde if p_tilde is None else jnp.exp(-p_tilde)
    if losses is None:
        assert values is not None
        losses = jnp.stack([loss_of_4_gram(weights, spec), analytic.loss(values, h, spec.h_star)])
    u = jnp.exp(-p)
    v, below, above = u * spec.g_star + spec.g_star - g, c - spec.c_star, h - spec.h_star
    rates = {}
    if velocity is not None:
        pace, bend = velocity.w_k * w_q + w_k * velocity.w_q, -u * velocity.p
        rates = {
            "growth_rate": pace / (2 * c),
            "lyap_uv_rate": u * bend + v * (bend * spec.g_star - velocity.g),
            "lyap_vh_rate": below * pace + above * velocity.h,
        }
    return Observed(
        loss=losses.sum(), loss_g4=losses[0], loss_ih=losses[1], p=p, g=g, w_k=w_k, w_q=w_q, h=h, first_slope=p_tilde,
        w_kq=jnp.sqrt(jnp.abs(c)), balance=w_q**2 - w_k**2, prev_token_weight=1 - jnp.asarray(u_tilde, float),
        h_qe=None if values is None else spec.h_star * values.X / values.S,
        lyap_uv=0.5 * (u**2 + v**2), lyap_vh=0.5 * (below**2 + above**2), **NO_RATES | rates,
    )  # fmt: skip


NO_RATES = dict.fromkeys(("growth_rate", "lyap_uv_rate", "lyap_vh_rate"))


def see_first_layer(slope: Scalar, p: Scalar, g: Scalar, loss: Scalar) -> Observed:
    """Look at stage I, where only the first layer moves."""
    unknown = dict.fromkeys(("loss_ih", "w_k", "w_q", "h", "w_kq", "balance", "h_qe", "lyap_uv", "lyap_vh"))
    weight = -jnp.expm1(-slope)
    return Observed(
        loss=loss, loss_g4=loss, p=p, g=g, first_slope=slope, prev_token_weight=weight, **unknown | NO_RATES
    )


def loss_of_4_gram(weights: Weights, spec: Spec) -> Scalar:
    """The exact loss of head 1, behind whatever first layer there is."""
    if weights.p_tilde is None and spec.p_tilde is None:
        return four_gram.loss(weights.p, weights.g, spec.g_star, spec.keys)
    slope = spec.p_tilde if weights.p_tilde is None else weights.p_tilde
    assert slope is not None
    return four_gram.blurred_loss(slope, weights.p, weights.g, spec.g_star, spec.length)
