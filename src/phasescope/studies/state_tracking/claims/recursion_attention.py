"""How the attention of symmetric tasks ends its stages (Theorem 5.1 (2), Appendices E and F)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import ran_to_the_end, stage_ends
from . import evidence
from .over_the_clip import C_1, STRONG, each_clip, ended_stages
from .premises import symmetric


@claim(
    "Theorem 5.1 (2)",
    on("population", evidence.one_stage, evidence.largest_clip),
    id="thm5.1-2",
    aliases=("5.1-2",),
    kind="upper",
    tex=r"1 - \mathrm{Attn}_{\to\mathrm{pred},\ell+1} - \mathrm{Attn}_{\to\mathrm{ans},\ell} \le \varepsilon < 0.01",
    page="Section 5, Theorem 5.1 (2), eq. (12)",
    assumes=symmetric,
)
def wrong_clauses_keep_less_than_a_hundredth(*sweeps):
    """For C_B large enough eps is below 0.01 when the first attention stage of S3 ends at the proof's loss; C_B = 10 to 2500."""
    bound = ps.stated(0.01, "Theorem 5.1 (2)")
    runs = [one for sweep in sweeps for one in each_clip(sweep)]
    ends = {float(one["clip"]): ended_stages(one).stage_epsilon for one in runs}

    def judge(C_B: float) -> ps.Verdict:
        return ps.at_most(ends[C_B], bound, "eps") & ps.guard(ps.positive(ends[C_B], "eps"))

    return ps.scan("C_B", list(ends), judge, settles="large")


@claim(
    "ours, on Theorem 5.1 (2): eps over C_B",
    on("population", evidence.one_stage, evidence.largest_clip),
    id="ours-eps-over-clip",
    kind="theta",
    whose="ours",
    tex=r"\epsilon(T_k) = \Theta(1 / C_B)",
    page="Section 5, Theorem 5.1 (2)",
    as_=("C_B", "inf"),
    assumes=symmetric,
)
def eps_falls_like_one_over_the_clip(*sweeps):
    """eps at the end of the first attention stage of S3 is Theta(1 / C_B), from C_B = 10 to 2500."""
    runs = [one for sweep in sweeps for one in each_clip(sweep)]
    found = [ended_stages(one).stage_epsilon.isel(length=0, drop=True) for one in runs]
    eps = xr.concat(found, "clip")
    return ps.big_theta(eps * eps["clip"], along="clip", what="eps C_B")


def _times_clip(sweep: xr.Dataset) -> list[xr.DataArray]:
    """eps / c_1 at the ends of all stages, c_1 = 1.005 / C_B."""
    found = []
    for one in each_clip(sweep):
        found.append(ended_stages(one).stage_epsilon * one["clip"] / C_1)
    return found


@claim(
    "Lemma E.35 (a)",
    on("population", evidence.many_sizes["S3"], evidence.many_sizes["S4"]),
    id="lemE.35-a",
    kind="upper",
    tex=r"\mathbb{E}[\epsilon_{\mathrm{attn}}] \le 2.52\, c_1, \quad c_1 = 1.005 \log d / B",
    page="Appendix E.4, Lemma E.35 (a)",
    as_=("d", "inf"),
    assumes=symmetric,
)
def the_first_stage_ends_below_its_bound(*sweeps):
    """When the loss has come down to d^-(C_B - 6.05), eps is at most 2.52 c_1, for S3 and S4, d = 1e3 to 1e30, C_B = 8 and
    80."""
    bound = ps.stated(2.52, "Lemma E.35 (a)")
    verdicts = []
    for sweep in sweeps:
        last = sweep.isel(time=-1)
        ended = last.stage_exponent >= sweep["clip"] - 6.05
        ratio = (last.epsilon.sel(step=2) * sweep["clip"] / C_1).where(ended)
        verdicts += [
            ps.at_most(ratio, bound, "eps / c_1"),
            ps.guard(ps.positive(ratio, "eps / c_1, stage ended")),
        ]
    return ps.all_of(verdicts)


@claim(
    "Lemma F.16 (a)",
    on("population", evidence.three_stages),
    id="lemF.16-a",
    aliases=("recursion",),
    kind="upper",
    tex=r"\epsilon^{L_k}_{\mathrm{attn}} \le 5.04\, c_1, \quad c_1 = 1.005 \log d / B",
    page="Appendix F.2, Lemma F.16 (a)",
    assumes=symmetric,
)
def every_stage_ends_below_its_bound(sweep):
    """At the end of the stages of S3 on L = 2, 4, 8 eps at that length is at most 5.04 c_1, for C_B = 10, 20, 50."""
    bound = ps.stated(5.04, "Lemma F.16 (a)")
    verdicts = []
    for ratio in _times_clip(sweep):
        verdicts += [
            ps.at_most(ratio, bound, "eps / c_1"),
            ps.guard(ps.positive(ratio, "eps / c_1, stage ended")),
        ]
    return ps.all_of(verdicts)


@claim(
    "Lemma F.9 (1): from stage to stage",
    on("population", evidence.three_stages),
    id="lemF.9-double",
    aliases=("5.1-2-ratio",),
    kind="upper",
    tex=r"\epsilon^{L_k}_{\mathrm{attn}} \le 2\, \epsilon^{L_{k-1}}_{\mathrm{attn}}",
    page="Appendix F.2.1, Lemma F.9 (1)",
    assumes=symmetric,
)
def doubling_at_most_doubles_the_dilution(sweep):
    """With the scores that a stage ends with, eps at twice its length is at most twice that at its own, for C_B = 10, 20, 50."""
    bound = ps.stated(2.0, "Lemma F.9 (1)")
    verdicts = []
    for one in each_clip(sweep):
        ends = ended_stages(one)
        weight = np.exp(ends.q43) + np.exp(ends.q44)
        doubled = 2 * ends.length / (2 * ends.length + weight)
        ratio = doubled / ends.stage_epsilon
        verdicts += [
            ps.at_most(ratio, bound, "eps after doubling / before"),
            ps.guard(ps.positive(ratio - 1, "eps grows with the length")),
        ]
    return ps.all_of(verdicts)


def _ended(sweep: xr.Dataset) -> ps.Verdict:
    """The stage came down to the loss at which it ends, in every lane."""
    left = sweep.stage_exponent.isel(time=-1) - (sweep["clip"] - 6.05)
    return ps.guard(ps.positive(left, "E at the end - (C_B - 6.05)"))


def _late(run: xr.Dataset) -> xr.DataArray:
    """Stage 1.2.2: from eps = 0.4 on."""
    return run.epsilon.sel(step=2) < 0.4


@claim(
    "Lemmas E.33 and F.14",
    on("population", evidence.many_sizes["S3"], evidence.many_sizes["S4"]),
    id="lemE.33-lemF.14",
    kind="upper",
    tex=r"\mathrm{Attn}_{\mathrm{ans},1\to\mathrm{pred},2} - \mathrm{Attn}_{\mathrm{ans},1\to\mathrm{ans},1} \le c_1",
    page="Appendix E.4.3, Lemma E.33; c_1 = 1.005 log d / B by Induction E.2 (c)",
    as_=("d", "inf"),
    assumes=symmetric,
)
def the_predicate_is_not_ahead_by_more_than_c_1(*sweeps):
    """From eps = 0.4 to the end of the stage the gap Delta is at most c_1, for S3 and S4, d = 1e3 to 1e30, C_B = 8 and 80."""
    bound = ps.stated(1.0, "Lemma E.33")
    verdicts = []
    for sweep in sweeps:
        gap = sweep.gap.sel(step=2) * sweep["clip"] / C_1
        late = _late(sweep)
        verdicts += [
            ps.at_most(gap.where(late).max("time"), bound, "Delta / c_1"),
            ps.guard(ps.positive(late.sum("time"), "records from eps = 0.4 on")),
            _ended(sweep),
        ]
    return ps.all_of(verdicts)


@claim(
    "Lemma E.34",
    on(
        "population",
        evidence.many_sizes["S3"],
        evidence.many_sizes["S4"],
        expect="false",
        because="the answer comes closer, at every d and C_B: {value:.2g} of log d / B at {where}",
    ),
    id="lemE.34",
    kind="lower",
    tex=r"\mathrm{Attn}_{\mathrm{ans},1\to\mathrm{pred},2} + \mathrm{Attn}_{\mathrm{ans},1\to\mathrm{pred},1}"
    r" - \mathrm{Attn}_{\mathrm{ans},1\to\mathrm{ans},1} \ge c_2 = \frac{\log d}{4.02\, B}",
    page="Appendix E.4.3, Lemma E.34 and its proof",
    as_=("d", "inf"),
    assumes=symmetric,
)
def the_answer_is_not_ahead_by_too_much(*sweeps):
    """From eps = 0.4 to the end of the stage, Delta + eps / 2 is at least log d / (4.02 B), for S3 and S4, d = 1e3 to 1e30,
    C_B = 8 and 80."""
    bound = ps.stated(1 / 4.02, "Lemma E.34: c_2 = log d / (4.02 B)")
    verdicts = []
    for sweep in sweeps:
        lead = (sweep.gap + sweep.epsilon / 2).sel(step=2) * sweep["clip"]
        late = _late(sweep)
        verdicts += [
            ps.at_least(lead.where(late).min("time"), bound, "(Delta + eps / 2) B / log d"),
            ps.guard(ps.positive(late.sum("time"), "records from eps = 0.4 on")),
            _ended(sweep),
        ]
    return ps.all_of(verdicts)


@claim(
    "Induction E.2 (a), F.1 (1)",
    on("population", evidence.many_sizes["S3"], evidence.many_sizes["S4"]),
    id="indE.2-a",
    kind="monotone",
    tex=r"[Q_{43}]_{s,s} + [Q_{44}]_{s,s} \text{ monotonically increases}",
    page="Appendix E.3 and E.4, Inductions E.1 (a) and E.2 (a)",
    assumes=symmetric,
)
def the_sum_of_scores_grows(*sweeps):
    """q_43 + q_44 grows at every record until the stage has ended, for S3 and S4, d = 1e3 to 1e30, C_B = 8 and 80."""
    verdicts = []
    for sweep in sweeps:
        total = sweep.q43 + sweep.q44
        trained = sweep.stage_exponent.isel(time=slice(None, -1)) < sweep["clip"] - 6.05
        verdicts.append(
            ps.positive(
                total.diff("time", label="lower").where(trained, 1.0), "growth of q43 + q44"
            )
        )
        verdicts.append(ps.guard(ps.positive(trained.sum("time") - 10, "records in training")))
    return ps.all_of(verdicts)


@claim(
    "Theorem 5.1, T_k",
    on("population", evidence.many_sizes["S3"], evidence.many_sizes["S4"]),
    id="thm5.1-time",
    kind="upper",
    tex=r"T_k = O(\mathrm{poly}(d)/\eta)",
    page="Section 5, Theorem 5.1; Lemma E.35",
    as_=("d", "inf"),
    up_to_logs=True,
    assumes=symmetric,
)
def the_first_stage_takes_a_power_of_d(*sweeps):
    """log_d of the flow time at which the first attention stage ends is bounded, and below C_B, for S3 and S4, d = 1e3 to 1e30,
    C_B = 8 and 80."""
    power_of_d = ps.derived(1.0, "a loss of d^-E takes a time of d^E, and E is below C_B")
    verdicts = []
    for sweep in sweeps:
        last = sweep.isel(time=-1)
        ended = last.stage_exponent >= sweep["clip"] - 6.05
        power = (last.log_time / np.log10(last.vocabulary)).where(ended)
        verdicts += [
            ps.big_o(power, along="vocabulary", what="log_d of the time"),
            ps.at_most(power / sweep["clip"], power_of_d, "log_d of the time / C_B"),
            ps.guard(ps.positive(power, "log_d of the time, stage ended")),
        ]
    return ps.all_of(verdicts)


@claim(
    "ours, on Lemmas E.33, E.34, F.14 and F.15: the sign of the gap",
    on("population", *STRONG),
    id="ours-gap-sign",
    aliases=("gap-feedback",),
    kind="sign",
    whose="ours",
    tex=r"\Delta < 0 \text{ at } T_1, \quad \Delta > 0 \text{ at } T_6",
    page="Appendices E.4.3 and F.2.3",
    assumes=symmetric,
)
def the_gap_of_symmetric_tasks_changes_its_sign(*runs):
    """With C_B = 20 the gap of S3 and S4 is negative at the end of the first stage and positive at the end of the sixth; its size
    stays below 0.2."""
    fifth = ps.chosen(0.2, "small against the attention on either clause")
    verdicts = []
    for run in runs:
        gap = run.gap.sel(step=2)
        verdicts += [
            ps.negative(stage_ends(run).gap.sel(step=2).isel(length=0), "Delta at the first end"),
            ps.positive(gap.isel(time=-1), "Delta at the end"),
            ps.guard(ps.within(gap, -fifth, fifth, "Delta")),
        ]
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


claims = (
    the_sum_of_scores_grows,
    the_first_stage_ends_below_its_bound,
    the_predicate_is_not_ahead_by_more_than_c_1,
    the_answer_is_not_ahead_by_too_much,
    wrong_clauses_keep_less_than_a_hundredth,
    eps_falls_like_one_over_the_clip,
    every_stage_ends_below_its_bound,
    doubling_at_most_doubles_the_dilution,
    the_first_stage_takes_a_power_of_d,
    the_gap_of_symmetric_tasks_changes_its_sign,
)
