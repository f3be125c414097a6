"""How far the attention concentrates, in what time, and how long a chain is followed then (Section 4, Theorem 4.1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import ran_to_the_end, spec_of
from . import evidence
from .premises import simply_transitive
from .stage_2 import PATHS, ROUNDING, at_time, reaches_the_clip

OPEN = ps.stated(0.5, "0 < c* < 1")


@claim(
    "Theorem 4.1 (2), equation (8)",
    on("population", evidence.to_the_end),
    id="thm4.1-2",
    aliases=("4.1-2",),
    kind="rate",
    tex=r"1 - \mathrm{Attn}_{\to\mathrm{pred},\ell+1} - \mathrm{Attn}_{\to\mathrm{ans},\ell} \le O(d^{-c^*}),"
    r"\quad 0 < c^* < 1",
    page="Section 4, Theorem 4.1 (2), eq. (8)",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def attention_concentrates_polynomially(sweep):
    """At the end of Algorithm 1 eps falls as a power of d between 0 and -1, over two decades of d."""
    eps = sweep.epsilon.sel(step=2).isel(time=-1)
    law = ps.scales_like(eps, sweep.vocabulary, -0.5, OPEN, "eps at the end")
    return law & reaches_the_clip(sweep)


@claim(
    "ours, on Theorem 4.1 (2): the exponent",
    on("population", evidence.to_the_end),
    id="ours-half-power",
    kind="rate",
    whose="ours",
    tex=r"\epsilon^{2,2} \to \frac{b}{2 B} = \frac{d^{-1/2}}{2 C_B}",
    page="Section 4, Theorem 4.1 (2); Assumptions 3.3 and 3.4",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def the_exponent_is_one_half(sweep):
    """The hard clip switches the gradient off at eps = b / 2B = d^-1/2 / (2 C_B): the exponent is -1/2, and eps is that
    within 1%."""
    eps = sweep.epsilon.sel(step=2).isel(time=-1)
    close = ps.derived(0.01, "eps moves by 0.5 % a stride, and the clip is passed within two")
    half = ps.derived(-0.5, "the right neuron passes the clip at 2 eps B = b")
    scaled = 2 * spec_of(sweep).clip * eps * sweep.vocabulary**0.5
    return ps.scales_like(eps, sweep.vocabulary, half, close, "eps at the end") & ps.agree(
        scaled, xr.ones_like(scaled), atol=close, what="2 C_B eps d^1/2"
    )


@claim(
    "ours: closed form of eps",
    on("population", *PATHS),
    id="ours-epsilon",
    kind="identity",
    whose="ours",
    tex=r"\epsilon^{2,2} = \frac{2}{2 + e^{q_{43}} + e^{q_{44}}}",
    page="Section 6.2, eq. (19), with off-diagonals 0",
)
def wrong_attention_is_a_function_of_two_scores(*runs):
    """eps is 2 / (2 + e^q43 + e^q44) up to the off-diagonals, which are O(1/d), and falls all along."""
    off = ps.chosen(2e-3, "the off-diagonals: 20 / d")
    verdicts = []
    for run in runs:
        eps = run.epsilon.sel(step=2)
        closed = 2 / (2 + np.exp(run.q43) + np.exp(run.q44))
        verdicts += [
            ps.agree(eps, closed, rtol=off, what="eps"),
            ps.guard(ps.decreasing(eps, "eps", along="time", strictly=False)),
        ]
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


@claim(
    "Theorem 4.1, T_2",
    on("population", evidence.to_the_end),
    id="thm4.1-time",
    aliases=("4.1-time",),
    kind="upper",
    tex=r"T_2 = \tilde O(\mathrm{poly}(d)/\eta)",
    page="Section 4, Theorem 4.1; Appendix D.6",
    as_=("d", "inf"),
    up_to_logs=True,
    assumes=simply_transitive,
)
def concentration_takes_a_power_of_d(sweep):
    """The flow time at which eps falls to d^-1/2 is a power of d: log_d of it is bounded, over two decades of d."""
    end = ps.crossing(sweep.epsilon.sel(step=2) * sweep.vocabulary**0.5, 1.0, "down")
    power = at_time(sweep.log_time, end) / np.log10(sweep.vocabulary)
    return ps.big_o(power, along="vocabulary", what="log_d of the time") & reaches_the_clip(sweep)


def _longest(sweep: xr.Dataset) -> xr.DataArray:
    """The length at which the accuracy of (5) falls below 0.9, between two powers of two."""
    level = ps.chosen(0.9, "solved: nine in ten")
    accuracy = sweep.forced_accuracy.isel(stage_end=0)
    octaves = accuracy.assign_coords(chain_length=np.log2(accuracy.chain_length))
    return 2 ** ps.crossing(octaves, level, "down", along="chain_length")


@claim(
    "Theorem 4.1 (1), equation (7)",
    on("population", evidence.to_the_end),
    id="thm4.1-1",
    aliases=("4.1-1",),
    kind="rate",
    tex=r"\mathrm{Acc}_L \ge 1 - 1/\mathrm{poly}(d) \text{ for } L \le O(d^{c^*}), \quad 0 < c^* < 1",
    page="Section 4, Theorem 4.1 (1), eq. (7)",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def the_longest_chain_grows_as_a_power_of_d(sweep):
    """The length up to which the trained model solves chains (accuracy of (5), level 0.9) grows as a power of d between 0 and 1,
    over two decades of d; at L = 2 all are solved."""
    law = ps.scales_like(_longest(sweep), sweep.vocabulary, 0.5, OPEN, "longest chain")
    short = sweep.forced_accuracy.isel(stage_end=0, chain_length=0)
    all_right = ps.chosen(0.999, "all but one chain in a thousand")
    return law & ps.guard(ps.within(short, all_right, 1.0, "accuracy at L = 2"))


@claim(
    "ours: the critical length",
    on("closed form", evidence.reach),
    id="ours-critical-length",
    kind="approx",
    whose="ours",
    tex=r"L^* = 1 + \frac{\epsilon_c}{2 (1 - \epsilon_c)} (e^{q_{43}} + e^{q_{44}})",
    page="the mean pre-activation against log d; not in the paper",
)
def chains_are_followed_up_to_the_critical_length(table):
    """The last step's probability crosses a half within 15% of the L* of the mean pre-activation, at q = 3 and d = 1e6."""
    crossed = ps.crossing(table["last"], 0.5, "down", along="chain_length")
    near = ps.chosen(0.15, "fluctuations of the histogram, of the order L^-1/2")
    most = ps.chosen(0.99, "solved")
    wide = ps.at_least(table.rollout.isel(chain_length=0), most, "rollout accuracy at the shortest")
    return ps.agree(crossed / table.predicted, 1.0, atol=near, what="crossing / L*") & ps.guard(
        wide
    )


@claim(
    "ours: dilution by longer contexts",
    on("closed form", evidence.dilution),
    id="ours-dilution",
    aliases=("dilution",),
    kind="identity",
    whose="ours",
    tex=r"\epsilon^{L,\ell} / (1 - \epsilon^{L,\ell}) = (L + \ell - 2) / (e^{q_{43}} + e^{q_{44}})",
    page="Appendix D.6, proof of Theorem D.1, which has it as an upper bound",
)
def dilution_follows_the_closed_form(table):
    """eps^L is the closed form to 1e-12 up to L = 10 000: its odds are (number of wrong clauses) / (e^q43 + e^q44)."""
    odds = table.summed / (1 - table.summed)
    digits = ps.chosen(1e-10, "rounding of 1 - eps at L = 10 000")
    rises = ps.increasing(table.summed, "eps", along="length")
    return (
        ps.agree(table.summed, table.closed, atol=ROUNDING, what="eps")
        & ps.agree(odds, table.odds, rtol=digits, what="odds")
        & ps.guard(rises)
    )


claims = (
    attention_concentrates_polynomially,
    the_exponent_is_one_half,
    wrong_attention_is_a_function_of_two_scores,
    concentration_takes_a_power_of_d,
    the_longest_chain_grows_as_a_power_of_d,
    chains_are_followed_up_to_the_critical_length,
    dilution_follows_the_closed_form,
)
