"""Maps: for which constants of the theorems something is learned, how long phase 1 is what they say, and where Figure 2 ends."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..claims.experiments import figure_2_shows_what_the_text_says
from ..phases import spec_of
from ..training import symmetric

PHASE_1 = 200  # updates of phase 1, whose size is c_0 / (200 N)
LAST = 6400  # of the longest run: T is 32 t_0 at c_0 = 1, lam = 10 N^2
CONSTANTS = np.geomspace(1.0, 1000.0, 24)
SCALES = np.geomspace(0.1, 10.0, 24)
LEARNED = 0.999  # the accuracy from which on all strings count as right


def over_constants(N: int) -> ps.Request:
    """Runs in which t_0 = c_0 / (eta N) is 200 updates and lam = c_lam N^2."""
    return ps.sweeps(
        symmetric,
        max_length=N,
        eta=(CONSTANTS / (PHASE_1 * N)).tolist(),
        lam=(SCALES * N**2).tolist(),
        switch=PHASE_1,
        steps=LAST,
        at=[0, *evidence.log_steps(PHASE_1, LAST, 25)],
    )


SIZES = (6, 8, 12, 16, 24, 32, 48, 64)
EARLY = ps.sweeps(
    symmetric,
    ps.tied(max_length=list(SIZES), lam=[float(N**2) for N in SIZES]),
    eta=0.02,
    switch=2000,
    steps=2000,
    at=evidence.log_steps(1, 2000, 48),
)
AROUND_FIGURE_2 = ps.maps(
    figure_2_shows_what_the_text_says,
    lam=np.geomspace(0.5, 50, 24),
    eta=np.geomspace(0.01, 1, 24),
    at=[0, *evidence.log_steps(1, 2000, 40)],
)


@ps.figure(
    "Theorems 4.1 to 4.5: their constants (ours)",
    over_constants(6),
    over_constants(12),
    EARLY,
    AROUND_FIGURE_2,
    panels=(2, 2),
    size=(7.6, 5.8),
)
def map_of_constants(six, twelve, early, around, axes):
    """Where the theorems' constants would have to be. (a), (b) Accuracy on all strings at T (at t_0, if that is later),
    for phase 1 until t_0 = c_0 / (eta N) and lam = c_lam N^2: at unit constants (star) it is 1/2 + 1/2N. All
    strings are right on the right of the line (cells are a third apart): for N = 6 from c_0 = {six:.0f} on at c_lam
    = 0.1 and from {six_at_one:.0f} on near c_lam = 1; for N = 12 from {twelve:.0f} on at 0.1, and not by 1000 near
    1. (c) v_1 in units of its early law tau / 4, lam = N^2: Theorem 4.1 speaks about tau <= c / N (c = 1 and 8),
    but v_1 is below the law by a tenth at tau = {tenth:s} and by half at {half:s}, whatever N from 6 to 64: the
    bound on tau need not depend on N. (d) The claim of Figure 2 (circle: the paper's lam = 2, eta = 0.1) after 2000
    updates at 40 records: it holds above eta = {per_lam:s} lam, since a scale lam takes a time in proportion to
    lam."""
    maps = {}
    for runs, N, panel in ((six, 6, axes[0, 0]), (twelve, 12, axes[0, 1])):
        accuracy = maps[N] = by_constants(at_the_theorems_end(runs, N), N)
        ps.draw_map(accuracy, panel, vmin=0.5, vmax=1)
        draw_learned(accuracy, panel)
        panel.set_title(f"$N = {N}$", fontsize=9)
        star = {"ms": 11, "color": "#D55E00", "mec": "w", "mew": 0.8, "clip_on": False}
        panel.plot(1, 1, "*", label="unit constants", ls="none", **star)
        ps.legend(panel, loc="lower left")
    score = draw_first_score(early, axes[1, 0])
    ps.draw_map(around, axes[1, 1], label="margin of the claim")
    circle = {"ms": 5, "mfc": "w", "mec": "k", "mew": 0.8, "ls": "none"}
    axes[1, 1].plot(2, 0.1, "o", label="Figure 2", **circle)
    ps.legend(axes[1, 1], loc="lower right")
    margin = around.margin.transpose("lam", "eta")
    return {
        "six": crossed(maps[6].sel(c_lam=0.1, method="nearest"), LEARNED),
        "six_at_one": crossed(maps[6].sel(c_lam=1, method="nearest"), LEARNED),
        "twelve": crossed(maps[12].sel(c_lam=0.1, method="nearest"), LEARNED),
        "tenth": span([crossed(-one, -0.9) for one in score.transpose("max_length", "tau")]),
        "half": span([crossed(-one, -0.5) for one in score.transpose("max_length", "tau")]),
        "per_lam": span([crossed(one, 0.0) / float(one.lam) for one in margin], ".2f"),
    }


def crossed(curve: xr.DataArray, level: float) -> float:
    """Where a curve first reaches a level from below, between its points in the logarithm of the axis."""
    at, values = curve[curve.dims[0]].values, curve.values
    above = np.flatnonzero((values[:-1] < level) & (values[1:] >= level))
    if not above.size:
        return np.nan
    two = slice(above[0], above[0] + 2)
    return float(np.exp(np.interp(level, values[two], np.log(at[two]))))


def span(found: list[float], form: str = ".1f") -> str:
    """The least and the greatest of some numbers, without those that are none, for a caption."""
    known = [one for one in found if np.isfinite(one)]
    ends = dict.fromkeys(format(one, form) for one in (min(known), max(known))) if known else ["?"]
    return " to ".join(ends)


def draw_learned(accuracy: xr.DataArray, axes) -> None:
    """The line on the right of which all strings are right, if it is there, with its name for the legend."""
    if float(accuracy.min()) < LEARNED < float(accuracy.max()):
        x, y = accuracy.c_0.values, accuracy.c_lam.values
        axes.contour(x, y, accuracy.values.T, levels=[LEARNED], colors="k", linewidths=1)
    axes.plot([], [], "k-", lw=1, label="all strings right")


def at_the_theorems_end(runs: xr.Dataset, N: int) -> xr.DataArray:
    """Accuracy at the record nearest to T, which is not before the end of phase 1."""
    c_0 = runs.eta * PHASE_1 * N
    end = PHASE_1 * np.maximum((runs.lam / 2) ** (2 / 3) / c_0, 1.0)
    return runs.accuracy.sel(time=end, method="nearest").reset_coords(drop=True)


def by_constants(x: xr.DataArray, N: int) -> xr.DataArray:
    """The same over c_0 = eta t_0 N and c_lam = lam / N^2."""
    renamed = x.rename(eta="c_0", lam="c_lam").transpose("c_0", "c_lam")
    c_0 = xr.Variable("c_0", x.eta.values * PHASE_1 * N, {"symbol": r"c_0 = \eta t_0 N"})
    c_lam = xr.Variable("c_lam", x.lam.values / N**2, {"symbol": r"c_\lambda = \lambda / N^2"})
    words = {"long_name": "accuracy at the theorems' $T$"}
    return renamed.assign_coords(c_0=c_0, c_lam=c_lam).assign_attrs(words)


def draw_first_score(runs: xr.Dataset, axes) -> xr.DataArray:
    """4 v_1 / tau over tau and N, which is returned; 1 is its closed form for early times."""
    tau = runs.time.values * spec_of(runs).eta
    ratio = (
        4 * runs.token_score.sel(position=1, drop=True).transpose("time", "max_length") / runs.time
    )
    ratio = (ratio / spec_of(runs).eta).reset_coords(drop=True).rename(time="tau")
    along = xr.Variable("tau", tau, {"symbol": r"\tau = \eta t"})
    sizes = xr.Variable(
        "max_length", runs.max_length.values, {"symbol": "N", "long_name": "longest length"}
    )
    shown = ratio.assign_coords(tau=along, max_length=sizes)
    ps.draw_map(shown, axes, levels=[0.5, 0.9], label=r"$4\,v_1/\tau$", vmin=0, vmax=1)
    axes.plot(1 / np.array(SIZES), SIZES, "k--", lw=1.2, label=r"$\tau = 1/N$")
    axes.plot(8 / np.array(SIZES), SIZES, "k:", lw=1.2, label=r"$\tau = 8/N$")
    ps.legend(axes, loc="lower left")
    return shown


figures = (map_of_constants,)
