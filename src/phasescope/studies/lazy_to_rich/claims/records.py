"""What is recorded is what it is said to be: every observable of a flow, from the parameters and the kernels. Ours."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import kernel_values
from ..model import four_gram
from ..phases import ran_to_the_end, spec_of
from . import evidence

ROUNDING = ps.chosen(1e-8, "rounding, and the table of the kernels")


def observables(run: xr.Dataset) -> dict[str, np.ndarray]:
    """The observables of an exact flow with two weights, from p, g, h, w_K and w_Q alone."""
    spec = spec_of(run)
    p, g, h = run.p.values, run.g.values, run.h.values
    c = run.w_k.values * run.w_q.values
    at = kernel_values("exact_flow", spec, *c)
    S, X = at.kernel_S.values, at.kernel_X.values
    pull = h * spec.h_star * at.slope_X.values - 0.5 * h**2 * at.slope_S.values
    p_rate, g_rate = (np.asarray(x) for x in four_gram.velocity(p, g, spec.g_star, spec.keys))
    h_rate = spec.h_star * X - h * S
    u = np.exp(-p)
    v = u * spec.g_star + spec.g_star - g
    squares = spec.h_star**2 * float(at.top) + h**2 * S
    lazy = np.asarray(four_gram.loss(p, g, spec.g_star, spec.keys))
    rich = 0.5 * squares - h * spec.h_star * X
    return {
        "loss": lazy + rich,
        "loss_g4": lazy,
        "loss_ih": rich,
        "w_kq": np.sqrt(c),
        "h_qe": spec.h_star * X / S,
        "growth_rate": pull,
        "lyap_uv": 0.5 * (u**2 + v**2),
        "lyap_uv_rate": -(u**2) * p_rate + v * (-u * spec.g_star * p_rate - g_rate),
        "lyap_vh": 0.5 * ((c - spec.c_star) ** 2 + (h - spec.h_star) ** 2),
        "lyap_vh_rate": (c - spec.c_star) * 2 * c * pull + (h - spec.h_star) * h_rate,
        "prev_token_weight": np.ones(p.size),
    }


@claim(
    "Appendix C.3, what is recorded (ours)",
    on("population", evidence.true),
    id="ours-records",
    kind="identity",
    whose="ours",
    tex=r"\mathcal L = \mathcal L_{G_4} + \mathcal L_{IH_2},\ \dot w/w,\ G(u,v),\ \dot G(u,v),\ G(v,h),\ \dot G(v,h)",
    page="Appendix C.3",
)
def the_records_agree_with_each_other(run):
    """Losses, rates and Lyapunov functions of the exact flow are those of its parameters."""
    return ps.all_of(
        ps.agree(run[name].values, value, atol=ROUNDING, what=name)
        for name, value in observables(run).items()
    ) & ran_to_the_end(run)


claims = (the_records_agree_with_each_other,)
