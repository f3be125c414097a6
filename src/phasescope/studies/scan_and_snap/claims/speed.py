"""The speed gamma that the decoder lends to the attention (Theorem 1 (b), Lemma 9)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from .. import closed_forms
from ..phases import classes_of, linear_end, outputs_of
from ..spec import Spec
from . import evidence, tables
from .bounds import kept, last_digit

SPEEDS = ps.tables(tables.decoder.speed_ratios, outputs=[1e2, 1e3, 1e4, 1e6, 1e8])


def rises_first(table) -> ps.Verdict:
    """gamma is positive, and rises over the first tenth of the linear regime."""
    early = table.speed.isel(part=slice(0, 20))
    return ps.guard(ps.increasing(early, "gamma", along="part")) & ps.positive(table.speed, "gamma")


@claim(
    "Theorem 1 (b), Lemma 9: rise",
    on("closed form", SPEEDS),
    id="thm1-b-rise",
    aliases=("C10-linear", "C10"),
    kind="upper",
    tex=r"0 < \gamma(t) = O(\eta_Y t/K),\quad t \le K\ln M/\eta_Y",
    page="Section 4, Theorem 1 (b); Appendix B.3, Lemma 9, (54)",
    as_=("M", "inf"),
)
def the_speed_rises_at_most_linearly(table):
    """Up to t_0' = K ln M / eta_Y the speed gamma is at most a constant times eta_Y t / K, for all M."""
    return ps.big_o(table.linear, along="outputs", what="gamma K / (eta_Y t)") & rises_first(table)


@claim(
    "Lemma 9: decay",
    on("closed form", SPEEDS),
    id="lem9-decay",
    kind="upper",
    tex=r"\gamma(t) = O(K\ln(M\eta_Y t/K)/(\eta_Y t)),\quad t \ge 2(1+\omega_1)K\ln M/\eta_Y",
    page="Appendix B.3, Lemma 9, (57)",
    as_=("M", "inf"),
)
def the_speed_decays_like_one_over_time(table):
    """From t_0 on the speed gamma is at most a constant times K ln(M eta_Y t / K) / (eta_Y t), for
    all M."""
    return (
        ps.big_o(table.decay, along="outputs", what="gamma eta_Y t / (K ln(M eta_Y t / K))")
        & ps.guard(ps.positive(table.decay, "gamma"))
        & rises_first(table)
    )


@claim(
    "Theorem 1 (b): decay as printed",
    on(
        "closed form",
        SPEEDS,
        expect="false",
        because="at t_0 the speed has ln M where this has ln ln M: {measured}",
    ),
    id="thm1-b-decay",
    kind="upper",
    tex=r"\gamma(t) = O(K\ln(\eta_Y t/K)/(\eta_Y t)),\quad t \ge 2(1+\delta')K\ln M/\eta_Y",
    page="Section 4, Theorem 1 (b); Section 6, attention snapping",
    as_=("ln M", "inf"),
)
def the_speed_decays_without_M_in_the_logarithm(table):
    """From t_0 on the speed gamma is at most a constant times K ln(eta_Y t / K) / (eta_Y t), for all
    M: the constant does not depend on M."""
    logs = np.log(table.outputs.values)
    printed = table.printed.rename(outputs="ln M").assign_coords({"ln M": logs})
    found = ps.big_o(printed, along="ln M", what="gamma eta_Y t / (K ln(eta_Y t / K))")
    if found.outcome == ps.Outcome.FAILS:
        found = ps.refuted(found, by="closed_forms.gamma: ln M / ln ln M at t_0")
    return found & rises_first(table)


@claim(
    "Lemma 9: the peak (ours)",
    on("closed form", evidence.speed),
    id="ours-speed-peak",
    kind="order",
    whose="ours",
    tex=r"\arg\max\gamma < t_0',\ e^{Mh - 1}(Mh - 1) = (M-1)/e",
    page="Appendix B.3, Lemma 9",
)
def the_speed_peaks_before_the_end_of_the_linear_regime(run):
    """The speed is not linear up to t_0': it peaks before, at a time in closed form, and falls from
    there on (K = 10, M = 1000)."""
    spec = Spec.of(run)
    K = classes_of(run)
    M = outputs_of(run)
    end = float(linear_end(run))
    ended = ps.reached(run)
    run = run.isel(time=slice(1, None))
    peak_time, height = closed_forms.gamma_peak(K, M, spec.eta_Y)
    top = float(run.gamma.idxmax("time"))
    between = ps.chosen(0.02, "records are 1% apart")
    after = run.gamma.sel(time=slice(1.1 * float(peak_time), None))
    return (
        ps.ordered(top, end, what="peak, t_0'")
        & ps.agree(top / float(peak_time), 1.0, atol=between, what="time of the peak / closed form")
        & ps.agree(run.gamma.max() / height, 1.0, atol=between, what="peak / closed form")
        & ps.decreasing(after, "gamma after its peak")
        & ended
    )


@claim(
    "Lemma 9: numbers (ours)",
    on("closed form", evidence.speed),
    id="ours-speed-numbers",
    kind="regression",
    whose="ours",
    tex=r"\max\gamma = 4.416,\ \gamma\eta_Y t/(K\ln(M\eta_Y t/K)) \to 1.00",
    page="Appendix B.3, Lemma 9",
)
def the_peak_of_the_speed(run):
    """At K = 10, M = 1000, eta_Y = 0.5 the speed peaks at 4.416; at eta_Y t = 10^6 it is 1.00 times
    K ln(M eta_Y t / K) / (eta_Y t)."""
    spec = Spec.of(run)
    K = classes_of(run)
    M = outputs_of(run)
    end = run.isel(time=-1)
    strength = spec.eta_Z / spec.eta_Y * K * ((M - 1) * run.h) ** 2 / 2
    speed = (M - 1) ** 2 * run.h / (M - 1 + np.exp(M * run.h))
    exact = ps.derived(1e-9, "rounding, after an exponential")
    digit = last_digit(0.01)
    clock = spec.eta_Y * end.time / classes_of(run)
    late = end.gamma * clock / np.log(outputs_of(run) * clock)
    return (
        ps.agree(run.gamma.max(), 4.416, atol=kept(1e-3), what="peak")
        & ps.agree(late, 1.0, atol=kept(0.005), what="gamma over its law at the end")
        & ps.agree(run.Gamma, strength, rtol=exact, what="Gamma")
        & ps.agree(run.gamma, speed, rtol=exact, what="gamma")
        & ps.agree(M * end.h_star, M * end.h, atol=digit, what="M h* at the end")
        & ps.reached(run)
    )


claims = (
    the_speed_rises_at_most_linearly,
    the_speed_decays_like_one_over_time,
    the_speed_decays_without_M_in_the_logarithm,
    the_speed_peaks_before_the_end_of_the_linear_regime,
    the_peak_of_the_speed,
)
