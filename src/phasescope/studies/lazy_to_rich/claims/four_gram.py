"""The lazy component (Appendix C.3.1): head 1 learns to copy the token two places back."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import Outcome, claim, published, theory

from ..phases import (
    falls,
    falls_to,
    g_star,
    keys,
    ran_to_the_end,
    reaches,
)
from . import evidence, tables


@claim(
    "(7)",
    published(ps.tables(tables.closed_form, length=40)),
    theory(ps.tables(tables.closed_form, length=200)),
    id="C-7",
)
def the_four_gram_loss_has_a_closed_form(table):
    """The printed loss of the 4-gram, with N = L - 2 terms in M, is the sum over the tokens that head 1 reads."""
    there = table.printed.sel(p=0.3, g=0.6)
    gap = np.abs(table.sampled - there) / table.deviation
    return (
        ps.agree(table.printed, table.direct, atol=1e-15, what="(7)")
        & ps.within(there, 0.07403, 0.07405, "loss at p = 0.3, g = 0.6")
        & ps.at_most(gap, 3.0, "distance from the sampled loss in standard errors")
        & ps.at_most(table.deviation, 3e-4, "standard error")
    )


def _lengths(runs: tuple[xr.Dataset, ...]) -> np.ndarray:
    return np.array([keys(run) for run in runs], float)


@claim(
    "Theorem 4, Phase I: T_I = O(1)",
    theory(
        *evidence.four_gram_lengths,
        expect=Outcome.FAILS,
        because="g and p start at sigma and grow at rate g*, so T_I has a term ln(min(N, 1/sigma)) / g*: logarithmic, and "
        "harmless in size (205 to 214)",
    ),
    id="C-TI",
)
def learning_the_four_gram_takes_a_constant_time(*runs):
    """T_I, when the 4-gram loss is at 1 % of its start, does not grow with the length of the sequence."""
    times = np.array([float(falls_to(run, "loss_g4", 0.01)) for run in runs])
    return ps.within(
        ps.slope(np.log(_lengths(runs)), times), -0.1, 0.1, "d T_I / d ln N"
    ) & ps.within(times, 200.0, 220.0, "T_I")


@claim(
    "T_I, its true law",
    theory(evidence.four_gram_alphas, evidence.four_gram_sigmas, *evidence.four_gram_lengths),
    id="C-TI-law",
)
def learning_the_four_gram_takes_logarithmic_time(alphas, sigmas, *runs):
    """T_I = 50 / g*^2 + ln(min(N, 1/sigma)) / g* + O(1): the tail of the 1/t law, after an exponential start."""
    slower = ps.slope(np.log(1 / sigmas.sigma), falls_to(sigmas, "loss_g4", 0.01))
    longer = ps.slope(
        np.log(_lengths(runs)), np.array([float(falls_to(run, "loss_g4", 0.01)) for run in runs])
    )
    g = g_star(alphas)
    times = falls_to(alphas, "loss_g4", 0.01)
    rest = times - 50 / g**2 - np.log(keys(alphas)) / g
    return (
        ps.within(0.5 * slower, 0.95, 1.05, "g* d T_I / d ln(1/sigma)")
        & ps.within(0.5 * longer, 0.95, 1.05, "g* d T_I / d ln N")
        & ps.within(rest / times, -0.05, 0.05, "what the law leaves of T_I")
        & ps.agree(
            times.sel(alpha=[0.5, 1.0, 3.0, 10.0]).values,
            np.array([455.94, 205.46, 93.248, 64.233]),
            rtol=1e-4,
            what="T_I",
        )
    )


@claim(
    "(8), first half",
    published(
        evidence.paper,
        expect=Outcome.FAILS,
        because="1/M(p) is inverted in the proof: g' is proportional to 1 - exp(-p)",
    ),
    theory(
        evidence.four_gram_sigmas,
        expect=Outcome.FAILS,
        because="the same; the time grows like ln(1/sigma) / g*",
    ),
    id="C-8",
)
def half_of_the_four_gram_value_comes_at_once(run):
    """g reaches g*/2 within (1 - exp(-2 sigma)) ln(...) = O(sigma), as printed before (8)."""
    g = g_star(run)
    sigma = ps.number(run, "sigma")
    u = np.exp(-sigma)
    bound = (1 - u**2) * np.log((g * (1 + u) - sigma) / (g * (0.5 + u)))
    return ps.at_most(reaches(run, "g", g / 2), bound, "T_1/2^g") & ran_to_the_end(run)


@claim("(8), its true law", theory(evidence.four_gram_sigmas, evidence.paper), id="C-8-law")
def the_four_gram_value_comes_after_a_logarithm(sigmas, run):
    """g reaches g*/2 and g* after ln(1/sigma) / g* + O(1): at 6.870 and 9.866 in Figure 1, at 11.95 and 14.91 for
    sigma = 0.001 and long sequences."""
    small = sigmas.sel(sigma=1e-3)
    found = [reaches(ds, "g", share * 0.5) for ds in (run, small) for share in (0.5, 1.0)]
    slopes = [
        ps.slope(np.log(1 / sigmas.sigma), reaches(sigmas, "g", share * 0.5))
        for share in (0.5, 1.0)
    ]
    return (
        ps.within(0.5 * np.array(slopes), 0.95, 1.05, "g* d T / d ln(1/sigma)")
        & ps.agree(
            np.array(list(map(float, found))),
            np.array([6.870, 9.866, 11.95, 14.91]),
            rtol=3e-4,
            what="T^g",
        )
        & ran_to_the_end(run)
    )


@claim(
    "Appendix C.3.1, convergence phase",
    published(evidence.four_gram_alphas),
    theory(evidence.four_gram_long_alphas),
    id="C-P2",
)
def the_four_gram_value_overshoots_and_stays_below_twice_its_target(runs):
    """After T_1^g, g stays between g* and 2 g*; p increases at all times."""
    ratio = runs.g / g_star(runs)
    later = runs.time > reaches(runs, "g", g_star(runs))
    margin = xr.apply_ufunc(np.minimum, ratio - 1, 2 - ratio)
    return (
        ps.positive(margin, "distance of g / g* from 1 and 2", where=later)
        & ps.increasing(runs.p, "p")
        & ps.within(ratio.max("time"), 1.2, 1.6, "largest g / g*")
    )


@claim(
    "Appendix C.3.1, first Lyapunov function",
    published(evidence.four_gram_alphas),
    theory(evidence.four_gram_long_alphas),
    id="C-Lyap1",
)
def the_first_lyapunov_function_falls(runs):
    """After T_1^g, G(u, v) decreases, at least as fast as g*^2 G^2 / 65."""
    later = runs.time > reaches(runs, "g", g_star(runs))
    speed = -runs.lyap_uv_rate / (g_star(runs) ** 2 * runs.lyap_uv**2)
    change = np.gradient(np.log(runs.lyap_uv), runs.time, axis=runs.lyap_uv.get_axis_num("time"))
    measured = runs.lyap_uv.copy(data=change) * runs.lyap_uv
    settled = later & (runs.time > 50)
    return (
        ps.at_least(speed, 1 / 65, "-dG/dt / (g*^2 G^2)", where=later)
        & falls(runs.lyap_uv, "G(u, v)", where=later)
        & ps.agree(measured, runs.lyap_uv_rate, rtol=0.05, what="dG/dt", where=settled)
    )


@claim(
    "(9)", published(evidence.four_gram_alphas), theory(evidence.four_gram_long_alphas), id="C-9"
)
def slope_and_value_converge_like_the_inverse_root(runs):
    """exp(-p) and g - g* fall like t^(-1/2); sharply, 2 g*^2 t exp(-2 p) tends to 1."""
    g = g_star(runs)
    u = np.exp(-runs.p)
    tail = runs.time > 2500
    late = runs.sel(time=slice(2500, None))
    return (
        ps.within(2 * g**2 * runs.time * u**2, 0.99, 1.01, "2 g*^2 t exp(-2p)", where=tail)
        & ps.within((runs.g - g) / (g * u), 0.95, 1.05, "(g - g*) / (g* exp(-p))", where=tail)
        & ps.scales_like(
            np.exp(-late.p), late.time + 0 * late.p, -0.5, 0.005, "exp(-p)", along="time"
        )
        & ps.scales_like(late.g - g, late.time + 0 * late.g, -0.5, 0.02, "g - g*", along="time")
    )


claims = (
    the_four_gram_loss_has_a_closed_form,
    learning_the_four_gram_takes_a_constant_time,
    learning_the_four_gram_takes_logarithmic_time,
    half_of_the_four_gram_value_comes_at_once,
    the_four_gram_value_comes_after_a_logarithm,
    the_four_gram_value_overshoots_and_stays_below_twice_its_target,
    the_first_lyapunov_function_falls,
    slope_and_value_converge_like_the_inverse_root,
)
