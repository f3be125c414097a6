"""The rich component (Appendix C.3.2): head 2 learns its value h, overshoots, and comes back as its dot product w grows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from ..event_times import value_at
from ..phases import c_star, falls, h_star, keys, number, points, ran_to_the_end, reaches, spec_of, turning_time
from . import evidence

STUCK = 1e-9  # of the loss at the start: below it the differences from the fixed point are rounding


def learning(runs: xr.Dataset) -> xr.DataArray:
    """The records at which something is left to learn."""
    return runs.loss_ih > STUCK * runs.loss_ih.isel(time=0, drop=True)


def once_learned(runs: xr.Dataset, judge: Callable[[], ps.Verdict], left: float = 1e-5) -> ps.Verdict:
    """What `judge` says if all lanes have learned the induction head at their end; a horizon before that says nothing."""
    last = float((runs.loss_ih.isel(time=-1) / runs.loss_ih.isel(time=0)).max(skipna=False))
    if not last <= left:
        return ps.undecided(f"at the end {last:.3g} of the induction head's loss is left", f"a run until {left:g}")
    return judge()


@claim(
    "Appendix C.3.2 (P1.1-P1.3)",
    published(evidence.paper_mild, evidence.paper_strong),
    beyond(evidence.true_wide),
    id="C-P1",
)
def the_value_overshoots_once_and_the_dot_product_only_grows(*sweeps):
    """h passes h*, stays above it and has one maximum; w increases and stays below w*."""
    return ps.all_of(once_learned(runs, lambda runs=runs: _overshoots_once(runs)) for runs in sweeps)


def _overshoots_once(runs: xr.Dataset) -> ps.Verdict:
    target, peak, going = h_star(runs), turning_time(runs), learning(runs)
    rising = (runs.h_qe - runs.h) * xr.where(runs.time < peak, 1.0, -1.0)
    later = going & (runs.time > reaches(runs, "h", target))
    return (
        ps.positive(runs.h / target - 1, "h / h* - 1 after T_1^h", where=later)
        & ps.positive(rising / target, "how h rises before its maximum and falls after", where=going)
        & ps.positive(runs.growth_rate, "growth rate of w", where=going)
        & ps.positive(1 - runs.w_kq / number(runs, "w_star"), "1 - w / w*", where=going)
        & ps.within(peak, 0.0, runs.time[-1], "T_2^h")
    )


def tipping_weight(w_star: xr.DataArray) -> xr.DataArray:
    r"""$w^\circ$ of (11)."""
    c = w_star**2
    inner = ((4 * c**2 - 3) ** 2 - 16 * c**2) ** 0.5
    return ((3 - 4 * c**2 - inner) / (8 * c)) ** 0.5


@claim("(11)", published(evidence.paper_mild, evidence.paper_strong), id="C-11")
def the_value_turns_beyond_the_tipping_weight(*sweeps):
    """When h is largest, w exceeds w°, which is at least w*/2; w°/w* is 0.577 for small w* and 0.6105 at 0.49, where h turns
    at w = 0.661 w*."""
    runs = xr.concat([value_at(r.w_kq, turning_time(r), points(r)) / r.w_star for r in sweeps], "w_star")
    tipping = tipping_weight(runs.w_star) / runs.w_star
    return (
        ps.positive(runs / tipping - 1, "w(T_2^h) / w° - 1")
        & ps.at_least(tipping, 0.5, "w° / w*")
        & ps.agree(runs.sel(w_star=[0.1, 0.49, 0.65]).values, np.array([0.5793, 0.6606, 0.8381]), atol=5e-4)
        & ps.agree(tipping.sel(w_star=[0.1, 0.49, 0.65]).values, np.array([0.5774, 0.6105, 0.7231]), atol=1e-4)
    )


@claim(
    "(13)",
    published(
        evidence.paper_mild,
        evidence.paper_strong,
        expect=Outcome.FAILS,
        because="the last step of (13) does not follow: T_1^h / N is 2.3 to 9.9",
    ),
    id="C-13",
)
def the_value_reaches_its_target_within_twice_n(*sweeps):
    """T_1^h, when h first reaches h*, is at most 2 N (1 - w*^4 / 2)."""
    return ps.all_of(
        ps.at_most(reaches(runs, "h", h_star(runs)) / keys(runs), 2 * (1 - 0.5 * c_star(runs) ** 2), "T_1^h / N")
        for runs in sweeps
    )


@claim("(13), the line before", published(evidence.paper_mild, evidence.paper_strong), id="C-13-law")
def the_value_reaches_its_target_after_a_logarithm(*sweeps):
    """T_1^h = N ln(1 / (1 - sqrt(1 - w*^4))) within 1 %: N ln(2 / w*^4) for small w*."""
    return ps.all_of(
        ps.within(
            reaches(runs, "h", h_star(runs)) / (-keys(runs) * np.log(1 - np.sqrt(1 - c_star(runs) ** 2))),
            0.99,
            1.01,
            "T_1^h over the law",
        )
        for runs in sweeps
    )


@claim(
    "T_1^h = Theta(L)",
    published(evidence.paper_sigmas),
    beyond(
        evidence.true_sigmas,
        expect=Outcome.FAILS,
        because="in the softmax model the plateau value of h is h* itself: h crosses h* only as w grows, after a time "
        "proportional to L ln(1/sigma) (1 + alpha)^2",
    ),
    id="C-13-time",
)
def the_time_of_the_value_does_not_depend_on_the_start(runs):
    """T_1^h is Theta(L): it does not grow as sigma falls."""
    times = reaches(runs, "h", h_star(runs)) / keys(runs)
    return ps.within(ps.slope(np.log(1 / runs.sigma), times), -0.05, 0.05, "d (T_1^h / N) / d ln(1/sigma)") & ps.within(
        times, 1.0, 20.0, "T_1^h / N"
    )


@claim(
    "(14)",
    published(
        evidence.paper,
        expect=Outcome.FAILS,
        because="the constant is right up to w* = 0.39 only: at Figure 1's own w* = 0.49, h overshoots by 4.2 %, not 2.1 %",
    ),
    theory(evidence.paper_mild),
    beyond(evidence.true),
    id="C-14",
)
def the_value_overshoots_by_little(runs):
    """After T_1^h, h stays below (1 + 0.04375 w*) h*."""
    top = runs.h.max("time") / h_star(runs)
    return once_learned(
        runs,
        lambda: (
            ps.at_most((top - 1) / number(runs, "w_star"), 0.04375, "largest (h / h* - 1) / w*")
            & ps.at_least(top, 1.0, "largest h / h*")
        ),
    )


@claim(
    "(14), wider targets",
    theory(
        evidence.true_steep,
        expect=Outcome.FAILS,
        because="3.3 % at w* = 0.6, where (14) allows 2.6 %, in the true model too: w* = O(1) hides a small constant",
    ),
    id="C-14-wide",
)
def the_value_overshoots_by_little_for_wider_targets(runs):
    """(14) holds for all targets that (10) admits, w* < 1/sqrt(2)."""
    return the_value_overshoots_by_little.check(runs)


def overshoots(targets: tuple[float, ...]) -> xr.Dataset:
    """R(w*), the bound on h(T_2^h) / h* that (14) rests on."""
    w_star = xr.DataArray(list(targets), {"w_star": list(targets)}, "w_star")
    w, c = tipping_weight(w_star), w_star**2
    return xr.Dataset({"R": np.sqrt((1 - 4 * w**4) / (1 - (w**2 + c) ** 2))})


@claim(
    "before (14): R(w*) < 1 + 0.04 w*",
    published(
        ps.tables(overshoots, targets=(0.1, 0.2, 0.3, 0.49)),
        expect=Outcome.FAILS,
        because="R(0.49) = 1.042 and 1.0196 is asked for; the unnamed c of the proof is 0.385",
    ),
    theory(ps.tables(overshoots, targets=(0.1, 0.2, 0.3, 0.38))),
    id="C-14-R",
)
def the_bound_on_the_overshoot_is_flat(table):
    """R(0) = 1, R'(0) = 0, and R(w*) < 1 + 0.04 w*."""
    excess = (table.R - 1) / table.w_star
    return ps.positive(0.04 - excess, "0.04 - (R - 1) / w*") & ps.within(
        excess.sel(w_star=0.1), 1e-6, 1e-3, "(R(0.1) - 1) / 0.1"
    )


@claim("Lemma 3", published(evidence.figure_1), theory(evidence.true_unbalanced), id="C-L3")
def the_two_weights_stay_balanced(run):
    """w_Q^2 - w_K^2 is conserved: equal weights stay equal, unequal ones keep their difference."""
    spec = spec_of(run)
    start = spec.sigma**2 * (spec.imbalance**2 - 1)
    return once_learned(
        run,
        lambda: (
            ps.agree(run.balance, start, atol=1e-10, what="w_Q^2 - w_K^2")
            & ps.agree(run.w_q**2 - run.w_k**2, start, atol=1e-10, what="w_Q^2 - w_K^2")
            & ps.at_least(run.w_kq.isel(time=-1) / run.w_kq.isel(time=0), 10.0, "growth of w")
            & ran_to_the_end(run)
        ),
        left=0.01,
    )


@claim("Lemma 3 for descent", beyond(evidence.unbalanced_steps), id="C-L3-gd")
def descent_shrinks_the_imbalance_by_its_square(run):
    """A step of descent multiplies w_Q^2 - w_K^2 by 1 - eta^2 G^2, G being the slope of the loss in w_K w_Q: conserved but
    for the square of the step."""
    eta = spec_of(run).eta
    slope = -run.w_k.diff("time").values / (eta * run.w_q.values[:-1])
    other = -run.w_q.diff("time").values / (eta * run.w_k.values[:-1])
    kept = np.log(np.abs(run.balance.values[1:] / run.balance.values[0]))
    law = np.cumsum(np.log1p(-np.minimum((eta * slope) ** 2, 0.5)))
    return (
        ps.agree(slope, other, rtol=1e-6, atol=1e-12, what="G from w_K and from w_Q")
        & ps.agree(kept[10:], law[10:], rtol=1e-3, atol=1e-12, what="ln of the imbalance over its start")
        & ps.at_most(law[-1], -1e-8, "ln of the imbalance at the end")
        & ran_to_the_end(run)
    )


@claim(
    "Appendix C.3.2, second Lyapunov function",
    published(evidence.paper_mild, evidence.paper),
    beyond(evidence.true_wide),
    id="C-Lyap2",
)
def the_second_lyapunov_function_falls(*sweeps):
    """After T_2^h, G(v, h) decreases at a rate of at least c* h*^2 / (4 N); the paper asks for c* <= 0.3."""
    return ps.all_of(once_learned(runs, lambda runs=runs: _falls_exponentially(runs)) for runs in sweeps)


def _falls_exponentially(runs: xr.Dataset) -> ps.Verdict:
    unit = c_star(runs) * h_star(runs) ** 2 / keys(runs)
    peak = turning_time(runs)
    later = learning(runs) & (runs.time > peak) & (c_star(runs) <= 0.3)
    speed = -runs.lyap_vh_rate / (unit * runs.lyap_vh)
    return (
        ps.at_least(speed, 0.25, "-N dG/dt / (c* h*^2 G)", where=later)
        & falls(runs.lyap_vh, "G(v, h)", where=later)
        & ps.within(peak, 0.0, runs.time[-1], "T_2^h")  # a lane without it would be left out unseen
    )
