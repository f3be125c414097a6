"""What the paper could not measure: how parity's steps are learned, reductions, scaling laws."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from .. import closed_forms
from ..phases import half_time, learned, learned_by_length, ran_to_the_end, spec_of
from ..training import symmetric
from . import evidence


def same_reduction(run: xr.Dataset, other: xr.Dataset) -> ps.Verdict:
    """Two runs that should be one."""
    return ps.all_of(
        ps.agree(run[name], other[name], atol=1e-12)
        for name in ("loss", "token_score", "output_match", "output_differ")
    )


@ps.claim(
    "Reduction R3 (ours)",
    ps.theory(
        ps.runs(symmetric, schedule="vanilla", lam=3.0, steps=2000, at=range(0, 2001, 10)),
        ps.runs(symmetric, lam=9.0, switch=2000, steps=2000, at=range(0, 2001, 10)),
    ),
    id="R3",
)
def lam_is_a_ratio_of_learning_rates(vanilla, phase_1):
    """Plain gradient descent at lam is phase-1 descent at lam^2: lam enters only through the ratio of the two rates."""
    same = same_reduction(vanilla, phase_1)
    return same & ps.decreasing(vanilla.loss, "loss") & ran_to_the_end(vanilla, phase_1)


@ps.claim(
    "Reduction R8 (ours)",
    ps.theory(
        ps.sweeps(
            symmetric,
            max_length=6,
            lam=[36.0, 72.0, 144.0, 288.0],
            eta=0.01,
            switch=50,
            steps=50,
            at=[0, 50],
        )
    ),
    id="R8",
)
def weak_margins_follow_the_closed_form(runs):
    """For weakly separated attention |u*| = 4 lam N / (p_N - q_N) within 1e-4, and 128 lam N^3 / (tau_0^2 (N - 1)) within
    4% at tau_0 = 1/2, with eta^2 t_0 (t_0 - 1) for tau_0^2."""
    N = runs.sizes["length"]
    end = runs.isel(time=-1)
    gap = (end.score_match - end.score_differ).sel(length=N)
    spec = spec_of(runs)
    tau_0 = np.sqrt(closed_forms.step_clock(spec.eta, spec.switch).second)
    early = closed_forms.early_margin_norm(tau_0, 1.0, N) * runs.lam
    weak = runs.margin_norm / (4 * runs.lam * N / gap)
    return ps.within(weak, 0.9999, 1.0001, "|u*| / (4 lam N / (p_N - q_N))") & ps.within(
        runs.margin_norm / early, 0.96, 1.04, "|u*| / early form"
    )


SLOW = {"steps": 40_000, "switch": 40_000, "at": [0, *evidence.log_steps(10, 40_000, 200)]}


@ps.claim(
    "Learning time in lam (ours)",
    ps.beyond(
        ps.sweeps(symmetric, lam=[4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0], **SLOW),
        ps.sweeps(symmetric, lam=[2.0, 4.0, 8.0, 16.0, 32.0, 64.0], schedule="vanilla", **SLOW),
    ),
    id="scale-lam",
)
def learning_time_grows_like_the_square_root_of_lam(fast, vanilla):
    """At the rates of phase 1 throughout, the time to half the loss grows like sqrt(lam) up to a logarithm: an exponent
    within 0.1 of 1/2. Plain descent is the same law in lam^2 (R3): within 0.2 of 1."""
    square_root = ps.scales_like(half_time(fast), fast.lam, 0.5, 0.1, "tau_1/2, phase-1 rates")
    return square_root & ps.scales_like(
        half_time(vanilla), vanilla.lam, 1.0, 0.2, "tau_1/2, plain descent"
    )


def sizes_and_times(runs, time) -> tuple[np.ndarray, np.ndarray]:
    """N and tau of some phase time, over runs of different size."""
    sizes = np.array([float(spec_of(run).size) for run in runs])
    times = np.array([float(time(run)) * spec_of(run).eta for run in runs])
    return sizes, times


@ps.claim("Learning time in N (ours)", ps.beyond(*evidence.to_half_the_loss), id="scale-N")
def how_long_phase_1_must_last(*runs):
    """At lam = N^2 and the rates of phase 1 throughout, all 2^(N+1) - 2 strings are right from tau ~ N^0.8 on, and the loss
    is halved at tau ~ N^1.46. The theorems stop phase 1 at tau = 1/N."""
    N, all_right = sizes_and_times(runs, learned)
    _, half = sizes_and_times(runs, half_time)
    return (
        ps.scales_like(all_right, N, 0.8, 0.1, "tau when all strings are right")
        & ps.scales_like(half, N, 1.46, 0.1, "tau_1/2")
        & ran_to_the_end(*runs)
    )


@ps.claim("Order of the steps (ours)", ps.beyond(evidence.parity_stairs), id="par-stair")
def steps_of_thought_are_learned_one_after_another(run):
    """At L_0 = 16 the lengths 17, 18, ... are learned in order up to the slowest, 26, and those beyond it in the opposite
    order: sustained times rise to one peak, three times the smallest or more, and fall."""
    times = learned_by_length(run).sel(length=slice(17, None))
    if times.isnull().any():
        return ps.undecided("some length is never learned", "all lengths learned")
    peak = int(times.length[int(times.argmax("length"))])
    up = times.sel(length=slice(None, peak))
    down = times.sel(length=slice(peak, None))
    return (
        ps.increasing(up, "up to the slowest length", along="length", strictly=False)
        & ps.decreasing(down, "beyond it", along="length", strictly=False)
        & ps.at_least(times.max() / times.min(), 3.0, "slowest / fastest")
        & ps.agree(float(peak), 26.0, what="slowest length")
        & ran_to_the_end(run)
    )


@ps.claim("Signs of the pivots (ours)", ps.beyond(*evidence.parity_signs), id="par-bif")
def pivots_split_into_two_groups(*runs):
    """For L_0 >= 8 early pivots end with negative and late ones with positive token scores, in two unbroken groups (2-6
    and 7 at L_0 = 8, 2-10 and 11-15 at 16), and the attention agrees: p_L - q_L has the sign of v_c."""

    def judge(run):
        spec = spec_of(run)
        end = run.isel(time=-1)
        lengths = np.arange(spec.base_length + 1, spec.size + 1)
        score = end.token_score.sel(position=lengths - spec.base_length + 1).values
        bias = (end.score_match - end.score_differ).sel(length=lengths).values
        negative = float((score < 0).sum())
        expected = {8: 5.0, 16: 9.0}[spec.base_length]
        return (
            ps.agree(negative, expected, what=f"negative pivots, L_0 = {spec.base_length}")
            & ps.increasing(np.sign(score), "sign of v_c along the pivots", strictly=False)
            & ps.positive(bias * score, "(p_L - q_L) v_c")
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


claims = (
    steps_of_thought_are_learned_one_after_another,
    pivots_split_into_two_groups,
    lam_is_a_ratio_of_learning_rates,
    weak_margins_follow_the_closed_form,
    learning_time_grows_like_the_square_root_of_lam,
    how_long_phase_1_must_last,
)
