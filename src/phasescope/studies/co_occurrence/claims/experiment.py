"""Figure 1: what the text says of the paper's experiment, with the settings that it leaves open filled in."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import (
    SCORES,
    after,
    at_the_end,
    at_time,
    first_phase_end,
    ran_to_the_end,
    signed,
    spec_of,
    trained,
)
from ..population_loss import population_loss
from . import evidence
from .parts import learns, where_it_learns
from .premises import condition_1, small_steps


def epochs(ds: xr.Dataset, tau: xr.DataArray) -> xr.DataArray:
    """A natural time in epochs of the experiment."""
    return tau / ds.kappa.isel(time=0, drop=True) / spec_of(ds).eta


def rises_and_falls(run: xr.Dataset) -> ps.Verdict:
    """The loss of samples with one target word rises first, and falls before T_1."""
    one = run.loss_type.sel(type=[2, 3]).mean("type", skipna=False)
    peak = run.tau.isel(time=one.fillna(0).argmax("time"))
    bump = one.max("time", skipna=False) - one.isel(time=0, drop=True)
    return ps.positive(bump, "rise of the loss with one target") & ps.ordered(
        peak, first_phase_end(run), what="peak of that loss, T_1"
    )


@ps.claim(
    "Figure 1 (a)",
    ps.on("training", evidence.figure_1_descent),
    id="fig1a",
    aliases=("Fig1a",),
    kind="figure",
    tex=r"\mu_i^\top W_K^{(t)\top}W_Q^{(t)}\mu_j",
    page="Section 3, Figure 1 (a); Appendix A",
)
@where_it_learns
def scores_are_flat_then_split(run):
    """The scores do not change significantly in phase 1: by T_1, when all samples are right, C_12, C_21, C_31
    and C_32 have made less than a fifth of their way. After it the first two rise and the others fall, all the
    time."""
    run = trained(run)
    moved = signed(run.C, SCORES)
    end = first_phase_end(run)
    share = at_time(moved, run, end) / at_the_end(moved)
    later = after(run, end).isel(time=slice(1, None))
    fifth = ps.chosen(0.2, "not significantly: a fifth of the change at the end")
    return ps.at_most(abs(share), fifth, "share of the way at T_1") & ps.positive(
        moved.diff("time"), "change between records", where=later
    )


@ps.claim(
    "Figure 1 (b)",
    ps.on("training", evidence.figure_1_descent),
    id="fig1b",
    aliases=("Fig1b",),
    kind="figure",
    tex=r"\hat L \text{ and the loss of each type}",
    page="Section 3, Figure 1 (b); Appendix A",
)
@where_it_learns
def losses_of_one_target_rise_and_fall(run):
    """In phase 1 the loss of samples with both target words falls; that of samples with one first rises, then
    falls before the end of phase 1; in phase 2 all losses fall, to below a hundredth of their start."""
    run = trained(run)
    end = first_phase_end(run)
    later = after(run, end).isel(time=slice(1, None))
    left = at_the_end(run.loss) / run.loss.isel(time=0, drop=True)
    change = run.loss_type.diff("time") / run.loss_type.isel(time=slice(1, None))
    return (
        ps.decreasing(run.loss_type.sel(type=1), "loss with both target words", "time")
        & rises_and_falls(run)
        & ps.negative(change, "relative change of a loss in phase 2", where=later)
        & ps.at_most(left, ps.chosen(0.01, "small: a hundredth"), "loss at the end over its start")
    )


@ps.claim(
    "Figure 1 with a_j = +-1 (ours)",
    ps.on("training", evidence.figure_1_literal),
    id="ours-fig1-literal",
    aliases=("Fig1-literal",),
    kind="upper",
    whose="ours",
    tex=r"a_j = \pm1: \quad \kappa T_1 \text{ within } 1\% \text{ of the epochs},\ |C| \text{ within the "
    r"spread of } S(0)",
    page="Appendix A",
    assumes=condition_1,
)
@where_it_learns
def output_weights_of_one_hide_the_first_phase(run):
    """Taken literally, with a_j = +-1, phase 1 is over within one per cent of the 30000 epochs, and no score of
    the special words moves by more than the size that scores have at the start."""
    run = trained(run)
    spec = spec_of(run)
    end = epochs(run, first_phase_end(run)) / spec.steps
    moved = abs(at_the_end(run.C)).max(("key", "query"), skipna=False)
    spread = ps.derived(spec.scale_0**2 * spec.width**0.5, "the spread of a score at the start")
    hundredth = ps.chosen(0.01, "what a plot of all epochs does not show")
    return (
        ps.at_most(end, hundredth, "share of the epochs by T_1")
        & ps.at_most(moved, spread, "largest change of a score")
        & ps.guard(ps.positive(moved, "largest change of a score"))
    )


@ps.claim(
    "Gradient descent against gradient flow (ours)",
    ps.on("training", evidence.figure_1_descent, evidence.figure_1),
    ps.on(
        "training",
        evidence.descent_literal,
        evidence.figure_1_literal,
        expect="outside",
        because="the first steps of descent are far too large for a flow: a loss differs by {value:.2g}",
    ),
    id="ours-fig1-flow",
    aliases=("Fig1-flow",),
    kind="approx",
    whose="ours",
    tex=r"\hat L_c \text{ of descent with } \eta = 0.01 \approx \hat L_c \text{ of the flow}",
    page="Appendix A",
    assumes=small_steps,
)
def descent_follows_the_flow(descent, flow):
    """The losses of the four types under descent with eta = 0.01 are those of the flow within 0.001 at all epochs."""
    flow = trained(flow)
    if "seed" not in descent.dims:
        flow = flow.sel(seed=0, drop=True)
    near = ps.chosen(1e-3, "a twentieth of eta kappa, the error of a step")
    return (
        ps.agree(descent.loss_type, flow.loss_type, atol=near, what="loss of a type")
        & ps.guard(ps.positive(descent.loss.isel(time=0) - at_the_end(descent.loss), "learned"))
        & ps.guard(ps.decreasing(flow.loss, "loss", "time"))
        & ran_to_the_end(descent, flow)
    )


def population_losses_at_the_end(run: xr.Dataset, seeds: tuple[int, ...]) -> np.ndarray:
    """The exact population loss of some seeds of a sweep at its end, by enumeration of all samples."""
    spec = spec_of(run)
    found = []
    for seed in seeds:
        end = run.isel(stage_end=-1).sel(seed=seed)
        found.append(
            population_loss(end.G_all.values, end.S_all.values, spec.width, spec.length, spec.dim)
        )
    return np.array(found)


@ps.claim(
    "Test loss of the experiment (ours)",
    ps.on("training", evidence.figure_1),
    id="ours-fig1-test",
    aliases=("Fig1-test",),
    kind="lower",
    whose="ours",
    tex=r"L \ge 20\,\hat L \text{ at the end of Figure 1}",
    page="Appendix A; Section 3, Figure 1",
    assumes=condition_1,
)
def the_experiment_generalises_badly(run):
    """The exact population loss after the experiment is at least 20 times the training loss, by enumeration of
    all samples, for two seeds."""
    seeds = (0, 5)
    training = at_the_end(trained(run).loss).sel(seed=list(seeds)).values
    guard = learns(run)
    if guard.outcome is not ps.Outcome.HOLDS or not np.all(training > 0):
        return ps.undecided("the loss does not fall all the time") & guard
    fresh = population_losses_at_the_end(trained(run), seeds)
    twenty = ps.chosen(20.0, "of another order than the training loss, beyond the spread of seeds")
    return ps.at_least(fresh / training, twenty, "population / training loss") & guard


@ps.claim(
    "Distinct words at the sizes of the experiment (ours)",
    ps.on("training", evidence.figure_1_distinct),
    id="ours-fig1-distinct",
    aliases=("Fig1-distinct",),
    kind="order",
    whose="ours",
    tex=r"-c(\mu_3) > 1.1\max(c(\mu_1), c(\mu_2)) \text{ with distinct words}",
    page="Appendix A; Section 4.2, Lemma 4.5",
    assumes=condition_1,
)
@where_it_learns
def distinct_words_restore_the_ratios(run):
    """With every irrelevant word in one place only, at the sizes of the experiment, the force on mu_3 exceeds
    1.1 times those on mu_1 and mu_2 in phase 2."""
    end = first_phase_end(run)
    most = run.c.sel(word=[1, 2]).max("word", skipna=False)
    gap = (-run.c.sel(word=3, drop=True) - 1.1 * most) / most
    return ps.positive(gap, "-c_3 above 1.1 max(c_1, c_2)", where=after(run, end))


claims = (
    scores_are_flat_then_split,
    losses_of_one_target_rise_and_fall,
    output_weights_of_one_hide_the_first_phase,
    descent_follows_the_flow,
    the_experiment_generalises_badly,
    distinct_words_restore_the_ratios,
)
