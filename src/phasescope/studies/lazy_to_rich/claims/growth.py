"""The rich component, later (Appendix C.3.2, (15) to (17), and C.4): w grows exponentially."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import first_growth, settling_time
from ..event_times import value_at
from ..phases import (
    c_star,
    h_star,
    keys,
    once_learned,
    points,
    ran_to_the_end,
    reaches,
)
from . import evidence
from .premises import small_target

MILD = (evidence.paper_alphas_mild, evidence.paper_sigmas_mild, evidence.paper_lengths_mild)
TRUE = (evidence.true_alphas, evidence.true_sigmas, evidence.true_lengths)


def exponent(runs: xr.Dataset) -> xr.DataArray:
    r"""$\frac{N}{c^\star h^{\star2}} \frac1t \ln\frac{w}{\sigma}$: the exponent of $w$ in the theorem's unit."""
    unit = c_star(runs) * h_star(runs) ** 2 / keys(runs)
    grown = np.log(runs.w_kq / ps.number(runs, "sigma"))
    return grown.where(runs.time > 0) / (unit * runs.time)


def half_time(runs: xr.Dataset) -> xr.DataArray:
    """$T^w_{1/2}$, when w is half its target."""
    return reaches(runs, "w_kq", ps.number(runs, "w_star") / 2)


def growing(runs: xr.Dataset) -> xr.DataArray:
    """The records after the start until w is half its target."""
    return (runs.time > 0) & (runs.time <= half_time(runs))


def _grew(runs: xr.Dataset) -> ps.Verdict:
    largest = exponent(runs).where(growing(runs)).max("time")
    return ps.guard(ps.at_least(largest, ps.chosen(0.5, "w did grow"), "largest exponent"))


@claim(
    "(15)",
    on("printed equations", evidence.paper_mild),
    on(
        "printed equations",
        evidence.paper_steep,
        expect="outside",
        because="the exponent 3/2 has lost its sign (and one factor 1 + alpha), so that the bound falls to none as w* nears "
        "1/sqrt(2): the exponent of w is {value:.3g} times the bound at {where}",
    ),
    id="eq15",
    aliases=("C-15",),
    kind="upper",
    tex=r"w \le w(0) \exp\Big(\frac{4 w^{\star2} (1 - 4w^{\star4})^{3/2}}{(1+\alpha^\star)(L-2)} t\Big),\quad w < 1/\sqrt2",
    page="Appendix C.3.2, (15)",
    assumes=small_target,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_dot_product_grows_at_most_as_printed(runs):
    """w <= sigma exp(4 w*^2 (1 - 4 w*^4)^(3/2) t / ((1 + alpha) N)) up to the time at which w is half its target."""
    return once_learned(runs, _grows_at_most_as_printed)


def _grows_at_most_as_printed(runs: xr.Dataset) -> ps.Verdict:
    bound = 4 * (1 - 4 * c_star(runs) ** 2) ** 1.5 / h_star(runs)
    return ps.at_most(
        exponent(runs) / bound,
        ps.stated(1.0, "(15)"),
        "exponent over the bound",
        where=growing(runs),
    ) & _grew(runs)


@claim(
    "(15), corrected",
    on("printed equations", evidence.paper_mild, evidence.paper_strong, evidence.paper_steep),
    on("population", evidence.true_mild, evidence.true_steep),
    id="eq15-corrected",
    aliases=("C-15-corrected",),
    kind="upper",
    whose="corrected",
    erratum="E9",
    tex=r"w \le w(0) \exp\Big(\frac{4 w^{\star2} (1 - 4w^{\star4})^{-3/2}}{(1+\alpha^\star)^2(L-2)} t\Big)",
    page="Appendix C.3.2, (15)",
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_dot_product_grows_at_most_exponentially(*sweeps):
    """w <= sigma exp(4 w*^2 (1 - 4 w*^4)^(-3/2) h*^2 t / N) up to the time at which w is half its target."""
    return ps.all_of(once_learned(runs, _grows_at_most_exponentially) for runs in sweeps)


def _grows_at_most_exponentially(runs: xr.Dataset) -> ps.Verdict:
    bound = 4 * (1 - 4 * c_star(runs) ** 2) ** -1.5
    return ps.at_most(
        exponent(runs) / bound,
        ps.stated(1.0, "(15) with the sign of its exponent"),
        "exponent over the bound",
        where=growing(runs),
    ) & _grew(runs)


@claim(
    "(16)",
    on("printed equations", *MILD),
    on("population", *TRUE),
    id="eq16",
    kind="lower",
    tex=r"T^w_{1/2} \ge (L-2)\Big[\frac{(1+\alpha^\star)^2 \ln(w^\star/2w(0))}{4w^{\star2}(1-4w^{\star4})^{3/2}}"
    r" - \ln(1-(1-w^{\star4})^{1/2})\Big] \ge \frac{(L-2)(1+\alpha^\star)^2}{16 w^{\star2}}\ln\frac1{w(0)}",
    page="Appendix C.3.2, (16)",
    assumes=small_target,
    varies=("alpha", "sigma", "w_star", "length"),
)
def half_of_the_dot_product_takes_at_least_as_long_as_printed(*sweeps):
    """T_1/2^w is at least N (1 + alpha)^2 ln(1 / sigma) / (16 w*^2), the last line of (16)."""
    return ps.all_of(
        ps.at_least(half_time(runs) / last_bound(runs), ps.stated(1.0, "(16)"), "T_1/2^w over (16)")
        for runs in sweeps
    )


def last_bound(runs: xr.Dataset) -> Any:
    """The last line of (16)."""
    logarithm = np.log(1 / ps.number(runs, "sigma"))
    return keys(runs) * logarithm / (16 * c_star(runs) * h_star(runs) ** 2)


def first_bound(runs: xr.Dataset) -> Any:
    """The first line of (16)."""
    w_star = ps.number(runs, "w_star")
    logarithm = np.log(w_star / (2 * ps.number(runs, "sigma")))
    steep = 4 * c_star(runs) * (1 - 4 * c_star(runs) ** 2) ** 1.5
    return keys(runs) * (logarithm / (steep * h_star(runs) ** 2) + settling_time(w_star))


@claim(
    "(16), first line",
    on("printed equations", *MILD),
    on(
        "printed equations",
        evidence.paper_steep,
        expect="outside",
        because="the sign lost in the equation before makes the bound grow without end as w* nears 1/sqrt(2): T_1/2^w is "
        "{value:.3g} of it at {where}",
    ),
    id="eq16-first",
    kind="lower",
    tex=r"T^w_{1/2} \ge (L-2)\Big[\frac{(1+\alpha^\star)^2 \ln(w^\star/2w(0))}{4w^{\star2}(1-4w^{\star4})^{3/2}}"
    r" - \ln(1-(1-w^{\star4})^{1/2})\Big],\quad w < 1/\sqrt2",
    page="Appendix C.3.2, (16), first line",
    assumes=small_target,
    varies=("alpha", "sigma", "w_star", "length"),
)
def half_of_the_dot_product_takes_at_least_the_first_line(*sweeps):
    """T_1/2^w is at least N times (1 + alpha)^2 ln(w* / (2 sigma)) / (4 w*^2 (1 - 4 w*^4)^(3/2)) plus T_1^h / N."""
    return ps.all_of(
        ps.at_least(half_time(runs) / first_bound(runs), ps.stated(1.0, "(16)"), "T_1/2^w over it")
        for runs in sweeps
    )


@claim(
    "(17)",
    on(
        "printed equations",
        evidence.paper_mild,
        expect="false",
        because="h starts at sigma, and w does not grow before h has: the exponent is {value:.2g} of the bound at {where}",
    ),
    id="eq17",
    aliases=("C-17",),
    kind="lower",
    tex=r"w \ge w(0)\exp\Big(\frac{w^{\star2} t}{(1+\alpha^\star)^2(L-2)}\Big),\quad t \in [0, T^w_{1/2}]",
    page="Appendix C.3.2, (17)",
    assumes=small_target,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_dot_product_grows_at_least_exponentially(runs):
    """w >= sigma exp(w*^2 h*^2 t / N) at all times up to that at which w is half its target."""
    found = ps.at_least(
        exponent(runs), ps.stated(1.0, "(17)"), "ln(w / sigma) N / (c* h*^2 t)", where=growing(runs)
    )
    if float(np.max(first_growth(runs))) < 1:
        found = ps.refuted(found, by="closed_forms.first_growth")
    return found & ran_to_the_end(runs)


@claim(
    "(17), once h has been learned",
    on("printed equations", evidence.paper_mild, evidence.paper_strong),
    on(
        "population",
        evidence.true,
        expect="outside",
        because="the printed equation differentiates in one weight where the model has two, and replaces the softmax: the "
        "exponent stays at {value:.3g} of the bound",
        breaks="the simplified model",
    ),
    id="eq17-late",
    aliases=("C-17-late",),
    kind="lower",
    whose="corrected",
    erratum="E20",
    tex=r"w \ge w(0)\exp\Big(\frac{w^{\star2} t}{(1+\alpha^\star)^2(L-2)}\Big),\quad t \in [2(L-2), T^w_{1/2}]",
    page="Appendix C.3.2, (17)",
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_dot_product_grows_at_least_exponentially_later(*sweeps):
    """(17) from t = 2 N on, when h has been learned."""
    return ps.all_of(once_learned(runs, _grows_at_least_exponentially_later) for runs in sweeps)


def _grows_at_least_exponentially_later(runs: xr.Dataset) -> ps.Verdict:
    learned = growing(runs) & (runs.time >= 2 * keys(runs))
    bound = ps.stated(1.0, "(17)")
    return ps.at_least(exponent(runs), bound, "ln(w / sigma) N / (c* h*^2 t)", where=learned)


@claim(
    "Appendix C.4: w(T_o) < 0.01 w*",
    on("printed equations", evidence.paper_sigmas_mild),
    on(
        "training",
        evidence.figure_1,
        expect="outside",
        because="w begins at sigma, which in Figure 1 is more than 0.01 w* before training begins: w(T_1^h) / w* is {value:.2g}",
        breaks="sigma << 1",
    ),
    id="secC.4-start",
    kind="upper",
    tex=r"T_o := T_1^h,\quad h(T_o) = h^\star,\quad w(T_o) < 0.01 w^\star",
    page="Appendix C.4, proof of Phases II and III",
    assumes=small_target,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_dot_product_has_not_begun_when_the_value_is_learned(runs):
    """When h reaches h*, w is still below 0.01 w*, for sigma small enough."""
    then = value_at(runs.w_kq, reaches(runs, "h", h_star(runs)), points(runs))
    part = then / ps.number(runs, "w_star")
    bound = ps.stated(0.01, "Appendix C.4")
    if "sigma" not in runs.dims:
        grows = ps.guard(ps.positive(runs.w_kq, "w"))
        return ps.at_most(part, bound, "w(T_o) / w*") & grows & ran_to_the_end(runs)
    return ps.scan(
        "sigma",
        runs.sigma.values.tolist(),
        lambda sigma: ps.at_most(part.sel(sigma=sigma), bound, "w(T_o) / w*"),
        settles="small",
    ) & ps.guard(ps.positive(then / runs.sigma - 1, "w(T_o) / sigma - 1"))


claims = (
    the_dot_product_grows_at_most_as_printed,
    the_dot_product_grows_at_most_exponentially,
    half_of_the_dot_product_takes_at_least_as_long_as_printed,
    half_of_the_dot_product_takes_at_least_the_first_line,
    the_dot_product_grows_at_least_exponentially,
    the_dot_product_grows_at_least_exponentially_later,
    the_dot_product_has_not_begun_when_the_value_is_learned,
)
