"""Sharp laws of the lazy component: when head 1 is learned, and with which constants it converges. All are ours."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import earliest_value_time
from ..phases import falls_to, g_star, keys, ran_to_the_end
from . import evidence, premises
from .four_gram import time_of_the_value


@claim(
    "T_I, its true law (ours)",
    on("population", evidence.four_gram_sigmas, evidence.four_gram_lengths),
    id="ours-TI-law",
    aliases=("C-TI-law",),
    kind="rate",
    whose="ours",
    tex=r"T_I = 50/g^{\star2} + \ln\min(N, 1/\sigma)/g^\star + \mathcal O(1)",
    page="Section 3.2, Theorem 4, Phase I",
    assumes=ps.assume(model={"population": ("paper_flow",)}),
)
def learning_the_four_gram_takes_logarithmic_time(sigmas, lengths):
    """T_I = 50 / g*^2 + ln(min(N, 1/sigma)) / g* + O(1), the tail of the 1/t law after an exponential start: as sigma falls
    in long sequences, and as N grows from a very small start, T_I grows like a logarithm over g*."""
    slow = np.exp(g_star(sigmas) * falls_to(sigmas, "loss_g4", 0.01))
    long = np.exp(g_star(lengths) * falls_to(lengths, "loss_g4", 0.01))
    law = ps.derived(1.0, "an exponential start at the rate g*")
    tolerance = ps.chosen(0.05, "what an O(1) that still changes leaves over the range")
    return (
        ps.scales_like(slow, 1 / sigmas.sigma, law, tolerance, "exp(g* T_I) in 1/sigma")
        & ps.scales_like(long, keys(lengths), law, tolerance, "exp(g* T_I) in N")
        & ran_to_the_end(lengths)
    )


@claim(
    "T_I over alpha (ours)",
    on("population", evidence.four_gram_alphas),
    id="ours-TI-alpha",
    kind="approx",
    whose="ours",
    tex=r"T_I \simeq 50/g^{\star2} + \ln(N)/g^\star",
    page="Section 3.2, Theorem 4, Phase I",
    assumes=ps.assume(model={"population": ("paper_flow",)}),
)
def learning_the_four_gram_takes_longer_where_it_weighs_less(runs):
    """T_I is 50 / g*^2 + ln(N) / g* within 5 %, for alpha from 0.3 to 10 at L = 40."""
    g = g_star(runs)
    law = 50 / g**2 + np.log(keys(runs)) / g
    near = ps.chosen(0.05, "an O(1) beside 60 to 1000")
    return ps.agree(falls_to(runs, "loss_g4", 0.01), law, rtol=near, what="T_I") & ran_to_the_end(
        runs
    )


@claim(
    "(8), its true law (ours)",
    on("population", evidence.four_gram_sigmas),
    id="ours-eq8-law",
    aliases=("C-8-law",),
    kind="rate",
    whose="ours",
    tex=r"T^g_s = \ln(1/\sigma)/g^\star + \mathcal O(1) \ge \ln(s g^\star/(2\sigma))/g^\star",
    page="Appendix C.3.1, (8)",
    assumes=premises.four_gram,
)
def the_four_gram_value_comes_after_a_logarithm(runs):
    """g reaches g*/2 and g* after ln(1/sigma) / g* + O(1), and never before ln(s g* / (2 sigma)) / g*, s = 1/2 or 1."""
    law = ps.derived(1.0, "an exponential start at the rate g*")
    tolerance = ps.chosen(0.05, "what an O(1) that still changes leaves over the range")
    found = []
    for share in (0.5, 1.0):
        times = time_of_the_value(runs, share)
        earliest = earliest_value_time(runs.sigma, ps.number(runs, "alpha"), share)
        grown = np.exp(g_star(runs) * times)
        found.append(
            ps.scales_like(grown, 1 / runs.sigma, law, tolerance, "exp(g* T^g) in 1/sigma")
        )
        found.append(ps.positive(times - earliest, "T^g minus its lower bound"))
    return ps.all_of(found) & ran_to_the_end(runs)


@claim(
    "(9), the constants (ours)",
    on("population", evidence.four_gram_long_alphas),
    id="ours-eq9-law",
    kind="limit",
    whose="ours",
    tex=r"2 g^{\star2} t\, e^{-2p} \to 1,\ (g - g^\star)/(g^\star e^{-p}) \to 1",
    page="Appendix C.3.1, (9)",
    as_=("t", "inf"),
    assumes=premises.four_gram,
)
def slope_and_value_converge_with_sharp_constants(runs):
    """2 g*^2 t exp(-2 p) and (g - g*) / (g* exp(-p)) tend to 1."""
    late = runs.sel(time=slice(100, None))
    g = g_star(runs)
    u = np.exp(-late.p)
    near = ps.chosen(0.05, "5 %")
    return (
        ps.tends_to(
            2 * g**2 * late.time * u**2, 1.0, along="time", within=near, what="2 g*^2 t u^2"
        )
        & ps.tends_to(
            (late.g - g) / (g * u), 1.0, along="time", within=near, what="(g - g*)/(g* u)"
        )
        & ran_to_the_end(runs)
    )


claims = (
    learning_the_four_gram_takes_logarithmic_time,
    learning_the_four_gram_takes_longer_where_it_weighs_less,
    the_four_gram_value_comes_after_a_logarithm,
    slope_and_value_converge_with_sharp_constants,
)
