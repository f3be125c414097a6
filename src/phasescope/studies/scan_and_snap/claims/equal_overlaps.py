"""Appendix B.2: classes that overlap equally move along one direction, which slows the decoder (Lemma 5, Remark 1)."""

from __future__ import annotations

import phasescope as ps
from phasescope import claim, on

from . import tables
from .bounds import EXACT, last_digit


@claim(
    "Lemma 5",
    on("closed form", ps.tables(tables.decoder.softmax_steps, outputs=40, eta_Y=1.0, steps=300)),
    id="lem5",
    aliases=("C5",),
    kind="identity",
    tex=r"w_n(s) = (M-1)h^*(s)\zeta_n,\ e_n - \alpha_n(s) = \frac{M-1}{M-1+e^{Mh^*(s-1)}}\zeta_n",
    page="Appendix B.2, Lemma 5, (31) to (33)",
)
def one_class_moves_along_one_direction(table):
    """Decoupled, w_n(s) = (M-1) h*(s) zeta_n and r_n = (M-1) zeta_n / (M-1 + exp(M h*(s-1))),
    for steps of any size."""
    right = table.logits.sel(output=0) - table.logits.sel(output=1)
    return (
        ps.agree(table.logits, table.logits_forecast, atol=EXACT, what="w_n")
        & ps.agree(table.residual, table.residual_forecast, atol=EXACT, what="r_n")
        & ps.guard(ps.increasing(right, "w_n of the right output over another", along="step"))
    )


def _flow(K: int, M: int) -> ps.Request:
    """The true decoder on held attention with equal overlaps."""
    return ps.tables(tables.decoupling.held_flow, classes=K, outputs=M, rho=0.3, last=100.0)


FEW_LABELS = _flow(10, 1000)


SOLVED = ps.derived(1e-4, "the tolerance of the solver, over 100 units of time")


LEARNED = ps.chosen(3.0, "it was learned")


@claim(
    "Remark 1",
    on(
        "closed form",
        FEW_LABELS,
        expect="false",
        because="the remark sums zeta_n over all M outputs, and there are K of them: {measured}",
    ),
    id="rem1",
    kind="identity",
    tex=r"w_n(N) = (1-\rho)(M-1)h^*(N/K)\zeta_n,\ \eta_Y' = (1-\rho)\eta_Y",
    page="Appendix B.2, Remark 1, (43)",
)
def equal_overlaps_slow_the_decoder(table):
    """If all overlaps are rho, the true decoder is the decoupled one at eta_Y (1 - rho): the
    leads of the right logit over another label, and over an output that is no label, are M h at
    that rate (K = 10, M = 1000, rho = 0.3)."""
    return (
        ps.agree(table.over_label, table.slowed, atol=SOLVED, what="lead over another label")
        & ps.agree(table.over_rest, table.slowed, atol=SOLVED, what="lead over no label")
        & ps.guard(ps.at_least(table.over_label.isel(clock=-1), LEARNED, "lead at the end"))
    )


@claim(
    "Remark 1 where every output is a label (E8)",
    on("closed form", _flow(40, 40)),
    id="rem1-all-labels",
    aliases=("C6",),
    kind="identity",
    whose="corrected",
    erratum="E8",
    tex=r"K = M:\ w_n = (1-\rho)(M-1)h\zeta_n",
    page="Appendix B.2, Remark 1, (43)",
)
def equal_overlaps_slow_a_decoder_of_labels(table):
    """For K = M and equal overlaps rho = 0.3 the true decoder is the decoupled one at
    eta_Y (1 - rho)."""
    return ps.agree(
        table.over_label, table.slowed, atol=SOLVED, what="lead over another label"
    ) & ps.guard(ps.at_least(table.over_label.isel(clock=-1), LEARNED, "lead at the end"))


@claim(
    "Remark 1: the lead over other outputs (ours)",
    on("closed form", FEW_LABELS),
    id="ours-full-rate",
    aliases=("C6-full",),
    kind="approx",
    whose="ours",
    tex=r"w_{nn} - w_{nj} \simeq Mh(s; \eta_Y),\ j > K",
    page="Appendix B.2, Remark 1",
)
def the_lead_over_other_outputs_is_not_slowed(table):
    """At K = 10, M = 1000, rho = 0.3 the lead over an output that is no label follows the full
    rate within 1.5% up to eta_Y tau = 10, far from the slowed one; that over another label is
    then below even the slowed one."""
    near = ps.chosen(0.015, "K / M and a half")
    early = table.clock <= 10.0
    at = table.sel(clock=10.0)
    return (
        ps.agree(table.over_rest, table.full, rtol=near, what="lead over no label", where=early)
        & ps.positive(at.slowed - at.over_label, "slowed rate over the lead over a label")
        & ps.guard(ps.at_least(at.full - at.slowed, ps.chosen(0.5, "the rates differ"), "full"))
    )


@claim(
    "Remark 1: numbers (ours)",
    on("closed form", FEW_LABELS),
    id="ours-rem1-numbers",
    kind="regression",
    whose="ours",
    tex=r"7.741,\ 5.474,\ 6.403",
    page="Appendix B.2, Remark 1",
)
def leads_at_ten(table):
    """At K = 10, M = 1000, rho = 0.3 and eta_Y tau = 10 the lead over no label is 7.741, over
    another label 5.474, at the slowed rate 6.403, at the full one 7.731."""
    at = table.sel(clock=10.0)
    digit = last_digit(1e-3)
    return (
        ps.agree(at.over_rest, 7.741, atol=digit, what="lead over no label at 10")
        & ps.agree(at.over_label, 5.474, atol=digit, what="lead over another label at 10")
        & ps.agree(at.slowed, 6.403, atol=digit, what="slowed rate at 10")
        & ps.agree(at.full, 7.731, atol=digit, what="full rate at 10")
    )


claims = (
    one_class_moves_along_one_direction,
    equal_overlaps_slow_the_decoder,
    equal_overlaps_slow_a_decoder_of_labels,
    the_lead_over_other_outputs_is_not_slowed,
    leads_at_ten,
)
