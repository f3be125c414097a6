"""Theorem 3.1 and Lemma 4.3: the values align until every sample is right, and nothing else moves."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import at_time, first_phase_end, spec_of, trained, turning_time
from . import evidence
from .parts import at_T1, by_width, in_phase_1, mean_by_width, scanned, told, where_it_learns
from .premises import condition_1

# The constant C of Lemmas 4.3 and 4.5 is positive and not named.
C = ps.chosen(0.1, "a positive constant below 1, which the paper does not name")


def aligned_values(run: xr.Dataset, c: float) -> np.ndarray:
    """G(mu_1), G(mu_2) and -G(mu_3) at T_1."""
    G = at_T1(run, "G", c).sel(word=[1, 2, 3])
    return told(G * xr.where(G.word == 3, -1.0, 1.0))


@ps.claim(
    "Theorem 3.1 (1)",
    ps.on("training", *evidence.theory_runs),
    id="thm3.1-i-aligned",
    aliases=("T3.1-i",),
    kind="lower",
    tex=r"G^{(T_1)}(\mu_1), G^{(T_1)}(\mu_2) \ge \Omega(1), \quad G^{(T_1)}(\mu_3) \le -\Omega(1)",
    page="Section 3, Theorem 3.1, item 1; Theorems E.27, E.28",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def values_have_aligned_by_T1(*runs):
    """At T_1 the values G(mu_1), G(mu_2) and -G(mu_3) are at least Omega(1), for C_T1 large enough."""

    def judge(c):
        return ps.big_omega(
            by_width(runs, lambda run: aligned_values(run, c)), along="m", what="values"
        )

    return scanned(judge)


@ps.claim(
    "Theorem 3.1 (2)",
    ps.on("training", *evidence.theory_runs),
    id="thm3.1-ii-right",
    aliases=("T3.1-ii",),
    kind="lower",
    tex=r"y_iF_i^{(T_1)} = \Omega(1) > 0 \quad \forall i",
    page="Section 3, Theorem 3.1, item 2; Theorem E.28",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def all_samples_are_right_at_T1(*runs):
    """At T_1 every sample has a margin of Omega(1), for C_T1 large enough."""

    def judge(c):
        margins = by_width(runs, lambda run: told(at_T1(run, "margin_min", c)))
        return ps.big_omega(margins, along="m", what="smallest margin")

    return scanned(judge)


@ps.claim(
    "Theorem 3.1: T_1 = O(1/m)",
    ps.on("training", *evidence.theory_runs),
    id="thm3.1-T1",
    aliases=("T3.1-ii-scale",),
    kind="upper",
    tex=r"T_1 = \tilde O(1/m)",
    page="Section 3, Theorem 3.1",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def the_first_phase_takes_a_time_like_one_over_m(*runs):
    """m times the time from which all samples are right for good does not grow with m."""

    def measure(run):
        end = at_time(run.t, run, first_phase_end(run))
        return told(end * spec_of(run).width)

    return ps.big_o(by_width(runs, measure), along="m", what="m T")


@ps.claim(
    "Theorem 3.1: T_1 in natural time (ours)",
    ps.on("training", *evidence.theory_runs),
    id="ours-T1-natural",
    kind="approx",
    whose="ours",
    tex=r"\kappa T \in [8, 15]",
    page="Section 3, Theorem 3.1",
    assumes=condition_1,
)
@where_it_learns
def the_first_phase_takes_about_ten_natural_times(*runs):
    """All samples are right for good from kappa t = 8 to 15 on, at every width, at n = 48, L = 4, zeta = 0.1;
    without noise at 7.84."""
    low = ps.derived(7.84, "closed_forms.first_phase(48, 4): without noise")
    high = ps.chosen(15.0, "twice that, for outputs that start at zeta")
    ends = [first_phase_end(trained(run)) for run in runs]
    return ps.all_of(ps.within(end, low, high, "kappa T") for end in ends)


MOVED = {
    "N_change": ("N", lambda s: 1 / s.width),
    "A_change": ("A", lambda s: 1 / s.width),
    "S_change": ("S", lambda s: s.width**-1.5 * (1 / s.length + s.width**-0.5)),
    "K_change": ("K", lambda s: s.width**-2.0),
    "Q_change": ("Q", lambda s: s.width**-2.0),
}


@ps.claim(
    "Theorem 3.1 (3), Theorem E.28; Lemmas E.9, E.23, E.25, Proposition E.12",
    ps.on("training", *evidence.neuron_runs),
    id="thm3.1-iii-unmoved",
    aliases=("T3.1-iii",),
    kind="upper",
    tex=r"|\Delta N|, |\Delta A| \le \tilde O(\tfrac1m),\ |\Delta S| \le \tilde "
    r"O\big(\tfrac1{m^{3/2}}(\tfrac1L + \tfrac1{\sqrt m})\big),\ |\Delta K|, |\Delta Q| \le \tilde "
    r"O(\tfrac1{m^2})",
    page="Section 3, Theorem 3.1, item 3; Appendix E.8, Theorem E.28",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def nothing_but_the_values_has_moved_by_T1(*runs):
    """Up to T_1 the changes of all overlaps, over their bounds and log m (each overlap comes with
    sqrt(log(1/delta)), where 1/delta is polynomial in m), do not grow with m; for C_T1 from 10 to 100."""

    def judge(c):
        found = []
        for name, (letter, bound) in MOVED.items():

            def measure(run, name=name, bound=bound):
                spec = spec_of(run)
                unit = bound(spec) * np.log(spec.width)
                return told(run[name] / unit, in_phase_1(run, c))

            changes = by_width(runs, measure)
            found.append(ps.big_o(changes, along="m", what=f"change of {letter} over its bound"))
        return ps.all_of(found)

    return scanned(judge)


@ps.claim(
    "Theorem 3.1 (3), Lemma E.9: close to the start",
    ps.on("training", *evidence.theory_runs),
    id="thm3.1-iii-close",
    aliases=("T3.1-iii-relative",),
    kind="limit",
    tex=r"\|v^{(t)}(\mu)\|^2 = \Theta(\sigma_0^2m), \quad \max|\Delta A|/(\sigma_0^2m) \to 0",
    page="Section 3, Theorem 3.1, item 3; Appendix E.3, Lemma E.9",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def overlaps_of_values_stay_close_to_their_start(*runs):
    """The largest change of an entry of A up to T_1, over its diagonal sigma_0^2 m at the start, tends to 0 as
    m grows; from which width on it is below a tenth is printed. T_1 is the time from which all samples are
    right."""

    def measure(run):
        spec = spec_of(run)
        return at_time(run.A_change, run, first_phase_end(run)) / (spec.scale_0**2 * spec.width)

    tenth = ps.chosen(0.1, "close: a tenth")
    changes = mean_by_width(runs, measure)
    return ps.tends_to(changes, along="m", within=tenth, what="change of A")


@ps.claim(
    "Theorem 3.1 (4)",
    ps.on("training", *evidence.theory_runs),
    id="thm3.1-iv-loss",
    aliases=("T3.1-iv",),
    kind="theta",
    tex=r"\hat L^{(T_1)} = \Theta(1)",
    page="Section 3, Theorem 3.1, item 4",
    as_=("m", "inf"),
    hides=("C_T1",),
    assumes=condition_1,
)
@where_it_learns
def the_loss_is_still_large_at_T1(*runs):
    """The training loss at T_1 is Theta(1) in m, for every C_T1 from 10 to 100."""

    def judge(c):
        return ps.big_theta(
            by_width(runs, lambda run: told(at_T1(run, "loss", c))), along="m", what="loss"
        )

    return scanned(judge)


def between_the_turn_and_T1(run: xr.Dataset) -> xr.DataArray:
    """Marks the records from T_0.5, when -Gdot_3 exceeds (1 + C) times the others, to T_1."""
    return (run.tau >= turning_time(run, float(C))) & (run.tau <= first_phase_end(run))


@ps.claim(
    "Lemma 4.3 (E.19)",
    ps.on("training", *evidence.theory_runs),
    id="lem4.3-overtakes",
    aliases=("L4.3",),
    kind="order",
    tex=r"(1+C)\max(\dot G(\mu_1),\dot G(\mu_2)) \le -\dot G(\mu_3) \le (1-C)(\dot G(\mu_1)+\dot G(\mu_2)) "
    r"\text{ on } [T_{0.5}, T_1]",
    page="Section 4.1, Lemma 4.3; Appendix E.6, Theorem E.19",
    assumes=condition_1,
)
@where_it_learns
def the_common_word_overtakes_the_targets(*runs):
    """There is a T_0.5 before T_1 from which on the value of mu_3 falls faster than 1 + C times those of mu_1
    and mu_2 rise, yet slower than 1 - C times their sum, with C = 0.1. T_1 is the time from which all samples
    are right."""
    found = []
    for run in map(trained, runs):
        between = between_the_turn_and_T1(run)
        total = run.Gdot.sel(word=[1, 2]).sum("word", skipna=False)
        falls = -run.Gdot.sel(word=3, drop=True)
        found.append(
            ps.ordered(turning_time(run, float(C)), first_phase_end(run), what="T_0.5, T_1")
        )
        found.append(
            ps.positive(((1 - C) * total - falls) / total, "-Gdot_3 below their sum", where=between)
        )
    return ps.all_of(found)


@ps.claim(
    "Theorem E.19, last line",
    ps.on("training", *evidence.theory_runs),
    id="thmE.19-rates",
    kind="lower",
    tex=r"\dot G(\mu_1), \dot G(\mu_2) \ge \Omega((\sigma_0^2+\sigma_1^2)mm_1) \text{ on } [T_{0.5}, T_1]",
    page="Appendix E.6, Theorem E.19",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_targets_keep_rising_until_T1(*runs):
    """From T_0.5 to T_1 the rates of G(mu_1) and G(mu_2), over (sigma_0^2 + sigma_1^2) m m1, do not fall as m
    grows."""

    def measure(run):
        rates = run.Gdot.sel(word=[1, 2]) / run.kappa
        return told(rates, between_the_turn_and_T1(run))

    return ps.big_omega(by_width(runs, measure), along="m", what="rates over kappa")


claims = (
    values_have_aligned_by_T1,
    all_samples_are_right_at_T1,
    the_first_phase_takes_a_time_like_one_over_m,
    the_first_phase_takes_about_ten_natural_times,
    nothing_but_the_values_has_moved_by_T1,
    overlaps_of_values_stay_close_to_their_start,
    the_loss_is_still_large_at_T1,
    the_common_word_overtakes_the_targets,
    the_targets_keep_rising_until_T1,
)
