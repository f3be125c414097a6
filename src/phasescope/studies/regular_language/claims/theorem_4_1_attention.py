"""Theorem 4.1 (2), phase 1 of even pairs: the attention scores, in the main text and as restated in Appendix B."""

from __future__ import annotations

import phasescope as ps

from ..phases import is_key, key_scores, ran_to_the_end, spec_of, training_time
from . import evidence
from .assumptions import theorem_4_1
from .parts import TAIL, by_size, told, until, while_phase_1_lasts
from .theorem_4_1 import SHORT

THIRD = slice(3, None)


def pivot_leads(run, name, sign, lengths):
    """By how much `sign` times the score of pivot 1 leads each other key, in the lengths asked for."""
    some = run.sel(length=lengths)
    return sign * (some[name] - key_scores(some).sel(position=TAIL))


def leads_by(runs, name, sign, lengths, power):
    """The lead over every other key is Omega(eta^2 t^2 / L^power), for several constants of phase 1."""

    def ratio(run, c_0):
        early = until(run, c_0, 2)
        lead = pivot_leads(early, name, sign, lengths)
        keys = is_key(run.sel(length=lengths)).sel(position=TAIL)
        return told(lead * lead.length**power / training_time(early) ** 2, keys)

    def judge(c_0):
        ratios = by_size(runs, lambda run: ratio(run, c_0))
        scale = "" if power == 0 else f" L^{power:g}"
        return ps.big_omega(ratios, what=f"lead of {name}{scale} / (eta t)^2")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


def second_key_leads(run, lengths=THIRD):
    """m_L2 - m_Ll for l >= 3 in the lengths asked for, and which of its entries exist."""
    some = run.sel(length=lengths)
    keys = key_scores(some)
    lead = keys.sel(position=2, drop=True) - keys.sel(position=THIRD)
    return lead, is_key(some).sel(position=THIRD)


def second_key_leads_all(*runs, last=None):
    """m_L2 > m_Ll for every l >= 3 from the third update to t_0 = 1 / (eta N). `last`: the longest length, by run."""

    def judge(run):
        early = until(run, 1.0, 3)
        lead, keys = second_key_leads(early, slice(3, None if last is None else last(run)))
        return ps.positive(lead, f"m_L2 - m_Ll, N = {spec_of(run).size}", where=keys)

    found = ps.all_of(map(judge, runs))
    return ps.refuted(found, by="closed_forms.early_other_scores: m_L2 - s_L = -tau^3 / 768 L^3")


@ps.claim(
    "Theorem 4.1 (2), first line",
    ps.on("training", *evidence.for_scores),
    id="thm4.1-match",
    aliases=("4.1-A",),
    kind="lower",
    tex=r"\langle E_1^w - E_\ell^{w'}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2), \quad \ell \ge 2",
    page="Section 4.1, Theorem 4.1 (2)",
    as_=("N", "inf"),
    hides=("L",),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def matching_first_token_gains_score(*runs):
    """p_L leads all other keys by Omega(eta^2 t^2): at L = 2, 3, 4, with constants that may depend on L but not on N."""
    return leads_by(runs, "score_match", 1, SHORT, 0)


@ps.claim(
    "Theorem 4.1 (2), second line",
    ps.on("training", *evidence.for_scores),
    id="thm4.1-differ",
    aliases=("4.1-B",),
    kind="lower",
    tex=r"\langle E_\ell^{w'} - E_1^{-w}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2), \quad \ell \ge 2",
    page="Section 4.1, Theorem 4.1 (2)",
    as_=("N", "inf"),
    hides=("L",),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def differing_first_token_loses_score(*runs):
    """All other keys lead q_L by Omega(eta^2 t^2): at L = 2, 3, 4, with constants that may depend on L but not on N."""
    return leads_by(runs, "score_differ", -1, SHORT, 0)


@ps.claim(
    "Theorem B.3 (2), first line",
    ps.on("training", *evidence.for_scores),
    id="thmB.3-match",
    kind="lower",
    tex=r"\langle E_1^w - E_\ell^w, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2 / L), \quad \ell \ge 2",
    page="Appendix B.1, Theorem B.3 (2)",
    as_=("N", "inf"),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def matching_first_token_gains_score_at_all_lengths(*runs):
    """p_L leads all other keys by Omega(eta^2 t^2 / L), with one constant for all L up to N."""
    return leads_by(runs, "score_match", 1, TAIL, 1)


@ps.claim(
    "Theorem B.3 (2), second line",
    ps.on("training", *evidence.for_scores),
    id="thmB.3-differ",
    kind="lower",
    tex=r"\langle E_2^w - E_1^{-w}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2 / L)",
    page="Appendix B.1, Theorem B.3 (2)",
    as_=("N", "inf"),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def differing_first_token_loses_score_at_all_lengths(*runs):
    """All other keys lead q_L by Omega(eta^2 t^2 / L), with one constant for all L up to N."""
    return leads_by(runs, "score_differ", -1, TAIL, 1)


TWICE = (
    "the last token's own key collects twice the gradient of the others, so at l = L the lead is "
    "negative: {value:.3g} at {where}"
)


@ps.claim(
    "Theorem 4.1 (2), third line",
    ps.on("training", *evidence.for_scores, expect="false", because=TWICE),
    id="thm4.1-second-key",
    aliases=("4.1-C",),
    kind="sign",
    tex=r"\langle E_2^{w'} - E_\ell^{w''}, W_t E_L^w\rangle \ge \Omega(\eta^4 t) > 0, \quad \ell \ge 3",
    page="Section 4.1, Theorem 4.1 (2)",
    assumes=theorem_4_1,
)
def second_key_leads_all_later_ones(*runs):
    """<E_2 - E_l, W E_L> > 0 for every l >= 3, l = L included, from the third update on."""
    return second_key_leads_all(*runs)


@ps.claim(
    "Theorem B.3 (2), third line",
    ps.on("training", *evidence.for_scores, expect="false", because=TWICE),
    id="thmB.3-second-key",
    kind="sign",
    tex=(
        r"\langle E_2^w - E_\ell^w, W_t E_L^w\rangle \ge "
        r"\Omega\left(\left(1 + \tfrac{\eta^3 t^2}{\lambda L^3}\right)^t \tfrac{\eta^4}{\lambda L}\right) > 0, "
        r"\quad \ell \ge 3"
    ),
    page="Appendix B.1, Theorem B.3 (2)",
    assumes=theorem_4_1,
)
def second_key_leads_all_later_ones_of_its_token(*runs):
    """<E_2^w - E_l^w, W E_L^w> > 0 for every l >= 3, l = L included, from the third update on."""
    return second_key_leads_all(*runs)


def second_key_leads_by(runs, bound, lengths):
    """The lead of key 2 over the keys 3 <= l < L is Omega(bound), for several constants of phase 1."""

    def ratio(run, c_0):
        early = until(run, c_0, 3)
        lead, keys = second_key_leads(early, lengths)
        return told(lead / bound(early, lead.length), keys & (keys.position < keys.length))

    def judge(c_0):
        ratios = by_size(runs, lambda run: ratio(run, c_0))
        return ps.big_omega(ratios, what="(m_L2 - m_Ll) / bound")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


def printed_in_the_text(run, length):
    """eta^4 t."""
    return spec_of(run).eta ** 4 * run.time


def printed_in_the_appendix(run, length):
    """(1 + eta^3 t^2 / (lam L^3))^t eta^4 / (lam L)."""
    spec = spec_of(run)
    growth = (1 + spec.eta**3 * run.time**2 / (spec.lam * length**3)) ** run.time
    return growth * spec.eta**4 / (spec.lam * length)


@ps.claim(
    "Theorem 4.1 (2), third line, corrected to l < L",
    ps.on("training", *evidence.for_scores),
    id="thm4.1-second-key-corrected",
    aliases=("4.1-C-corrected",),
    kind="lower",
    whose="corrected",
    erratum="E6",
    tex=r"\langle E_2^{w'} - E_\ell^{w''}, W_t E_L^w\rangle \ge \Omega(\eta^4 t), \quad 3 \le \ell < L",
    page="Section 4.1, Theorem 4.1 (2)",
    as_=("N", "inf"),
    hides=("L",),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def second_key_leads_the_keys_before_the_last(*runs):
    """m_L2 - m_Ll = Omega(eta^4 t) for 3 <= l < L: at L = 4, 5, 6, with constants that may depend on L but not on N."""
    return second_key_leads_by(runs, printed_in_the_text, [4, 5, 6])


@ps.claim(
    "Theorem B.3 (2), third line, corrected to l < L",
    ps.on("training", *evidence.for_scores),
    id="thmB.3-second-key-corrected",
    kind="lower",
    whose="corrected",
    erratum="E6",
    tex=(
        r"\langle E_2^w - E_\ell^w, W_t E_L^w\rangle \ge "
        r"\Omega\left(\left(1 + \tfrac{\eta^3 t^2}{\lambda L^3}\right)^t \tfrac{\eta^4}{\lambda L}\right), "
        r"\quad 3 \le \ell < L"
    ),
    page="Appendix B.1, Theorem B.3 (2)",
    as_=("N", "inf"),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def second_key_leads_at_all_lengths(*runs):
    """The bound of the appendix holds for 3 <= l < L with one constant for all L up to N."""
    return second_key_leads_by(runs, printed_in_the_appendix, slice(4, None))


claims = (
    matching_first_token_gains_score,
    differing_first_token_loses_score,
    matching_first_token_gains_score_at_all_lengths,
    differing_first_token_loses_score_at_all_lengths,
    second_key_leads_all_later_ones,
    second_key_leads_all_later_ones_of_its_token,
    second_key_leads_the_keys_before_the_last,
    second_key_leads_at_all_lengths,
)
