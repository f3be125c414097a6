"""Appendix E: where phase 1 ends, and with what (Corollary E.20 to Theorem E.27)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import at_time, first_phase_end, spec_of, trained
from . import evidence
from .parts import (
    at_T1,
    by_width,
    in_phase_1,
    mean_by_width,
    numbers,
    scanned,
    told,
    where_it_learns,
)
from .phase_1_lemmas import bounded, bounded_in_the_mean, units
from .premises import condition_1


@ps.claim(
    "Corollary E.20, with y_i F_i (E4)",
    ps.on("training", *evidence.theory_runs),
    id="corE.20-margins",
    kind="upper",
    whose="corrected",
    erratum="E4",
    tex=r"T' = \min\{t: \min_{i\in I_2\cup I_3} y_iF_i^{(t)} \ge C\} \le O(1/m)",
    page="Appendix E.6, Corollary E.20",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def one_target_samples_are_right_after_a_time_like_one_over_m(*runs):
    """m times the time from which every margin exceeds C = 0.1 for good does not grow with m."""

    def measure(run):
        margin = ps.chosen(0.1, "a small positive constant, which the paper does not name")
        end = at_time(run.t, run, first_phase_end(run, margin))
        return told(end * spec_of(run).width)

    return ps.big_o(by_width(runs, measure), along="m", what="m T'")


@ps.claim(
    "Proposition E.21",
    ps.on("training", *evidence.start_runs),
    id="propE.21-balance",
    kind="upper",
    tex=r"\big|\tfrac1n\textstyle\sum_{I_2}g_i - \tfrac1n\sum_{I_3}g_i\big| \le O(F), \quad F = \max_i|F_i^{(0)}|",
    page="Appendix E.6, Proposition E.21",
    as_=("1/zeta", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_imbalance_is_as_small_as_the_start(*runs):
    """Up to T_1 the difference of the two types with one target word, over the largest output at time 0, does
    not grow as the start gets smaller."""

    def judge(c):
        found = {}
        for run in map(trained, runs):
            spec = spec_of(run)
            start = abs(run.F.isel(time=0, drop=True)).max("sample", skipna=False)
            one = run.gsum.sel(type=2, drop=True) - run.gsum.sel(type=3, drop=True)
            found[1 / spec.zeta] = told(one / spec.samples / start, in_phase_1(run, c))
        return ps.big_o(found, along="1/zeta", what="imbalance over F")

    return scanned(judge)


@ps.claim(
    "Theorem E.26, item 1",
    ps.on("training", *evidence.neuron_runs),
    id="thmE.26-values",
    kind="upper",
    tex=r"\max_{j,\mu\in\{\mu_1,\mu_2,\mu_3\}}|\Delta w_jW_V\mu| \le R = O(1/m_1)",
    page="Appendix E.8, Theorem E.26; Definition E.2",
    as_=("m", "inf"),
    hides=("C_T1",),
    assumes=condition_1,
)
@where_it_learns
def neurons_move_by_one_over_m1(*runs):
    """Up to T_1 no neuron's value of a special word moves by more than R = O(1/m1): m1 R does not grow with m."""
    return bounded(runs, lambda run: spec_of(run).neurons * run.U_change, "m1 R")


@ps.claim(
    "Theorem E.26, item 2",
    ps.on(
        "training",
        *evidence.neuron_runs,
        expect="not_yet",
        because="R/sqrt(m) falls and R/n takes over: {measured}",
    ),
    id="thmE.26-irrelevant",
    kind="upper",
    tex=r"\max_{j,\mu\in\mathcal R}|\Delta w_jW_V\mu| \le O(R/n + R/\sqrt m), \quad R = O(1/m_1)",
    page="Appendix E.8, Theorem E.26; Definition E.2",
    as_=("m", "inf"),
    hides=("C_T1",),
    assumes=condition_1,
)
@where_it_learns
def neurons_hardly_move_for_irrelevant_words(*runs):
    """Up to T_1 the change of a neuron's value of an irrelevant word, a mean over draws, over R/n + R/sqrt(m) with
    R = 1/m1, does not grow with m."""

    def measure(run):
        spec = spec_of(run)
        return spec.neurons * run.U_change_random / (1 / spec.samples + spec.width**-0.5)

    return bounded_in_the_mean(runs, measure, "irrelevant words over their bound")


@ps.claim(
    "Theorem E.26, items 3 to 5; Definition E.2",
    ps.on("training", *evidence.neuron_runs),
    id="thmE.26-attention",
    kind="upper",
    tex=r"R_S \le O(1/(m\sqrt m)), \quad R_K, R_Q \le \tilde O(\sigma_0^2\sqrt m)",
    page="Appendix E.8, Theorem E.26; Definition E.2",
    as_=("m", "inf"),
    hides=("C_T1",),
    assumes=condition_1,
)
@where_it_learns
def attention_stays_in_the_range_of_phase_1(*runs):
    """Up to T_1 the scores move by O(m^-3/2), and keys and queries by sigma_0^2 sqrt(m) at most: the ratios do
    not grow with m."""

    def keys(run):
        return np.maximum(run.K_change, run.Q_change) / units(run)[0]

    return bounded(
        runs, lambda run: run.S_change * spec_of(run).width ** 1.5, "m^3/2 R_S"
    ) & bounded(runs, keys, "R_K and R_Q over their bound")


@ps.claim(
    "Theorem E.27",
    ps.on("training", *evidence.theory_runs),
    id="thmE.27-end",
    kind="theta",
    tex=r"y_iF_i^{(T_1)}, G^{(T_1)}(\mu_1), G^{(T_1)}(\mu_2), -G^{(T_1)}(\mu_3) = \Theta(1), \quad "
    r"\beta^{(T_1)} = \Theta(\sigma_1^2mm_1)",
    page="Appendix E.8, Theorem E.27",
    as_=("m", "inf"),
    hides=("C_T1",),
    assumes=condition_1,
)
@where_it_learns
def phase_1_ends_with_everything_of_order_one(*runs):
    """At T_1 margins and values are Theta(1) and beta is Theta(sigma_1^2 m m1), for C_T1 large enough."""

    def values(run, c):
        G = at_T1(run, "G", c).sel(word=[1, 2, 3])
        return told(G * xr.where(G.word == 3, -1.0, 1.0))

    def judge(c):
        beta = mean_by_width(runs, lambda run: at_T1(run, "beta", c) / numbers(spec_of(run))[1])
        margins = by_width(runs, lambda run: told(at_T1(run, "margin", c)))
        return (
            ps.big_theta(by_width(runs, lambda run: values(run, c)), along="m", what="values")
            & ps.big_theta(margins, along="m", what="margins")
            & ps.big_theta(beta, along="m", what="beta over its order")
        )

    return scanned(judge)


@ps.claim(
    "Theorem E.27, irrelevant words",
    ps.on("training", *evidence.theory_runs),
    id="thmE.27-irrelevant",
    kind="upper",
    tex=r"\forall\mu\in\mathcal R: G^{(T_1)}(\mu) = \tilde O(\sigma_0\sigma_1\sqrt{mm_1})",
    page="Appendix E.8, Theorem E.27",
    as_=("m", "inf"),
    up_to_logs=True,
    hides=("C_T1",),
    assumes=condition_1,
)
@where_it_learns
def irrelevant_words_have_small_values_at_T1(*runs):
    """At T_1 the values of irrelevant words, over sigma_0 sigma_1 sqrt(m m1), do not grow with m."""

    def measure(run, c):
        spec = spec_of(run)
        unit = spec.scale_0 * spec.scale_1 * (spec.width * spec.neurons) ** 0.5
        return told(at_T1(run, "G", c).sel(word=slice(4, None)) / unit)

    def judge(c):
        return ps.big_o(
            by_width(runs, lambda run: measure(run, c)), along="m", what="values over their order"
        )

    return scanned(judge)


claims = (
    one_target_samples_are_right_after_a_time_like_one_over_m,
    the_imbalance_is_as_small_as_the_start,
    neurons_move_by_one_over_m1,
    neurons_hardly_move_for_irrelevant_words,
    attention_stays_in_the_range_of_phase_1,
    phase_1_ends_with_everything_of_order_one,
    irrelevant_words_have_small_values_at_T1,
)
