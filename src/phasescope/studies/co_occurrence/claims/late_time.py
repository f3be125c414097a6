"""Theorem 3.3 (1) and the late-time laws: how the losses fall, on the training samples and on new ones."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import late_time, population_late_time, threshold
from ..phases import at_the_end, log_slope, ran_to_the_end, side_by_side, spec_of
from . import evidence


def between(ds: xr.Dataset, first: float, last: float) -> xr.DataArray:
    """Marks the records with s = log(1 + tau) in a range."""
    return (ds.s >= first) & (ds.s <= last)


@ps.claim(
    "Lemma F.8, Theorem 3.3 (1), training loss",
    ps.theory(*evidence.wide_runs),
    ps.beyond(
        *evidence.theory_runs[:3],
        expect=ps.Outcome.FAILS,
        because="beta grows, and the loss falls faster: -1.05 at m = 512",
    ),
    id="F.8",
)
def the_loss_falls_like_one_over_t(*runs):
    """d log loss / d log t is -1 within 2% from s = 8 to 18, and the loss is below 1e-7 at kappa t = 1e8."""
    ds = side_by_side(runs, "loss")
    slope = ps.within(
        log_slope(ds.loss, ds), -1.02, -0.98, "d log loss / d log t", where=between(ds, 8.0, 18.0)
    )
    return (
        slope
        & ps.within(at_the_end(ds.loss), 1e-8, 1e-7, "loss at the end")
        & ran_to_the_end(*runs)
    )


@ps.claim("Theorem 3.3 (1), training loss", ps.theory(*evidence.theory_runs), id="T3.3-i-train")
def the_training_loss_vanishes(*runs):
    """The training loss at kappa t = 1e8 is of order 1e-8 to 1e-7 at every width."""
    loss = side_by_side(runs, "loss").loss
    return (
        ps.within(at_the_end(loss), 1e-8, 1e-7, "loss")
        & ps.decreasing(loss, "loss")
        & ran_to_the_end(*runs)
    )


@ps.claim(
    "Late time of a lazy network (ours)",
    ps.theory(evidence.theory_runs[-1]),
    ps.beyond(evidence.many),
    id="X1",
)
def late_constants_follow_the_closed_form(run):
    """R tends to R* and kappa t times the loss to s_1 + 2 s_2 + s_4, those of the hard-margin solution: 1.283 and 9.19 at n =
    48, L = 4 (within 1% and 6% at kappa t = 1e8), and 3/2 and 17 for n to infinity, where G goes like (2, 2, -3)."""
    spec = spec_of(run)
    end = run.isel(time=-1)
    limit = late_time(spec.samples, spec.length)
    per_step = end.Gdot.sel(word=[1, 2, 3]) * end.tau / end.kappa
    values = xr.DataArray([limit.G1, limit.G1, limit.G3], {"word": [1, 2, 3]}, ["word"])
    return (
        ps.within(end.R / limit.ratio, 0.99, 1.01, "R / R*")
        & ps.within(end.tau * end.loss / limit.loss, 0.94, 1.06, "kappa t loss / limit")
        & ps.within(per_step / values, 0.94, 1.06, "dG / d log tau over its limit")
        & ran_to_the_end(run)
    )


@ps.claim("Late time for many samples (ours)", ps.beyond(evidence.many), id="X1-limit")
def many_samples_give_two_two_minus_three(run):
    """For n = 10^7 at kappa t = 1e8: R = 3/2 and kappa t loss = 17 within 1e-4, the rates of G as (2, 2, -3) within 1e-4."""
    end = run.isel(time=-1)
    rates = end.Gdot.sel(word=[1, 2, 3]) * end.tau / end.kappa
    expected = xr.DataArray([2.0, 2.0, -3.0], {"word": [1, 2, 3]}, ["word"])
    return (
        ps.agree(end.R, 1.5, rtol=1e-4, what="R")
        & ps.agree(end.tau * end.loss, 17.0, rtol=1e-4, what="kappa t loss")
        & ps.agree(rates, expected, rtol=1e-4, what="dG / d log tau")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Theorem 3.3 (1), test loss",
    ps.theory(*evidence.wide_runs),
    ps.beyond(
        evidence.few,
        expect=ps.Outcome.FAILS,
        because="n = 12 < 3 (L + 1) = 18: new samples with one target word are wrong for ever",
    ),
    id="T3.3-i-test",
)
def the_test_loss_falls_too(*runs):
    """The loss on samples whose irrelevant words are new falls at all times after kappa t = 100."""
    ds = side_by_side(runs, "test_loss")
    falls = ps.negative(
        log_slope(ds.test_loss, ds), "d log test loss / d log t", where=between(ds, 4.7, 18.0)
    )
    return (
        falls
        & ps.at_most(at_the_end(ds.test_loss), 0.01, "test loss at the end")
        & ran_to_the_end(*runs)
    )


def cases(runs, value) -> xr.DataArray:
    """One number for each run, labelled by its sizes."""
    specs = [spec_of(run) for run in runs]
    names = [f"n={spec.samples} L={spec.length}" for spec in specs]
    return xr.DataArray([float(value(run)) for run in runs], {"case": names}, ["case"])


def limits(runs, value) -> xr.DataArray:
    """The same of the hard-margin solution."""

    def of_limit(run):
        spec = spec_of(run)
        return value(late_time(spec.samples, spec.length))

    return cases(runs, of_limit)


@ps.claim("Test exponent (ours)", ps.theory(*evidence.test_runs), id="T3.3-i-exponent")
def the_test_loss_falls_with_a_smaller_exponent(*runs):
    """The test loss falls like tau^-e with e = min(2 G_1 + G_3, -(G_1 + G_3), -G_3) of the hard-margin solution: 0.331 at n
    = 48, L = 4, where the training loss has 1; slopes within 0.01 at s = 40."""
    slopes = cases(runs, lambda run: log_slope(run.test_loss, run).isel(time=-2))
    expected = limits(runs, lambda limit: -min(limit.exponents))
    training = cases(runs, lambda run: log_slope(run.loss, run).isel(time=-2))
    return (
        ps.agree(slopes, expected, atol=0.01, what="d log test loss / d log t")
        & ps.agree(training, -1.0, atol=0.01, what="d log loss / d log t")
        & ran_to_the_end(*runs)
    )


@ps.claim("Test against training loss (ours)", ps.beyond(*evidence.ratio_runs), id="T3.3-gap")
def the_test_loss_stays_above_the_training_loss(*runs):
    """At kappa t = 1e8 the test loss of a lazy network is 18300 times its training loss at n = 48, L = 4, 5.28 times at n = 600,
    L = 5, and 1.176 times at n = 6000."""
    ratio = cases(runs, lambda run: (run.test_loss / run.loss).isel(time=-1))
    expected = ratio.copy(data=[18_330.0, 5.278, 1.176])
    return ps.agree(ratio, expected, rtol=1e-3, what="test / training loss") & ran_to_the_end(*runs)


@ps.claim("Sample-size threshold (ours)", ps.theory(*evidence.threshold_runs), id="X2")
def generalisation_needs_more_than_three_L_plus_one_samples(*runs):
    """A lazy network is right about new samples with one target word if and only if n > 3 (L + 1), where R > 1: n = 12, 24 at L
    = 5 and 60, 66 at L = 20. Their outputs grow by G_1 + G_3 of the hard-margin solution per log tau, which is 0 at n = 18."""
    side = cases(runs, lambda run: np.sign(threshold(spec_of(run).length) - spec_of(run).samples))
    output = cases(runs, lambda run: run.test_F.sel(type=2).isel(time=-1))
    late = [run.sel(time=slice(np.exp(40.0), None)).isel(time=[0, -1]) for run in runs]
    growth = cases(
        late, lambda run: run.test_F.sel(type=2).diff("time").sum() / run.s.diff("time").sum()
    )
    expected_growth = limits(runs, lambda limit: -limit.exponents[1])
    ratio = cases(runs, lambda run: run.R.isel(time=-1))
    expected_ratio = limits(runs, lambda limit: limit.ratio)
    return (
        ps.positive(
            output * side, "output at s = 80, times the side of the threshold", where=side != 0
        )
        & ps.agree(growth, expected_growth, atol=1e-5, what="growth of the output per log tau")
        & ps.agree(ratio, expected_ratio, atol=1e-8, what="R")
        & ran_to_the_end(*runs)
    )


@ps.claim(
    "Sample-size threshold, random start (ours)",
    ps.beyond(evidence.few, evidence.enough),
    id="X2-random",
)
def the_threshold_is_sharp_for_random_weights(few, enough):
    """With Gaussian weights at zeta = 0.1, L = 5, kappa t = 1e8: at n = 12 outputs on new samples with one target word are
    wrong by 1.0 to 1.4, at n = 24 right by 0.7 to 1.1, in every seed."""
    wrong = at_the_end(few.test_F.sel(type=[2, 3]))
    right = at_the_end(enough.test_F.sel(type=[2, 3]))
    return (
        ps.within(wrong, 0.9, 1.5, "output at n = 12")
        & ps.within(right, -1.1, -0.65, "output at n = 24")
        & ran_to_the_end(few, enough)
    )


@ps.claim("Training on the population (ours)", ps.theory(*evidence.population_runs), id="R3p")
def with_few_words_the_irrelevant_ones_are_the_bias(*runs):
    """A lazy network trained on the population of L = 5 ends as the hard-margin solution in which all irrelevant words share one
    value. They are negative, since negative samples hold more of them: with 5 of them their value is 3.2 times that of the
    common word and R = 1/6; with 61, R = 1.218; with a million, R = 3/2 and kappa t loss = 17. Within 0.1% at kappa t = 1e8."""
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
    irrelevant = by_words(end.G.sel(word=4) for end in ends)
    return (
        ps.agree(ratio, by_words(limit.ratio for limit in limits), rtol=1e-3, what="R")
        & ps.agree(loss, by_words(limit.loss for limit in limits), rtol=1e-3, what="kappa t loss")
        & ps.agree(
            rate(1), by_words(limit.G1 for limit in limits), rtol=1e-3, what="dG_1 / d log tau"
        )
        & ps.agree(
            rate(4), by_words(limit.random for limit in limits), rtol=1e-3, what="dG_r / d log tau"
        )
        & ps.negative(irrelevant, "value of an irrelevant word")
        & ran_to_the_end(*runs)
    )


claims = (
    the_loss_falls_like_one_over_t,
    the_training_loss_vanishes,
    late_constants_follow_the_closed_form,
    many_samples_give_two_two_minus_three,
    the_test_loss_falls_too,
    the_test_loss_falls_with_a_smaller_exponent,
    the_test_loss_stays_above_the_training_loss,
    generalisation_needs_more_than_three_L_plus_one_samples,
    the_threshold_is_sharp_for_random_weights,
    with_few_words_the_irrelevant_ones_are_the_bias,
)
