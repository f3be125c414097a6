"""The rich component (Appendix C.3.2, P1, (11), (14), step II.2): h overshoots and comes back as w grows; G(v, h) falls."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import tipping_weight
from ..event_times import value_at
from ..phases import (
    c_star,
    falls,
    h_star,
    keys,
    learning,
    once_learned,
    points,
    reaches,
    turning_time,
)
from . import evidence, tables
from .premises import second_lyapunov, simplified

LANES = tuple(np.linspace(0.02, 0.7, 35).round(4).tolist())


@claim(
    "Appendix C.3.2 (P1.1-P1.3)",
    on("printed equations", evidence.paper_mild, evidence.paper_strong),
    on("population", evidence.true_mild, evidence.true_steep),
    id="secC.3.2-P1",
    aliases=("C-P1",),
    kind="sign",
    tex=r"h > h^\star\ (t > T_1^h);\quad \dot w > 0,\ w < w^\star;\quad \dot h > 0\ (t < T_2^h),\ \dot h < 0\ (t > T_2^h)",
    page="Appendix C.3.2, part I",
    assumes=simplified,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_value_overshoots_once_and_the_dot_product_only_grows(*sweeps):
    """h passes h*, stays above it and has one maximum; w increases and stays below w*."""
    return ps.all_of(once_learned(runs, _overshoots_once) for runs in sweeps)


def _overshoots_once(runs: xr.Dataset) -> ps.Verdict:
    target = h_star(runs)
    peak = turning_time(runs)
    going = learning(runs)
    rising = (runs.h_qe - runs.h) * xr.where(runs.time < peak, 1.0, -1.0)
    later = going & (runs.time > reaches(runs, "h", target))
    return (
        ps.positive(runs.h / target - 1, "h / h* - 1 after T_1^h", where=later)
        & ps.positive(
            rising / target, "how h rises before its maximum and falls after", where=going
        )
        & ps.positive(runs.growth_rate, "growth rate of w", where=going)
        & ps.positive(1 - runs.w_kq / ps.number(runs, "w_star"), "1 - w / w*", where=going)
        & ps.guard(ps.positive(runs.time[-1] - peak, "the end minus T_2^h"))
    )


@claim(
    "(11)",
    on("printed equations", evidence.paper_mild, evidence.paper_strong),
    id="eq11",
    aliases=("C-11",),
    kind="sign",
    tex=r"w(T_2^h) > w^\circ \ge w^\star/2",
    page="Appendix C.3.2, (11)",
    assumes=simplified,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_value_turns_beyond_the_tipping_weight(*sweeps):
    """When h is largest, w exceeds w°, which is at least w*/2."""
    found = []
    for runs in sweeps:
        turning = value_at(runs.w_kq, turning_time(runs), points(runs)) / runs.w_star
        tipping = tipping_weight(runs.w_star) / runs.w_star
        found.append(ps.positive(turning / tipping - 1, "w(T_2^h) / w° - 1"))
        found.append(ps.at_least(tipping, ps.stated(0.5, "(11)"), "w° / w*"))
    return ps.all_of(found)


@claim(
    "(14)",
    on("printed equations", evidence.paper_mild, evidence.paper_strong),
    on("population", evidence.true_mild, evidence.true_steep),
    id="eq14",
    aliases=("C-14", "C-14-wide"),
    kind="upper",
    tex=r"h^\star \le h(t) \le (1 + 0.04375 w^\star) h^\star,\quad t \ge T_1^h,\ 0 < w^\star < c",
    page="Appendix C.3.2, (14)",
    assumes=simplified,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_value_overshoots_by_little(*sweeps):
    """After T_1^h, h stays below (1 + 0.04375 w*) h*, for w* below some constant c."""
    runs = {float(w): ds.sel(w_star=w) for ds in sweeps for w in ds.w_star.values}
    return ps.scan(
        "bounded_target", list(runs), lambda w: _overshoots_by_little(runs[w], w), settles="small"
    )


def _overshoots_by_little(run: xr.Dataset, w_star: float) -> ps.Verdict:
    top = run.h.max("time") / h_star(run)
    left = run.loss_ih.isel(time=-1) / run.loss_ih.isel(time=0)
    return (
        ps.at_most((top - 1) / w_star, ps.stated(0.04375, "(14)"), "largest (h / h* - 1) / w*")
        & ps.guard(ps.at_least(top, ps.stated(1.0, "(14): h >= h*"), "largest h / h*"))
        & ps.guard(ps.at_most(left, ps.chosen(1e-5, "it was learned"), "loss left at the end"))
    )


@claim(
    "before (14): R(w*) < 1 + 0.04 w*",
    on("closed form", ps.tables(tables.overshoots, targets=LANES)),
    id="eq14-R",
    aliases=("C-14-R",),
    kind="upper",
    tex=r"R(w^\star) < 1 + 0.04 w^\star,\quad 0 < w^\star < c",
    page="Appendix C.3.2, before (14)",
)
def the_bound_on_the_overshoot_is_flat(table):
    """R(w*) < 1 + 0.04 w* for w* below some constant c."""
    excess = (table.R - 1) / table.w_star
    return ps.scan(
        "w_star",
        excess.w_star.values.tolist(),
        lambda w: (
            ps.at_most(excess.sel(w_star=w), ps.stated(0.04, "before (14)"), "(R - 1) / w*")
            & ps.guard(ps.positive(excess.sel(w_star=w), "(R - 1) / w*"))
        ),
        settles="small",
    )


@claim(
    "Appendix C.3.2, second Lyapunov function",
    on("printed equations", evidence.paper_mild, evidence.paper),
    on("population", evidence.true_mild),
    id="secC.3.2-lyapunov",
    aliases=("C-Lyap2",),
    kind="lower",
    tex=r"\mathrm dG(v,h)/\mathrm dt \le -\tfrac14 v^\star h^{\star2} G(v,h)/(L-2),\quad t > T_2^h,\ v^\star \le 0.3",
    page="Appendix C.3.2, step II.2",
    assumes=second_lyapunov,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_second_lyapunov_function_falls(*sweeps):
    """After T_2^h, G(v, h) decreases at a rate of at least w*^2 h*^2 / (4 N), for w*^2 <= 0.3."""
    return ps.all_of(once_learned(runs, _falls_exponentially) for runs in sweeps)


def _falls_exponentially(runs: xr.Dataset) -> ps.Verdict:
    unit = c_star(runs) * h_star(runs) ** 2 / keys(runs)
    peak = turning_time(runs)
    later = learning(runs) & (runs.time > peak)
    speed = -runs.lyap_vh_rate / (unit * runs.lyap_vh)
    quarter = ps.stated(0.25, "Appendix C.3.2, step II.2")
    return (
        ps.at_least(speed, quarter, "-N dG/dt / (c* h*^2 G)", where=later)
        & ps.guard(falls(runs.lyap_vh, "G(v, h)", where=later))
        & ps.guard(ps.positive(runs.time[-1] - peak, "the end minus T_2^h"))
    )


claims = (
    the_value_overshoots_once_and_the_dot_product_only_grows,
    the_value_turns_beyond_the_tipping_weight,
    the_value_overshoots_by_little,
    the_bound_on_the_overshoot_is_flat,
    the_second_lyapunov_function_falls,
)
