"""Section 5 and Appendix C: parity by chain of thought, trained under teacher forcing."""

from __future__ import annotations

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from ..phases import key_scores, phase_1, ran_to_the_end, spec_of, training_time
from ..training import exhaustive, symmetric
from . import evidence
from .lemmas import EXACT, REDUCED
from .phase_1 import NEAR, early_v, settled
from .phase_2 import direction_bound, drift_bound, last_decade, loss_bound


def _both(**numbers):
    steps = {"task": "parity", "steps": 400, "at": evidence.every_step(400), **numbers}
    return ps.runs(exhaustive, **steps), ps.runs(symmetric, **steps)


@claim("Lemma C.1", published(*_both()), theory(*_both(base_length=5)), beyond(*_both(max_length=7)), id="C.1")
def parity_reduces_like_even_pairs(full, reduced):
    """Lemma B.1 with the pivot at L - L_0 + 1: token scores, and scores at l < L, depend on the position only, and two
    strings per length suffice. (Beyond: the printed range of lengths, up to 2 L_0 - 1.)"""
    symmetric_scores = ps.within(full.token_asymmetry, 0.0, EXACT, "|u_a - u_b|") & ps.within(
        full.score_asymmetry, 0.0, EXACT, "W at l < L"
    )
    same = ps.all_of(ps.agree(full[name], reduced[name], atol=EXACT) for name in REDUCED)
    return symmetric_scores & same & ps.positive(full.u_norm.isel(time=slice(1, None)), "|u|")


@claim(
    "Theorem 5.1 (1)",
    theory(evidence.early_parity),
    published(
        evidence.figure_3,
        expect=Outcome.FAILS,
        because="later on v_l > 0 for some l >= L_0, and the exponents sag as in 4.1",
    ),
    id="5.1-u",
)
def token_scores_start_as_in_even_pairs(run):
    """v_1 = Theta(eta t) and v_l = -Theta(eta^2 t^2) for l >= 2, with the constants of even pairs; v_2 is the lowest."""
    early = settled(run)
    tau, v, tail = training_time(early), early.token_score, slice(2, None)
    ratio = v / early_v(early, tau)
    return (
        ps.negative(run.token_score.sel(position=tail).where(run.time > 1, drop=True), "v_l over the whole run")
        & ps.scales_like(v.sel(position=1), tau, 1.0, 0.05, "v_1")
        & ps.scales_like(-v.sel(position=tail), tau, 2.0, 0.05, "-v_l", along="time")
        & ps.within(ratio, *NEAR, "v_l / closed form")
        & ps.negative(v.sel(position=2, drop=True) - v.sel(position=slice(3, None)), "v_2 - v_l")
    )


def _beyond_base(run):
    """The lengths whose pivot is not position 1."""
    return slice(spec_of(run).base_length + 1, None)


def _cot_pivots(run, name, sign):
    run = settled(run)
    tau, score = training_time(run), sign * run[name].sel(length=_beyond_base(run))
    others = sign * key_scores(run).sel(length=_beyond_base(run))
    return (
        ps.positive(score - others, "lead over the other keys", where=others.notnull())
        & ps.scales_like(score, tau, 2.0, 0.05, name, along="time")
        & ps.within(score / (tau**2 / (64 * score.length**2)), *NEAR, f"{name} / (tau^2 / 64 L^2)")
    )


_LATE = (
    "tau = 10 at the end of the published phase 1: ratios to the early law are 0.70 to 1.09, exponents 1.89 and 2.07"
)


@claim(
    "Theorem 5.1 (2), fourth line",
    theory(evidence.early_parity),
    published(evidence.figure_3, expect=Outcome.FAILS, because=_LATE),
    id="5.1-1",
)
def differing_pivot_gains_score(run):
    """For L > L_0, q_L leads all other keys by Omega(eta^2 t^2); in truth tau^2 / 64 L^2, where the text has 1/L."""
    return _cot_pivots(run, "score_differ", 1)


@claim(
    "Theorem 5.1 (2), fourth line, at L = L_0",
    theory(
        evidence.early_parity,
        expect=Outcome.FAILS,
        because="there the pivot is position 1, and signs are those of Theorem 4.1",
    ),
    published(
        evidence.figure_3,
        expect=Outcome.FAILS,
        because="there the pivot is position 1, and signs are those of Theorem 4.1",
    ),
    id="5.1-1-base",
)
def differing_pivot_gains_score_at_the_base_length(run):
    """At L = L_0 too, which the theorem includes, q_L leads all other keys, from the second step on."""
    run, base = phase_1(run).sel(time=slice(2, None)), spec_of(run).base_length
    lead = run.score_differ.sel(length=base) - key_scores(run).sel(length=base)
    return ps.positive(lead, "q_L - m_Ll", where=lead.notnull())


@claim(
    "Theorem 5.1 (2), fifth line, corrected",
    theory(evidence.early_parity),
    published(evidence.figure_3, expect=Outcome.FAILS, because=_LATE),
    id="5.1-2",
)
def matching_pivot_loses_score(run):
    """For L > L_0 all other keys lead p_L by Omega(eta^2 t^2). (As printed, with -w for w, it contradicts the line above.)"""
    return _cot_pivots(run, "score_match", -1)


_BEHIND = "position 1 is behind every other key by tau^3 / 768 L^2 throughout phase 1"


@claim(
    "Theorem 5.1 (2), sixth line, and Lemma C.2 (3)",
    theory(evidence.early_parity, expect=Outcome.FAILS, because=_BEHIND),
    published(evidence.figure_3, expect=Outcome.FAILS, because=_BEHIND),
    id="5.1-3",
)
def first_key_leads_in_longer_strings(run):
    """For L > L_0, <E_1 - E_l, W E_L> >= Omega(eta^4 t) > 0 for l other than 1 and the pivot, from the third step on."""
    run = phase_1(run).sel(time=slice(3, None))
    keys = key_scores(run).sel(length=_beyond_base(run))
    lead = keys.sel(position=1, drop=True) - keys.sel(position=slice(2, None))
    return ps.positive(lead, "m_L1 - m_Ll", where=lead.notnull())


_separable = {"task": "parity", "steps": 100, "at": [0, 100]}


@claim(
    "Section 5.3, separability",
    published(ps.runs(symmetric, **_separable)),
    theory(*(ps.runs(symmetric, base_length=base, **_separable) for base in (3, 5, 8))),
    id="5.1-sep",
)
def parity_outputs_are_separable(*runs):
    """At t_0 some read-out classifies every training string of parity correctly: the hard-margin problem is feasible,
    certified by the solver's margin and duality gap."""
    judge = lambda run: ps.within(run.margin_norm, 2.0, 1e12, f"|u*|, L_0 = {spec_of(run).base_length}")
    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


_lams = [2.0, 4.0, 8.0, 16.0, 32.0]


@claim(
    "Section 5.3, separability (ours)",
    beyond(
        ps.sweeps(symmetric, base_length=4, lam=_lams, **_separable),
        ps.sweeps(symmetric, base_length=3, lam=_lams, **_separable),
    ),
    id="5.1-sep-lam",
)
def the_margin_of_parity_is_quadratically_small(four, three):
    """|u*| grows like lam^2 for L_0 = 4, where pivots from 3 on count only through the slack of short lengths, and like
    lam for L_0 = 3: a much worse margin than the text suggests."""
    return ps.scales_like(four.margin_norm, four.lam, 2.0, 0.05, "|u*|, L_0 = 4") & ps.scales_like(
        three.margin_norm, three.lam, 1.0, 0.05, "|u*|, L_0 = 3"
    )


@claim(
    "Theorem 5.2",
    published(
        evidence.parity_to_1e4,
        expect=Outcome.FAILS,
        because="violated from t = 1114 on; the attention moves by 21 until 10^4",
    ),
    id="5.2",
)
def parity_turns_to_the_max_margin_direction(run):
    """Phase 2 as in Theorem 4.4: the printed bound on cos(u_t, u*) holds, and |W_t - W_t0| stays below 1."""
    return direction_bound(run) & drift_bound(run)


@claim(
    "Theorem 5.3",
    published(
        evidence.parity_to_1e4,
        expect=Outcome.UNDECIDED,
        because="vacuous: |u*| = 2299 makes the bound larger than the loss ever is",
    ),
    id="5.3",
)
def parity_loss_falls_below_the_printed_bound(run):
    """L_t <= C N |u*|^2 / (eta sqrt t), with C = 14."""
    return loss_bound(run)


@claim(
    "Theorem 5.3, rate",
    published(
        evidence.parity_to_1e4,
        expect=Outcome.FAILS,
        because="the slope is -3.1 at t = 1656 and still -1.28 at 10^4 steps",
    ),
    theory(evidence.parity_flow),
    id="5.3-rate",
)
def parity_loss_falls_like_one_over_t(run):
    """The loss decays as 1/t: the local exponent lies in [-1.15, -0.95] over the last decade of the run."""
    return last_decade(run)
