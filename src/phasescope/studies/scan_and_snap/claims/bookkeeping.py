"""What is recorded belongs together: identities that hold in every run, and hold each observable."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from ..phases import classes_of, outputs_of
from ..spec import Spec
from . import evidence
from .bounds import MANY_STEPS


@claim(
    "Section 3: observables (ours)",
    on("training", evidence.momentum_of_Y),
    id="ours-observables",
    kind="identity",
    whose="ours",
    tex=r"\sum_l c_l = \sum_l f_l^2 = 1,\ L = -\ln\alpha,\ \lambda_1 = (K-1)\rho,\ \dot Z 1 = 0",
    page="Section 3.2 and 3.3",
)
def observables_belong_together(run):
    """Attention and squared directions sum to 1, the loss is that of the leads and of the right
    probability, overlaps are the squared weight of common tokens, the velocities of a query's logits sum
    to 0, and that of the top token is eta_Z f^2 xi / K."""
    spec = Spec.of(run)
    K = float(classes_of(run))
    M = float(outputs_of(run))
    wrong = (K - 1) * np.exp(-run.gap_other) + (M - K) * np.exp(-run.gap_rest)
    squares = (run.f_ct**2).sum("common_token").isel({"class": 0})
    directions = squares + (run.f_dt**2).sum("distinct_token").isel({"class": 0})
    attention = run.c_dt.sum("distinct_token") + run.c_ct.sum("common_token")
    own = run.z_dt_rate.isel({"class": 0}).sum("distinct_token")
    shared = run.z_ct_rate.isel(last=0).sum("common_token")
    top = {"class": 0, "distinct_token": -1}
    velocity = spec.eta_Z / K * run.f_dt.isel(top) ** 2 * run.xi_eff.isel({"class": 0})
    tight = MANY_STEPS
    return (
        ps.agree(attention, 1.0, atol=tight, what="attention, summed")
        & ps.agree(run.attn.sum("token"), 1.0, atol=tight, what="attention table, summed")
        & ps.agree(directions, 1.0, atol=tight, what="|f|^2")
        & ps.agree(run.rho, squares, rtol=tight, what="rho")
        & ps.agree(run.lambda1, (K - 1) * run.rho, rtol=tight, what="lambda_1")
        & ps.agree(run.loss, np.log1p(wrong), rtol=tight, what="loss of the leads")
        & ps.agree(
            run.alpha_correct.isel({"class": 0}), np.exp(-run.loss), rtol=tight, what="alpha"
        )
        & ps.agree(run.residual + run.alpha_correct, 1.0, atol=tight, what="1 - alpha and alpha")
        & ps.agree(spec.per_last * own + shared, 0.0, atol=tight, what="velocities, summed")
        & ps.agree(run.z_dt_rate.isel(top), velocity, atol=tight, what="velocity of the top token")
        & ps.guard(ps.positive(run.z_dt_rate.isel(top).isel(time=-1), "its velocity at the end"))
        & ps.reached(run)
    )


claims = (observables_belong_together,)
