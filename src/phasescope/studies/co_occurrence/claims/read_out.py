"""Appendix F.3: how little the read-out adds in phase 2."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..closed_forms import late_time
from ..phases import at_the_end, spec_of
from . import evidence
from .parts import (
    at_T1,
    by_width,
    in_phase_2,
    mean_by_width,
    numbers,
    scanned,
    settled,
    told,
    where_it_learns,
)
from .premises import condition_1, lazy


def growth(run: xr.Dataset, c: float) -> xr.DataArray:
    """beta - beta(T_1)."""
    return run.beta - at_T1(run, "beta", c)


NOT_SETTLED = "in narrow networks beta itself grows and holds its growth back, and the ratio has not settled: {measured}"


@ps.claim(
    "Corollary F.9, Lemma F.10, first display",
    ps.on("training", *evidence.theory_runs, expect="undecided", because=NOT_SETTLED),
    ps.on("population", *evidence.ladder),
    id="corF.9-growth",
    kind="upper",
    tex=r"\beta^{(t)} - \beta^{(T_1)} = O\big(\tfrac{m_1\log m\log t}{\sigma_1^2mm_1}\big) \le \tilde O(m_1/m)",
    page="Appendix F.3, Corollary F.9, Lemma F.10",
    as_=("m", "inf"),
    up_to_logs=True,
    assumes=condition_1,
)
@where_it_learns
def the_read_out_grows_by_little(*runs):
    """The growth of beta from T_1 to the end, over m1 log^2(tau) / (sigma_1^2 m m1), does not grow with m.
    Without noise it is looked at from m = 4096 on, where beta has not doubled by then."""

    def measure(run):
        spec = spec_of(run)
        unit = spec.output_norm / numbers(spec)[1] * at_the_end(run.s) ** 2
        return told(at_the_end(growth(run, 20.0)) / unit)

    return ps.big_o(by_width(settled(runs), measure), along="m", what="growth of beta")


@ps.claim(
    "Lemma F.10",
    ps.on("population", *evidence.ladder),
    id="lemF.10-read-out",
    aliases=("F.10",),
    kind="theta",
    tex=r"\beta^{(t)} = \Theta(\sigma_1^2mm_1)",
    page="Appendix F.3, Lemma F.10",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_read_out_keeps_its_size(*runs):
    """From T_1 to the end, without noise and from m = 4096 on, beta over beta(T_1), which is of the order
    sigma_1^2 m m1 (thmE.27-end), stays between two constants. With noise see ours-read-out-width."""

    def judge(c):
        def measure(run):
            return told(run.beta / at_T1(run, "beta", c), in_phase_2(run, c))

        return ps.big_theta(by_width(settled(runs), measure), along="m", what="beta / beta(T_1)")

    return scanned(judge)


@ps.claim(
    "Lemma F.10, from which width (ours)",
    ps.on("training", *evidence.theory_runs),
    id="ours-read-out-width",
    kind="limit",
    whose="ours",
    tex=r"\beta(\kappa t = 10^8)/\beta(0) \to 1",
    page="Appendix F.3, Lemma F.10",
    as_=("m", "inf"),
    assumes=condition_1,
)
@where_it_learns
def the_read_out_stands_still_in_wide_networks(*runs):
    """beta at kappa t = 1e8 over beta at the start tends to 1 as m grows; from which width on it is below 1.5
    is printed."""
    half = ps.chosen(0.5, "a growth that leaves the kernel what it was")
    ends = mean_by_width(runs, lambda run: at_the_end(run.beta) / run.beta.isel(time=0, drop=True))
    return ps.tends_to(ends, 1.0, "m", within=half, what="beta / beta(0)")


@ps.claim(
    "Lemma F.10, the law (ours)",
    ps.on("population", *evidence.ladder),
    id="ours-read-out-law",
    aliases=("F.10-law",),
    kind="limit",
    whose="ours",
    tex=r"\beta/\beta_0 - 1 \simeq \tfrac{m_1}{\kappa^2}(s_1 + 2s_2 + s_4)\log^2\tau",
    page="Appendix F.3, Lemma F.10",
    as_=("log tau", "inf"),
    assumes=lazy,
)
@where_it_learns
def the_read_out_grows_like_log_squared(*runs):
    """In the widest network beta / beta(0) - 1, over (m1 / kappa^2) (s_1 + 2 s_2 + s_4) log^2 tau, tends to 1
    as log tau grows from 20 to 60."""
    run = runs[-1]
    spec = spec_of(run)
    limit = late_time(spec.samples, spec.length)
    excess = run.beta / run.beta.isel(time=0, drop=True) - 1
    law = spec.output_norm / run.kappa**2 * limit.loss * run.s**2
    late = (excess / law).assign_coords(time=run.s).rename(time="log tau")
    late = late.sel({"log tau": slice(20.0, None)})
    near = ps.chosen(0.1, "five over log tau, which the limit leaves out")
    arrived = ps.agree(late.isel({"log tau": -1}), 1.0, atol=near, what="that at the end")
    return ps.tends_to(
        late, 1.0, "log tau", within=near, what="growth of beta over its law"
    ) & ps.guard(arrived)


claims = (
    the_read_out_grows_by_little,
    the_read_out_keeps_its_size,
    the_read_out_stands_still_in_wide_networks,
    the_read_out_grows_like_log_squared,
)
