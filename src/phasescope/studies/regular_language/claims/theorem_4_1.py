"""Theorem 4.1 (1), phase 1 of even pairs: the token scores."""

from __future__ import annotations

import phasescope as ps

from ..phases import ran_to_the_end, training_time
from . import evidence
from .assumptions import theorem_4_1
from .parts import by_size, told, until, while_phase_1_lasts

SHORT = [2, 3, 4]  # positions and lengths that every size has, far below the longest


def first_score(run, c_0):
    """v_1 / (eta t) from the first update on."""
    early = until(run, c_0, 1)
    return told(early.token_score.sel(position=1) / training_time(early))


def other_scores(run, c_0):
    """-v_l / (eta t)^2 at l = 2, 3, 4, from the second update on."""
    early = until(run, c_0, 2)
    return told(-early.token_score.sel(position=SHORT) / training_time(early) ** 2)


def lead_of_the_others(run, c_0):
    """(v_l - v_2) / (eta t)^2 for all l >= 3, from the second update on."""
    early = until(run, c_0, 2)
    v = early.token_score
    lead = v.sel(position=slice(3, None)) - v.sel(position=2, drop=True)
    return told(lead / training_time(early) ** 2)


def grows_linearly(*runs):
    """v_1 = Theta(eta t), for several constants of phase 1."""

    def judge(c_0):
        return ps.big_theta(by_size(runs, lambda run: first_score(run, c_0)), what="v_1 / eta t")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


def fall_quadratically(*runs):
    """v_l = -Theta(eta^2 t^2) at fixed l, for several constants of phase 1."""

    def judge(c_0):
        ratios = by_size(runs, lambda run: other_scores(run, c_0))
        return ps.big_theta(ratios, what="-v_l / (eta t)^2")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


def second_is_lowest(*runs):
    """v_2 - v_l <= -Omega(eta^2 t^2), for several constants of phase 1."""

    def judge(c_0):
        ratios = by_size(runs, lambda run: lead_of_the_others(run, c_0))
        return ps.big_omega(ratios, what="(v_l - v_2) / (eta t)^2")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 4.1 (1), first line",
    ps.on("training", *evidence.for_tokens),
    id="thm4.1-v1",
    aliases=("4.1-u1",),
    kind="theta",
    tex=r"\langle u_t, E_1^w\rangle = \Theta(\eta t)",
    page="Section 4.1, Theorem 4.1 (1)",
    as_=("N", "inf"),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def first_token_score_grows_linearly(*runs):
    """v_1 = Theta(eta t) during phase 1, with constants that do not depend on N."""
    return grows_linearly(*runs)


@ps.claim(
    "Theorem 4.1 (1), second line",
    ps.on("training", *evidence.for_tokens),
    id="thm4.1-vl",
    aliases=("4.1-ul",),
    kind="theta",
    tex=r"\langle u_t, E_\ell^w\rangle = -\Theta(\eta^2 t^2), \quad \ell \ge 2",
    page="Section 4.1, Theorem 4.1 (1)",
    as_=("N", "inf"),
    hides=("l",),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def other_token_scores_fall_quadratically(*runs):
    """v_l = -Theta(eta^2 t^2) during phase 1 from the second update on: at l = 2, 3, 4, with constants that may depend on
    l but not on N."""
    return fall_quadratically(*runs)


@ps.claim(
    "Theorem 4.1 (1), third line",
    ps.on("training", *evidence.for_tokens),
    id="thm4.1-v2",
    aliases=("4.1-u2",),
    kind="lower",
    tex=r"\langle u_t, E_2^w - E_\ell^w\rangle \le -\Omega(\eta^2 t^2), \quad \ell \ge 3",
    page="Section 4.1, Theorem 4.1 (1)",
    as_=("N", "inf"),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def second_position_is_the_lowest(*runs):
    """v_2 is below every later v_l by Omega(eta^2 t^2), for all l >= 3 at once, from the second update on."""
    return second_is_lowest(*runs)


@ps.claim(
    "Proof of Theorem B.3",
    ps.on("training", *evidence.for_tokens),
    id="thmB.3-v1-error",
    kind="upper",
    tex=r"\left|\langle u_t, E_1^w\rangle - \eta t/4\right| \le O(\eta^2 t^2)",
    page="Appendix B.1, proof of Theorem B.3",
    as_=("N", "inf"),
    assumes=theorem_4_1,
    varies=("eta", "lam"),
)
def first_token_score_is_a_quarter_of_tau(*runs):
    """|v_1 - eta t / 4| = O(eta^2 t^2) during phase 1, from the second update on (the first is exact)."""

    def error(run, c_0):
        early = until(run, c_0, 2)
        tau = training_time(early)
        return told((early.token_score.sel(position=1) - tau / 4) / tau**2)

    def judge(c_0):
        return ps.big_o(by_size(runs, lambda run: error(run, c_0)), what="(v_1 - tau/4) / tau^2")

    return while_phase_1_lasts(judge) & ran_to_the_end(*runs)


claims = (
    first_token_score_grows_linearly,
    other_token_scores_fall_quadratically,
    second_position_is_the_lowest,
    first_token_score_is_a_quarter_of_tau,
)
