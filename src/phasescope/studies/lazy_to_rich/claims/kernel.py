"""The kernel (10) of Appendix C.3.2: for which model it is exact, and for which it is not."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from . import tables


@claim(
    "(10), of the simplified model",
    published(ps.tables(tables.simplified_model, length=40)),
    id="C-10",
)
def the_closed_form_is_that_of_the_simplified_model(table):
    """(10) is exact when the softmax is replaced by exp / (L - 2): N F(0.15, 0.2401) = 1.0860."""
    gap = np.abs(table.sampled - table.printed) / table.deviation
    return (
        ps.at_most(gap, 3.0, "distance from sampling in standard errors")
        & ps.at_most(table.deviation, 2e-3, "standard error")
        & ps.agree(table.printed, 1.0860, atol=5e-5, what="N F(0.15, 0.2401)")
    )


softmax_sizes = ps.tables(tables.against_softmax, sizes=(100, 400, 1600, 6400))


@claim(
    "(10), of the softmax model",
    published(
        ps.tables(tables.against_softmax, sizes=(38,)),
        expect=Outcome.FAILS,
        because="exp / (L - 2) is not the softmax: S(c*) is 7.6 % too large, the plateau 32 %, the growth rate 13 %",
    ),
    theory(
        softmax_sizes,
        expect=Outcome.FAILS,
        because="the gap tends to a constant as L grows: the denominator fluctuates with the query at any length",
    ),
    id="C-10-softmax",
)
def the_closed_form_is_that_of_the_softmax(table):
    """(10) is nearly tight for the softmax: S(c*), the plateau's loss and the growth rate agree within 1 % at the longest
    sequences."""
    last = table.isel(N=-1)
    return ps.all_of(
        ps.agree(last[f"printed_{name}"], last[name], rtol=0.01, what=what)
        for name, what in (("S", "N S(c*)"), ("level", "plateau"), ("slope", "N X'(0)"))
    ) & ps.within(table.S, 1.05, 1.07, "N S(c*)")


@claim(
    "(10) against the softmax, the numbers",
    published(ps.tables(tables.against_softmax, sizes=(38,))),
    id="C-10-gap",
)
def the_closed_form_overestimates(table):
    """At Figure 1's setting (10) exceeds the softmax model: S(c*) 1.14004 against 1.05971 (+7.6 %), the plateau's loss by
    32 %, the growth rate of w on the plateau by 13 to 17 %."""
    there = table.sel(N=38)
    return (
        ps.agree(there.S, 1.05971, atol=5e-6, what="N S(c*)")
        & ps.agree(there.printed_S, 1.14004, atol=5e-6, what="N S(c*) by (10)")
        & ps.agree(
            there.printed_level / there.level,
            1.32,
            atol=5e-3,
            what="plateau by (10) over the softmax's",
        )
        & ps.within(
            there.printed_slope / there.slope, 1.12, 1.14, "X'(0) by (10) over the softmax's"
        )
    )


@claim("the limit of many keys", beyond(softmax_sizes), id="C-mf")
def the_softmax_tends_to_its_mean_field(table):
    """As N grows the softmax kernel tends to (1 - 2 c c')^(-1/2): S(c*) = mf (1 - 0.131 / N), X'(0) = c* (1 - 1.37 / N)."""
    N = table.N.astype(float)
    return (
        ps.scales_like(1 - table.S / table.limit_S, N, -1.0, 0.03, "1 - S / mf")
        & ps.scales_like(1 - table.slope / table.limit_slope, N, -1.0, 0.03, "1 - X' / mf")
        & ps.agree(
            (N * (1 - table.S / table.limit_S)).isel(N=-1), 0.131, atol=1e-3, what="N (1 - S / mf)"
        )
        & ps.agree(
            (N * (1 - table.slope / table.limit_slope)).isel(N=-1),
            1.37,
            atol=1e-2,
            what="N (1 - X' / mf)",
        )
        & ps.at_most(np.abs(table.X - 1) * N**2, 0.06, "N^2 |N X(0) - 1|")
    )


claims = (
    the_closed_form_is_that_of_the_simplified_model,
    the_closed_form_is_that_of_the_softmax,
    the_closed_form_overestimates,
    the_softmax_tends_to_its_mean_field,
)
