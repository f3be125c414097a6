"""What the paper could not measure: scaling laws, an extended phase 1, and how parity's steps are learned."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import beyond, claim, theory

from .. import closed_forms
from ..phases import half_time, learned, learned_by_length, phase_2, ran_to_the_end, spec_of
from ..training import symmetric
from . import evidence


@claim("Theorem 4.4, with a long phase 1 (ours)", beyond(ps.runs(symmetric, preset="extended")), id="ext-1")
def a_long_phase_1_gives_phase_2_what_it_needs(run):
    """If phase 1 lasts until the attention really tells the classes apart (N = 6, lam = 10^4, tau_0 = 7000), the read-out
    keeps cos(u_t, u*) >= 0.998, the attention moves by less than lam / 1000, and the loss tends to 1/t."""
    after = phase_2(run)
    late = after.sel(time=slice(float(after.time[-1]) / 30, None))
    elapsed = late.assign_coords(time=late.time - spec_of(run).switch)
    slope = ps.local_slope(elapsed.loss).isel(time=slice(1, -1))
    return (
        ps.at_least(after.margin_cosine, 0.998, "cos(u_t, u*)")
        & ps.at_most(after.W_drift / spec_of(run).lam, 1e-3, "|W_t - W_t0| / lam")
        & ps.decreasing(slope, "d log loss / d log (t - t_0), towards -1")
        & ps.within(slope.isel(time=-1), -1.0, -0.85, "slope at the end")
        & ran_to_the_end(run)
    )  # fmt: skip


def same_reduction(run: xr.Dataset, other: xr.Dataset) -> ps.Verdict:
    """Two runs that should be one."""
    return ps.all_of(
        ps.agree(run[name], other[name], atol=1e-12)
        for name in ("loss", "token_score", "output_match", "output_differ")
    )


@claim(
    "Reduction R3 (ours)",
    theory(
        ps.runs(symmetric, schedule="vanilla", lam=3.0, steps=2000, at=range(0, 2001, 10)),
        ps.runs(symmetric, lam=9.0, switch=2000, steps=2000, at=range(0, 2001, 10)),
    ),
    id="R3",
)
def lam_is_a_ratio_of_learning_rates(vanilla, phase_1):
    """Plain gradient descent at lam is phase-1 descent at lam^2: lam enters only through the ratio of the two rates."""
    return same_reduction(vanilla, phase_1) & ps.decreasing(vanilla.loss, "loss") & ran_to_the_end(vanilla, phase_1)


@claim(
    "Reduction R8 (ours)",
    theory(
        ps.sweeps(symmetric, max_length=6, lam=[36.0, 72.0, 144.0, 288.0], eta=0.01, switch=50, steps=50, at=[0, 50])
    ),
    id="R8",
)
def weak_margins_follow_the_closed_form(runs):
    """For weakly separated attention |u*| = 4 lam N / (p_N - q_N) within 1e-4, and 128 lam N^3 / (tau_0^2 (N - 1)) within
    4% at tau_0 = 1/2, with eta^2 t_0 (t_0 - 1) for tau_0^2."""
    N, end = runs.sizes["length"], runs.isel(time=-1)
    gap = (end.score_match - end.score_differ).sel(length=N)
    spec = spec_of(runs)
    tau_0 = np.sqrt(closed_forms.step_clock(spec.eta, spec.switch).second)
    early = closed_forms.early_margin_norm(tau_0, 1.0, N) * runs.lam
    return ps.within(
        runs.margin_norm / (4 * runs.lam * N / gap), 0.9999, 1.0001, "|u*| / (4 lam N / (p_N - q_N))"
    ) & ps.within(runs.margin_norm / early, 0.96, 1.04, "|u*| / early form")


_lams = [4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0]
_slow = {"steps": 40_000, "switch": 40_000, "at": [0, *evidence.log_steps(10, 40_000, 200)]}


@claim(
    "Learning time in lam (ours)",
    beyond(
        ps.sweeps(symmetric, lam=_lams, **_slow),
        ps.sweeps(symmetric, lam=[2.0, 4.0, 8.0, 16.0, 32.0, 64.0], schedule="vanilla", **_slow),
    ),
    id="scale-lam",
)
def learning_time_grows_like_the_square_root_of_lam(fast, vanilla):
    """At the rates of phase 1 throughout, the time to half the loss grows like sqrt(lam) up to a logarithm: an exponent
    within 0.1 of 1/2. Plain descent is the same law in lam^2 (R3): within 0.2 of 1."""
    return ps.scales_like(half_time(fast), fast.lam, 0.5, 0.1, "tau_1/2, phase-1 rates") & ps.scales_like(
        half_time(vanilla), vanilla.lam, 1.0, 0.2, "tau_1/2, plain descent"
    )


def long_phase_1(N: int, last: float, eta: float, first: float = 20.0):
    """Phase 1 for ever at lam = N^2, recorded in log time; steps up to 5 follow the same path in tau within 1%."""
    steps = round(last / eta)
    return ps.runs(
        symmetric,
        max_length=N,
        lam=float(N * N),
        eta=eta,
        switch=steps,
        steps=steps,
        at=[0, *evidence.log_steps(max(1, round(first / eta)), steps, 70)],
    )


SIZES = (6, 12, 24, 48, 96)
_to_half = [long_phase_1(N, 20.0 * N**1.46, 1.0) for N in SIZES]


def sizes_and_times(runs, time) -> tuple[np.ndarray, np.ndarray]:
    """N and tau of some phase time, over runs of different size."""
    return np.array([float(spec_of(r).size) for r in runs]), np.array([float(time(r)) * spec_of(r).eta for r in runs])


@claim("Learning time in N (ours)", beyond(*_to_half), id="scale-N")
def how_long_phase_1_must_last(*runs):
    """At lam = N^2 and the rates of phase 1 throughout, all 2^(N+1) - 2 strings are right from tau ~ N^0.8 on, and the loss
    is halved at tau ~ N^1.46. The theorems stop phase 1 at tau = 1/N."""
    N, all_right = sizes_and_times(runs, learned)
    _, half = sizes_and_times(runs, half_time)
    return (
        ps.scales_like(all_right, N, 0.8, 0.1, "tau when all strings are right")
        & ps.scales_like(half, N, 1.46, 0.1, "tau_1/2")
    ) & ran_to_the_end(*runs)


_stairs = ps.runs(symmetric, task="parity", base_length=16, steps=20_000, at=[0, *evidence.log_steps(100, 20_000, 150)])


@claim("Order of the steps (ours)", beyond(_stairs), id="par-stair")
def steps_of_thought_are_learned_one_after_another(run):
    """At L_0 = 16 the lengths 17, 18, ... are learned in order up to the slowest, 26, and those beyond it in the opposite
    order: sustained times rise to one peak, three times the smallest or more, and fall."""
    times = learned_by_length(run).sel(length=slice(17, None))
    if times.isnull().any():
        return ps.undecided("some length is never learned", "all lengths learned")
    peak = int(times.length[int(times.argmax("length"))])
    return (
        ps.increasing(times.sel(length=slice(None, peak)), "up to the slowest length", along="length", strictly=False)
        & ps.decreasing(times.sel(length=slice(peak, None)), "beyond it", along="length", strictly=False)
        & ps.at_least(times.max() / times.min(), 3.0, "slowest / fastest") & ps.agree(float(peak), 26.0, what="slowest length")
        & ran_to_the_end(run)
    )  # fmt: skip


_signs = {"task": "parity", "steps": 100_000, "at": [0, 100, 100_000]}


@claim(
    "Signs of the pivots (ours)",
    beyond(ps.runs(symmetric, base_length=8, **_signs), ps.runs(symmetric, base_length=16, **_signs)),
    id="par-bif",
)
def pivots_split_into_two_groups(*runs):
    """For L_0 >= 8 early pivots end with negative and late ones with positive token scores, in two unbroken groups (2-6
    and 7 at L_0 = 8, 2-10 and 11-15 at 16), and the attention agrees: p_L - q_L has the sign of v_c."""

    def judge(run):
        end, spec = run.isel(time=-1), spec_of(run)
        lengths = np.arange(spec.base_length + 1, spec.size + 1)
        score = end.token_score.sel(position=lengths - spec.base_length + 1).values
        bias = (end.score_match - end.score_differ).sel(length=lengths).values
        below = float((score < 0).sum())
        return (
            ps.agree(below, {8: 5.0, 16: 9.0}[spec.base_length], what=f"negative pivots, L_0 = {spec.base_length}")
            & ps.increasing(np.sign(score), "sign of v_c along the pivots", strictly=False)
            & ps.positive(bias * score, "(p_L - q_L) v_c")
        )

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)
