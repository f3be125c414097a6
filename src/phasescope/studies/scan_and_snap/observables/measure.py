"""How each arm's state is looked at."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array

from .. import closed_forms, model
from ..data import own_tokens, syn
from ..model import Weights
from ..reductions import class_symmetry, levels
from ..spec import Spec
from .observed import Observed, observed


def measure_full(weights: Weights, spec: Spec, geometry: bool = True) -> Observed:
    """Look at the tables Y and Z through endless sequences; `geometry` is what compares classes."""
    data, C, own = syn(spec), spec.common, own_tokens(spec)
    K, row = spec.labels, np.arange(spec.labels)[:, None]
    f = model.unit(jnp.asarray(data.P), weights.Z[data.last])
    c = f / f.sum(-1, keepdims=True)
    many = model.copies(K, weights.Y.shape[1], data.outputs)
    read = model.read_out(f @ weights.Y, np.arange(K), many)
    seen = {
        "loss": read.loss.mean(),
        "alpha_correct": jnp.exp(-read.loss),
        "residual": read.wrong,
        "z_dt": weights.Z[data.last[:, None], own],
        "z_ct": weights.Z[:, :C],
        "c_dt": c[row, own],
        "c_ct": c[:, :C],
        "f_dt": f[row, own],
        "f_ct": f[:, :C],
        "ct_mass": c[:, :C].sum(-1),
        "dt_entropy": entropy(c[row, own]),
    }
    if not geometry:
        return observed(**seen)
    g = model.pull(weights.Y, read.r, many)
    force = model.project(f, g)
    gram = f @ f.T
    a = jnp.linalg.solve(gram, f @ g.T).T  # g_n ~ sum over n' of a[n, n'] f_n'
    apart, top = 1 - np.eye(K), own[:, -1]
    present = model.project(f, (a * apart) @ f)[:, :C].sum()
    seen |= {
        "corr": gram * apart,
        "lambda1": jnp.abs(jnp.linalg.eigvalsh(gram * apart)).max(),
        "rho": (gram * apart).sum() / max(K * (K - 1), 1),
        "iota": jnp.diagonal(a),
        "beta": -a * apart,
        "lag": force[:, :C].sum() / present,
        "xi_eff": force[row[:, 0], top] / f[row[:, 0], top] ** 2,
    }
    return observed(**seen)


def measure_symmetric(state: class_symmetry.State, spec: Spec) -> Observed:
    """Look at a state of the class-symmetric reduction (L0 and L1: their attention has the same gradient)."""
    data = class_symmetry.profile(spec)
    f = class_symmetry.direction(state.z_d, state.z_c, data)
    a, b, o = class_symmetry.logits(state, f)
    p = class_symmetry.predict(a, b, o, data)
    own, other = class_symmetry.coefficients(state, data)
    force = class_symmetry.gradient(state, data)
    return observed(
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


def measure_theory(state: levels.Closed, spec: Spec) -> Observed:
    """Look at a state of the closed theory."""
    data = class_symmetry.profile(spec)
    f = class_symmetry.direction(state.z_d, state.z_c, data)
    moving, xi = levels.theory_velocity(state, data, spec.rate_Y, spec.eta_Z, share(spec))
    speed = closed_forms.gamma(state.t, data.K, data.M, spec.rate_Y)
    force = speed * levels.beta(f.rho, data.K, data.M)
    return observed(
        **_attention(state.z_d, state.z_c, f, data),
        **_rates(moving.z_d, moving.z_c),
        xi_eff=xi[None],
        gamma=speed,
        beta=force[None, None],
        B_n=state.B,
        h=closed_forms.h(state.t / data.K, data.M, spec.rate_Y),
    )


def measure_memoryless(state: levels.Memoryless, spec: Spec) -> Observed:
    """Look at a state of the memoryless control."""
    data = class_symmetry.profile(spec)
    f = class_symmetry.direction(state.z_d, state.z_c, data)
    p = levels.memoryless_prediction(state, f, data)
    force = levels.memoryless_force(state, p, data)
    moving = levels.memoryless_velocity(state, data, spec.rate_Y, spec.eta_Z)
    return observed(
        **_attention(state.z_d, state.z_c, f, data),
        **_prediction(p),
        **_rates(moving.z_d, moving.z_c),
        beta=force[None, None],
        xi_eff=((data.K - 1) * force * f.rho)[None],
    )


def share(spec: Spec):
    """$1/K$ where updates of the attention are averaged over the classes, 1 where they are summed, as printed."""
    return 1 / spec.K if spec.class_weight == "mean" else 1.0


def entropy(mass: Array) -> Array:
    """In nats, of what is left after dividing by the sum, along the last axis."""
    return entr(mass / mass.sum(-1, keepdims=True)).sum(-1)


def _attention(z_d: Array, z_c: Array, f: class_symmetry.Direction, data: class_symmetry.Profile) -> dict[str, Array]:
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
    return {"loss": p.loss, "alpha_correct": jnp.exp(-p.loss)[None], "residual": p.mu[None]}


def _rates(z_d: Array, z_c: Array, eta: Any = 1.0) -> dict[str, Array]:
    return {"z_dt_rate": eta * z_d[None], "z_ct_rate": eta * z_c[None]}
