"""Section 5: the gains of all tokens as powers of one growth factor, and its bounds (Theorem 3)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from ..phases import late, moving, time_unit, top_logit
from . import evidence
from .bounds import kept
from .closed_theory import by_ratio
from .premises import slow_attention


@claim(
    "Theorem 3, (11)",
    on("printed equations", *evidence.inside_theory),
    on("printed equations", evidence.one_theory, evidence.small_theory),
    id="thm3-eq11",
    aliases=("C19",),
    kind="identity",
    tex=r"r_{l/l'|n}(t) = r_{l/l'|n}(0) e^{2(z_l(t) - z_l(0))}",
    page="Section 5, Theorem 3, (11); Appendix C, (111)",
    assumes=slow_attention,
)
def gains_follow_one_growth_factor(*runs):
    """r_{l/l'}(t) = r_{l/l'}(0) exp(2 (z_l(t) - z_l(0))) for distinct l, l' of a class, l the
    most frequent."""
    solved = ps.derived(1e-6, "the tolerance of the solver")

    def judge(run):
        run = moving(run)
        top = {"distinct_token": -1}
        grown = np.exp(2 * (run.z_dt.isel(top) - run.z_dt.isel(top).isel(time=0)))
        others = run.f_dt.isel(distinct_token=slice(None, -1))
        gain = (run.f_dt.isel(top) / others) ** 2 - 1
        law = ps.agree(gain / (gain.isel(time=0) * grown), 1.0, atol=solved, what="r / (r_0 chi)")
        kept_along = ps.agree(
            run.gain_defect.isel(distinct_token=slice(None, -1)), 0.0, atol=solved, what="defect"
        )
        return law & kept_along & ps.agree(run.chi.isel(top), grown, rtol=solved, what="chi")

    largest = max(float(moving(run).chi.isel(distinct_token=-1, time=-1).max()) for run in runs)
    some = ps.chosen(1.02, "it has grown")
    has_grown = ps.guard(ps.at_least(largest, some, "largest growth factor"))
    return ps.all_of(map(judge, runs)) & has_grown & ps.all_of(map(ps.reached, runs))


@claim(
    "Theorem 3, (11), in training",
    on("population", *evidence.inside_true),
    id="thm3-eq11-training",
    kind="limit",
    tex=r"r_{l/l'|n}(t) / (r_{l/l'|n}(0) \chi_l(t)) \to 1",
    page="Section 5, Theorem 3, (11), with Assumption 1 (c)",
    as_=("eta_Y/eta_Z", "inf"),
    assumes=slow_attention,
)
def gains_follow_one_growth_factor_in_training(*runs):
    """With the true gradient the law of the relative gain is approached as eta_Y / eta_Z grows, at
    all times up to 1000 units."""

    def judge(run):
        others = {"class": 0, "distinct_token": slice(None, -1)}
        defect = abs(run.gain_defect.isel(others)).max(("distinct_token", "time"), skipna=False)
        moved = ps.guard(ps.positive(top_logit(run).isel(time=-1), "top logit"))
        small = ps.chosen(1e-6, "the square of the ratio of rates")
        slowest = defect.sel(eta_Z=1e-3)
        return (
            ps.tends_to(by_ratio(defect), along="ratio", what="r / (r_0 chi) - 1")
            & ps.at_most(slowest, small, "r / (r_0 chi) - 1 at the slowest rate")
            & moved
        )

    return ps.all_of(map(judge, runs)) & ps.all_of(map(ps.reached, runs))


@claim(
    "Theorem 3, (11): rare tokens (ours)",
    on("population", evidence.small),
    id="ours-rare-tokens",
    kind="sign",
    whose="ours",
    tex=r"r_{l_0/l|n}(t) < r_{l_0/l|n}(0)\chi_{l_0}(t)",
    page="Section 5, Theorem 3, (11)",
    assumes=slow_attention,
)
def rare_tokens_fall_behind_less_than_predicted(run):
    """In training on Syn-Small the gain of the top token over the others is below the law, from one
    unit of time on."""
    others = {"class": 0, "distinct_token": slice(None, -1)}
    defect = (
        moving(run).gain_defect.isel(others).sel(time=slice(0.999 * float(time_unit(run)), None))
    )
    return ps.negative(defect, "r / (r_0 chi) - 1") & ps.reached(run)


@claim(
    "Theorem 3, (11): how far training is away (ours)",
    on("population", evidence.small),
    id="ours-eq11-numbers",
    aliases=("C19-sign",),
    kind="regression",
    whose="ours",
    tex=r"-0.26\%, -11.9\%, -58.5\%, -64.0\%",
    page="Section 5, Theorem 3, (11)",
)
def defects_of_the_gain(run):
    """The gain of the top token over the others is below the law by at most 0.26%, 11.9%, 58.5%,
    64.0% at 100 units of time for eta_Z / eta_Y = 0.01, 0.1, 1, 10 (Syn-Small)."""
    others = {"class": 0, "distinct_token": slice(None, -1)}
    worst = late(run, 100.0).gain_defect.isel(others).min("distinct_token")
    worst = worst.sel(eta_Z=slice(1e-4, None))
    expected = np.array([-0.00256, -0.1191, -0.5854, -0.6399])
    return ps.agree(worst, expected, rtol=kept(0.003), what="defect")


@claim(
    "Theorem 3: the dominant token",
    on("printed equations", *evidence.inside_theory),
    on("population", *evidence.inside_true),
    on("population", evidence.small),
    id="thm3-monotone",
    aliases=("C20",),
    kind="monotone",
    tex=r"\dot z_{l_0} > 0,\ \dot f_{n l_0} > 0",
    page="Section 5, Theorem 3",
    assumes=slow_attention,
    varies=("eta_Z",),
)
def the_top_token_gains_all_the_time(*runs):
    """z_l0 and f_l0 increase from record to record, up to 100 units of time."""

    def judge(run):
        early = moving(run).sel(time=slice(0, 100.001 * float(time_unit(run))))
        share = early.f_dt.isel({"class": 0, "distinct_token": -1}, drop=True)
        return ps.increasing(top_logit(early), "z_l0") & ps.increasing(share, "f_l0")

    return ps.all_of(map(judge, runs)) & ps.all_of(map(ps.reached, runs))


@claim(
    "Theorem 3, (12)",
    on("printed equations", *evidence.inside_theory),
    on("printed equations", evidence.one_theory, evidence.small_theory),
    id="thm3-eq12",
    aliases=("C21",),
    kind="order",
    tex=r"e^{2f_{nl_0}^2(0)B_n(t)} \le \chi_{l_0}(t) \le e^{2B_n(t)}",
    page="Section 5, Theorem 3, (12)",
    assumes=slow_attention,
)
def the_growth_factor_lies_between_its_bounds(*runs):
    """exp(2 f_l0(0)^2 B) <= chi_l0 <= exp(2 B) with B = (eta_Z / K) int xi by quadrature, at all
    times."""

    def judge(run):
        run = moving(run)
        z = top_logit(run)
        share = run.f_dt.isel({"class": 0, "distinct_token": -1, "time": 0}, drop=True)
        later = run.B_n > 1e-6  # before, the lower bound is an equality up to rounding
        above = ps.positive(z - share**2 * run.B_n, "ln chi / 2 less its lower bound", where=later)
        below = ps.positive(run.B_n - z, "upper bound less ln chi / 2", where=later)
        return above & below & ps.guard(ps.increasing(run.B_n, "B"))

    return ps.all_of(map(judge, runs)) & ps.all_of(map(ps.reached, runs))


@claim(
    "Theorem 3, (12): how wide (ours)",
    on("printed equations", evidence.small_theory),
    id="ours-eq12-numbers",
    aliases=("C21-wide",),
    kind="regression",
    whose="ours",
    tex=r"2.98 \le \chi = 30.5 \le 3.7 \cdot 10^6",
    page="Section 5, Theorem 3, (12)",
)
def the_bounds_are_wide(run):
    """In Syn-Small at 100 units of time and equal rates: 2.98 <= chi = 30.5 <= 3.7e6."""
    at = late(run.sel(eta_Z=1.0), 100.0)
    share = run.f_dt.isel({"class": 0, "distinct_token": -1, "time": 0}, drop=True).sel(eta_Z=1.0)
    low = np.exp(2 * share**2 * at.B_n)
    high = np.exp(2 * at.B_n)
    digits = kept(1e-3)
    return (
        ps.agree(low, 2.982, rtol=digits, what="lower bound")
        & ps.agree(np.exp(2 * top_logit(at)), 30.53, rtol=digits, what="chi_l0")
        & ps.agree(high, 3.73e6, rtol=digits, what="upper bound")
    )


claims = (
    gains_follow_one_growth_factor,
    gains_follow_one_growth_factor_in_training,
    rare_tokens_fall_behind_less_than_predicted,
    defects_of_the_gain,
    the_top_token_gains_all_the_time,
    the_growth_factor_lies_between_its_bounds,
    the_bounds_are_wide,
)
