"""The lemmas of Appendix D."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import Outcome, claim, theory

from . import tables


@claim(
    "Lemma 7",
    theory(ps.tables(tables.hermite, strengths=(-0.9, -0.5, 0.0, 0.2401, 0.4802, 0.9))),
    id="C-lem7",
)
def the_gaussian_exponential_moment(table):
    """E exp(a X Y) Z^2 = (1 - a^2)^(-1/2) for -1 < a < 1."""
    return ps.agree(table.integral, table.formula, rtol=1e-13, what="the moment") & ps.within(
        table.integral.sel(a=0.9), 2.29415, 2.29417, "at a = 0.9"
    )


@claim(
    "Lemma 10",
    theory(
        ps.tables(tables.rearranged),
        expect=Outcome.FAILS,
        because="with weights (0, 1) it says 1 <= 0; the weights would have to follow the order of the entries",
    ),
    id="C-lem10",
)
def the_weighted_karamata_inequality(table):
    """If y majorises x, f is convex and the weights sum to one, then sum w f(x) <= sum w f(y)."""
    return ps.at_least(table.above - table.below, 0.0, "right minus left side") & ps.agree(
        table.first_weight.values, np.array([0.5, 0.0]), what="first weight"
    )


@claim("Lemma 10, as it is used", theory(ps.tables(tables.halves)), id="C-lem10-used")
def the_convex_function_is_superadditive(table):
    """C(a + b) > C(a) + C(b) for the convex C of the proof: all that (17) needs."""
    inside = table.excess.a + table.excess.b < 0.995
    return ps.positive(table.excess, "C(a + b) - C(a) - C(b)", where=inside) & ps.at_least(
        table.excess.sel(a=0.49, b=0.49, method="nearest"), 100.0, "at a = b = 0.49"
    )


claims = (
    the_gaussian_exponential_moment,
    the_weighted_karamata_inequality,
    the_convex_function_is_superadditive,
)
