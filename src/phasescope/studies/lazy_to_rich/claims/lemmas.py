"""The lemmas of Appendix D."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from . import tables

ROUNDING = ps.chosen(1e-13, "rounding of the sums")


@claim(
    "Lemma 6",
    on("closed form", ps.tables(tables.softmax_pairs, dimensions=(2, 5, 40))),
    id="lem6",
    kind="upper",
    tex=r"\|\mathrm{softmax}(\theta) - \mathrm{softmax}(\theta')\|_1 \le 2\|\theta - \theta'\|_\infty",
    page="Appendix D, Lemma 6 (Corollary A.7 in Edelman et al.)",
)
def the_softmax_is_lipschitz(table):
    """|softmax(a) - softmax(b)|_1 <= 2 |a - b|_max, for random pairs in 2, 5 and 40 dimensions."""
    some = ps.chosen(0.5, "pairs near the largest ratio, which is 1, were drawn")
    spread = ps.chosen(0.5, "and pairs far apart, with a smaller one")
    return (
        ps.at_most(table.ratio, ps.stated(2.0, "Lemma 6"), "ratio")
        & ps.guard(ps.at_least(table.ratio.max(), some, "largest ratio"))
        & ps.guard(ps.at_most(table.ratio.min(), spread, "smallest ratio"))
    )


@claim(
    "Lemma 7",
    on(
        "closed form",
        ps.tables(tables.hermite, strengths=(-0.9, -0.5, 0.0, 0.2401, 0.4802, 0.9)),
    ),
    id="lem7",
    aliases=("C-lem7",),
    kind="identity",
    tex=r"\mathbb E\, e^{aXY} Z^2 = (1 - a^2)^{-1/2}",
    page="Appendix D, Lemma 7",
)
def the_gaussian_exponential_moment(table):
    """E exp(a X Y) Z^2 = (1 - a^2)^(-1/2) for -1 < a < 1."""
    spread = table.formula.max() - table.formula.min()
    return ps.agree(table.integral, table.formula, rtol=ROUNDING, what="the moment") & ps.guard(
        ps.at_least(spread, ps.chosen(1.0, "a matters"), "range of the formula")
    )


@claim(
    "Lemma 8",
    on(
        "closed form",
        ps.tables(tables.softmax_norms, lengths=(5, 40, 200), first=1),
        expect="false",
        because="from s = 1 on the softmax has one entry more than M has terms: the sides differ by {value:.2g} at {where}",
    ),
    id="lem8",
    kind="identity",
    tex=r"\|\mathrm{softmax}((-p(L-1-s))_{s=1}^{L-1})\|_2^2 = M(2p)/M(p)^2",
    page="Appendix D, Lemma 8",
)
def the_norm_of_the_positional_softmax_as_printed(table):
    """The squared norm of softmax(-p (L - 1 - s)), s from 1 to L - 1, is M(2p) / M(p)^2."""
    return ps.agree(table.norm, table.printed, rtol=ROUNDING, what="squared norm") & _varies(table)


def _varies(table: xr.Dataset) -> ps.Verdict:
    spread = table.printed.max() / table.printed.min()
    return ps.guard(
        ps.at_least(spread, ps.chosen(2.0, "p and L matter"), "range of the right side")
    )


@claim(
    "Lemma 8, corrected",
    on("closed form", ps.tables(tables.softmax_norms, lengths=(5, 40, 200), first=2)),
    id="lem8-corrected",
    kind="identity",
    whose="corrected",
    erratum="E12",
    tex=r"\|\mathrm{softmax}((-p(L-1-s))_{s=2}^{L-1})\|_2^2 = M(2p)/M(p)^2",
    page="Appendix D, Lemma 8",
)
def the_norm_of_the_positional_softmax(table):
    """The squared norm of softmax(-p (L - 1 - s)), s from 2 to L - 1, is M(2p) / M(p)^2."""
    return ps.agree(table.norm, table.printed, rtol=ROUNDING, what="squared norm") & _varies(table)


@claim(
    "Lemma 10",
    on(
        "closed form",
        ps.tables(tables.rearranged),
        expect="false",
        because="f(x) = x, x = (1, 1), y = (2, 0) with weights (0, 1): the right minus the left side is {value:.2g}; the "
        "weights would have to follow the order of the entries",
    ),
    id="lem10",
    aliases=("C-lem10",),
    kind="lower",
    tex=r"x \prec_w y,\ \textstyle\sum_i w_i = 1 \Rightarrow \sum_i w_i f(x_i) \le \sum_i w_i f(y_i)",
    page="Appendix D, Lemma 10",
)
def the_weighted_karamata_inequality(table):
    """If y majorises x, f is convex and the weights sum to 1, then sum w f(x) <= sum w f(y); here f(x) = x, x = (1, 1),
    y = (2, 0), with two sets of weights, (1/2, 1/2) and (0, 1)."""
    return ps.at_least(
        table.above - table.below, ps.stated(0.0, "Lemma 10"), "right minus left side"
    ) & ps.guard(ps.agree(table.first_weight.values, np.array([0.5, 0.0]), what="first weight"))


@claim(
    "Lemma 10, as it is used",
    on("closed form", ps.tables(tables.halves)),
    id="lem10-used",
    aliases=("C-lem10-used",),
    kind="sign",
    whose="corrected",
    erratum="E18",
    tex=r"C(a + b) > C(a) + C(b),\quad C(x) = x(1-x^2)^{-3/2}",
    page="Appendix C.3.2, before (17)",
)
def the_convex_function_is_superadditive(table):
    """C(a + b) > C(a) + C(b) for the convex C of the proof, a + b < 1: all that (17) needs."""
    inside = table.excess.a + table.excess.b < 0.995
    near = table.excess.sel(a=0.49, b=0.49, method="nearest")
    steep = ps.chosen(100.0, "C grows without end near 1")
    return ps.positive(table.excess, "C(a + b) - C(a) - C(b)", where=inside) & ps.guard(
        ps.at_least(near, steep, "at a = b = 0.49")
    )


claims = (
    the_softmax_is_lipschitz,
    the_gaussian_exponential_moment,
    the_norm_of_the_positional_softmax_as_printed,
    the_norm_of_the_positional_softmax,
    the_weighted_karamata_inequality,
    the_convex_function_is_superadditive,
)
