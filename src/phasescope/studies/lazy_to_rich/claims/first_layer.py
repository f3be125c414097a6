"""Stage I (Lemma 2, Appendix C.2): the first layer turns to the previous token, but only logarithmically."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import logarithmic_law
from ..event_times import value_at
from ..phases import ran_to_the_end
from . import evidence, tables
from .kept import as_kept
from .premises import stage_1

ONE_PER_CENT = ps.stated(0.01, "Theorem 4, Phase I: the 4-gram is learned to 1 % of its loss")


def floor(slope: xr.DataArray) -> Any:
    r"""$e^{-2\tilde p}$, the part of the 4-gram's loss that a first layer of this slope leaves for ever."""
    return np.exp(-2 * slope)


@claim(
    "Lemma 2",
    on("population", evidence.stage_one_runs),
    id="lem2",
    aliases=("C-L2",),
    kind="limit",
    tex=r"\lim_{t\to\infty} p^{(1,1)}(t) = +\infty",
    page="Section 3.1.3, Lemma 2",
    as_=("t", "inf"),
    assumes=stage_1,
)
def the_first_layer_sharpens_without_end(runs):
    """Trained alone, the slope of the first layer grows without bound: exp(-2 p), the floor that it leaves for the
    4-gram, tends to 0."""
    late = runs.first_slope.sel(time=slice(1e3, None))
    return ps.tends_to(
        floor(late), 0.0, along="time", within=ONE_PER_CENT, what="exp(-2 p)"
    ) & ran_to_the_end(runs)


@claim(
    "Lemma 2, its law",
    on("population", evidence.stage_one_runs),
    id="ours-lem2-law",
    kind="limit",
    whose="ours",
    tex=r"e^{\tilde p} / (g\, g^\star \pi_{L-1}\, t) \to 1",
    page="Appendix C.2",
    as_=("t", "inf"),
    assumes=stage_1,
)
def the_first_layer_sharpens_like_a_logarithm(runs):
    """The slope of the first layer grows like ln t: e^p / (g g* pi_{L-1} t) tends to 1."""
    late = runs.sel(time=slice(1e3, None)).assign_attrs(runs.attrs)
    near = ps.chosen(0.01, "1 %: the law in the README")
    return (
        ps.tends_to(logarithmic_law(late), 1.0, along="time", within=near, what="the ratio")
        & ps.guard(ps.increasing(runs.first_slope, "slope of the first layer"))
        & ran_to_the_end(runs)
    )


@claim(
    "Figure 1, Stage I of 100,000 iterations",
    on(
        "population",
        evidence.stage_one_runs,
        expect="not_reproduced",
        because="the slope grows like a logarithm: after the 100,000 iterations a first layer that is frozen "
        "leaves {value:.2g} of the 4-gram's loss, from either start that the paper gives",
    ),
    id="fig1-stage1",
    aliases=("C-L2-end",),
    kind="figure",
    tex=r"e^{-2\tilde p(10^4)} \le 0.01",
    page="Appendix B.1, with Section 3.2: Lemma 2 ensures p = infinity in Stage II",
    assumes=stage_1,
)
def stage_one_prepares_the_four_gram(runs):
    """After 100,000 iterations of Stage I the first layer copies the previous token well enough for Stage II to learn
    the 4-gram to 1 %, as Figure 1 shows: the floor that it leaves, exp(-2 p), is at most 0.01."""
    at_the_end = value_at(runs.first_slope, evidence.STAGE_ONE_END)
    return (
        ps.at_most(floor(at_the_end), ONE_PER_CENT, "floor of the 4-gram's loss over its start")
        & ps.guard(ps.increasing(runs.first_slope, "slope of the first layer"))
        & ran_to_the_end(runs)
    )


@claim(
    "Appendix C.2, slopes after 100,000 iterations (ours)",
    on("population", evidence.stage_one_runs, expect="as_before"),
    id="ours-stage1-end",
    aliases=("C-L2-100k",),
    kind="regression",
    whose="ours",
    tex=r"\tilde p(10^4) = 0.8362,\ 0.9404",
    page="Appendix C.2",
    assumes=stage_1,
)
def stage_one_ends_below_one(runs):
    """After 100,000 steps of size 0.1 the slope is 0.8362 from p = 0 and 0.9404 from p = sigma."""
    found = value_at(runs.first_slope, evidence.STAGE_ONE_END)
    return as_kept(found.values, "0.8362 0.9404", "slope") & ran_to_the_end(runs)


@claim(
    "Appendix C.2, function I",
    on("closed form", ps.tables(tables.spreads, sizes=(5, 38, 198))),
    id="secC.2-q",
    aliases=("C-q",),
    kind="monotone",
    tex=r"\mathrm dq/\mathrm d\tilde p \le 0",
    page="Appendix C.2, function I",
)
def the_spread_of_the_four_gram_head_falls(table):
    """q = N^2 |beta|^2 never rises with the slope of the first layer; it falls to N."""
    end = (table.spread / table.N).isel(slope=-1)
    return (
        ps.decreasing(table.spread, "q", along="slope")
        & ps.negative(table["change"], "q'")
        & ps.guard(
            ps.agree(end, 1.0, atol=ps.chosen(1e-3, "exp(-2 slope) at slope 12"), what="q / N")
        )
    )


claims = (
    the_first_layer_sharpens_without_end,
    the_first_layer_sharpens_like_a_logarithm,
    stage_one_prepares_the_four_gram,
    stage_one_ends_below_one,
    the_spread_of_the_four_gram_head_falls,
)
