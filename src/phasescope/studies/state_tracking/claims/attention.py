"""Stage 2: how the attention of simply transitive tasks moves, in three steps (Appendix D)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import ran_to_the_end, spec_of
from . import evidence
from .premises import simply_transitive
from .stage_2 import PATHS, ROUNDING, at_time, reaches_the_clip

LEARNED = ps.chosen(0.01, "a loss of 0.01 at step 1: the end of stage 2.1")


@claim(
    "Fact D.1, Lemmas D.1 and D.2",
    on("population", evidence.identity),
    id="lemD.1-lemD.2",
    aliases=("D.1",),
    kind="identity",
    tex=r"[\nabla_{Q_{4p}}\mathrm{Loss}]_{s,s} = O(1/N), \quad [\nabla_{Q_{4p}}\mathrm{Loss}]_{s,s'} = O(1/N^2)",
    page="Appendix D.1, Fact D.1, Lemmas D.1 and D.2; Appendix E.1, Lemmas E.1 and E.2",
)
def four_scalars_carry_the_gradient(table):
    """N times the diagonal and N (N - 1) times the off-diagonal of the full gradient are those of four scalars, for a cyclic and
    a symmetric task and both steps; neither vanishes."""
    zero = xr.zeros_like(table.diagonal)
    some = ps.chosen(1e-4, "not nothing")
    return (
        ps.agree(table.diagonal, zero, atol=ROUNDING, what="N x diagonal - scalar")
        & ps.agree(table.off_diagonal, zero, atol=ROUNDING, what="N (N-1) x off-diagonal - scalar")
        & ps.agree(table.full_loss, table.loss, ROUNDING, what="loss")
        & ps.guard(ps.at_least(table.size_diagonal, some, "diagonal"))
        & ps.guard(ps.at_least(table.size_off_diagonal, some, "off-diagonal"))
    )


def _at_first_end(sweep: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """q_43 and q_44 where the loss of step 1 falls below 0.01, and log d."""
    end = ps.crossing(sweep.step_loss.sel(step=1), LEARNED, "down")
    return at_time(sweep.q43, end), at_time(sweep.q44, end), np.log(sweep.vocabulary)


@claim(
    "Lemma D.21 (a)",
    on("population", evidence.early),
    id="lemD.21-a",
    kind="theta",
    tex=r"[Q_{4p}]_{s,s} = \Theta(1/\log d), \quad p \in \{3, 4\}",
    page="Appendix D.3.3, Lemma D.21 (a)",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def both_scores_are_one_over_log_d(sweep):
    """When step 1 is learned, q_43 and q_44 are Theta(1 / log d), from d = 1e3 to 1e12, for C_B = 5 and 50."""
    q43, q44, log_d = _at_first_end(sweep)
    return ps.big_theta(q43 * log_d, along="vocabulary", what="q43 log d") & ps.big_theta(
        q44 * log_d, along="vocabulary", what="q44 log d"
    )


@claim(
    "Lemma D.21 (b)",
    on("population", evidence.early),
    id="lemD.21-b",
    aliases=("S2.1",),
    kind="lower",
    tex=r"[Q_{43}]_{s,s} - [Q_{44}]_{s,s} \ge \Omega(1/\log d)",
    page="Appendix D.3.3, Lemma D.21 (b)",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def the_first_step_opens_a_gap_of_one_over_log_d(sweep):
    """When step 1 is learned, q_43 - q_44 is at least a constant over log d, from d = 1e3 to 1e12, for C_B = 5 and 50."""
    q43, q44, log_d = _at_first_end(sweep)
    return ps.big_omega((q43 - q44) * log_d, along="vocabulary", what="(q43 - q44) log d")


@claim(
    "Lemma D.17: sign of the first gradient of Q_44",
    on(
        "population",
        evidence.early,
        expect="false",
        because="only one term of its gradient is negative: q_44 grows with q_43 from the start, at every d and C_B",
    ),
    id="lemD.17-sign",
    aliases=("S2.1b",),
    kind="sign",
    tex=r"\textstyle\sum_\ell [-\nabla_{Q_{44}}\mathrm{Loss}_5^{2,\ell}]_{s,s} "
    r"= -O(1/\log d) \sum_\ell [-\nabla_{Q_{43}}\mathrm{Loss}_5^{2,\ell}]_{s,s} < 0",
    page="Appendix D.3.2, Lemma D.17 (negative gradient); Section 6.2.1",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def the_answer_loses_score_at_first(sweep):
    """q_44 falls over its first six records, at every d and C_B."""
    first = sweep.q44.isel(time=slice(0, 6))
    moved = ps.guard(ps.positive(abs(first.isel(time=-1)), "movement of q44"))
    return ps.negative(first.diff("time"), "change of q44") & moved


@claim(
    "Induction D.1 (a)",
    on("population", evidence.early),
    id="indD.1-a",
    kind="monotone",
    tex=r"[Q_{43}^{(t)}]_{s,s} \text{ monotonically increases}",
    page="Appendix D.3, Induction D.1 (a)",
    assumes=simply_transitive,
)
def the_predicates_score_grows_at_first(sweep):
    """q_43 grows at every record of the first steps, at every d and C_B."""
    return ps.increasing(sweep.q43, "q43", along="time")


@claim(
    "Induction D.1 (c), Lemma D.20",
    on("population", evidence.early),
    id="indD.1-c",
    kind="upper",
    tex=r"|[Q_{4p}]_{s,s'}| \le O([Q_{43}]_{s,s} / d)",
    page="Appendix D.3, Induction D.1 (c) and Lemma D.20",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def off_diagonals_stay_below_the_diagonal_over_d(sweep):
    """The off-diagonals of both blocks are O(q_43 / d) at all records after the start, from d = 1e3 to 1e12."""
    later = sweep.isel(time=slice(1, None))
    largest = np.maximum(abs(later.o43), abs(later.o44))
    ratio = (largest * later.vocabulary / later.q43).max("time", skipna=False)
    ten = ps.chosen(10.0, "a constant of order one")
    return ps.big_o(ratio, along="vocabulary", what="d |o| / q43") & ps.at_most(
        ratio, ten, "d |o| / q43"
    )


def _stage_2_2(sweep: xr.Dataset) -> xr.DataArray:
    """Records between the end of stage 2.1 and q_43 = 1."""
    return (sweep.step_loss.sel(step=1) < LEARNED) & (sweep.q43 < 1.0)


@claim(
    "Induction D.2 (b), Lemma D.31: from below",
    on("population", evidence.to_the_end),
    id="indD.2-lower",
    aliases=("S2.2",),
    kind="lower",
    tex=r"[Q_{43}]_{s,s} - [Q_{44}]_{s,s} \ge \Omega(1/\log d)",
    page="Appendix D.4, Induction D.2 (b) and Lemma D.31",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def the_gap_of_scores_stays_above_one_over_log_d(sweep):
    """While both scores grow, up to q_43 = 1, (q_43 - q_44) log d stays above a constant, over two decades of d."""
    gap = (sweep.q43 - sweep.q44) * np.log(sweep.vocabulary)
    least = gap.where(_stage_2_2(sweep)).min("time")
    return ps.big_omega(least, along="vocabulary", what="(q43 - q44) log d") & _grows(sweep)


@claim(
    "Induction D.2 (b): from above",
    on("population", evidence.to_the_end),
    id="indD.2-upper",
    kind="upper",
    tex=r"[Q_{43}]_{s,s} - [Q_{44}]_{s,s} \le O(1)",
    page="Appendix D.4, Induction D.2 (b)",
    as_=("d", "inf"),
    assumes=simply_transitive,
)
def the_gap_of_scores_stays_bounded(sweep):
    """While both scores grow, up to q_43 = 1, q_43 - q_44 is O(1), over two decades of d."""
    most = (sweep.q43 - sweep.q44).where(_stage_2_2(sweep)).max("time")
    return ps.big_o(most, along="vocabulary", what="q43 - q44") & _grows(sweep)


def _grows(sweep: xr.Dataset) -> ps.Verdict:
    """Training: q_43 grows from the start."""
    first = sweep.q43.isel(time=slice(0, 50)).diff("time")
    return ps.guard(ps.positive(first, "growth of q43 at the start"))


def _before_the_clip(run: xr.Dataset) -> xr.DataArray:
    """eps >= sigma_0: the induction is stated for eps >= Omega(sigma_0)."""
    sigma = run.vocabulary**-0.5 if "vocabulary" in run.coords else spec_of(run).vocabulary ** -0.5
    return run.epsilon.sel(step=2) >= sigma


@claim(
    "Induction D.3 (a)",
    on("population", evidence.to_the_end),
    id="indD.3-a",
    kind="monotone",
    tex=r"[Q_{43}^{(t)}]_{s,s}, [Q_{44}^{(t)}]_{s,s} \text{ monotonically increase}",
    page="Appendix D.5, Induction D.3 (a)",
    assumes=simply_transitive,
)
def both_scores_grow_to_the_end(sweep):
    """Both scores grow at every record from q_43 = 1 until eps falls to sigma_0 = d^-1/2."""
    before = sweep.isel(time=slice(None, -1))
    inside = _before_the_clip(before) & (before.q43 > 1.0)
    some = ps.guard(ps.positive(inside.sum("time"), "records"))
    grown = []
    for name in ("q43", "q44"):
        growth = sweep[name].diff("time", label="lower")
        grown.append(ps.positive(growth.where(inside, 1.0), f"growth of {name}"))
    return ps.all_of(grown) & some & reaches_the_clip(sweep)


@claim(
    "Induction D.3 (b), Lemma D.42",
    on("population", evidence.to_the_end),
    id="indD.3-b",
    aliases=("S2.3",),
    kind="sign",
    tex=r"\Delta^{2,2} \ge 0",
    page="Appendix D.5, Induction D.3 (b) and Lemma D.42",
    assumes=simply_transitive,
)
def the_predicate_never_falls_behind(sweep):
    """Attention on the right predicate stays above that on the last answer at every record until eps falls to sigma_0."""
    gap = sweep.gap.sel(step=2).isel(time=slice(1, None))
    inside = _before_the_clip(sweep.isel(time=slice(1, None)))
    some = ps.guard(ps.positive(inside.sum("time"), "records"))
    return ps.positive(gap.where(inside, 1.0), "Delta") & some & reaches_the_clip(sweep)


@claim(
    "Lemma D.45 (a): the gap",
    on("population", evidence.to_the_end),
    id="lemD.45-gap",
    kind="order",
    tex=r"\mathbb{E}[\Delta^{2,2}] \le o(1) \text{ at } T_{2,3}",
    page="Appendix D.5, Lemma D.45 (a); proof of Theorem D.1",
    assumes=simply_transitive,
)
def the_gap_closes_as_attention_concentrates(sweep):
    """Where eps has fallen to a fifth of sigma_0 = d^-1/2, Delta is less than a tenth of its largest value, which was above 0.05,
    at every d."""
    high = ps.chosen(0.05, "a gap that was there")
    fifth = ps.chosen(0.2, "twice where the clip ends it; the lemma has Omega(sigma_0)")
    gap = sweep.gap.sel(step=2)
    peak = gap.max("time", skipna=False)
    end = ps.crossing(sweep.epsilon.sel(step=2) * sweep.vocabulary**0.5, fifth, "down")
    last = at_time(gap, end)
    return (
        ps.positive(peak / 10 - abs(last), "a tenth of the peak - |Delta| at the end")
        & ps.guard(ps.at_least(peak, high, "largest Delta"))
        & _grows(sweep)
    )


@claim(
    "Induction D.3 (c), Lemma D.44",
    on("population", *PATHS),
    on("population", evidence.trained["C4"], evidence.trained["C6"]),
    id="lemD.44",
    aliases=("D.44",),
    kind="approx",
    tex=r"\mathrm{Attn}_{\mathrm{ans},1\to\mathrm{pred},2} \le 0.5 + c_1",
    page="Appendix D.5, Lemma D.44",
    assumes=simply_transitive,
)
def the_right_predicate_never_takes_much_more_than_half(*runs):
    """Attention on the right predicate stays below 0.5 + c, c = 0.1, and comes within 0.05 of a half."""
    low = ps.chosen(0.45, "close to a half")
    high = ps.chosen(0.6, "c = 0.1: small")
    most = np.array([float(run.attention_right.sel(step=2).max()) for run in runs])
    return ps.within(most, low, high, "largest attention") & ran_to_the_end(*runs)


@claim(
    "ours: step 2 alone",
    on("population", evidence.alone),
    id="ours-step-2-alone",
    aliases=("l2-only",),
    kind="identity",
    whose="ours",
    tex=r"q_{43}(t) = q_{44}(t) \text{ under } \mathrm{Loss}_5^{2,2} \text{ alone}",
    page="Algorithm 1 without its first loss",
)
def step_two_alone_keeps_a_cyclic_task_balanced(run):
    """With the loss of step 2 only, exchanging the two clauses is a symmetry of the cyclic task: q_43 = q_44 for ever."""
    far = ps.chosen(1.0, "both scores have grown")
    rounding = ps.chosen(1e-9, "rounding over 800 strides")
    return (
        ps.agree(run.q43, run.q44, atol=rounding, what="q43 - q44")
        & ps.guard(ps.at_least(run.q43.max(), far, "largest q43"))
        & ran_to_the_end(run)
    )


claims = (
    four_scalars_carry_the_gradient,
    the_predicates_score_grows_at_first,
    off_diagonals_stay_below_the_diagonal_over_d,
    both_scores_are_one_over_log_d,
    the_first_step_opens_a_gap_of_one_over_log_d,
    the_answer_loses_score_at_first,
    the_gap_of_scores_stays_above_one_over_log_d,
    the_gap_of_scores_stays_bounded,
    both_scores_grow_to_the_end,
    the_predicate_never_falls_behind,
    the_gap_closes_as_attention_concentrates,
    the_right_predicate_never_takes_much_more_than_half,
    step_two_alone_keeps_a_cyclic_task_balanced,
)
