"""The kernel (10) of Appendix C.3.2: for which model it is exact, and for which it is not."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from ..phases import inverse_target
from . import tables
from .four_gram import STANDARD_ERRORS
from .kept import as_kept

softmax_sizes = ps.tables(tables.against_softmax, sizes=tables.SIZES)
mild_targets = ps.tables(tables.simplification, targets=(0.05, 0.08, 0.125, 0.2, 0.3, 0.49))


@claim(
    "(10), of the simplified model",
    on("closed form", ps.tables(tables.simplified_model, length=40)),
    id="eq10",
    aliases=("C-10",),
    kind="identity",
    tex=r"(L-2) F(c, c^\star) = (1 - (c + c^\star)^2)^{-1/2}",
    page="Appendix C.3.2, (10)",
)
def the_closed_form_is_that_of_the_simplified_model(table):
    """(10) is exact when the softmax is replaced by exp / (L - 2): to the error of a million sequences."""
    gap = np.abs(table.sampled - table.printed) / table.deviation
    fine = ps.chosen(2e-3, "enough sequences to tell half a per cent")
    formula = (1 - (tables.STRENGTH + tables.C_STAR) ** 2) ** -0.5
    return (
        ps.agree(gap, 0.0, atol=STANDARD_ERRORS, what="N F in standard errors")
        & ps.guard(ps.at_most(table.deviation, fine, "standard error"))
        & ps.agree(table.printed, formula, rtol=ps.chosen(1e-12, "rounding"), what="N F by (10)")
    )


@claim(
    "(10), of the softmax: nearly tight",
    on("closed form", mild_targets),
    id="eq10-softmax",
    aliases=("C-10-softmax",),
    kind="limit",
    tex=r"\mathrm{softmax}(z) \simeq \tfrac1{L-2}\exp(z),\quad w^{\star2} x_L x_{s-1} \approx 0",
    page="Appendix C.3.2, technical simplification: nearly tight when z is near 0",
    as_=("1/w*", "inf"),
)
def the_closed_form_is_that_of_the_softmax(table):
    """For small w*, (10) is nearly tight for the softmax with many keys: the relative errors of S(c*), of the plateau's
    loss and of the growth rate tend to 0 with w*."""
    near = ps.chosen(0.01, "1 %")
    return ps.all_of(
        ps.tends_to(
            inverse_target(table[f"printed_{name}"] / table[f"limit_{name}"] - 1),
            0.0,
            along="1/w*",
            within=near,
            what=f"relative error of {what}",
        )
        for name, what in (("S", "S(c*)"), ("level", "the plateau"), ("rate", "the growth rate"))
    )


@claim(
    "(10) against the softmax: longer sequences do not help (ours)",
    on("closed form", softmax_sizes),
    id="ours-eq10-length",
    kind="limit",
    whose="ours",
    tex=r"S_{(10)}(c^\star)/S(c^\star) \to \sqrt{(1 - 2w^{\star4})/(1 - 4w^{\star4})} > 1",
    page="Appendix C.3.2, technical simplification",
    as_=("L", "inf"),
)
def the_gap_of_the_closed_form_stays(table):
    """At w* = 0.49 the ratio of (10) to the softmax tends to a constant above 1 as L grows, in S(c*), in the plateau and in
    the growth rate: the denominator fluctuates with the query at any length."""
    found = []
    for name, what in (("S", "S(c*)"), ("level", "the plateau"), ("slope", "X'(0)")):
        ratio = table[f"printed_{name}"] / table[name]
        limit = (table[f"printed_{name}"] / table[f"limit_{name}"]).isel(N=-1, drop=True)
        found.append(ps.tends_to(ratio, limit, along="N", what=f"(10) over softmax, {what}"))
        found.append(ps.guard(ps.positive(limit - 1, f"the gap of {what}")))
    return ps.all_of(found)


@claim(
    "(10) against the softmax, the numbers (ours)",
    on("closed form", softmax_sizes, expect="as_before"),
    id="ours-eq10-gap",
    aliases=("C-10-gap",),
    kind="regression",
    whose="ours",
    tex=r"N S(c^\star) = 1.05971\ (1.14004 \text{ by } (10))",
    page="Appendix C.3.2, (10)",
)
def the_closed_form_overestimates(table):
    """At Figure 1's setting (10) exceeds the softmax model: S(c*) 1.14004 against 1.05971 (+7.6 %), the plateau's loss by
    32 %, X'(0) by 13 %."""
    there = table.sel(N=38)
    plateau = float(there.printed_level / there.level)
    slope = float(there.printed_slope / there.slope)
    return (
        as_kept([float(there.S)], "1.05971", "N S(c*)")
        & as_kept([float(there.printed_S)], "1.14004", "N S(c*) by (10)")
        & as_kept([plateau], "1.32", "plateau")
        & as_kept([slope], "1.13", "X'(0)")
    )


@claim(
    "the limit of many keys (ours)",
    on("closed form", softmax_sizes),
    id="ours-many-keys",
    aliases=("C-mf",),
    kind="limit",
    whose="ours",
    tex=r"N F(c, c') \to (1 - 2 c c')^{-1/2}",
    page="Appendix C.3.2, (10)",
    as_=("N", "inf"),
)
def the_softmax_tends_to_its_mean_field(table):
    """As N grows the softmax kernel tends to (1 - 2 c c')^(-1/2): S(c*) and X'(0) like 1 / N, N X(0) to 1 like 1 / N^2."""
    table = table.sel(N=table.N >= 200)
    N = table.N.astype(float)
    first = ps.chosen(0.03, "the next order in 1 / N")
    power = ps.derived(-1.0, "the variance of a mean over N keys")
    return (
        ps.tends_to(table.S / table.limit_S, 1.0, along="N", what="S / mf")
        & ps.tends_to(table.slope / table.limit_slope, 1.0, along="N", what="X' / mf")
        & ps.scales_like(1 - table.S / table.limit_S, N, power, first, "1 - S / mf")
        & ps.scales_like(1 - table.slope / table.limit_slope, N, power, first, "1 - X' / mf")
        & ps.big_o((table.X - 1) * N**2, along="N", what="N^2 (N X(0) - 1)")
    )


claims = (
    the_closed_form_is_that_of_the_simplified_model,
    the_closed_form_is_that_of_the_softmax,
    the_gap_of_the_closed_form_stays,
    the_closed_form_overestimates,
    the_softmax_tends_to_its_mean_field,
)
