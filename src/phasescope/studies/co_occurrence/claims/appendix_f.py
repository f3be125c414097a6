"""Appendix F: what the proofs of phase 2 rest on."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..closed_forms import late_time
from ..phases import at_the_end, at_time, first_phase_end, ran_to_the_end, side_by_side, spec_of
from . import evidence
from .phase_2 import later, phase_2_began


@ps.claim(
    "Equation (5), Lemma F.4",
    ps.theory(*evidence.theory_runs),
    ps.published(evidence.figure_1),
    id="Eq.5",
)
def the_read_out_grows_by_the_margins(*runs):
    """The rate of beta = |W^T a|^2 is (2 |a|^2 / n) sum_i g_i y_i F_i at all times, to rounding."""
    ds = side_by_side(runs, "betadot", "betadot_outputs")
    largest = abs(ds.betadot).max("time")
    same = ps.agree(
        ds.betadot / largest, ds.betadot_outputs / largest, 1e-13, 1e-11, "rate of beta"
    )
    return (
        same & ps.positive(ds.betadot, "rate of beta", where=later(ds)) & phase_2_began(ds, *runs)
    )


_GROWS = "beta / beta(0) - 1 is of order (m1 / kappa^2) log^2 tau: by kappa t = 1e8 beta grows 4-fold at m = 128, 2-fold at 256"


def growth(ds: xr.Dataset) -> xr.DataArray:
    """beta / beta(0)."""
    return ds.beta / ds.beta.isel(time=0, drop=True)


@ps.claim(
    "Lemma F.10",
    ps.theory(*evidence.theory_runs[2:]),
    ps.published(evidence.figure_1, expect=ps.Outcome.FAILS, because="beta grows 45- to 71-fold"),
    ps.beyond(*evidence.theory_runs[:2], expect=ps.Outcome.FAILS, because=_GROWS),
    id="F.10",
)
def the_read_out_keeps_its_size(*runs):
    """beta = Theta(sigma_1^2 m m1) throughout: it never exceeds 1.5 times its start."""
    ds = side_by_side(runs, "beta")
    moved = ps.positive(at_the_end(growth(ds)) - 1, "beta / beta(0) - 1 at the end")
    return ps.within(growth(ds), 0.9, 1.5, "beta / beta(0)") & moved & ran_to_the_end(*runs)


@ps.claim("Lemma F.10, the law (ours)", ps.theory(*evidence.theory_runs[3:]), id="F.10-law")
def the_read_out_grows_like_log_squared(*runs):
    """By kappa t = 1e8, beta / beta(0) - 1 is 0.55 to 0.85 of (m1 / kappa^2) (s_1 + 2 s_2 + s_4) log^2 tau, for m >= 1024."""
    ds = side_by_side(runs, "beta", "kappa")
    spec = spec_of(runs[0])
    excess = at_the_end(growth(ds)) - 1
    end = ds.isel(time=-1, drop=True)
    limit = late_time(spec.samples, spec.length)
    law = spec.output_norm / end.kappa**2 * limit.loss * np.log(end.tau) ** 2
    return ps.within(excess / law, 0.55, 0.85, "(beta / beta(0) - 1) / law") & ran_to_the_end(*runs)


@ps.claim(
    "Lemma F.12",
    ps.theory(*evidence.wide_runs),
    ps.published(
        evidence.figure_1,
        expect=ps.Outcome.FAILS,
        because="sigma_0^2 / sigma_1^2 = m / d = 2: the part starts twice as large as the other",
    ),
    ps.beyond(
        *evidence.theory_runs[:4],
        expect=ps.Outcome.FAILS,
        because="it grows to 0.76 of the other part at m = 128, to 0.11 at 1024",
    ),
    id="F.12",
)
def the_value_matrix_learns_little(*runs):
    """The part m1 A c of the rate of G stays below 5% of the part beta c for the special words, from T_1 on."""
    ds = side_by_side(runs, "value_share")
    small = ps.at_most(ds.value_share, 0.05, "m1 A c / (beta c)", where=later(ds))
    grown = at_the_end(ds.value_share) - at_time(ds.value_share, ds, first_phase_end(ds))
    return small & ps.positive(grown, "growth since T_1") & phase_2_began(ds, *runs)


@ps.claim(
    "Lemmas F.14 and F.15",
    ps.theory(
        *evidence.wide_runs,
        expect=ps.Outcome.FAILS,
        because="it grows like (6 (L - 2) s_2 / n) log tau, 2/3 of the margin at n = 48: bounded only if n >> 6 (L - 2) s_2",
    ),
    id="F.14",
)
def irrelevant_words_contribute_little(*runs):
    """What irrelevant words add to the outputs stays O(1): at most twice its value at T_1."""
    ds = side_by_side(runs, "F_random")
    most = ds.F_random.max("type", skipna=False)
    ratio = most / at_time(most, ds, first_phase_end(ds))
    return ps.within(
        ratio, 0.5, 2.0, "contribution / that at T_1", where=later(ds)
    ) & phase_2_began(ds, *runs)


@ps.claim("Lemmas F.14 and F.15, the law (ours)", ps.theory(*evidence.wide_runs), id="F.14-law")
def irrelevant_words_carry_their_share(*runs):
    """What irrelevant words add to an output grows like (6 (L - 2) s_2 / n) log tau where one target word is present (0.67
    of the margin) and like (2 (L - 3) s_1 / n) log tau where both are (0.16): over the last four decades, within 6%."""
    spec = spec_of(runs[0])
    late = side_by_side(runs, "F_random").sel(time=slice(1e4, None))
    first = late.isel(time=0, drop=True)
    last = late.isel(time=-1, drop=True)
    grown = (last.F_random - first.F_random).sel(type=[1, 2, 3])
    parts = late_time(spec.samples, spec.length).random_parts[:3]
    law = xr.DataArray(list(parts), {"type": [1, 2, 3]}, ["type"])
    ratio = grown / (last.s - first.s) / law
    return ps.within(ratio, 0.94, 1.06, "growth per log time / law") & ran_to_the_end(*runs)


@ps.claim(
    "Corollary F.17",
    ps.theory(*evidence.theory_runs),
    ps.published(evidence.figure_1, evidence.figure_1_literal),
    id="F.17",
)
def attention_weights_hardly_move(*runs):
    """No attention weight ever moves by more than 0.1 / L^2 from its start. It holds, vacuously: 2e-3 in the paper's
    experiment and 1e-5 and less in the theorems' regime."""
    ds = side_by_side(runs, "p_dev")
    moved = ds.p_dev * spec_of(runs[0]).length ** 2
    return (
        ps.at_most(moved, 0.1, "L^2 max |p - p(0)|")
        & ps.positive(at_the_end(moved), "L^2 max |p - p(0)| at the end")
        & ps.within(moved.isel(time=0), 0.0, 1e-12, "at the start")
        & ran_to_the_end(*runs)
    )


@ps.claim("Lemma F.19", ps.theory(*evidence.theory_runs), id="F.19")
def keys_and_queries_hardly_move(*runs):
    """By kappa t = 1e8 the largest change of K and of Q falls like m^-2 up to logarithms: exponents from -2.1 to -1.5."""
    ds = side_by_side(runs, "K_change", "Q_change")
    laws = [
        ps.scales_like(at_the_end(ds[name]), ds.width, -1.8, 0.3, name)
        for name in ("K_change", "Q_change")
    ]
    return ps.all_of(laws) & ran_to_the_end(*runs)


claims = (
    the_read_out_grows_by_the_margins,
    the_read_out_keeps_its_size,
    the_read_out_grows_like_log_squared,
    the_value_matrix_learns_little,
    irrelevant_words_contribute_little,
    irrelevant_words_carry_their_share,
    attention_weights_hardly_move,
    keys_and_queries_hardly_move,
)
