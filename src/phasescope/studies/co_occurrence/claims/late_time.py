"""Theorem 3.3 (1) and the late-time laws: how the losses fall, on the training samples and on new ones."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import late_time, population_late_time, threshold
from ..phases import at_the_end, at_time, log_slope, spec_of
from . import evidence
from .parts import by_width, told, where_it_learns
from .premises import any_flow, condition_1, lazy

SETTLED = ps.chosen(1e-3, "what is left of the start at log time 18")


def losses_at_powers(runs, name: str, powers) -> ps.Verdict:
    """A loss at T* = m^p tends to 0 like a power of m, for several p."""
    found = []
    for power in powers:

        def measure(run, power=power):
            spec = spec_of(run)
            return told(at_time(run[name], run, spec.kappa * float(spec.width) ** power))

        losses = by_width(runs, measure)
        found.append(ps.tends_to(losses, 0.0, "m", what=f"{name} at T* = m^{power}"))
    return ps.all_of(found)


def powers_reached(runs) -> tuple[int, ...]:
    """Those p for which the records of all widths reach t = m^p."""
    reached = []
    for power in evidence.POWERS:
        ends = [float(run.tau.max()) for run in runs]
        wanted = [spec_of(run).kappa * float(spec_of(run).width) ** power for run in runs]
        if all(end >= tau for end, tau in zip(ends, wanted, strict=True)):
            reached.append(power)
    return tuple(reached) or (1,)


@ps.claim(
    "Theorem 3.3 (1), training loss",
    ps.on("training", *evidence.theory_runs),
    ps.on("population", *evidence.ladder),
    id="thm3.3-i-train",
    aliases=("T3.3-i-train",),
    kind="limit",
    tex=r"\hat L^{(T^\star)} \le 1/\mathrm{poly}(m), \quad T^\star = \Theta(\mathrm{poly}(m))",
    page="Section 3, Theorem 3.3, item 1",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_training_loss_vanishes(*runs):
    """At T* = m^p the training loss falls like a power of m: for p = 1 in networks with noise, whose runs end
    at kappa t = 1e8, and for p = 1, 2, 3 without."""
    return losses_at_powers(runs, "loss", powers_reached(runs))


@ps.claim(
    "Theorem 3.3 (1), generalization loss",
    ps.on("training", *evidence.theory_runs),
    ps.on("population", *evidence.ladder),
    id="thm3.3-i-test",
    aliases=("T3.3-i-test",),
    kind="limit",
    tex=r"L^{(T^\star)} \le 1/\mathrm{poly}(m), \quad T^\star = \Theta(\mathrm{poly}(m))",
    page="Section 3, Theorem 3.3, item 1",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_test_loss_vanishes_too(*runs):
    """At T* = m^p the loss on samples whose irrelevant words are new falls like a power of m, n and L being
    fixed; and it falls all the time from kappa t = 100 on."""
    falls = []
    for run in runs:
        late = (run.s >= 4.7) & (run.s <= 18.0)
        falls.append(
            ps.negative(log_slope(run.test_loss, run), "exponent of the test loss", where=late)
        )
    return ps.all_of(falls) & losses_at_powers(runs, "test_loss", powers_reached(runs))


@ps.claim(
    "Late time of a lazy network (ours)",
    ps.on("training", evidence.theory_runs[-1]),
    id="ours-late-constants",
    aliases=("X1",),
    kind="approx",
    whose="ours",
    tex=r"R \to R^*, \quad \kappa t\hat L \to s_1 + 2s_2 + s_4",
    page="Appendix F.1, Lemma F.6; Appendix F.2, Theorem F.8",
    assumes=condition_1,
)
@where_it_learns
def late_constants_follow_the_closed_form(run):
    """At kappa t = 1e8 and m = 4096 R is R* within 1%, and kappa t times the loss is s_1 + 2 s_2 + s_4 and the
    rates of G per log tau are those of the hard-margin solution within 6%: 1.283 and 9.19 at n = 48, L = 4."""
    spec = spec_of(run)
    end = run.isel(time=-1)
    limit = late_time(spec.samples, spec.length)
    per_step = end.Gdot.sel(word=[1, 2, 3]) * end.tau / end.kappa
    values = xr.DataArray([limit.G1, limit.G1, limit.G3], {"word": [1, 2, 3]}, ["word"])
    ratio = ps.chosen(0.01, "the growth of beta by a hundredth")
    near = ps.chosen(0.06, "the same growth, and outputs of size zeta at the start")
    return (
        ps.agree(end.R / limit.ratio, 1.0, atol=ratio, what="R / R*")
        & ps.agree(end.tau * end.loss / limit.loss, 1.0, atol=near, what="kappa t loss / limit")
        & ps.agree(per_step / values, 1.0, atol=near, what="dG / d log tau over its limit")
    )


@ps.claim(
    "Late time without noise (ours)",
    ps.on("population", *evidence.ladder),
    id="ours-late-limit",
    kind="limit",
    whose="ours",
    tex=r"R \to R^* \text{ as } t \to \infty",
    page="Appendix F.1, Lemma F.6",
    as_=("tau", "inf"),
    assumes=lazy,
)
@where_it_learns
def late_constants_are_limits(*runs):
    """In the widest network R tends to that of the hard-margin solution as kappa t grows from 1e3 on."""
    run = runs[-1]
    spec = spec_of(run)
    limit = late_time(spec.samples, spec.length)
    late = run.sel(time=slice(1e3, 1e8))
    return ps.tends_to(late.R / limit.ratio, 1.0, "time", what="R / R*")


@ps.claim(
    "Late time for many samples (ours)",
    ps.on("population", evidence.many),
    id="ours-many-samples",
    aliases=("X1-limit",),
    kind="approx",
    whose="ours",
    tex=r"R \to \tfrac32, \quad \kappa t\hat L \to 17, \quad G \propto (2, 2, -3) \text{ as } n \to \infty",
    page="Appendix F.1, Lemma F.6; Appendix F.2, Theorem F.8",
    assumes=lazy,
)
@where_it_learns
def many_samples_give_two_two_minus_three(run):
    """For n = 10^7 at kappa t = 1e8: R = 3/2 and kappa t loss = 17 within 1e-4, the rates of G as (2, 2, -3)
    within 1e-4."""
    near = ps.chosen(1e-4, "what is left of phase 1 at kappa t = 1e8")
    end = run.isel(time=-1)
    rates = end.Gdot.sel(word=[1, 2, 3]) * end.tau / end.kappa
    expected = xr.DataArray([2.0, 2.0, -3.0], {"word": [1, 2, 3]}, ["word"])
    return (
        ps.agree(end.R, ps.derived(1.5, "closed_forms.late_time"), rtol=near, what="R")
        & ps.agree(
            end.tau * end.loss,
            ps.derived(17.0, "closed_forms.late_time"),
            rtol=near,
            what="kappa t loss",
        )
        & ps.agree(rates, expected, rtol=near, what="dG / d log tau")
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
    the_training_loss_vanishes,
    the_test_loss_vanishes_too,
    late_constants_follow_the_closed_form,
    late_constants_are_limits,
    many_samples_give_two_two_minus_three,
    the_test_loss_falls_with_a_smaller_exponent,
    generalisation_needs_more_than_three_L_plus_one_samples,
    test_outputs_grow_as_the_hard_margin_solution_says,
    the_threshold_is_sharp_for_random_weights,
    with_few_words_the_irrelevant_ones_are_the_bias,
)
