"""Figures 3 and 9: the closed forms of Theorem 4 as curves."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from ..phases import snap_time
from . import evidence
from .bounds import last_digit


@claim(
    "Figure 3",
    on("closed form", evidence.figure_3),
    id="fig3",
    kind="figure",
    tex=r"\eta_Y \downarrow\ \Rightarrow\ t_0 \uparrow,\ \chi_l \uparrow",
    page="Section 6, Figure 3 and its text: smaller eta_Y given fixed eta_Z leads to later transition and larger "
    "B_n(t) and chi_l(t)",
)
def figure_3_is_reproduced(sweep):
    """At K = 10, M = 1000 and eta_Z = 0.5 a slower decoder snaps later, and its growth factor exp(2 B_n)
    is larger at all times from the latest transition on."""
    times = snap_time(sweep)
    late = sweep.chi_closed.sel(time=slice(float(times.max()), None))
    return (
        ps.decreasing(times, "t_0", along="eta_Y")
        & ps.decreasing(late, "chi after t_0", along="eta_Y")
        & ps.guard(ps.increasing(sweep.chi_closed, "chi"))
        & ps.reached(sweep)
    )


@claim(
    "Figure 3: numbers (ours)",
    on("closed form", evidence.figure_3),
    id="ours-fig3-numbers",
    kind="regression",
    whose="ours",
    tex=r"\chi(1000) = 149.5, 113.8, 85.8, 58.5, 43.6",
    page="Section 6, Figure 3",
)
def growth_factors_of_figure_3(sweep):
    """exp(2 B_n) at t = 1000 is 149.5, 113.8, 85.8, 58.5, 43.6 for eta_Y = 0.5, 1, 2, 5, 10, and t_0 is
    364.7, 182.3, 91.2, 36.5, 18.2. Before t_0 the curves cross: 68.9, 77.2, 65.6 at t = 100 for 0.5, 1,
    2."""
    end = sweep.chi_closed.isel(time=-1)
    early = sweep.chi_closed.sel(time=100, eta_Y=[0.5, 1.0, 2.0])
    digit = last_digit(0.1)
    times = np.array([364.7, 182.3, 91.2, 36.5, 18.2])
    return (
        ps.agree(end, np.array([149.5, 113.8, 85.8, 58.5, 43.6]), atol=digit, what="chi(1000)")
        & ps.agree(snap_time(sweep), times, atol=digit, what="t_0")
        & ps.agree(early, np.array([68.9, 77.2, 65.6]), atol=digit, what="chi(100)")
        & ps.reached(sweep)
    )


@claim(
    "Figure 9",
    on("closed form", evidence.figure_9),
    id="fig9",
    kind="figure",
    tex=r"B_n(t_0; \eta_Z) = \mathrm{const}",
    page="Appendix D, caption of Figure 9 and below (129): B_n(t_0) is independent of eta_Z at fixed eta_Z / eta_Y",
)
def figure_9_is_reproduced(sweep):
    """At a fixed ratio of rates B_n(t_0) is the same for all eta_Z, and at equal times B_n is larger for a
    larger eta_Z, by more after t_0 than before."""
    at_snap = sweep.B_n.sel(time=snap_time(sweep), method="nearest").drop_vars("time")
    same = ps.derived(1e-6, "t_0 is a record time")
    later = sweep.B_n.sel(time=slice(10, None))
    return (
        ps.agree(at_snap, at_snap.isel(eta_Z=0, drop=True), atol=same, what="B_n(t_0)")
        & ps.increasing(later, "B_n at equal times", along="eta_Z")
        & ps.guard(ps.increasing(sweep.B_n, "B_n"))
        & ps.reached(sweep)
    )


@claim(
    "Figure 9: numbers (ours)",
    on("closed form", evidence.figure_9),
    id="ours-fig9-numbers",
    kind="regression",
    whose="ours",
    tex=r"B_n(t_0) = 2.25599,\ B_n(1000) = 2.2648, 2.3304, 2.3673, 2.3992",
    page="Appendix D, Figure 9",
)
def growth_of_figure_9(sweep):
    """B_n(t_0) = 2.25599 and B_n(1000) = 2.2648, 2.3304, 2.3673, 2.3992 for eta_Z = 0.1, 0.25, 0.5, 1 at K =
    10, M = 1000, ratio 2: one curve in eta_Y t, read at other times."""
    fast = sweep.B_n.sel(eta_Z=1.0)
    slow = sweep.B_n.sel(eta_Z=0.5)
    times = np.arange(10, 501, 10)
    at_snap = sweep.B_n.sel(time=snap_time(sweep), method="nearest").drop_vars("time")
    ends = np.array([2.2648, 2.3304, 2.3673, 2.3992])
    return (
        ps.agree(at_snap, 2.25599, atol=last_digit(1e-5), what="B_n(t_0)")
        & ps.agree(sweep.B_n.sel(time=1000), ends, atol=last_digit(1e-4), what="B_n(1000)")
        & ps.agree(
            fast.sel(time=times).values,
            slow.sel(time=2 * times).values,
            atol=ps.derived(1e-10, "rounding"),
            what="B_n at equal eta_Y t",
        )
        & ps.reached(sweep)
    )


claims = (
    figure_3_is_reproduced,
    growth_factors_of_figure_3,
    figure_9_is_reproduced,
    growth_of_figure_9,
)
