"""Appendix E: what the proof of Theorem 3.1 rests on, neuron by neuron, up to T_1."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import spec_of
from . import evidence
from .parts import (
    by_width,
    in_phase_1,
    mean_by_width,
    scanned,
    told,
    where_it_learns,
)
from .premises import condition_1


def bounded(runs, measure, what: str) -> ps.Verdict:
    """A ratio over all records up to T_1 does not grow with m, for C_T1 from 10 to 100."""

    def judge(c):
        ratios = by_width(runs, lambda run: told(measure(run), in_phase_1(run, c)))
        return ps.big_o(ratios, along="m", what=what)

    return scanned(judge)


def bounded_in_the_mean(runs, measure, what: str) -> ps.Verdict:
    """The same for the mean over draws of its largest value, where three draws scatter by half."""

    def judge(c):
        def largest(run):
            x = measure(run).where(in_phase_1(run, c), 0.0)
            return x.max("time", skipna=False)

        return ps.big_o(mean_by_width(runs, largest), along="m", what=what)

    return scanned(judge)


def units(run: xr.Dataset) -> tuple[float, float, float]:
    """sigma_0^2 sqrt(m), sigma_1^2 sqrt(m m1), sigma_0 sigma_1 sqrt(m)."""
    spec = spec_of(run)
    root = spec.width**0.5
    s0 = spec.scale_0
    s1 = spec.scale_1
    return s0**2 * root, s1**2 * root * spec.neurons**0.5, s0 * s1 * root


@ps.claim(
    "Proposition E.3, Corollary E.24",
    ps.on("training", *evidence.neuron_runs),
    id="propE.3-softmax",
    kind="upper",
    tex=r"R_P = O\big(\tfrac1{\sqrt mL} + \tfrac Lm\big)",
    page="Appendix E, Proposition E.3",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def attention_weights_move_little_by_T1(*runs):
    """The largest change of an attention weight up to T_1, over the bound, does not grow with m."""

    def measure(run):
        spec = spec_of(run)
        return run.p_dev / (1 / (spec.width**0.5 * spec.length) + spec.length / spec.width)

    return bounded(runs, measure, "change of an attention weight over its bound")


@ps.claim(
    "Corollary E.24, second item of the second display",
    ps.on("training", *evidence.neuron_runs),
    id="corE.24-softmax",
    kind="upper",
    tex=r"|p^{(t)}_{l_1,l_2} - p^{(0)}_{l_1,l_2}| \le \tilde O\big(\tfrac1{Lm^2}(\tfrac1L + \tfrac1{\sqrt m})\big)",
    page="Appendix E.7, Corollary E.24",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def attention_weights_move_like_one_over_m_squared(*runs):
    """The largest change of an attention weight up to T_1, over its bound and log m, does not grow with m."""

    def measure(run):
        spec = spec_of(run)
        bound = (1 / spec.length + spec.width**-0.5) / (spec.length * spec.width**2)
        return run.p_dev / (bound * np.log(spec.width))

    return bounded(runs, measure, "change of an attention weight over its bound")


@ps.claim(
    "Lemma E.7",
    ps.on("training", *evidence.neuron_runs),
    id="lemE.7-outputs",
    kind="upper",
    tex=r"|w_j^{(t)}W_V^{(t)}X p_l^{(t)} - w_j^{(0)}W_V^{(0)}X p_l^{(0)}| \le \tilde "
    r"O(LR_P\sigma_0\sigma_1\sqrt m) + 4R/L",
    page="Appendix E.2, Lemma E.7",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def outputs_of_neurons_move_with_their_values(*runs):
    """The change of what a neuron gives for a query, over its bound with the measured R and R_P, does not grow
    with m."""

    def measure(run):
        length = spec_of(run).length
        bound = length * run.p_dev * units(run)[2] + 4 * run.U_change / length
        return (run.U_output_change / bound).where(run.tau > 0, 0.0)

    return bounded(runs, measure, "change of an output over its bound")


@ps.claim(
    "Corollary E.10",
    ps.on("training", *evidence.neuron_runs),
    id="corE.10-values",
    kind="upper",
    tex=r"\big|\tfrac1n\textstyle\sum_i g_iy_i\sum_{l_1,l_2}\langle p_{l_1,l_2}v_{l_2},v(\mu_1)\rangle\mathbb "
    r"I(\cdot)\big| \le L\,\tilde O(\sigma_0^2\sqrt m)",
    page="Appendix E.3, Corollary E.10",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def values_of_other_words_add_little(*runs):
    """What other words' values add to the rate of a target word, over L sigma_0^2 sqrt(m) log m, does not grow
    with m."""

    def measure(run):
        spec = spec_of(run)
        return run.U_cross_values / (spec.length * units(run)[0] * np.log(spec.width))

    return bounded(runs, measure, "the sum over other values over its bound")


@ps.claim(
    "Lemma E.11",
    ps.on("training", *evidence.neuron_runs),
    id="lemE.11-neurons",
    kind="upper",
    tex=r"\big|\tfrac1n\textstyle\sum_{i:\mu_1\in X_i} g_iy_i\sum_l\sum_{j_2\ne j_1}a_{j_2}\langle "
    r"w_{j_1},w_{j_2}\rangle p\big| \le \tilde O(\sigma_1^2\sqrt{mm_1})",
    page="Appendix E.4, Lemma E.11",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def other_neurons_add_little(*runs):
    """What other neurons add to the rate of one, over sigma_1^2 sqrt(m m1) log m, a mean over draws, does not
    grow with m."""

    def measure(run):
        return run.U_cross_neurons / (units(run)[1] * np.log(spec_of(run).width))

    return bounded_in_the_mean(runs, measure, "the sum over other neurons over its bound")


@ps.claim(
    "Proposition E.12, Corollary E.13",
    ps.on("training", *evidence.neuron_runs),
    id="propE.12-neurons",
    kind="upper",
    tex=r"|\Delta\langle w_{j_1},w_{j_2}\rangle| \le 2Lt\big(\sigma_1\sigma_0\sqrt{\tfrac "
    r"mL\log\tfrac{m_1nL}\delta} + \tilde O(LR_P\sigma_0\sigma_1\sqrt m) + 4R/L\big)",
    page="Appendix E.4, Proposition E.12",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def overlaps_of_neurons_grow_in_time(*runs):
    """The change of an overlap of neurons, over t times its bound with the measured R and R_P, a mean over
    draws, does not grow with m."""

    def measure(run):
        length = spec_of(run).length
        small = units(run)[2]
        bound = small * length**-0.5 + length * run.p_dev * small + 4 * run.U_change / length
        unit = 2 * length * run.t * bound * np.log(spec_of(run).width)
        return (run.N_change / unit).where(run.tau > 0, 0.0)

    return bounded_in_the_mean(runs, measure, "change of an overlap over its bound")


@ps.claim(
    "Theorem E.14, the main part",
    ps.on("training", *evidence.neuron_runs),
    id="thmE.14-main",
    kind="theta",
    tex=r"\|w_j^{(t)}\|^2 + \|v^{(t)}(\mu)\|^2 = \Theta((\sigma_0^2+\sigma_1^2)m), \quad t \le T_1",
    page="Appendix E.5, Theorem E.14",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_main_part_keeps_its_size(*runs):
    """What multiplies the loss derivatives in the rate of a neuron's value of a target word is Theta((sigma_0^2
    + sigma_1^2) m) up to T_1, for all neurons."""

    def judge(c):
        def measure(run):
            spec = spec_of(run)
            unit = (spec.scale_0**2 + spec.scale_1**2) * spec.width
            return told(run.U_norms / unit, in_phase_1(run, c))

        return ps.big_theta(by_width(runs, measure), along="m", what="norms over their order")

    return scanned(judge)


@ps.claim(
    "Theorem E.14, the error",
    ps.on("training", *evidence.neuron_runs),
    id="thmE.14-error",
    kind="upper",
    tex=r"|\varepsilon| \le \tilde O(L\sigma_0^2\sqrt m + \sigma_1^2\sqrt{mm_1})",
    page="Appendix E.5, Theorem E.14",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def the_error_of_a_neurons_rate_is_small(*runs):
    """What other neurons and other words add to the rate of a neuron's value of a target word, over its bound,
    does not grow with m."""

    def measure(run):
        of_values, of_neurons, _ = units(run)
        bound = spec_of(run).length * of_values + of_neurons
        return (run.U_cross_neurons + run.U_cross_values) / (bound * np.log(spec_of(run).width))

    return bounded_in_the_mean(runs, measure, "error over its bound")


@ps.claim(
    "Theorem E.15",
    ps.on("training", *evidence.neuron_runs),
    id="thmE.15-irrelevant",
    kind="upper",
    tex=r"\partial_t\, a_jw_j^{(t)}W_V^{(t)}\mu = O\big(\tfrac1n(\sigma_0^2+\sigma_1^2)m\big) + \tilde "
    r"O(\sigma_0^2L\sqrt m), \quad \mu\in\mathcal R",
    page="Appendix E.5, Theorem E.15",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def irrelevant_words_grow_slowly(*runs):
    """The rate of every neuron's value of an irrelevant word up to T_1, over its bound, does not grow with m."""

    def measure(run):
        spec = spec_of(run)
        main = (spec.scale_0**2 + spec.scale_1**2) * spec.width / spec.samples
        return run.U_rate_random / (main + spec.length * units(run)[0])

    return bounded(runs, measure, "rate over its bound")


@ps.claim(
    "Lemma E.17",
    ps.on("training", *evidence.neuron_runs),
    id="lemE.17-common",
    kind="upper",
    tex=r"|\partial_t\, a_jw_j^{(t)}W_V^{(t)}\mu_3| \le \tilde O(\sigma_1^2m), \quad t \le T_1",
    page="Appendix E.6, Lemma E.17",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def the_common_word_never_moves_fast(*runs):
    """The rate of every neuron's value of mu_3 up to T_1, over sigma_1^2 m, does not grow with m."""

    def measure(run):
        spec = spec_of(run)
        return run.U_rate_common / (spec.scale_1**2 * spec.width)

    return bounded(runs, measure, "rate over its bound")


claims = (
    attention_weights_move_little_by_T1,
    attention_weights_move_like_one_over_m_squared,
    outputs_of_neurons_move_with_their_values,
    values_of_other_words_add_little,
    other_neurons_add_little,
    overlaps_of_neurons_grow_in_time,
    the_main_part_keeps_its_size,
    the_error_of_a_neurons_rate_is_small,
    irrelevant_words_grow_slowly,
    the_common_word_never_moves_fast,
)
