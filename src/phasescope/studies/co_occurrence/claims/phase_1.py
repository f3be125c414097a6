"""Theorem 3.1 and Lemma 4.3: the values align until every sample is right, and nothing else moves."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..phases import (
    at_time,
    first_phase_end,
    ran_to_the_end,
    side_by_side,
    spec_of,
    trained,
    turning_time,
)
from . import evidence

_LATER = "outputs of size 2 at the start must be unlearned first: kappa T_1 is 20 to 50"


def at_end_of_phase(ds: xr.Dataset, name: str) -> xr.DataArray:
    """An observable at T_1."""
    return at_time(ds[name], ds, first_phase_end(ds))


@ps.claim("Theorem 3.1 (1)", ps.theory(*evidence.theory_runs), id="T3.1-i")
def values_have_aligned_by_T1(*runs):
    """At T_1 the values G(mu_1) and G(mu_2) are at least Omega(1) and G(mu_3) is at most -Omega(1): sizes between 0.4 and 1.5."""
    G = at_end_of_phase(side_by_side(runs, "G"), "G").sel(word=[1, 2, 3])
    sizes = G * xr.where(G.word == 3, -1.0, 1.0)
    return ps.within(sizes, 0.4, 1.5, "G(mu_1), G(mu_2), -G(mu_3) at T_1") & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 3.1 (2)",
    ps.theory(*evidence.theory_runs),
    ps.beyond(*evidence.large_start, expect=ps.Outcome.FAILS, because=_LATER),
    id="T3.1-ii",
)
def all_samples_are_right_within_20_natural_times(*runs):
    """All samples are classified correctly from T_1 = Theta(1 / kappa) on: kappa T_1 is between 5 and 20 at every m."""
    return ps.within(first_phase_end(side_by_side(runs)), 5.0, 20.0, "kappa T_1") & ran_to_the_end(
        *runs
    )


@ps.claim("Theorem 3.1 (2), scaling", ps.theory(*evidence.theory_runs), id="T3.1-ii-scale")
def the_first_phase_takes_a_time_like_one_over_m(*runs):
    """T_1 ~ 1/m: the exponent of the mean over seeds lies between -1.1 and -0.9 over m = 128 to 4096."""
    T1 = at_end_of_phase(side_by_side(runs, "t"), "t").mean("seed", skipna=False)
    return ps.scales_like(T1, T1.width, -1.0, 0.1, "T_1") & ran_to_the_end(*runs)


@ps.claim("Theorem 3.1 (3), Definition E.2", ps.theory(*evidence.neuron_runs), id="T3.1-iii")
def nothing_but_the_values_has_moved_by_T1(*runs):
    """By T_1 no overlap has moved by more than O(1/m) (neurons N, values A), m^-3/2 (scores S) or m^-2 (keys, queries)."""
    laws = {
        "N": (-1.0, 0.15),
        "A": (-1.0, 0.15),
        "S": (-1.45, 0.15),
        "K": (-2.0, 0.2),
        "Q": (-2.0, 0.2),
    }
    ds = side_by_side(runs, *(f"{name}_change" for name in laws))
    found = []
    for name, (exponent, tolerance) in laws.items():
        change = at_end_of_phase(ds, f"{name}_change")
        found.append(ps.scales_like(change, change.width, exponent, tolerance, f"change of {name}"))
    return ps.all_of(found) & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 3.1 (3), relative to the start",
    ps.theory(
        evidence.theory_runs[0],
        expect=ps.Outcome.FAILS,
        because="the change of A is twice its diagonal sigma_0^2 m = zeta^2 / L at m = 128; close needs m >> L / zeta^2",
    ),
    ps.beyond(evidence.large_start[-1]),
    id="T3.1-iii-relative",
)
def overlaps_of_values_stay_close_to_their_start(run):
    """By T_1 no entry of A has moved by more than a tenth of its diagonal sigma_0^2 m."""
    spec = spec_of(run)
    change = at_end_of_phase(trained(run), "A_change") / (spec.scale_0**2 * spec.width)
    return (
        ps.at_most(change, 0.1, "change of A / (sigma_0^2 m)")
        & ps.positive(change, "change")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Theorem 3.1 (4)",
    ps.theory(*evidence.theory_runs),
    ps.published(
        evidence.figure_1,
        expect=ps.Outcome.FAILS,
        because="Theta(1) still, but 0.19 to 0.33: samples share words and T_1 comes later",
    ),
    id="T3.1-iv",
)
def the_loss_is_still_large_at_T1(*runs):
    """The training loss at T_1 is Theta(1): between 0.3 and 0.5."""
    loss = at_end_of_phase(side_by_side(runs, "loss"), "loss")
    return ps.within(loss, 0.3, 0.5, "loss at T_1") & ran_to_the_end(*runs)


@ps.claim("Lemma 4.3 (E.19)", ps.theory(*evidence.theory_runs), id="L4.3")
def the_common_word_overtakes_the_targets(*runs):
    """From T_0.5 to T_1 the value of mu_3 falls faster than those of mu_1 and mu_2 rise, yet slower than 3/4 of their sum."""
    ds = side_by_side(runs, "R", "R2", "Gdot")
    half = turning_time(ds)
    end = first_phase_end(ds)
    between = (ds.tau >= half) & (ds.tau <= end)
    return (
        ps.at_least(ds.R, 1.0, "-Gdot_3 / max(Gdot_1, Gdot_2)", where=between)
        & ps.at_most(ds.R2, 0.75, "-Gdot_3 / (Gdot_1 + Gdot_2)", where=between)
        & ps.at_most(ds.R.isel(time=0), 0.9, "-Gdot_3 / max(Gdot_1, Gdot_2) at the start")
        & ps.within(half, 2.5, 6.0, "kappa T_0.5")
        & ps.ordered(half, end, what="T_0.5, T_1")
        & ran_to_the_end(*runs)
    )


claims = (
    values_have_aligned_by_T1,
    all_samples_are_right_within_20_natural_times,
    the_first_phase_takes_a_time_like_one_over_m,
    nothing_but_the_values_has_moved_by_T1,
    overlaps_of_values_stay_close_to_their_start,
    the_loss_is_still_large_at_T1,
    the_common_word_overtakes_the_targets,
)
