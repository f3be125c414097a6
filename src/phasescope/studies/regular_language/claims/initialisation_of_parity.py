"""Lemma C.2: the first updates of parity by chain of thought."""

from __future__ import annotations

import phasescope as ps

from ..phases import is_key, key_scores, spec_of
from . import evidence
from .assumptions import theorem_5_1
from .initialisation import attention_lead, by_step
from .parts import by_size, told

PARITY = ps.on("training", evidence.first_steps_of_parity)


@ps.claim(
    "Lemma C.2, lines on lengths up to L_0",
    PARITY,
    id="lemC.2-short",
    kind="lower",
    tex=(
        r"\langle E_1^w - E_2^w, W_3 E_L^w\rangle \ge \Omega(\eta^2/L), \quad "
        r"\langle E_1^{-w} - E_2^w, W_3 E_L^w\rangle \le -\Omega(\eta^2/L), \quad L \le L_0"
    ),
    page="Appendix C, Lemma C.2",
    as_=("eta", "0"),
    assumes=theorem_5_1,
)
def parity_starts_like_even_pairs(runs):
    """Up to L_0 the scores after three updates are those of even pairs, of order eta^2 / L."""
    short = slice(2, spec_of(runs).base_length)
    return ps.big_omega(
        by_step(runs, attention_lead(1, short)), along="1/eta", what="(p_L - m_L2) L / eta^2"
    ) & ps.big_omega(
        by_step(runs, attention_lead(-1, short)), along="1/eta", what="(m_L2 - q_L) L / eta^2"
    )


def longer_lead(run, name, sign):
    """sign (score of the pivot - other keys) L / eta^2 for L > L_0 after three updates."""
    spec = spec_of(run)
    some = run.sel(time=3, length=slice(spec.base_length + 1, None))
    lead = sign * (some[name] - key_scores(some))
    return told(lead * lead.length / spec.eta**2, is_key(some))


@ps.claim(
    "Lemma C.2, lines on the pivot beyond L_0",
    ps.on(
        "training",
        *evidence.parity_for_scores,
        expect="false",
        because="the leads are of order eta^2 / L^2, as the lemma's own proof computes: {measured}",
    ),
    id="lemC.2-pivot",
    kind="lower",
    tex=(
        r"\langle E_{\ell_0}^{-w} - E_\ell^w, W_3 E_L^w\rangle \ge \Omega(\eta^2/L), \quad "
        r"\langle E_\ell^w - E_{\ell_0}^w, W_3 E_L^w\rangle \ge \Omega(\eta^2/L), \quad L > L_0"
    ),
    page="Appendix C, Lemma C.2",
    as_=("N", "inf"),
    assumes=theorem_5_1,
)
def pivots_of_the_thought_lead_after_three_updates(*runs):
    """For L > L_0 the differing pivot leads, and the matching one trails, all other keys by Omega(eta^2 / L)."""
    differ = by_size(runs, lambda run: longer_lead(run, "score_differ", 1))
    match = by_size(runs, lambda run: longer_lead(run, "score_match", -1))
    found = ps.big_omega(differ, what="(q_L - m_Ll) L / eta^2") & ps.big_omega(
        match, what="(m_Ll - p_L) L / eta^2"
    )
    return ps.refuted(found, by="closed_forms.early_pivot_scores: eta^2 / L^2 beyond L_0")


claims = (
    parity_starts_like_even_pairs,
    pivots_of_the_thought_lead_after_three_updates,
)
