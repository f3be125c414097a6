"""Appendix B.3: which term of the decoder's implicit equation leads (Lemmas 8 and 9, Remark 3)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from . import tables
from .bounds import last_digit
from .decoder import OUTPUTS

ROOTS = ps.tables(tables.decoder.later_root, outputs=OUTPUTS)
SMALL_ROOTS = ps.tables(tables.decoder.smaller_root, outputs=OUTPUTS)
BOTH_SIDES = ps.tables(tables.decoder.both_sides, outputs=[1e3, 1e4, 1e6], eta_Y=[0.01, 0.1, 0.9])


def is_a_root(table) -> ps.Verdict:
    """Both sides of exp(x) = (M - 1) x are equal there."""
    tight = ps.derived(1e-9, "rounding, after an exponential")
    return ps.agree(table.left / table.right, 1.0, atol=tight, what="exp(x) / (M-1) x")


@claim(
    "Lemma 8: the later root",
    on("closed form", ROOTS),
    id="lem8-omega1",
    aliases=("C9",),
    kind="theta",
    tex=r"e^{Mh} = (M-1)Mh \text{ at } h = (1 + \omega_1)\ln M/M,\ \omega_1 = \Theta(\ln\ln M/\ln M)",
    page="Appendix B.3, Lemma 8, (51)",
    as_=("M", "inf"),
)
def the_later_root_is_close_to_log_M(table):
    """The later root of exp(x) = (M-1) x is (1 + omega_1) ln M, with omega_1 = Theta(ln ln M / ln M)."""
    law = np.log(np.log(table.outputs)) / np.log(table.outputs)
    return ps.big_theta(
        table.omega_1, law, along="outputs", what="omega_1 ln M / ln ln M"
    ) & is_a_root(table)


@claim(
    "Lemma 8: the smaller root",
    on("closed form", SMALL_ROOTS),
    id="lem8-omega0",
    kind="upper",
    tex=r"e^{Mh} = (M-1)Mh \text{ at } h = M^{-(2-\omega_0)},\ \omega_0 = O(1/(M^{0.99}\ln M))",
    page="Appendix B.3, Lemma 8, (50)",
    as_=("M", "inf"),
)
def the_smaller_root_is_close_to_one_over_M(table):
    """The smaller root of exp(x) = (M-1) x is M^-(1 - omega_0), with omega_0 = O(1 / (M^0.99 ln M))."""
    law = 1 / (table.outputs**0.99 * np.log(table.outputs))
    return (
        ps.big_o(table.omega_0, law, along="outputs", what="omega_0 M^0.99 ln M")
        & ps.guard(ps.positive(table.omega_0, "omega_0"))
        & is_a_root(table)
    )


def rises_to_the_end(table) -> ps.Verdict:
    """M h grows with the number of visits, once there is one."""
    return ps.increasing(table.over_outputs, "M h", along="clock", strictly=False)


@claim(
    "Remark 3",
    on("closed form", BOTH_SIDES),
    id="rem3",
    kind="sign",
    tex=r"\#\{s \ge 1 : e^{Mh} = (M-1)Mh\} = 1",
    page="Appendix B.3, Remark 3, for M >> 100 and 1 > eta_Y >> M^-0.99",
)
def one_root_is_passed_after_the_first_visit(table):
    """From the first visit on exp(Mh) - (M-1) Mh changes its sign once, from minus to plus: at M =
    1000 to a million and eta_Y = 0.01 to 0.9, which is 9 M^-0.99 and more."""
    sign = np.sign(table.over_product)
    changes = abs(sign.diff("clock")).sum("clock", skipna=False) / 2
    return (
        ps.agree(changes, 1.0, what="changes of sign")
        & ps.negative(table.over_product.isel(clock=0), "ln exp(x) / (M-1) x at the first visit")
        & ps.guard(rises_to_the_end(table))
        & ps.positive(table.over_product.isel(clock=-1), "ln exp(x) / (M-1) x at the end")
    )


@claim(
    "Lemma 9: which term leads",
    on("closed form", BOTH_SIDES),
    id="lem9-terms",
    kind="sign",
    tex=r"e^{Mh} \le \min(M-1, (M-1)Mh),\ t \le t_0';\quad e^{Mh} \ge \max(M-1, (M-1)Mh),\ t \ge t_0",
    page="Appendix B.3, Lemma 9",
)
def the_exponential_leads_late_and_not_early(table):
    """From the first visit to t_0' = K ln M / eta_Y the exponential is below both M - 1 and (M-1) Mh,
    and from t_0 on above both."""
    nearly = 1 - 1e-9
    early = table.linear <= 1.0
    late = table.frozen >= nearly
    both = (table.over_product, table.over_outputs)
    before = ps.all_of(ps.negative(x, "ln of the ratio before t_0'", where=early) for x in both)
    rounding = 1e-9  # at t_0 itself both sides are equal
    after = ps.all_of(
        ps.positive(x + rounding, "ln of the ratio after t_0", where=late) for x in both
    )
    return before & after & ps.guard(rises_to_the_end(table))


@claim(
    "Lemma 8: omega_1 (ours)",
    on("closed form", ROOTS),
    id="ours-omega1",
    kind="regression",
    whose="ours",
    tex=r"\omega_1 = 0.4030, 0.3198, 0.2667, 0.2035",
    page="Appendix B.3, Lemma 8",
)
def omega_1_falls_slowly(table):
    """omega_1 is 0.4030, 0.3198, 0.2667, 0.2035 for M = 10^2, 10^3, 10^4, 10^6."""
    before = np.array([0.4030, 0.3198, 0.2667, 0.2035])
    return ps.agree(table.omega_1, before, atol=last_digit(1e-4), what="omega_1") & is_a_root(table)


claims = (
    the_later_root_is_close_to_log_M,
    the_smaller_root_is_close_to_one_over_M,
    one_root_is_passed_after_the_first_visit,
    the_exponential_leads_late_and_not_early,
    omega_1_falls_slowly,
)
