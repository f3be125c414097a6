"""What the theorems talk about. An arm leaves out what it does not know.

Arms of the class-symmetric reduction report one class, which stands for all: their axis `class`
has length 1.
"""

from __future__ import annotations

from jaxtyping import Array, Float

import phasescope as ps

Scalar = Float[Array, ""]
Classes = Float[Array, "class"]
Distinct = Float[Array, "class distinct_token"]
Common = Float[Array, "class common_token"]

# What the axes count, all from 0.
AXES = {
    "class": "class",
    "other_class": "another class",
    "last": "last token",
    "common_token": "common token",
    "distinct_token": "distinct token of a class",
    "token": "token: the common ones, then the distinct ones class by class",
}


class Observed(ps.Observables):
    """All arms report these; populations, not batches, except for `batch_loss`."""

    loss: Scalar = ps.field(symbol=r"\mathcal{L}", doc="mean of -log likelihood over the classes")
    alpha_correct: Classes = ps.field(symbol=r"\alpha_n", doc="probability of the right token")
    residual: Classes = ps.field(
        symbol=r"1 - \alpha_n", doc="probability of all wrong tokens, summed"
    )
    z_dt: Distinct = ps.field(symbol="z_d", doc="attention logit of a distinct token")
    z_ct: Float[Array, "last common_token"] = ps.field(
        symbol="z_c", doc="attention logit of a common token"
    )
    c_dt: Distinct = ps.field(symbol="c_{n,d}", doc="attention on a distinct token")
    c_ct: Common = ps.field(symbol="c_{n,c}", doc="attention on a common token")
    f_dt: Distinct = ps.field(symbol="f_{n,d}", doc="attention over its norm, distinct tokens")
    f_ct: Common = ps.field(symbol="f_{n,c}", doc="attention over its norm, common tokens")
    ct_mass: Classes = ps.field(doc="attention on all common tokens")
    dt_entropy: Classes = ps.field(
        unit="nat", doc="entropy of attention within the class's distinct tokens"
    )
    rho: Scalar = ps.field(symbol=r"\rho", doc="mean overlap of two classes' directions")
    corr: Float[Array, "class other_class"] = ps.field(
        symbol="E", doc="overlaps of directions, without the diagonal"
    )
    lambda1: Scalar = ps.field(symbol=r"\lambda_1", doc="largest eigenvalue of E in absolute value")
    iota: Classes = ps.field(
        symbol=r"\gamma\iota_n", doc="coefficient of f_n in g_n, least squares"
    )
    beta: Float[Array, "class other_class"] = ps.field(
        symbol=r"\gamma\beta_{nn'}", doc="minus the coefficient of another f_n' in g_n"
    )
    lag: Scalar = ps.field(
        doc="velocity of the common tokens' logits over that of the pull projected on the current directions"
    )
    lag_present: Scalar = ps.field(
        doc="velocity of the common tokens' logits over that with the decoder which the present attention would have made "
        "of the same residuals"
    )
    xi_eff: Classes = ps.field(
        symbol=r"\xi", doc="velocity of the top distinct logit, K / (eta_Z f^2) times"
    )
    z_dt_rate: Distinct = ps.field(symbol=r"\dot z_d", doc="velocity of z_dt in gradient flow")
    z_ct_rate: Float[Array, "last common_token"] = ps.field(
        symbol=r"\dot z_c", doc="velocity of z_ct in gradient flow"
    )
    gap_other: Scalar = ps.field(
        symbol="a - b", doc="logit of the right label over that of another"
    )
    gap_rest: Scalar = ps.field(
        symbol="a - o", doc="logit of the right label over that of an output that is none"
    )
    batch_loss: Scalar = ps.field(doc="loss of the last mini-batch, before its update")
    h: Scalar = ps.field(symbol="h", doc="growth of a class's decoder")
    h_star: Scalar = ps.field(symbol="h^*", doc="the same in unit steps, at the last whole visit")
    gamma: Scalar = ps.field(symbol=r"\gamma", doc="speed that the decoder gives to the attention")
    Gamma: Scalar = ps.field(symbol=r"\Gamma", doc="eta_Z times the integral of gamma")
    B_n: Scalar = ps.field(symbol="B_n", doc="eta_Z times the integral of xi")
    chi_closed: Scalar = ps.field(
        symbol=r"e^{2B_n}", doc="growth of the squared attention, closed form"
    )
