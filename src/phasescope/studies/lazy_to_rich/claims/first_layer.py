"""Stage I (Lemma 2, Appendix C.2): the first layer turns to the previous token, but only logarithmically."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from ..closed_forms import logarithmic_law
from ..phases import (
    ran_to_the_end,
)
from . import evidence, tables


@claim("Lemma 2", theory(evidence.stage_one_long, evidence.stage_one_long_zero), id="C-L2")
def the_first_layer_sharpens_without_end(*runs):
    """Trained alone, the slope of the first layer grows without bound, like ln t: e^p / (g g* pi_{L-1} t) tends to 1."""
    return ps.all_of(
        ps.increasing(run.first_slope, "slope of the first layer")
        & ps.within(
            ps.slope(np.log(late.time), late.first_slope), 0.99, 1.01, "d p / d ln t after 1e6"
        )
        & ps.within(logarithmic_law(run).isel(time=-1), 0.99, 1.01, "e^p / (g g* pi t) at the end")
        & ran_to_the_end(run)
        for run in runs
        for late in [run.sel(time=slice(1e6, None))]
    )


@claim(
    "Section 3.1: p = infinity in Stage II",
    published(
        evidence.stage_one_published_zero,
        evidence.stage_one_published,
        expect=Outcome.FAILS,
        because="growth is logarithmic: 100,000 steps end at a slope of 0.84 (p = 0) or 0.94 (p = sigma), and a frozen "
        "first layer leaves 15 to 19 % of the 4-gram loss",
    ),
    theory(evidence.stage_one_long_zero, evidence.stage_one_long),
    beyond(evidence.joint),
    id="C-L2-end",
)
def stage_one_prepares_the_four_gram(*runs):
    """At the end of Stage I the first layer copies the previous token well enough for the 4-gram to be learned to 1 %:
    the floor that it leaves, exp(-2 p), is at most 0.01."""
    return ps.all_of(
        ps.increasing(run.first_slope, "slope of the first layer")
        & ps.at_most(
            np.exp(-2 * run.first_slope.isel(time=-1)),
            0.01,
            "floor of the 4-gram loss over its start",
        )
        & ran_to_the_end(run)
        for run in runs
    )


@claim(
    "Appendix C.2, slopes in the text",
    published(evidence.stage_one_published_zero, evidence.stage_one_published),
    id="C-L2-100k",
)
def stage_one_ends_below_one(zero, sigma):
    """After the stated 100,000 steps of size 0.1 the slope is 0.836 from p = 0 and 0.940 from p = sigma."""
    return (
        ps.agree(zero.first_slope.isel(time=-1), 0.836, atol=5e-4, what="slope from p = 0")
        & ps.agree(sigma.first_slope.isel(time=-1), 0.9404, atol=5e-5, what="slope from p = sigma")
        & ran_to_the_end(zero)
        & ran_to_the_end(sigma)
    )


@claim(
    "Appendix C.2, monotonicity of q",
    theory(ps.tables(tables.spreads, sizes=(5, 38, 198))),
    id="C-q",
)
def the_spread_of_the_four_gram_head_falls(table):
    """q = N^2 |beta|^2 never rises with the slope of the first layer, and falls from nearly 2 N to N."""
    ends = table.spread / table.N
    return (
        ps.at_most(table["change"], 0.0, "q'")
        & ps.within(ends.isel(slope=-1), 1.0, 1.001, "q / N at slope 12")
        & ps.within(ends.isel(slope=0, N=[1, 2]), 1.7, 2.0, "q / N at slope 0.0001")
    )


claims = (
    the_first_layer_sharpens_without_end,
    stage_one_prepares_the_four_gram,
    stage_one_ends_below_one,
    the_spread_of_the_four_gram_head_falls,
)
