"""Section 4, phase 1 of even pairs: Theorem 4.1, and the separability that it leads to (Proposition 4.3)."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..phases import (
    excess_attention,
    key_scores,
    phase_1,
    ran_to_the_end,
    spec_of,
    training_time,
)
from . import evidence

LATE = "phase 1 of the experiments lasts until tau = 10, far beyond the 1/N of the theorem: exponents sag from tau = 1 on"
TAIL = slice(2, None)
NEAR = (0.9, 1.05)  # ratio to the leading term of the expansion at small tau


def settled(run: xr.Dataset) -> xr.Dataset:
    """Phase 1 from its tenth step on: the first steps go like t (t - 1) for t^2, and leave all but v_1 at 0."""
    return phase_1(run).sel(time=slice(10, None))


def early_v(run: xr.Dataset, tau: xr.DataArray) -> xr.DataArray:
    r"""The token scores at small tau: tau/4 at position 1, -(tau^2/64) sum_{L >= l} L^-2 beyond."""
    scores = closed_forms.early_token_scores(run.sizes["position"], closed_forms.flow_clock(1.0))
    scores = xr.DataArray(scores, {"position": run.position}, ("position",))
    return xr.where(run.position == 1, tau, tau**2) * scores


def lead_of_second(scores: xr.DataArray) -> xr.DataArray:
    """What position 2 has more than each of the positions after it."""
    return scores.sel(position=2, drop=True) - scores.sel(position=slice(3, None))


@ps.claim(
    "Theorem 4.1 (1), first line",
    ps.theory(evidence.early_even_pairs),
    ps.published(evidence.figure_2, expect=ps.Outcome.FAILS, because=LATE),
    id="4.1-u1",
)
def first_token_score_grows_linearly(run):
    """v_1 = Theta(eta t) during phase 1; in truth tau/4."""
    early = settled(run)
    tau = training_time(early)
    v = early.token_score.sel(position=1)
    law = ps.scales_like(v, tau, 1.0, 0.05, "v_1") & ps.within(
        v / (tau / 4), *NEAR, "v_1 / (tau/4)"
    )
    return law & ran_to_the_end(run)


@ps.claim(
    "Theorem 4.1 (1), second line",
    ps.theory(evidence.early_even_pairs),
    ps.published(evidence.figure_2, expect=ps.Outcome.FAILS, because=LATE),
    id="4.1-ul",
)
def other_token_scores_fall_quadratically(run):
    """v_l = -Theta(eta^2 t^2) for every l >= 2; in truth -(tau^2/64) sum_{L >= l} L^-2."""
    early = settled(run)
    tau = training_time(early)
    v = early.token_score.sel(position=TAIL)
    ratio = ps.within(v / early_v(early, tau).sel(position=TAIL), *NEAR, "v_l / closed form")
    return ps.scales_like(-v, tau, 2.0, 0.05, "-v_l", along="time") & ratio & ran_to_the_end(run)


@ps.claim(
    "Theorem 4.1 (1), second line, one constant for all l",
    ps.theory(
        evidence.early_even_pairs,
        expect=ps.Outcome.FAILS,
        because="the constant is (1/l - 1/N)/64 or so: 1/(64 N^2) at l = N, a factor 2600 below that of l = 2 at N = 64",
    ),
    id="4.1-ul-uniform",
)
def the_quadratic_constant_is_uniform(run):
    """The constants in v_l = -Theta(eta^2 t^2) do not depend on l: largest and smallest within a factor 10."""
    run = settled(run)
    constant = -run.token_score.sel(position=TAIL) / training_time(run) ** 2
    spread = constant.max("position") / constant.min("position")
    return ps.positive(constant, "-v_l / tau^2") & ps.at_most(spread, 10.0, "spread")


@ps.claim(
    "Theorem 4.1 (1), third line",
    ps.theory(evidence.early_even_pairs),
    ps.published(evidence.figure_2, expect=ps.Outcome.FAILS, because=LATE),
    id="4.1-u2",
)
def second_position_is_the_lowest(run):
    """v_2 - v_l <= -Omega(eta^2 t^2) for l >= 3; in truth -(tau^2/64) sum_{L=2}^{l-1} L^-2."""
    early = settled(run)
    lead = lead_of_second(early.token_score)
    expected = lead_of_second(early_v(early, training_time(early)))
    ratio = ps.within(lead / expected, *NEAR, "(v_2 - v_l) / closed form")
    return ps.negative(lead, "v_2 - v_l") & ratio & ran_to_the_end(run)


def pivot_scores_lead(run, name, sign):
    """`sign` times the pivot's score leads all other keys, and follows its closed form."""
    early = settled(run)
    tau = training_time(early)
    score = sign * early[name].sel(length=TAIL)
    forecast = tau**2 / (64 * score.length) * (1 - 1 / score.length)
    others = sign * key_scores(early).sel(length=TAIL, position=TAIL)
    return (
        ps.positive(score - others, "lead over the other keys", where=others.notnull())
        & ps.scales_like(score, tau, 2.0, 0.05, name, along="time")
        & ps.within(score / forecast, *NEAR, f"{name} / closed form")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Theorem 4.1 (2), first line",
    ps.theory(evidence.early_even_pairs),
    ps.published(evidence.figure_2, expect=ps.Outcome.FAILS, because=LATE),
    id="4.1-A",
)
def matching_first_token_gains_score(run):
    """p_L leads all other keys by Omega(eta^2 t^2); in truth (tau^2/64 L)(1 - 1/L), with a 1/L that the text omits."""
    return pivot_scores_lead(run, "score_match", 1)


@ps.claim(
    "Theorem 4.1 (2), second line",
    ps.theory(evidence.early_even_pairs),
    ps.published(evidence.figure_2, expect=ps.Outcome.FAILS, because=LATE),
    id="4.1-B",
)
def differing_first_token_loses_score(run):
    """All other keys lead q_L by Omega(eta^2 t^2); in truth q_L = -p_L at leading order."""
    return pivot_scores_lead(run, "score_differ", -1)


TWICE = "the last token's own key collects twice the gradient: m_L2 - s_L = -tau^3 / (768 L^3) < 0 at first"


@ps.claim(
    "Theorem 4.1 (2), third line",
    ps.theory(evidence.early_even_pairs, expect=ps.Outcome.FAILS, because=TWICE),
    ps.published(evidence.figure_2, expect=ps.Outcome.FAILS, because=TWICE),
    id="4.1-C",
)
def second_key_leads_all_later_ones(run):
    """<E_2 - E_l, W E_L> >= Omega(eta^4 t) > 0 for every l >= 3, throughout phase 1 from the third step on."""
    run = phase_1(run)
    keys = key_scores(run.sel(time=slice(3, None))).sel(length=slice(3, None))
    lead = lead_of_second(keys)
    return ps.positive(lead, "m_L2 - m_Ll", where=lead.notnull())


@ps.claim(
    "Theorem 4.1 (2), third line, corrected to l < L",
    ps.theory(evidence.early_even_pairs),
    id="4.1-C-corrected",
)
def second_key_leads_quartically(run):
    """m_L2 - m_Ll = (tau^4 / 16384 L^2) sum_{2 <= j < l} j^-2 for 3 <= l < L: stronger in t than the theorem says."""
    early = settled(run)
    tau = training_time(early)
    keys = key_scores(early).sel(length=slice(4, None))
    lead = lead_of_second(keys)
    lead = lead.where(lead.position < lead.length)
    shape = closed_forms.early_second_lead(spec_of(run).size, closed_forms.flow_clock(1.0))
    places = {"length": run.length, "position": run.position}
    forecast = tau**4 * xr.DataArray(shape, places, ("length", "position"))
    forecast = forecast.sel(length=slice(4, None), position=slice(3, None))
    law = ps.scales_like(lead.sel(position=3), tau, 4.0, 0.1, "m_L2 - m_L3", along="time")
    ratio = ps.within(lead / forecast, *NEAR, "(m_L2 - m_Ll) / closed form", where=lead.notnull())
    return law & ratio & ran_to_the_end(run)


@ps.claim(
    "Theorem 4.1, remark",
    ps.theory(evidence.theorem_16),
    ps.published(evidence.figure_2),
    id="4.1-txt",
)
def attention_leaves_uniformity(run):
    """At t_0 position 1 has more than 1/L of the attention in matching strings, and position 2 in differing ones.

    In the theorems' setting the first excess is (eta^2 t_0 (t_0 - 1) / 64 lam L^2) (1 - 1/L)^2, between 1e-8 and 1e-9
    at N = 16: it holds, and it is numerically nothing.
    """
    end = phase_1(run).isel(time=[-1])
    matching = ps.positive(excess_attention(end, "match"), "phi_1 - 1/L, matching")
    differing = ps.positive(excess_attention(end, "differ"), "phi_2 - 1/L, differing")
    return matching & differing & ran_to_the_end(run)


@ps.claim(
    "Proposition 4.3 and Lemma B.4",
    ps.published(evidence.figure_2, evidence.figure_4, evidence.figure_5, evidence.figure_6),
    ps.theory(evidence.theorem_16, evidence.theorem_64),
    id="4.3",
)
def attention_outputs_are_separable(*runs):
    """From the second step on, the direction E_1 - E_2 separates the attention outputs of the two classes.

    Scores are compared, not weights: the difference of the weights underflows where the theorem lives.
    """

    def judge(run):
        run = run.sel(time=slice(2, None))
        second = key_scores(run).sel(length=TAIL, position=2)
        above = run.score_match.sel(length=TAIL) - second
        below = second - run.score_differ.sel(length=TAIL)
        return ps.positive(above, "p_L - m_L2") & ps.positive(below, "m_L2 - q_L")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


claims = (
    first_token_score_grows_linearly,
    other_token_scores_fall_quadratically,
    the_quadratic_constant_is_uniform,
    second_position_is_the_lowest,
    matching_first_token_gains_score,
    differing_first_token_loses_score,
    second_key_leads_all_later_ones,
    second_key_leads_quartically,
    attention_leaves_uniformity,
    attention_outputs_are_separable,
)
