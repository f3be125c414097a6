"""How each arm's state is measured."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float

from .. import closed_forms, model
from ..data import Mixture, own_tokens, syn
from ..model import Weights
from ..reductions import class_symmetry, levels
from ..spec import Spec
from .observed import Observed


def measure_full(weights: Weights, spec: Spec, geometry: bool = True) -> Observed:
    """The tables Y and Z, measured through endless sequences; `geometry` is what compares
    classes."""
    data = syn(spec)
    f = model.unit(jnp.asarray(data.P), weights.Z[data.last])
    many = model.copies(spec.labels, weights.Y.shape[1], data.outputs)
    read = model.read_out(f @ weights.Y, np.arange(spec.labels), many)
    measured = _by_class(weights.Z, f, read, data, spec)
    if geometry:
        measured |= _between_classes(f, model.pull(weights.Y, read.r, many), spec)
    return Observed(**measured)


def _by_class(
    Z: Float[Array, "last token"],
    f: Float[Array, "class token"],
    read: model.Readout,
    data: Mixture,
    spec: Spec,
) -> dict[str, Array]:
    """Prediction and attention of every class."""
    C = spec.common
    own = own_tokens(spec)
    row = np.arange(spec.labels)[:, None]
    c = f / f.sum(-1, keepdims=True)
    return {
        "loss": read.loss.mean(),
        "alpha_correct": jnp.exp(-read.loss),
        "residual": read.wrong,
        "z_dt": Z[data.last[:, None], own],
        "z_ct": Z[:, :C],
        "c_dt": c[row, own],
        "c_ct": c[:, :C],
        "f_dt": f[row, own],
        "f_ct": f[:, :C],
        "ct_mass": c[:, :C].sum(-1),
        "dt_entropy": entropy(c[row, own]),
    }


def _between_classes(
    f: Float[Array, "class token"], g: Float[Array, "class token"], spec: Spec
) -> dict[str, Array]:
    """Overlaps of the classes' directions, and what the pull $g$ on each is made of."""
    K = spec.labels
    C = spec.common
    force = model.project(f, g)
    gram = f @ f.T
    a = jnp.linalg.solve(gram, f @ g.T).T  # g_n ~ sum over n' of a[n, n'] f_n'
    apart = 1 - np.eye(K)
    top = (np.arange(K), own_tokens(spec)[:, -1])
    present = model.project(f, (a * apart) @ f)[:, :C].sum()
    return {
        "corr": gram * apart,
        "lambda1": jnp.abs(jnp.linalg.eigvalsh(gram * apart)).max(),
        "rho": (gram * apart).sum() / max(K * (K - 1), 1),
        "iota": jnp.diagonal(a),
        "beta": -a * apart,
        "lag": force[:, :C].sum() / present,
        "xi_eff": force[top] / f[top] ** 2,
    }


def measure_symmetric(state: class_symmetry.State, spec: Spec) -> Observed:
    """A state of the class-symmetric reduction (L0 and L1: their attention has the same
    gradient)."""
    data = class_symmetry.profile(spec)
    f = class_symmetry.direction(state.z_d, state.z_c, data)
    a, b, o = class_symmetry.logits(state, f)
    p = class_symmetry.predict(a, b, o, data)
    own, other = class_symmetry.coefficients(state, data)
    force = class_symmetry.gradient(state, data)
    return Observed(
        **_attention(state.z_d, state.z_c, f, data),
        **_prediction(p),
        **_rates(force.z_d, force.z_c, spec.eta_Z),
        iota=own[None],
        beta=-other[None, None],
        lag=class_symmetry.lag(state, data),
        gap_other=a - b,
        gap_rest=a - o,
        xi_eff=(force.z_d[-1] * data.K / f.d[-1] ** 2)[None],
    )


def measure_with_residuals(state: levels.WithResiduals, spec: Spec) -> Observed:
    """A state of training whose residuals are summed beside it."""
    seen = measure_symmetric(state.weights, spec)
    present = levels.present_lag(state, class_symmetry.profile(spec))
    return dataclasses.replace(seen, lag_present=present)


def measure_theory(state: levels.Closed, spec: Spec) -> Observed:
    """A state of the closed theory."""
    data = class_symmetry.profile(spec)
    f = class_symmetry.direction(state.z_d, state.z_c, data)
    moving, xi = levels.theory_velocity(state, data, spec.rate_Y, spec.eta_Z, spec.share)
    speed = closed_forms.gamma(state.t, data.K, data.M, spec.rate_Y)
    force = speed * levels.beta(f.rho, data.K, data.M)
    return Observed(
        **_attention(state.z_d, state.z_c, f, data),
        **_rates(moving.z_d, moving.z_c),
        xi_eff=xi[None],
        gamma=speed,
        beta=force[None, None],
        B_n=state.B,
        h=closed_forms.h(state.t / data.K, data.M, spec.rate_Y),
    )


def measure_memoryless(state: levels.Memoryless, spec: Spec) -> Observed:
    """A state of the memoryless control."""
    data = class_symmetry.profile(spec)
    f = class_symmetry.direction(state.z_d, state.z_c, data)
    p = levels.memoryless_prediction(state, f, data)
    force = levels.memoryless_force(state, p, data)
    moving = levels.memoryless_velocity(state, data, spec.rate_Y, spec.eta_Z)
    return Observed(
        **_attention(state.z_d, state.z_c, f, data),
        **_prediction(p),
        **_rates(moving.z_d, moving.z_c),
        beta=force[None, None],
        xi_eff=((data.K - 1) * force * f.rho)[None],
    )


def entropy(mass: Array) -> Array:
    """In nats, of what is left after dividing by the sum, along the last axis."""
    return entr(mass / mass.sum(-1, keepdims=True)).sum(-1)


def _attention(
    z_d: Array, z_c: Array, f: class_symmetry.Direction, data: class_symmetry.Profile
) -> dict[str, Array]:
    """Attention of the class that stands for all."""
    c_d, c_c = class_symmetry.attention(z_d, z_c, data)
    return {
        "z_dt": z_d[None],
        "z_ct": z_c[None],
        "c_dt": c_d[None],
        "c_ct": c_c[None],
        "f_dt": f.d[None],
        "f_ct": f.c[None],
        "ct_mass": c_c.sum()[None],
        "dt_entropy": entropy(c_d)[None],
        "rho": f.rho,
        "lambda1": (data.K - 1) * f.rho,
    }


def _prediction(p: class_symmetry.Prediction) -> dict[str, Array]:
    """Loss and probabilities of the class that stands for all."""
    return {"loss": p.loss, "alpha_correct": jnp.exp(-p.loss)[None], "residual": p.mu[None]}


def _rates(z_d: Array, z_c: Array, eta: Any = 1.0) -> dict[str, Array]:
    """Velocities of the attention logits."""
    return {"z_dt_rate": eta * z_d[None], "z_ct_rate": eta * z_c[None]}
