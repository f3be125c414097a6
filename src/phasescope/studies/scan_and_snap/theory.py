"""Arms of theory: the decoupled decoder (L1), the closed theory (L2), the memoryless control,
training with its residuals beside it, and the closed forms."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import phasescope as ps

from . import closed_forms
from .observables import (
    Observed,
    derive,
    measure_memoryless,
    measure_symmetric,
    measure_theory,
    measure_with_residuals,
)
from .reductions import class_symmetry, levels
from .spec import FLOW, RATES, SIZES, Spec
from .training.flows import flow_times, follow


@ps.arm(reads=FLOW)
def decoupled(spec: Spec) -> ps.Plan:
    """L1: gradient flow in which the decoder's classes do not feel each other, as the theorems assume."""
    data = class_symmetry.profile(spec)
    rates = class_symmetry.by_table(spec.rate_Y, spec.eta_Z)

    def velocity(state: class_symmetry.State) -> class_symmetry.State:
        ascent = class_symmetry.decoupled(state, data)
        return jax.tree.map(lambda g, eta: eta * g, ascent, rates)

    return ps.Plan(
        init=lambda key: class_symmetry.zeros(spec.distinct, spec.common),
        stages=(follow(velocity, spec),),
        measure=lambda state: measure_symmetric(state, spec),
        derive=derive,
    )


@ps.arm(reads=(*FLOW, "class_weight"))
def theory(spec: Spec) -> ps.Plan:
    """L2: the theorems' equation of the attention alone, driven by the closed clock gamma(t)."""
    data = class_symmetry.profile(spec)

    def velocity(state: levels.Closed) -> levels.Closed:
        return levels.theory_velocity(state, data, spec.rate_Y, spec.eta_Z, spec.share)[0]

    return ps.Plan(
        init=lambda key: levels.closed_zeros(spec.distinct, spec.common),
        stages=(follow(velocity, spec),),
        measure=lambda state: measure_theory(state, spec),
        derive=derive,
    )


@ps.arm(reads=FLOW)
def memoryless(spec: Spec) -> ps.Plan:
    """The control: true gradient flow, but the decoder forgets how attention looked when it learnt."""
    data = class_symmetry.profile(spec)

    def velocity(state: levels.Memoryless) -> levels.Memoryless:
        return levels.memoryless_velocity(state, data, spec.rate_Y, spec.eta_Z)

    return ps.Plan(
        init=lambda key: levels.memoryless_zeros(spec.distinct, spec.common),
        stages=(follow(velocity, spec),),
        measure=lambda state: measure_memoryless(state, spec),
        derive=derive,
    )


@ps.arm(reads=FLOW)
def with_residuals(spec: Spec) -> ps.Plan:
    """True gradient flow (L0), with its residuals summed beside it.

    They tell what decoder the present attention would have made of them.
    """
    data = class_symmetry.profile(spec)

    def velocity(state: levels.WithResiduals) -> levels.WithResiduals:
        return levels.with_residuals_velocity(state, data, spec.rate_Y, spec.eta_Z)

    return ps.Plan(
        init=lambda key: levels.with_residuals_zeros(spec.distinct, spec.common),
        stages=(follow(velocity, spec),),
        measure=lambda state: measure_with_residuals(state, spec),
        derive=derive,
    )


class Curves(NamedTuple):
    """What is known in closed form at a time."""

    h: Float[Array, ""]
    h_star: Float[Array, ""]
    gamma: Float[Array, ""]
    Gamma: Float[Array, ""]
    B_n: Float[Array, ""]


@ps.arm(reads=(*SIZES, *RATES, "steps", "horizon", "rho_0", "class_weight"))
def closed_form(spec: Spec) -> ps.Plan:
    """h, h*, gamma, Gamma and B_n of Theorems 1 and 4, in closed form."""
    K = spec.K
    M = spec.M
    Y = spec.rate_Y
    Z = spec.eta_Z

    def at(t: Array) -> Curves:
        return Curves(
            h=closed_forms.h(t / K, M, Y),
            h_star=closed_forms.h_star(jnp.floor(t / K), M, Y),
            gamma=closed_forms.gamma(t, K, M, Y),
            Gamma=closed_forms.Gamma(t, K, M, Y, Z),
            B_n=closed_forms.B_n(t, K, M, Y, Z, rho_0=spec.rho_0, share=spec.share),
        )

    return ps.Plan(
        init=lambda key: at(jnp.zeros(())),
        stages=(ps.Stage("closed form", ps.formula(at), flow_times(spec)),),
        measure=lambda c: Observed(
            h=c.h,
            h_star=c.h_star,
            gamma=c.gamma,
            Gamma=c.Gamma,
            B_n=c.B_n,
            chi_closed=jnp.exp(2 * c.B_n),
        ),
    )
