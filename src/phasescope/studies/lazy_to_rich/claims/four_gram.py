"""The lazy component (Appendix C.3.1): head 1 learns to copy the token two places back."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..event_times import value_at
from ..phases import (
    g_star,
    inverse_start,
    ran_to_the_end,
    reaches,
)
from . import evidence, premises, tables

STANDARD_ERRORS = ps.chosen(3.0, "three standard errors")


@claim(
    "(7)",
    on(
        "closed form",
        ps.tables(tables.closed_form, length=40),
        ps.tables(tables.closed_form, length=200),
    ),
    id="eq7",
    aliases=("C-7",),
    kind="identity",
    tex=r"\mathcal L_{G_4} = \tfrac12 g^{\star2} + \tfrac12 g^2 M(2p)/M(p)^2 - g g^\star/M(p)",
    page="Appendix C.3.1, (7)",
)
def the_four_gram_loss_has_a_closed_form(*found):
    """The printed loss of the 4-gram, with N = L - 2 terms in M, is the sum over the tokens that head 1 reads."""
    return ps.all_of(_is_the_sum(table) for table in found)


def _is_the_sum(table: xr.Dataset) -> ps.Verdict:
    gap = np.abs(table.sampled - table.printed.sel(p=0.3, g=0.6)) / table.deviation
    fine = ps.chosen(3e-4, "enough sequences to tell half a per cent")
    return (
        ps.agree(table.printed, table.direct, atol=ps.chosen(1e-15, "rounding"), what="(7)")
        & ps.at_most(gap, STANDARD_ERRORS, "distance from the sampled loss in standard errors")
        & ps.guard(ps.at_most(table.deviation, fine, "standard error"))
    )


def time_of_the_value(runs: xr.Dataset, share: float) -> xr.DataArray:
    """When g is at a share of its target."""
    return reaches(runs, "g", share * g_star(runs))


@claim(
    "before (8): T_1/2^g",
    on(
        "population",
        evidence.four_gram_sigmas,
        expect="false",
        because="1/M(p) is inverted in the proof: g' is proportional to 1 - exp(-p), so that the start is exponential and "
        "T_1/2^g is {value:.3g} times the bound",
    ),
    id="eq8-half",
    aliases=("C-8",),
    kind="upper",
    tex=r"T_{1/2}^g \le (1 - e^{-2p(0)}) \ln\frac{g^\star(1+e^{-p(0)}) - g(0)}{g^\star(1/2 + e^{-p(0)})} = \mathcal O(2p(0))",
    page="Appendix C.3.1, before (8)",
    assumes=premises.four_gram,
    varies=("alpha", "sigma", "length"),
)
def half_of_the_four_gram_value_comes_at_once(runs):
    """g reaches g*/2 within (1 - exp(-2 sigma)) ln(...) = O(sigma), as printed before (8)."""
    g = g_star(runs)
    sigma = ps.number(runs, "sigma")
    u = np.exp(-sigma)
    bound = (1 - u**2) * np.log((g * (1 + u) - sigma) / (g * (0.5 + u)))
    found = ps.at_most(
        time_of_the_value(runs, 0.5) / bound, ps.stated(1.0, "before (8)"), "T_1/2^g over its bound"
    )
    return ps.refuted(found, by="closed_forms.earliest_value_time") & ran_to_the_end(runs)


@claim(
    "(8): T_1^g = O(1)",
    on(
        "population",
        evidence.four_gram_sigmas,
        expect="false",
        because="g and p start at sigma and grow at the rate g* at most, so that T_1^g is at least "
        "ln(g* / (2 sigma)) / g*: logarithmic in sigma, not bounded ({measured})",
    ),
    id="eq8",
    kind="upper",
    tex=r"T_1^g \le \mathcal O(\sigma_{init} + (e^{2p_1}-1)(1+1/\alpha^\star)^2) = \mathcal O(1)",
    page="Appendix C.3.1, (8)",
    as_=("1/sigma", "inf"),
    assumes=premises.four_gram,
    varies=("alpha", "sigma", "length"),
)
def the_four_gram_value_comes_in_constant_time(runs):
    """g reaches g* in a time that stays bounded as sigma falls: at least ln(g* / (2 sigma)) / g* passes."""
    times = inverse_start(time_of_the_value(runs, 1.0))
    found = ps.big_o(times, along="1/sigma", what="T_1^g")
    return ps.refuted(found, by="closed_forms.earliest_value_time") & ran_to_the_end(runs)


@claim(
    "before (8): p_1",
    on(
        "population",
        evidence.four_gram_long_alphas,
        expect="false",
        because="the bound is negative where 2 g*^2 < 1, which alpha > 1 does not exclude; p_1 exceeds it by {value:.3g} "
        "times its size at alpha = {at[alpha]:g}",
    ),
    id="eq8-p1",
    kind="upper",
    tex=r"p_1 \le 1/(2 (\alpha^\star/(1+\alpha^\star))^2 - 1),\quad \alpha^\star > 1",
    page="Appendix C.3.1, before (8)",
    assumes=premises.alpha_above_one,
    varies=("alpha", "sigma", "length"),
)
def the_slope_is_bounded_when_the_value_arrives(runs):
    """When g reaches g*, the slope p_1 is at most 1 / (2 g*^2 - 1), for alpha > 1."""
    runs = runs.sel(alpha=runs.alpha > 1)
    then = value_at(runs.p, time_of_the_value(runs, 1.0))
    bound = 1 / (2 * g_star(runs) ** 2 - 1)
    excess = (then - bound) / np.abs(bound)
    found = ps.at_most(excess, ps.stated(0.0, "before (8)"), "(p_1 - bound) / |bound|")
    return ps.refuted(found, by="the bound, which is negative for alpha < 2.41") & ran_to_the_end(
        runs
    )


@claim(
    "Appendix C.3.1, stable region",
    on("population", evidence.four_gram_long_alphas),
    on("training", evidence.figure_1),
    id="secC.3.1-stable",
    aliases=("C-P2",),
    kind="sign",
    tex=r"g^\star < g(t) < 2 g^\star,\ \mathrm dp/\mathrm dt > 0,\quad t > T_1^g",
    page="Appendix C.3.1, part II",
    assumes=premises.four_gram,
    varies=("alpha", "sigma", "length"),
)
def the_four_gram_value_overshoots_and_stays_below_twice_its_target(runs):
    """After T_1^g, g stays between g* and 2 g*, and p increases."""
    ratio = runs.g / g_star(runs)
    begins = time_of_the_value(runs, 1.0)
    step = runs.p.diff("time")
    coarse = 10.0 if "time_per_step" in runs.attrs else 0.0  # a batch moves p by more than a step
    later = runs.time > begins + coarse
    return (
        ps.positive(ratio - 1, "g / g* - 1", where=later)
        & ps.positive(2 - ratio, "2 - g / g*", where=later)
        & ps.positive(step, "change of p", where=later.sel(time=step.time))
        & ran_to_the_end(runs)
    )


@claim(
    "Appendix C.3.1, first Lyapunov function",
    on("population", evidence.four_gram_long_alphas),
    on("population", evidence.four_gram_alphas),
    id="secC.3.1-lyapunov",
    aliases=("C-Lyap1",),
    kind="lower",
    tex=r"\mathrm dG(u,v)/\mathrm dt \le -\tfrac{g^{\star2}}{65} G(u,v)^2,\quad t > T_1^g",
    page="Appendix C.3.1, part II",
    assumes=premises.four_gram,
    varies=("alpha", "sigma", "length"),
)
def the_first_lyapunov_function_falls(runs):
    """After T_1^g, G(u, v) decreases, at least as fast as g*^2 G^2 / 65."""
    later = runs.time > time_of_the_value(runs, 1.0)
    speed = -runs.lyap_uv_rate / (g_star(runs) ** 2 * runs.lyap_uv**2)
    bound = ps.stated(1 / 65, "Appendix C.3.1, part II")
    change = np.gradient(np.log(runs.lyap_uv), runs.time, axis=runs.lyap_uv.get_axis_num("time"))
    measured = runs.lyap_uv.copy(data=change) * runs.lyap_uv
    records = ps.chosen(0.05, "records 1.8 % apart")
    settled = later & (runs.time > 50)
    return (
        ps.at_least(speed, bound, "-dG/dt / (g*^2 G^2)", where=later)
        & ps.guard(ps.agree(measured, runs.lyap_uv_rate, rtol=records, what="dG/dt", where=settled))
        & ran_to_the_end(runs)
    )


@claim(
    "(9)",
    on("population", evidence.four_gram_long_alphas),
    on("population", evidence.four_gram_alphas),
    id="eq9",
    aliases=("C-9",),
    kind="upper",
    tex=r"e^{-p(t)} = \mathcal O(1/\sqrt t),\ g(t) - g^\star = \mathcal O(1/\sqrt t)",
    page="Appendix C.3.1, (9)",
    as_=("t", "inf"),
    assumes=premises.four_gram,
    varies=("alpha", "sigma", "length"),
)
def slope_and_value_converge_like_the_inverse_root(runs):
    """exp(-p) and g - g* are of the order t^(-1/2) at most."""
    late = runs.sel(time=slice(100, None))
    root = np.sqrt(late.time)
    return (
        ps.big_o(np.exp(-late.p) * root, along="time", what="exp(-p) t^(1/2)")
        & ps.big_o((late.g - g_star(runs)) * root, along="time", what="(g - g*) t^(1/2)")
        & ran_to_the_end(runs)
    )


claims = (
    the_four_gram_loss_has_a_closed_form,
    half_of_the_four_gram_value_comes_at_once,
    the_four_gram_value_comes_in_constant_time,
    the_slope_is_bounded_when_the_value_arrives,
    the_four_gram_value_overshoots_and_stays_below_twice_its_target,
    the_first_lyapunov_function_falls,
    slope_and_value_converge_like_the_inverse_root,
)
