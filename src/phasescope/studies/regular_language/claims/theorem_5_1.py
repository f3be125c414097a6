"""Theorem 5.1, phase 1 of parity by chain of thought: token scores, and attention at the lengths below L_0."""

from __future__ import annotations

import phasescope as ps

from ..phases import spec_of
from . import evidence
from .assumptions import theorem_5_1
from .theorem_4_1 import SHORT, fall_quadratically, grows_linearly, second_is_lowest
from .theorem_4_1_attention import (
    TWICE,
    leads_by,
    printed_in_the_text,
    second_key_leads_all,
    second_key_leads_by,
)


@ps.claim(
    "Theorem 5.1 (1), first line",
    ps.on("training", *evidence.parity_for_tokens),
    id="thm5.1-v1",
    aliases=("5.1-u",),
    kind="theta",
    tex=r"\langle u_t, E_1^w\rangle = \Theta(\eta t)",
    page="Section 5.3, Theorem 5.1 (1)",
    as_=("N", "inf"),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def first_token_score_of_parity_grows_linearly(*runs):
    """v_1 = Theta(eta t) during phase 1, with constants that do not depend on N."""
    return grows_linearly(*runs)


@ps.claim(
    "Theorem 5.1 (1), second line",
    ps.on("training", *evidence.parity_for_tokens),
    id="thm5.1-vl",
    kind="theta",
    tex=r"\langle u_t, E_\ell^w\rangle = -\Theta(\eta^2 t^2), \quad \ell \ge 2",
    page="Section 5.3, Theorem 5.1 (1)",
    as_=("N", "inf"),
    hides=("l",),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def other_token_scores_of_parity_fall_quadratically(*runs):
    """v_l = -Theta(eta^2 t^2) during phase 1, from the second update on: at l = 2, 3, 4, with constants that may depend
    on l but not on N."""
    return fall_quadratically(*runs)


@ps.claim(
    "Theorem 5.1 (1), third line",
    ps.on("training", *evidence.parity_for_tokens),
    id="thm5.1-v2",
    kind="lower",
    tex=r"\langle u_t, E_2^w - E_\ell^w\rangle \le -\Omega(\eta^2 t^2), \quad \ell \ge 3",
    page="Section 5.3, Theorem 5.1 (1)",
    as_=("N", "inf"),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def second_position_of_parity_is_the_lowest(*runs):
    """v_2 is below every later v_l by Omega(eta^2 t^2), for all l >= 3 at once."""
    return second_is_lowest(*runs)


@ps.claim(
    "Theorem 5.1 (2), first line",
    ps.on("training", *evidence.parity_for_scores),
    id="thm5.1-short-match",
    kind="lower",
    tex=r"\langle E_1^w - E_\ell^{w'}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2), \quad \ell \ge 2,\ L < L_0",
    page="Section 5.3, Theorem 5.1 (2)",
    as_=("N", "inf"),
    hides=("L",),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def matching_first_token_gains_score_in_short_strings(*runs):
    """Below L_0, p_L leads all other keys by Omega(eta^2 t^2): at L = 2, 3, 4, with constants that may depend on L but
    not on N."""
    return leads_by(runs, "score_match", 1, SHORT, 0)


@ps.claim(
    "Theorem 5.1 (2), second line",
    ps.on("training", *evidence.parity_for_scores),
    id="thm5.1-short-differ",
    kind="lower",
    tex=r"\langle E_\ell^{w'} - E_1^{-w}, W_t E_L^w\rangle \ge \Omega(\eta^2 t^2), \quad \ell \ge 2,\ L < L_0",
    page="Section 5.3, Theorem 5.1 (2)",
    as_=("N", "inf"),
    hides=("L",),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def differing_first_token_loses_score_in_short_strings(*runs):
    """Below L_0 all other keys lead q_L by Omega(eta^2 t^2): at L = 2, 3, 4, with constants that may depend on L but not
    on N."""
    return leads_by(runs, "score_differ", -1, SHORT, 0)


def below_base(run) -> int:
    """The longest length below L_0."""
    return spec_of(run).base_length - 1


@ps.claim(
    "Theorem 5.1 (2), third line",
    ps.on("training", *evidence.parity_for_scores, expect="false", because=TWICE),
    id="thm5.1-short-second-key",
    kind="sign",
    tex=(
        r"\langle E_2^{w'} - E_\ell^{w''}, W_t E_L^w\rangle \ge \Omega(\eta^4 t) > 0, "
        r"\quad \ell \ge 3,\ L < L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    assumes=theorem_5_1,
)
def second_key_leads_in_short_strings(*runs):
    """Below L_0, <E_2 - E_l, W E_L> > 0 for every l >= 3, l = L included, from the third update on."""
    return second_key_leads_all(*runs, last=below_base)


@ps.claim(
    "Theorem 5.1 (2), third line, corrected to l < L",
    ps.on("training", *evidence.parity_for_scores),
    id="thm5.1-short-second-key-corrected",
    kind="lower",
    whose="corrected",
    erratum="E6",
    tex=(
        r"\langle E_2^{w'} - E_\ell^{w''}, W_t E_L^w\rangle \ge \Omega(\eta^4 t), "
        r"\quad 3 \le \ell < L < L_0"
    ),
    page="Section 5.3, Theorem 5.1 (2)",
    as_=("N", "inf"),
    hides=("L",),
    assumes=theorem_5_1,
    varies=("eta", "lam"),
)
def second_key_leads_the_keys_before_the_last_in_short_strings(*runs):
    """Below L_0, m_L2 - m_Ll = Omega(eta^4 t) for 3 <= l < L: at L = 4, 5, 6, with constants that may depend on L but not
    on N."""
    return second_key_leads_by(runs, printed_in_the_text, [4, 5, 6])


claims = (
    first_token_score_of_parity_grows_linearly,
    other_token_scores_of_parity_fall_quadratically,
    second_position_of_parity_is_the_lowest,
    matching_first_token_gains_score_in_short_strings,
    differing_first_token_loses_score_in_short_strings,
    second_key_leads_in_short_strings,
    second_key_leads_the_keys_before_the_last_in_short_strings,
)
