"""Appendix B, phase 2: Lemmas B.5 and B.6, and phase 2 after a phase 1 that lasts long enough (ours)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import margin, onset, phase_2, ran_to_the_end, read_out_rate, spec_of
from ..training import symmetric
from . import evidence


def unit(v: xr.DataArray) -> xr.DataArray:
    """The direction of a read-out."""
    return v / np.sqrt((v**2).sum("position"))


@ps.claim(
    "Lemma B.5",
    ps.published(
        evidence.figure_2,
        evidence.figure_3,
        evidence.figure_4,
        evidence.figure_5,
        evidence.figure_6,
    ),
    id="B.5",
)
def descent_follows_the_margin(*runs):
    """<-grad_u, u/|u|> <= (1 + C |u*|/|u|) <-grad_u, u*/|u*|> with C = 2 log(4N) + 2, at every 50th step of phase 2."""

    def judge(run):
        after = phase_2(run).isel(time=slice(50, None, 50))
        constant = 2 * np.log(4 * after.sizes["length"]) + 2
        rate = read_out_rate(after)
        along = (rate * unit(after.token_score)).sum("position")
        towards = (rate * unit(after.margin_direction)).sum("position")
        bound = (1 + constant * after.margin_norm / after.u_norm) * towards
        return ps.at_most(along, bound, "rate along u")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Lemma B.6",
    ps.published(evidence.figure_2, evidence.figure_4, evidence.figure_5),
    id="B.6-margin",
)
def every_string_has_its_margin(*runs):
    """From t_2 on, y_n T(X_n) >= (5/6) |u_t| / |u*| for every string."""

    def judge(run):
        ratio = margin(run) * run.margin_norm / run.u_norm.where(run.u_norm > 0)
        start = float(onset(run))
        if np.isnan(start):
            return ps.undecided("the read-out never bends: there is no t_2", "a phase 2")
        what = f"margin ratio from t_2 on, lam = {spec_of(run).lam:g}"
        return ps.at_least(ratio.sel(time=slice(start, None)), 5 / 6, what)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 4.4, with a long phase 1 (ours)",
    ps.beyond(ps.runs(symmetric, preset="extended")),
    id="ext-1",
)
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
    )


claims = (
    descent_follows_the_margin,
    every_string_has_its_margin,
    a_long_phase_1_gives_phase_2_what_it_needs,
)
