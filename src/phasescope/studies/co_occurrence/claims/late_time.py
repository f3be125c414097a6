"""Theorem 3.3 (1) and the late-time laws: the losses vanish, with constants of a closed form."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..closed_forms import late_time
from ..phases import at_time, log_slope, spec_of
from . import evidence
from .parts import by_width, told, where_it_learns
from .premises import condition_1, lazy

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


claims = (
    the_training_loss_vanishes,
    the_test_loss_vanishes_too,
    late_constants_follow_the_closed_form,
    late_constants_are_limits,
    many_samples_give_two_two_minus_three,
)
