"""Section 5 and Appendix C: parity by chain of thought, trained under teacher forcing."""

from __future__ import annotations

import phasescope as ps

from ..phases import key_scores, phase_1, ran_to_the_end, spec_of, training_time
from ..training import exhaustive, symmetric
from . import evidence
from .lemmas import EXACT, REDUCED
from .phase_1 import NEAR, TAIL, early_v, lead_of_second, settled
from .phase_2 import direction_bound, drift_bound, last_decade, loss_bound


def full_and_reduced(**numbers) -> tuple[ps.Request, ps.Request]:
    """The same 400 steps on all strings, and in the coordinates of the reduction."""
    steps = {"task": "parity", "steps": 400, "at": evidence.every_step(400), **numbers}
    return ps.runs(exhaustive, **steps), ps.runs(symmetric, **steps)


@ps.claim(
    "Lemma C.1",
    ps.published(*full_and_reduced()),
    ps.theory(*full_and_reduced(base_length=5)),
    ps.beyond(*full_and_reduced(max_length=7)),
    id="C.1",
)
def parity_reduces_like_even_pairs(full, reduced):
    """Lemma B.1 with the pivot at L - L_0 + 1: token scores, and scores at l < L, depend on the position only, and two
    strings per length suffice. (Beyond: the printed range of lengths, up to 2 L_0 - 1.)"""
    return (
        ps.within(full.token_asymmetry, 0.0, EXACT, "|u_a - u_b|")
        & ps.within(full.score_asymmetry, 0.0, EXACT, "W at l < L")
        & ps.all_of(ps.agree(full[name], reduced[name], atol=EXACT) for name in REDUCED)
        & ps.positive(full.u_norm.isel(time=slice(1, None)), "|u|")
    )


@ps.claim(
    "Theorem 5.1 (1)",
    ps.theory(evidence.early_parity),
    ps.published(
        evidence.figure_3,
        expect=ps.Outcome.FAILS,
        because="later on v_l > 0 for some l >= L_0, and the exponents sag as in 4.1",
    ),
    id="5.1-u",
)
def token_scores_start_as_in_even_pairs(run):
    """v_1 = Theta(eta t) and v_l = -Theta(eta^2 t^2) for l >= 2, with the constants of even pairs; v_2 is the lowest."""
    early = settled(run)
    tau = training_time(early)
    v = early.token_score
    ratio = v / early_v(early, tau)
    after_one = run.token_score.sel(position=TAIL).where(run.time > 1, drop=True)
    return (
        ps.negative(after_one, "v_l over the whole run")
        & ps.scales_like(v.sel(position=1), tau, 1.0, 0.05, "v_1")
        & ps.scales_like(-v.sel(position=TAIL), tau, 2.0, 0.05, "-v_l", along="time")
        & ps.within(ratio, *NEAR, "v_l / closed form")
        & ps.negative(lead_of_second(v), "v_2 - v_l")
    )


def beyond_base(run):
    """The lengths whose pivot is not position 1."""
    return slice(spec_of(run).base_length + 1, None)


def thought_pivots_lead(run, name, sign):
    """Beyond L_0, `sign` times the pivot's score leads all other keys, and follows its closed form."""
    run = settled(run)
    tau = training_time(run)
    score = sign * run[name].sel(length=beyond_base(run))
    others = sign * key_scores(run).sel(length=beyond_base(run))
    return (
        ps.positive(score - others, "lead over the other keys", where=others.notnull())
        & ps.scales_like(score, tau, 2.0, 0.05, name, along="time")
        & ps.within(score / (tau**2 / (64 * score.length**2)), *NEAR, f"{name} / (tau^2 / 64 L^2)")
    )


LATE = "tau = 10 at the end of the published phase 1: ratios to the early law are 0.70 to 1.09, exponents 1.89 and 2.07"


@ps.claim(
    "Theorem 5.1 (2), fourth line",
    ps.theory(evidence.early_parity),
    ps.published(evidence.figure_3, expect=ps.Outcome.FAILS, because=LATE),
    id="5.1-1",
)
def differing_pivot_gains_score(run):
    """For L > L_0, q_L leads all other keys by Omega(eta^2 t^2); in truth tau^2 / 64 L^2, where the text has 1/L."""
    return thought_pivots_lead(run, "score_differ", 1)


AT_BASE = "there the pivot is position 1, and signs are those of Theorem 4.1"


@ps.claim(
    "Theorem 5.1 (2), fourth line, at L = L_0",
    ps.theory(evidence.early_parity, expect=ps.Outcome.FAILS, because=AT_BASE),
    ps.published(evidence.figure_3, expect=ps.Outcome.FAILS, because=AT_BASE),
    id="5.1-1-base",
)
def differing_pivot_gains_score_at_the_base_length(run):
    """At L = L_0 too, which the theorem includes, q_L leads all other keys, from the second step on."""
    base = spec_of(run).base_length
    run = phase_1(run).sel(time=slice(2, None))
    lead = run.score_differ.sel(length=base) - key_scores(run).sel(length=base)
    return ps.positive(lead, "q_L - m_Ll", where=lead.notnull())


@ps.claim(
    "Theorem 5.1 (2), fifth line, corrected",
    ps.theory(evidence.early_parity),
    ps.published(evidence.figure_3, expect=ps.Outcome.FAILS, because=LATE),
    id="5.1-2",
)
def matching_pivot_loses_score(run):
    """For L > L_0 all other keys lead p_L by Omega(eta^2 t^2). (As printed, with -w for w, it contradicts the line above.)"""
    return thought_pivots_lead(run, "score_match", -1)


BEHIND = "position 1 is behind every other key by tau^3 / 768 L^2 throughout phase 1"


@ps.claim(
    "Theorem 5.1 (2), sixth line, and Lemma C.2 (3)",
    ps.theory(evidence.early_parity, expect=ps.Outcome.FAILS, because=BEHIND),
    ps.published(evidence.figure_3, expect=ps.Outcome.FAILS, because=BEHIND),
    id="5.1-3",
)
def first_key_leads_in_longer_strings(run):
    """For L > L_0, <E_1 - E_l, W E_L> >= Omega(eta^4 t) > 0 for l other than 1 and the pivot, from the third step on."""
    run = phase_1(run).sel(time=slice(3, None))
    keys = key_scores(run).sel(length=beyond_base(run))
    lead = keys.sel(position=1, drop=True) - keys.sel(position=slice(2, None))
    return ps.positive(lead, "m_L1 - m_Ll", where=lead.notnull())


TO_SWITCH = {"task": "parity", "steps": 100, "at": [0, 100]}


@ps.claim(
    "Section 5.3, separability",
    ps.published(ps.runs(symmetric, **TO_SWITCH)),
    ps.theory(*(ps.runs(symmetric, base_length=base, **TO_SWITCH) for base in (3, 5, 8))),
    id="5.1-sep",
)
def parity_outputs_are_separable(*runs):
    """At t_0 some read-out classifies every training string of parity correctly: the hard-margin problem is feasible,
    certified by the solver's margin and duality gap."""

    def judge(run):
        return ps.within(run.margin_norm, 2.0, 1e12, f"|u*|, L_0 = {spec_of(run).base_length}")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


LAMS = [2.0, 4.0, 8.0, 16.0, 32.0]


@ps.claim(
    "Section 5.3, separability (ours)",
    ps.beyond(
        ps.sweeps(symmetric, base_length=4, lam=LAMS, **TO_SWITCH),
        ps.sweeps(symmetric, base_length=3, lam=LAMS, **TO_SWITCH),
    ),
    id="5.1-sep-lam",
)
def the_margin_of_parity_is_quadratically_small(four, three):
    """|u*| grows like lam^2 for L_0 = 4, where pivots from 3 on count only through the slack of short lengths, and like
    lam for L_0 = 3: a much worse margin than the text suggests."""
    quadratic = ps.scales_like(four.margin_norm, four.lam, 2.0, 0.05, "|u*|, L_0 = 4")
    linear = ps.scales_like(three.margin_norm, three.lam, 1.0, 0.05, "|u*|, L_0 = 3")
    return quadratic & linear


@ps.claim(
    "Theorem 5.2",
    ps.published(
        evidence.parity_to_1e4,
        expect=ps.Outcome.FAILS,
        because="violated from t = 1114 on; the attention moves by 21 until 10^4",
    ),
    id="5.2",
)
def parity_turns_to_the_max_margin_direction(run):
    """Phase 2 as in Theorem 4.4: the printed bound on cos(u_t, u*) holds, and |W_t - W_t0| stays below 1."""
    return direction_bound(run) & drift_bound(run)


@ps.claim(
    "Theorem 5.3",
    ps.published(
        evidence.parity_to_1e4,
        expect=ps.Outcome.UNDECIDED,
        because="vacuous: |u*| = 2299 makes the bound larger than the loss ever is",
    ),
    id="5.3",
)
def parity_loss_falls_below_the_printed_bound(run):
    """L_t <= C N |u*|^2 / (eta sqrt t), with C = 14."""
    return loss_bound(run)


@ps.claim(
    "Theorem 5.3, rate",
    ps.published(
        evidence.parity_to_1e4,
        expect=ps.Outcome.FAILS,
        because="the slope is -3.1 at t = 1656 and still -1.28 at 10^4 steps",
    ),
    ps.theory(evidence.parity_flow),
    id="5.3-rate",
)
def parity_loss_falls_like_one_over_t(run):
    """The loss decays as 1/t: the local exponent lies in [-1.15, -0.95] over the last decade of the run."""
    return last_decade(run)


claims = (
    parity_reduces_like_even_pairs,
    token_scores_start_as_in_even_pairs,
    differing_pivot_gains_score,
    differing_pivot_gains_score_at_the_base_length,
    matching_pivot_loses_score,
    first_key_leads_in_longer_strings,
    parity_outputs_are_separable,
    the_margin_of_parity_is_quadratically_small,
    parity_turns_to_the_max_margin_direction,
    parity_loss_falls_below_the_printed_bound,
    parity_loss_falls_like_one_over_t,
)
