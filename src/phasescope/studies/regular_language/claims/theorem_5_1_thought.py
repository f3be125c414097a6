"""Theorem 5.1 (2), lengths from L_0 on: attention in the steps of the chain of thought."""

from __future__ import annotations

import phasescope as ps

from ..phases import is_key, key_scores, ran_to_the_end, spec_of, training_time
from . import evidence
from .assumptions import theorem_5_1
from .parts import by_size, told, until, while_phase_1_lasts

SIZES = evidence.parity_for_scores


def lengths_from(run, extra):
    """The lengths from L_0 + extra on; the pivot is position 1 at L_0 and a later one beyond."""
    return slice(spec_of(run).base_length + extra, None)


def leads(run, name, sign, extra):
    """`sign` (pivot's score - other keys), and which entries exist."""
    some = run.sel(length=lengths_from(run, extra))
    return sign * (some[name] - key_scores(some)), is_key(some)


def leads_throughout(runs, name, sign, extra, by):
    """The sign of the lead from the second update to t_0 = 1 / (eta N)."""

    def judge(run):
        lead, keys = leads(until(run, 1.0, 2), name, sign, extra)
        return ps.positive(lead, f"lead, N = {spec_of(run).size}", where=keys)

    return ps.refuted(ps.all_of(map(judge, runs)), by=by)


def leads_by_square(runs, name, sign):
    """The lead is Omega(eta^2 t^2 / L^2) for all L > L_0, for several constants of phase 1."""

    def ratio(run, c_0):
        early = until(run, c_0, 2)
        lead, keys = leads(early, name, sign, 1)
        return told(lead * lead.length**2 / training_time(early) ** 2, keys)

    def judge(c_0):
        ratios = by_size(runs, lambda run: ratio(run, c_0))
        return ps.big_omega(ratios, what=f"lead of {name} L^2 / (eta t)^2")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 5.1 (2), fourth line",
    ps.on(
        "training",
        *SIZES,
        expect="false",
        because=(
            "at L = L_0 the pivot is position 1, and signs are those of Theorem 4.1: the lead is {value:.3g} at {where}"
        ),
    ),
    id="thm5.1-pivot-differs",
    aliases=("5.1-1-base",),
    kind="sign",
    tex=(
        r"\langle E_{\ell_0}^{-w} - E_\ell^{w'}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2) > 0, "
        r"\quad \ell \ne \ell_0,\ L \ge L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    assumes=theorem_5_1,
)
def differing_pivot_gains_score(*runs):
    """For L >= L_0, L = L_0 included, the differing pivot's q_L leads all other keys. (Theorem 4.1 says the opposite of
    pivot 1.)"""
    return leads_throughout(
        runs, "score_differ", 1, 0, by="closed_forms.early_pivot_scores at L = L_0"
    )


@ps.claim(
    "Theorem 5.1 (2), fourth line, corrected",
    ps.on("training", *SIZES),
    id="thm5.1-pivot-differs-corrected",
    aliases=("5.1-1",),
    kind="lower",
    whose="corrected",
    erratum="E3, E4",
    tex=(
        r"\langle E_{\ell_0}^{-w} - E_\ell^{w'}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2 / L^2), "
        r"\quad \ell \ne \ell_0,\ L > L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    as_=("N", "inf"),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def differing_pivot_gains_score_beyond_the_base_length(*runs):
    """For L > L_0, q_L leads all other keys by Omega(eta^2 t^2 / L^2), with one constant for all L up to N."""
    return leads_by_square(runs, "score_differ", 1)


@ps.claim(
    "Theorem 5.1 (2), fifth line",
    ps.on(
        "training",
        *SIZES,
        expect="false",
        because="as printed it is the negation of the line above it: the lead is {value:.3g} at {where}",
    ),
    id="thm5.1-pivot-printed",
    kind="sign",
    tex=(
        r"\langle E_\ell^{w'} - E_{\ell_0}^{-w}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2) > 0, "
        r"\quad \ell \ne \ell_0,\ L \ge L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    assumes=theorem_5_1,
)
def differing_pivot_loses_score(*runs):
    """For L >= L_0 all other keys lead the differing pivot's q_L, as printed."""
    return leads_throughout(
        runs, "score_differ", -1, 0, by="closed_forms.early_pivot_scores beyond L_0"
    )


@ps.claim(
    "Theorem 5.1 (2), fifth line, corrected",
    ps.on("training", *SIZES),
    id="thm5.1-pivot-matches-corrected",
    aliases=("5.1-2",),
    kind="lower",
    whose="corrected",
    erratum="E3, E4",
    tex=(
        r"\langle E_\ell^{w'} - E_{\ell_0}^{w}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2 / L^2), "
        r"\quad \ell \ne \ell_0,\ L > L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    as_=("N", "inf"),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def matching_pivot_loses_score(*runs):
    """For L > L_0 all other keys lead the matching pivot's p_L by Omega(eta^2 t^2 / L^2), with one constant for all L."""
    return leads_by_square(runs, "score_match", -1)


def first_key_leads(run):
    """m_L1 - m_Ll for L > L_0 and l other than 1 and the pivot, and which entries exist."""
    some = run.sel(length=lengths_from(run, 1))
    later = slice(2, None)
    keys = key_scores(some)
    lead = keys.sel(position=1, drop=True) - keys.sel(position=later)
    return lead, is_key(some).sel(position=later)


BEHIND = (
    "position 1 is behind every other key throughout phase 1: its lead is {value:.3g} at {where}"
)


@ps.claim(
    "Theorem 5.1 (2), sixth line, and Lemma C.2, last line",
    ps.on("training", *SIZES, expect="false", because=BEHIND),
    id="thm5.1-first-key",
    aliases=("5.1-3",),
    kind="sign",
    tex=(
        r"\langle E_1^{w'} - E_\ell^{w''}, W_t E_L^w\rangle \ge \Omega(\eta^4 t) > 0, "
        r"\quad \ell \ne 1, \ell_0,\ L > L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2); Appendix C, Lemma C.2",
    assumes=theorem_5_1,
)
def first_key_leads_in_longer_strings(*runs):
    """For L > L_0, <E_1 - E_l, W E_L> > 0 for l other than 1 and the pivot, from the third update on."""

    def judge(run):
        lead, keys = first_key_leads(until(run, 1.0, 3))
        return ps.positive(lead, f"m_L1 - m_Ll, N = {spec_of(run).size}", where=keys)

    found = ps.all_of(map(judge, runs))
    return ps.refuted(found, by="closed_forms.early_other_scores: -tau^3 / 768 L^2")


@ps.claim(
    "Theorem 5.1 (2), sixth line, corrected",
    ps.on("training", *SIZES),
    id="thm5.1-first-key-corrected",
    kind="theta",
    whose="corrected",
    erratum="E5",
    tex=(
        r"\langle E_1^{w'} - E_\ell^{w''}, W_t E_L^w\rangle = -\Theta(\eta^3 t^3 / L^2), "
        r"\quad \ell \ne 1, \ell_0,\ L > L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    as_=("N", "inf"),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def first_key_is_behind_in_longer_strings(*runs):
    """For L > L_0, position 1 is behind every key but the pivot by Theta(eta^3 t^3 / L^2), from the third update on."""

    def ratio(run, c_0):
        early = until(run, c_0, 3)
        lead, keys = first_key_leads(early)
        return told(-lead * lead.length**2 / training_time(early) ** 3, keys)

    def judge(c_0):
        ratios = by_size(runs, lambda run: ratio(run, c_0))
        return ps.big_theta(ratios, what="(m_Ll - m_L1) L^2 / (eta t)^3")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


claims = (
    differing_pivot_gains_score,
    differing_pivot_gains_score_beyond_the_base_length,
    differing_pivot_loses_score,
    matching_pivot_loses_score,
    first_key_leads_in_longer_strings,
    first_key_is_behind_in_longer_strings,
)
