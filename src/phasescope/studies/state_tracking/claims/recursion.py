"""What recursive self-training reaches on symmetric tasks (Section 5, Theorem 5.1 (1) and Corollary 5.1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import ran_to_the_end, solved, spec_of, stage_ends
from . import evidence
from .over_the_clip import STRONG, each_clip, ended_stages
from .premises import symmetric

WEAK = (evidence.weak["S3"], evidence.weak["S4"])


SOLVED = ps.chosen(0.95, "1 - 1/poly(d), with 200 test chains")


MISSED = ps.chosen(0.05, "1/poly(d), with 200 test chains")


def _solves_twice(*runs) -> ps.Verdict:
    return ps.all_of(_all_right(solved(run, 2)) for run in runs) & ran_to_the_end(*runs)


def _all_right(accuracy: xr.DataArray) -> ps.Verdict:
    return ps.agree(accuracy, xr.ones_like(accuracy), atol=MISSED, what="accuracy at 2 L_k")


@claim(
    "Theorem 5.1 (1)",
    on("population", evidence.three_stages),
    id="thm5.1-1",
    aliases=("5.1-1",),
    kind="approx",
    tex=r"\mathrm{Acc}_{L_{k+1}}(F^{(T_k)}) = 1 - 1/\mathrm{poly}(d), \quad L_{k+1} = 2 L_k",
    page="Section 5, Theorem 5.1 (1); Appendix F.3, Theorem F.1",
    assumes=symmetric,
)
def every_stage_solves_twice_its_length(sweep):
    """For C_B large enough, at the end of the stages of S3 on L = 2, 4 and 8 chains of twice that length are followed to the
    end, by 95 of 100 rollouts at least; C_B = 10, 20, 50."""
    lanes = {float(one["clip"]): one for one in each_clip(sweep)}

    def judge(C_B: float) -> ps.Verdict:
        return _all_right(solved(lanes[C_B], 2)) & _came_down(lanes[C_B])

    return ps.scan("C_B", list(lanes), judge, settles="large")


def _came_down(run: xr.Dataset) -> ps.Verdict:
    """Every stage ended at its loss."""
    return ps.guard(ps.positive(ended_stages(run).stage_epsilon, "eps at the end of each stage"))


@claim(
    "Theorem 5.1 (1): six stages",
    on("population", *STRONG),
    id="thm5.1-1-six",
    kind="approx",
    tex=r"\mathrm{Acc}_{L_{k+1}}(F^{(T_k)}) = 1 - 1/\mathrm{poly}(d), \quad k \le 6",
    page="Section 5, Theorem 5.1 (1)",
    assumes=symmetric,
)
def six_stages_solve_twice_their_length(*runs):
    """With C_B = 20, E_1 = 13.9 every stage of S3 and S4 up to L = 64 solves twice its length, by 95 of 100 rollouts at least."""
    return _solves_twice(*runs)


@claim(
    "ours, on Theorem 5.1 (1): how large C_B must be",
    on("population", *WEAK),
    id="ours-small-clip",
    kind="order",
    whose="ours",
    tex=r"C_B = 10: \quad \mathrm{Acc}_{2 L_k} < 0.95 \text{ for some } k",
    page="Section 5, Theorem 5.1 (1)",
    assumes=symmetric,
)
def a_small_clip_falls_behind(*runs):
    """With C_B = 10, E_1 = 3.95 both S3 and S4 have a stage that does not solve twice its length in 95 of 100 rollouts."""
    worst = np.array([float(solved(run, 2).min(skipna=False)) for run in runs])
    return ps.positive(SOLVED - worst, "0.95 - least accuracy at 2 L_k") & ran_to_the_end(*runs)


@claim(
    "ours, on Theorem 5.1 (1): an early threshold",
    on("population", evidence.early_stop),
    id="ours-early-threshold",
    aliases=("5.1-1-early",),
    kind="order",
    whose="ours",
    tex=r"E_1 = 1: \quad \mathrm{Acc}_{2 L_k} < 0.95 \text{ for all } k",
    page="Section 5, Algorithm 2, with E_1 below the proof's",
    assumes=symmetric,
)
def an_early_threshold_is_not_enough(run):
    """With E_1 = 1 no stage of S3 solves twice its length in 95 of 100 rollouts."""
    ends = stage_ends(run)
    low = ps.guard(ps.within(ends.stage_loss, 0.0, 1 / spec_of(run).vocabulary, "loss at the ends"))
    return (
        ps.positive(SOLVED - solved(run, 2), "0.95 - accuracy at 2 L_k") & low & ran_to_the_end(run)
    )


@claim(
    "Corollary 5.1",
    on("population", *STRONG),
    id="cor5.1",
    aliases=("5.1-cor",),
    kind="approx",
    tex=r"\mathrm{Acc}_L(F^{(T_K)}) \ge 1 - 1/\mathrm{poly}(d), \quad L \le |\mathcal{X}|,\ K = \Theta(\log d)",
    page="Section 5, Corollary 5.1",
    assumes=symmetric,
)
def six_stages_reach_length_128(*runs):
    """With C_B = 20 six stages are enough for chains of length 128, by 95 of 100 rollouts at least."""
    last = [run.rollout_accuracy.isel(stage_end=-1).sel(chain_length=128) for run in runs]
    found = np.array([float(x) for x in last])
    return ps.agree(
        found, np.ones_like(found), atol=MISSED, what="accuracy at 128"
    ) & ran_to_the_end(*runs)


claims = (
    every_stage_solves_twice_its_length,
    six_stages_solve_twice_their_length,
    a_small_clip_falls_behind,
    an_early_threshold_is_not_enough,
    six_stages_reach_length_128,
)
