"""Theorem 3.3 (1) on new samples: how fast their loss falls, and how many training samples it takes."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import population_late_time, threshold
from ..phases import at_the_end, log_slope, spec_of
from . import evidence
from .late_time import SETTLED, cases, limits
from .parts import where_it_learns
from .premises import any_flow, condition_1, lazy


@ps.claim(
    "Theorem 3.3 (1): the exponent of the test loss (ours)",
    ps.on("population", *evidence.test_runs),
    id="ours-test-exponent",
    aliases=("T3.3-i-exponent",),
    kind="rate",
    whose="ours",
    tex=r"L \sim \tau^{-e}, \quad e = \min(2G_1 + G_3, -(G_1 + G_3), -G_3)",
    page="Section 3, Theorem 3.3, item 1",
    assumes=lazy,
)
@where_it_learns
def the_test_loss_falls_with_a_smaller_exponent(*runs):
    """The test loss falls like tau^-e with e = min(2 G_1 + G_3, -(G_1 + G_3), -G_3) of the hard-margin
    solution: 0.331 at n = 48, L = 4, where the training loss has 1; slopes within 0.01 at s = 40."""
    near = ps.chosen(0.01, "what is left of the start at log time 40")
    slopes = cases(runs, lambda run: log_slope(run.test_loss, run).isel(time=-2))
    expected = limits(runs, lambda limit: -min(limit.exponents))
    training = cases(runs, lambda run: log_slope(run.loss, run).isel(time=-2))
    test = ps.within(slopes - expected, -near, near, "exponent of the test loss, less e")
    return test & ps.within(training + 1.0, -near, near, "exponent of the loss, less 1")


def growth_of_test_outputs(runs) -> xr.DataArray:
    """How much the output on new samples with one target word grows per log tau, from log time 40 on."""
    late = [run.sel(time=slice(np.exp(40.0), None)).isel(time=[0, -1]) for run in runs]
    return cases(
        late, lambda run: run.test_F.sel(type=2).diff("time").sum() / run.s.diff("time").sum()
    )


@ps.claim(
    "Sample-size threshold (ours)",
    ps.on("population", *evidence.threshold_runs),
    id="ours-threshold",
    aliases=("X2",),
    kind="sign",
    whose="ours",
    tex=r"G(\mu_1) + G(\mu_3) < 0 \iff n > 3(L+1) \quad (t \to \infty)",
    page="Section 3, Theorem 3.3, item 1; Condition 1",
    assumes=condition_1,
)
@where_it_learns
def generalisation_needs_more_than_three_L_plus_one_samples(*runs):
    """A lazy network with distinct irrelevant words is, late enough, right about new samples with one target
    word if and only if n > 3 (L + 1): n = 12, 24 at L = 5 and 60, 66 at L = 20. About the other types it is
    right at all these n."""
    side = cases(runs, lambda run: np.sign(threshold(spec_of(run).length) - spec_of(run).samples))
    output = cases(runs, lambda run: run.test_F.sel(type=2).isel(time=-1))
    both = cases(runs, lambda run: run.test_F.sel(type=1).isel(time=-1))
    neither = cases(runs, lambda run: -run.test_F.sel(type=4).isel(time=-1))
    return (
        ps.positive(output * side, "output with one target, times the side", where=side != 0)
        & ps.positive(both, "output with both targets")
        & ps.positive(neither, "minus the output with none")
    )


@ps.claim(
    "Sample-size threshold, the law (ours)",
    ps.on("population", *evidence.threshold_runs),
    id="ours-threshold-law",
    kind="identity",
    whose="ours",
    tex=r"dF/d\log\tau = G_1 + G_3 \text{ of the hard-margin solution}, \quad = 0 \text{ at } n = 3(L+1)",
    page="Section 3, Theorem 3.3, item 1; Condition 1",
    assumes=any_flow,
)
@where_it_learns
def test_outputs_grow_as_the_hard_margin_solution_says(*runs):
    """From log time 40 to 80 the output on new samples with one target word grows per log tau by G_1 + G_3 of
    the hard-margin solution, which is 0 at n = 18, L = 5, to 1e-5; and R is R* to 1e-8."""
    near = ps.chosen(1e-5, "the error of a difference over forty units of log time")
    exact = ps.chosen(1e-8, "the accuracy of the solver")
    ratio = cases(runs, lambda run: run.R.isel(time=-1))
    return ps.agree(
        growth_of_test_outputs(runs),
        limits(runs, lambda limit: -limit.exponents[1]),
        atol=near,
        what="growth of the output per log tau",
    ) & ps.agree(ratio, limits(runs, lambda limit: limit.ratio), atol=exact, what="R")


@ps.claim(
    "Sample-size threshold, random start (ours)",
    ps.on("training", evidence.few, evidence.enough),
    id="ours-threshold-random",
    aliases=("X2-random",),
    kind="sign",
    whose="ours",
    tex=r"\text{sign of } F \text{ on new samples with one target word, } n = 12, 24,\ L = 5",
    page="Section 3, Theorem 3.3, item 1; Condition 1",
    assumes=condition_1,
)
@where_it_learns
def the_threshold_is_sharp_for_random_weights(few, enough):
    """With Gaussian weights at zeta = 0.1, L = 5, kappa t = 1e8: at n = 12 outputs on new samples with one
    target word are wrong, at n = 24 right, in every seed."""
    wrong = at_the_end(few.test_F.sel(type=[2, 3]))
    right = at_the_end(enough.test_F.sel(type=[2, 3]))
    return ps.positive(wrong, "output at n = 12") & ps.negative(right, "output at n = 24")


@ps.claim(
    "Training on the population (ours)",
    ps.on("population", *evidence.population_runs),
    id="ours-population",
    aliases=("R3p",),
    kind="approx",
    whose="ours",
    tex=r"D r = (L-3)s_1 - 2(L-2)s_2, \quad R \to \tfrac16, 1.218, \tfrac32 \text{ for } D = 5, 61, 10^6",
    page="Section 2.1, Definition 2.1",
    assumes=any_flow,
)
@where_it_learns
def with_few_words_the_irrelevant_ones_are_the_bias(*runs):
    """A lazy network trained on the population of L = 5 ends as the hard-margin solution in which all
    irrelevant words share one value. They are negative, since negative samples hold more of them: with 5 of
    them their value is 3.2 times that of the common word and R = 1/6; with 61, R = 1.218; with a million, R =
    3/2 and kappa t loss = 17. Within 0.1% at kappa t = 1e8."""
    ends = [run.isel(time=-1) for run in runs]
    specs = [spec_of(run) for run in runs]
    limits = [population_late_time(spec.length, spec.dim) for spec in specs]

    def by_words(numbers):
        words = [spec.dim - 3 for spec in specs]
        return xr.DataArray([float(number) for number in numbers], {"words": words}, ["words"])

    def rate(word):
        return by_words(end.Gdot.sel(word=word) * end.tau / end.kappa for end in ends)

    ratio = by_words(end.R for end in ends)
    loss = by_words(end.tau * end.loss for end in ends)
    irrelevant = by_words(
        (spec.dim - 3) * end.G.sel(word=4) for spec, end in zip(specs, ends, strict=True)
    )
    expected = {
        "R": (ratio, by_words(limit.ratio for limit in limits)),
        "kappa t loss": (loss, by_words(limit.loss for limit in limits)),
        "dG_1 / d log tau": (rate(1), by_words(limit.G1 for limit in limits)),
        "dG_r / d log tau": (rate(4), by_words(limit.random for limit in limits)),
    }
    found = [ps.agree(x, y, rtol=SETTLED, what=what) for what, (x, y) in expected.items()]
    return ps.all_of(found) & ps.negative(irrelevant, "values of all irrelevant words")


claims = (
    the_test_loss_falls_with_a_smaller_exponent,
    generalisation_needs_more_than_three_L_plus_one_samples,
    test_outputs_grow_as_the_hard_margin_solution_says,
    the_threshold_is_sharp_for_random_weights,
    with_few_words_the_irrelevant_ones_are_the_bias,
)
