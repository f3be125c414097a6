"""Section 7: Figures 1a and 1b at the paper's own protocol, 300 epochs over a fixed set of chains.

The figures are held against five seeds a group, and against means over the last quarter of training, not one record.
These checks were written before their evidence was made, but for the one on layer normalisation.
"""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from . import recorded
from .paired import (
    FEW,
    NEAR_PERFECT,
    area,
    converged,
    end,
    ends,
    more,
)

C6, S5 = recorded.epochs.values()


STAGES = recorded.epochs_stages["epochs_stages_S5"]


GROUPS = ("C6", "S5")


GUESSED = "trained end to end; not the numbers of the protocol"


# Of rows that nothing but `converged` leaves undecided: the guard, what broke it, and what the rest says.
SPIKE = (
    "only our guard leaves it undecided, fixed before the run: every seed is to have a training loss of a hundredth at most, "
    "mean over the last quarter, and {where} of the symmetric task has {value:.2g}, by a jump at a single record. For "
    "information, not as the word: without the guard the check {unguarded.outcome} ({unguarded.measured})"
)


@claim(
    "Figure 1a: the cyclic task",
    on(
        "training",
        C6,
        expect="undecided",
        because="with these guesses accuracy falls on long chains: {value:.2g} at {where}",
    ),
    id="fig1a-cyclic",
    kind="figure",
    tex=r"\mathrm{Acc}_{C_6}(L) \approx 1, \quad L \le 160",
    page="Section 7, Figure 1a: near-perfect accuracy at much longer lengths, up to L = 160",
)
def the_cyclic_task_is_solved_up_to_160(cyclic: xr.Dataset) -> ps.Verdict:
    """Trained at L = 5, C6 is solved near-perfectly at every length tested, up to L = 160: mean over seeds and over the last
    quarter of training."""
    accuracy = end(cyclic).accuracy.mean("seed", skipna=False)
    return ps.within(accuracy, NEAR_PERFECT, 1.0, "accuracy of C6") & converged(cyclic)


@claim(
    "Figure 1a: the symmetric task",
    on("training", S5, expect="undecided", because=SPIKE),
    id="fig1a-symmetric",
    kind="figure",
    tex=r"\mathrm{Acc}_{S_5}(160) \ll 1",
    page="Section 7, Figure 1a: on the harder symmetry task only constant-factor extensions",
)
def the_symmetric_task_is_not_solved_at_160(symmetric: xr.Dataset) -> ps.Verdict:
    """Trained at L = 5, S5 is solved at twice the length and not at L = 160, where fewer than half of the chains are right."""
    accuracy = end(symmetric).accuracy.mean("seed", skipna=False)
    return (
        ps.within(accuracy.sel(test_length=10), NEAR_PERFECT, 1.0, "accuracy of S5 at 10")
        & ps.at_most(accuracy.sel(test_length=160), FEW, "accuracy of S5 at 160")
        & converged(symmetric)
    )


def _further(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    a = area(end(cyclic).accuracy)
    b = area(end(symmetric).accuracy)
    return more(a, b, "area under accuracy over log length, C6 - S5") & converged(cyclic, symmetric)


@claim(
    "Figure 1a: the contrast",
    on(
        "training",
        C6,
        S5,
        expect="undecided",
        because="the interval of five seeds includes none: {parts[0].measured}",
    ),
    id="fig1a-contrast",
    kind="figure",
    tex=r"\mathrm{Acc}_{C_6}(L) > \mathrm{Acc}_{S_5}(L)",
    page="Section 7, Figure 1a",
)
def the_cyclic_task_generalises_further(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """After 300 epochs the area under accuracy over log length is greater for C6 than for S5, by the interval of five
    paired seeds; both solve the training length."""
    return _further(cyclic, symmetric)


@claim(
    "ours, on Figure 1a: a fifth of the chains",
    on("training", *recorded.few.values(), breaks=GUESSED),
    id="ours-fig1a-few",
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{C_6}(L) > \mathrm{Acc}_{S_5}(L)",
    page="Section 7, Figure 1a; 10,000 chains",
)
def on_10000_chains_too(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """After 300 epochs over 10,000 chains C6 is ahead of S5 by the same measure, whether or not S5 solves the training length."""
    a = area(end(cyclic).accuracy)
    b = area(end(symmetric).accuracy)
    return more(a, b, "area under accuracy over log length, C6 - S5") & converged(cyclic)


@claim(
    "ours, on Figure 1a: layer normalisation",
    on("training", C6, recorded.epochs_norm["epochs_norm_C6"]),
    id="ours-fig1a-norm",
    kind="order",
    whose="ours",
    tex=r"\mathrm{Acc}_{C_6,\mathrm{LN}}(L) > \mathrm{Acc}_{C_6}(L)",
    page="Section 7, Figure 1a; with and without layer normalisation",
)
def layer_normalisation_lengthens_the_reach_of_the_cyclic_task(
    plain: xr.Dataset, norm: xr.Dataset
) -> ps.Verdict:
    """After 300 epochs over 50,000 chains the area under accuracy over log length of C6 is greater with layer normalisation than
    without it, by the interval of paired seeds. (Written after the run: the symmetric task was not run with it.)"""
    a = area(end(norm).accuracy)
    b = area(end(plain).accuracy)
    return more(a, b, "area of C6, with - without layer normalisation") & converged(plain, norm)


@claim(
    "ours, on Figure 1a: whether training has ended",
    on("training", C6, S5, expect="undecided", because=SPIKE),
    id="ours-fig1a-settled",
    kind="approx",
    whose="ours",
    tex=r"\mathrm{Acc}(L; t) \simeq \mathrm{Acc}(L; t/2)",
    page="Section 7: we train for 300 epochs to ensure that the model converges",
)
def the_curve_has_settled_by_300_epochs(cyclic: xr.Dataset, symmetric: xr.Dataset) -> ps.Verdict:
    """From the third quarter of the 300 epochs to the last the area under accuracy over log length moves by less than half an
    octave of the five that are tested, in the mean over seeds, for both groups."""
    half_octave = ps.chosen(0.1, "half an octave of five")
    found = []
    for name, run in zip(GROUPS, (cyclic, symmetric), strict=True):
        t = run.time / run.time[-1]
        third = run.isel(time=np.flatnonzero((t > 0.5) & (t <= 0.75))).mean("time", skipna=False)
        moved = (area(end(run).accuracy) - area(third.accuracy)).mean("seed", skipna=False)
        found.append(
            ps.within(moved, -half_octave, half_octave, f"{name}: area, last - third quarter")
        )
    return ps.all_of(found) & converged(cyclic, symmetric)


@claim(
    "Figure 1b: every stage",
    on("training", STAGES),
    id="fig1b-right",
    kind="figure",
    tex=r"\mathrm{Acc}_{k+1}(L) \ge \mathrm{Acc}_k(L)",
    page="Section 1.2, Figure 1b: consistently shifts the length-accuracy curve rightward",
)
def every_stage_moves_the_curve_to_the_right(run: xr.Dataset) -> ps.Verdict:
    """With each stage of self-training, on L = 10, 20 and 40, the area under accuracy over log length grows, in the mean over
    seeds."""
    areas = [area(stage.accuracy).mean("seed", skipna=False) for stage in ends(run)]
    gains = xr.concat([b - a for a, b in itertools.pairwise(areas)], "later_stage")
    return ps.positive(gains, "gain of area") & converged(run)


@claim(
    "Figure 1b: the next length",
    on(
        "training",
        STAGES,
        expect="undecided",
        because="with these guesses it is reached by the first stages only: {value:.2g} at the worst",
    ),
    id="fig1b-double",
    kind="figure",
    tex=r"\mathrm{Acc}_k(2 L_k) \approx 1",
    page="Section 7, Figure 1b: at least constant-factor generalization beyond the training length",
)
def every_stage_solves_twice_its_own_length(run: xr.Dataset) -> ps.Verdict:
    """After the stages on L = 5, 10, 20 and 40 chains of twice that length are solved near-perfectly, mean over seeds."""
    found = []
    for k, stage in enumerate(ends(run)):
        twice = 2 ** (k + 1) * int(run.test_length[0])
        accuracy = stage.accuracy.sel(test_length=twice).mean("seed", skipna=False)
        found.append(ps.within(accuracy, NEAR_PERFECT, 1.0, f"accuracy at {twice} after stage {k}"))
    return ps.all_of(found) & converged(run)


@claim(
    "Figure 1b: the end",
    on(
        "training",
        STAGES,
        expect="undecided",
        because="with these guesses accuracy falls on the longest chains: {value:.2g} at {where}",
    ),
    id="fig1b-end",
    kind="figure",
    tex=r"\mathrm{Acc}_3(L) \approx 1, \quad L \le 160",
    page="Section 7, Figure 1b: ultimately matching the simply transitive task's performance up to L = 160",
)
def self_training_ends_near_perfect_up_to_160(run: xr.Dataset) -> ps.Verdict:
    """After self-training up to L = 40, S5 is solved near-perfectly at every length up to L = 160, mean over seeds."""
    accuracy = end(run).accuracy.mean("seed", skipna=False)
    return ps.within(accuracy, NEAR_PERFECT, 1.0, "accuracy of S5") & converged(run)


@claim(
    "Figure 1b: what self-training is for",
    on("training", STAGES),
    id="fig1b-gain",
    kind="figure",
    tex=r"\mathrm{Acc}_3(L) > \mathrm{Acc}_0(L)",
    page="Figure 1b: bootstraps the solvable problem length",
)
def self_training_gets_further_than_its_first_stage(run: xr.Dataset) -> ps.Verdict:
    """The area under accuracy over log length of S5 is greater after self-training than after its first stage of 300 epochs
    at L = 5, by the interval of paired seeds."""
    first, *_, last = ends(run)
    gain = more(area(last.accuracy), area(first.accuracy), "area, after stage 3 - after stage 0")
    return gain & converged(run)


claims = (
    the_cyclic_task_is_solved_up_to_160,
    the_symmetric_task_is_not_solved_at_160,
    the_cyclic_task_generalises_further,
    on_10000_chains_too,
    layer_normalisation_lengthens_the_reach_of_the_cyclic_task,
    the_curve_has_settled_by_300_epochs,
    every_stage_moves_the_curve_to_the_right,
    every_stage_solves_twice_its_own_length,
    self_training_ends_near_perfect_up_to_160,
    self_training_gets_further_than_its_first_stage,
)
