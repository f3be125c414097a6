"""Maps: for which constants of the theorems something is learned, how long phase 1 is what they say, and where Figure 2 ends."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..claims.assumptions import theorem_4_1
from ..claims.experiments import figure_2_shows_what_the_text_says
from ..phases import spec_of
from ..training import symmetric

PHASE_1 = 200  # updates of phase 1, whose size is c_0 / (200 N)
CONSTANTS = np.geomspace(1.0, 1000.0, 256)
SCALES = np.geomspace(0.1, 10.0, 128)
RECORDS = 60  # from t_0 to the longest T of a band, so that T is met to 4 %
OCTAVES = 6  # of c_0; the last one has all that is above
LEARNED = 0.999  # the accuracy from which on all strings count as right


def over_constants(N: int) -> list[ps.Request]:
    """Runs in which t_0 = c_0 / (eta N) is 200 updates and lam = c_lam N^2, up to T.

    T is the shorter the larger c_0, from 80 t_0 to t_0: each octave of c_0 is a request of its own, whose runs are as long as
    the longest T in it.
    """
    bands = np.minimum(np.floor(np.log2(CONSTANTS * (1 + 1e-9))), OCTAVES - 1)
    return [_over_band(N, CONSTANTS[bands == band]) for band in range(OCTAVES)]


def _over_band(N: int, c_0: np.ndarray) -> ps.Request:
    """The runs of some c_0."""
    last = int(np.ceil(theorems_end(c_0[0], SCALES[-1] * N**2)))
    return ps.sweeps(
        symmetric,
        max_length=N,
        eta=(c_0 / (PHASE_1 * N)).tolist(),
        lam=(SCALES * N**2).tolist(),
        switch=PHASE_1,
        steps=last,
        at=evidence.log_steps(PHASE_1, last, RECORDS) if last > PHASE_1 else [PHASE_1],
        keep=("accuracy",),
    )


def theorems_end(c_0, lam):
    """T in updates: t_0 lam^(2/3) / c_0 with the proof's constant, and no less than t_0."""
    return PHASE_1 * np.maximum((lam / 2) ** (2 / 3) / c_0, 1.0)


CONSTANTS_6 = over_constants(6)
CONSTANTS_12 = over_constants(12)


SIZES = (6, 8, 12, 16, 24, 32, 48, 64)
EARLY = ps.sweeps(
    symmetric,
    ps.tied(max_length=list(SIZES), lam=[float(N**2) for N in SIZES]),
    eta=0.02,
    switch=2000,
    steps=2000,
    at=evidence.log_steps(1, 2000, 256),
    keep=("token_score",),
)
AROUND_FIGURE_2 = ps.maps(
    figure_2_shows_what_the_text_says,
    refine=3,  # which locates the line to 1 / 2032 of an axis
    lam=np.geomspace(0.5, 50, 128),
    eta=np.geomspace(0.01, 1, 128),
    at=[0, *evidence.log_steps(1, 2000, 40)],
)
# From c_0 = (lam / 2)^(2/3) on T is the end of phase 1, so that runs over large c_0 are short.
LENGTHS = (6, 8, 10, 12, 14, 16, 20, 24)
LARGE = np.geomspace(30.0, 30_000.0, 256)
SMALL_SCALE, UNIT_SCALE = 0.1, 1.0


def over_large_constants(N: int) -> ps.Request:
    """Runs up to T over c_0 from 30 on, at lam = N^2 / 10 and N^2."""
    return ps.sweeps(
        symmetric,
        max_length=N,
        eta=(LARGE / (PHASE_1 * N)).tolist(),
        lam=[SMALL_SCALE * N**2, UNIT_SCALE * N**2],
        switch=PHASE_1,
        steps=300,
        at=range(PHASE_1, 301, 10),
        keep=("accuracy",),
    )


@ps.figure(
    "Theorems 4.1 to 4.5: their constants (ours)",
    EARLY,
    AROUND_FIGURE_2,
    *CONSTANTS_6,
    *CONSTANTS_12,
    panels=(2, 2),
    size=(7.6, 5.8),
)
def map_of_constants(early, around, *given):
    """Where the theorems' constants would have to be. (a), (b) Accuracy on all strings at T (at t_0, if that is
    later), for phase 1 until t_0 = c_0 / (eta N) and lam = c_lam N^2: at unit constants (star) it is {start_6:.3f} and
    {start_12:.3f}, 1/2 + 1/2N. All strings are right on the right of the line: for N = 6 from c_0 = {low_6:.0f} on at
    c_lam = 0.1 and {unit_6:.0f} at c_lam = 1; for N = 12 from {low_12:.0f} on at 0.1, and not by 1000 at 1. (c) v_1 in
    units of its early law tau / 4, lam = N^2: Theorem 4.1 speaks about tau <= c / N (c = 1 and 8), but v_1 is below the
    law by a tenth at tau = {tenth_first:.2f} to {tenth_last:.2f} and by half at {half_first:.1f} to {half_last:.1f},
    whatever N from 6 to 64: the bound on tau need not depend on N. (d) The claim of Figure 2 (circle: the paper's lam =
    2, eta = 0.1) after 2000 updates at 40 records: it holds above eta = {slope:.3f} lam or so, since a scale lam takes
    a time in proportion to lam."""
    *groups, axes = given
    six, twelve = groups[: len(CONSTANTS_6)], groups[len(CONSTANTS_6) :]
    found = {}
    for runs, N, panel in ((six, 6, axes[0, 0]), (twelve, 12, axes[0, 1])):
        parts = [by_constants(at_the_theorems_end(one, N), N) for one in runs]
        accuracy = xr.concat(parts, "c_0")
        ps.draw_map(accuracy, panel, vmin=0.5, vmax=1)
        draw_learned(accuracy, panel)
        found |= {
            f"start_{N}": float(accuracy.sel(c_0=1.0, c_lam=1.0, method="nearest")),
            f"low_{N}": learned_from(accuracy.sel(c_lam=SMALL_SCALE, method="nearest")),
            f"unit_{N}": learned_from(accuracy.sel(c_lam=UNIT_SCALE, method="nearest")),
        }
        panel.set_title(f"$N = {N}$", fontsize=9)
        star = {"ms": 11, "color": "#D55E00", "mec": "w", "mew": 0.8, "clip_on": False}
        panel.plot(1, 1, "*", label="unit constants", ls="none", **star)
        ps.legend(panel, loc="lower left")
    ratio = over_early_law(early)
    draw_first_score(ratio, axes[1, 0])
    for name, level in (("tenth", 0.9), ("half", 0.5)):
        falls = ps.crossing(ratio, level, "down", along="tau")
        found |= {f"{name}_first": float(falls.min()), f"{name}_last": float(falls.max())}
    ps.draw_map(around, axes[1, 1], label="margin of the claim")
    circle = {"ms": 5, "mfc": "w", "mec": "k", "mew": 0.8, "ls": "none"}
    axes[1, 1].plot(2, 0.1, "o", label="Figure 2", **circle)
    ps.legend(axes[1, 1], loc="lower right")
    turns = ps.crossing(around.margin, 0.0, "up", log_time=True, along="eta")
    return found | {"slope": float((turns / turns.lam).median())}


@ps.figure(
    "Theorems 4.1 to 4.5: the constant c_0 over N (ours)",
    *map(over_large_constants, LENGTHS),
    size=(4.8, 3.5),
)
def map_of_lengths(*given):
    """How large the constant of phase 1 must be for lengths from 6 to 24, if all strings are to be right at the theorems'
    T: phase 1 lasts until t_0 = c_0 / (eta N). In colours the accuracy at lam = N^2 / 10; all strings are right on the
    right of the full line, and of the dashed one at lam = N^2. Over N these are c_0 = {low_first:,.0f} to
    {low_last:,.0f}, as N^{low_power:.1f}, and {unit_first:,.0f} to {unit_last:,.0f}, as N^{unit_power:.1f}: what a
    constant should be grows with N."""
    *runs, axes = given
    by_length = []
    for N, one in zip(LENGTHS, runs, strict=True):
        accuracy = by_constants(at_the_theorems_end(one, N), N)
        known = accuracy.assign_coords(c_lam=[SMALL_SCALE, UNIT_SCALE])
        by_length.append(known.expand_dims(max_length=[N]))
    c_0 = by_length[0].c_0
    accuracy = xr.concat([one.assign_coords(c_0=c_0) for one in by_length], "max_length")
    words = {"symbol": "N", "long_name": "longest length"}
    accuracy = accuracy.assign_coords(max_length=xr.Variable("max_length", list(LENGTHS), words))
    shown = accuracy.sel(c_lam=SMALL_SCALE, drop=True).transpose("c_0", "max_length")
    ps.draw_map(shown, axes, vmin=0.5, vmax=1)
    found = {}
    styles = (
        ("low", SMALL_SCALE, "-", r"$\lambda = N^2/10$"),
        ("unit", UNIT_SCALE, "--", r"$\lambda = N^2$"),
    )
    for name, scale, dashes, label in styles:
        needed = [learned_from(accuracy.sel(c_lam=scale, max_length=N)) for N in LENGTHS]
        axes.plot(needed, LENGTHS, "k" + dashes, lw=1.4, label=f"all right, {label}")
        fit = (
            np.polyfit(np.log(LENGTHS), np.log(needed), 1)
            if np.isfinite(needed).all()
            else [np.nan]
        )
        found |= {f"{name}_first": needed[0], f"{name}_last": needed[-1], f"{name}_power": fit[0]}
    ps.legend(axes, loc="upper left")
    return found


def learned_from(accuracy: xr.DataArray) -> float:
    """The least c_0 from which on all strings are right; NaN if they are not at the largest."""
    wrong = np.flatnonzero(~(accuracy.values >= LEARNED))
    first = 0 if wrong.size == 0 else int(wrong[-1]) + 1
    return float(accuracy.c_0[first]) if first < accuracy.size else float("nan")


def draw_learned(accuracy: xr.DataArray, axes) -> None:
    """The line on the right of which all strings are right, if it is there, with its name for the legend."""
    if float(accuracy.min()) < LEARNED < float(accuracy.max()):
        x, y = accuracy.c_0.values, accuracy.c_lam.values
        axes.contour(x, y, accuracy.values.T, levels=[LEARNED], colors="k", linewidths=1)
    axes.plot([], [], "k-", lw=1, label="all strings right")


def at_the_theorems_end(runs: xr.Dataset, N: int) -> xr.DataArray:
    """Accuracy at the record nearest to T, which is not before the end of phase 1."""
    end = theorems_end(runs.eta * PHASE_1 * N, runs.lam)
    return runs.accuracy.sel(time=end, method="nearest").reset_coords(drop=True)


def by_constants(x: xr.DataArray, N: int) -> xr.DataArray:
    """The same over c_0 = eta t_0 N and c_lam = lam / N^2."""
    renamed = x.rename(eta="c_0", lam="c_lam").transpose("c_0", "c_lam")
    c_0 = xr.Variable("c_0", x.eta.values * PHASE_1 * N, {"symbol": r"c_0 = \eta t_0 N"})
    c_lam = xr.Variable("c_lam", x.lam.values / N**2, {"symbol": r"c_\lambda = \lambda / N^2"})
    words = {"long_name": "accuracy at the theorems' $T$"}
    return renamed.assign_coords(c_0=c_0, c_lam=c_lam).assign_attrs(words)


def over_early_law(runs: xr.Dataset) -> xr.DataArray:
    """4 v_1 / tau over tau and N; 1 is its closed form for early times."""
    tau = runs.time.values * spec_of(runs).eta
    ratio = (
        4 * runs.token_score.sel(position=1, drop=True).transpose("time", "max_length") / runs.time
    )
    ratio = (ratio / spec_of(runs).eta).reset_coords(drop=True).rename(time="tau")
    along = xr.Variable("tau", tau, {"symbol": r"\tau = \eta t"})
    sizes = xr.Variable(
        "max_length", runs.max_length.values, {"symbol": "N", "long_name": "longest length"}
    )
    return ratio.assign_coords(tau=along, max_length=sizes)


def draw_first_score(ratio: xr.DataArray, axes) -> None:
    """The first score over its early law, and where the theorem's assumption on t_0 ends, for two of its constants."""
    spoken = theorem_4_1.record["c_0"](SimpleNamespace(eta=1.0, size=ratio.max_length), ratio.tau)
    ends = {rf"$\tau \leq {c}/N$": c * spoken for c in (1, 8)}
    ps.draw_map(ratio, axes, levels=[0.5, 0.9], ends=ends, label=r"$4\,v_1/\tau$", vmin=0, vmax=1)
    ps.legend(axes, loc="lower left")


figures = (map_of_constants, map_of_lengths)
