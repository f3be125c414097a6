"""Maps: how many samples a lazy network needs, how fast the common word moves against the targets, and how wide is wide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims import evidence
from ..claims.initialisation import usually
from ..claims.parts import by_width, told
from ..claims.phase_1 import overlaps_of_values_stay_close_to_their_start
from ..claims.phase_2_lemmas import the_exponent_of_the_loss_tends_to_one
from ..claims.read_out import the_read_out_stands_still_in_wide_networks
from ..claims.values import the_value_matrix_learns_little
from ..closed_forms import threshold
from ..phases import at_the_end, spec_of
from ..theory import orthogonal
from .panels import BLUE, GREEN, ORANGE, PURPLE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAMPLES = [6 * round(n / 6) for n in np.geomspace(12, 300, 10)]
LENGTHS = [4, 5, 7, 10, 14, 20, 28, 40]
THRESHOLD = ps.sweeps(
    orthogonal,
    samples=SAMPLES,
    length=LENGTHS,
    horizon=evidence.TO_S_80,
    at=[*np.exp([20.0, 40.0, 60.0]).tolist(), evidence.TO_S_80],
    **evidence.LAZY,
)
STARTS = np.geomspace(0.01, 10.0, 48)
SHORT, LONG = 4, 20


def over_starts(length: int) -> ps.Request:
    """R over n / L from 3 to 75 and the size of the start."""
    samples = {6 * round(length * ratio / 6) for ratio in np.geomspace(2.4, 75, 16)} - {6}
    return ps.sweeps(
        orthogonal,
        samples=sorted(samples),
        zeta=STARTS.tolist(),
        preset="theory",
        length=length,
        width=256,
        dim=10**9,
        at=[0, 1e2, 1e4, 1e6, 1e8],
        keep=("R",),
    )


RATIO = over_starts(SHORT)
RATIO_LONG = over_starts(LONG)


@ps.figure(
    "Sample size and start (ours)",
    THRESHOLD,
    RATIO,
    RATIO_LONG,
    panels=(1, 2),
    size=(7.8, 3.3),
)
def map_of_sample_sizes(lazy, short, long, axes):
    """(a) Growth per log time of the output of a lazy network on new samples with one target word, which are
    negatives, from s = log(1 + tau) = 40 to 80: red, it stays wrong for ever. The line where it is 0 (black) lies on
    n = 3 (L + 1) (orange) at every length from 4 to 40: a condition on n / L alone. (b) R, how fast the common word
    falls against the targets' rise, at tau = 10^8 for m = 256, over n / L: in colours for L = 4, from {few:.2f} to
    {many:.2f}. It is 1 at n / L = {at_4:.2f} for L = 4 (full line) and {at_20:.2f} for L = 20 (dashed), near the 3 (1 +
    1/L) of (a). The size zeta of the start changes R by {small:.1g} at most up to zeta = 1 and by {large:.1g} at zeta =
    10: R does not need a small start."""
    late = lazy.sel(time=slice(np.exp(39.0), None)).isel(time=[0, -1])
    slope = late.test_F.sel(type=2, drop=True).diff("time") / late.s.diff("time")
    slope = slope.isel(time=0, drop=True).transpose("samples", "length").reset_coords(drop=True)
    ps.draw_map(
        slope,
        axes[0],
        label=r"growth of the output per $\log\tau$",
        cmap="RdBu_r",
        vmin=-0.5,
        vmax=0.5,
    )
    lengths = lazy.length.values.tolist()
    orange = {"color": "#E69F00", "ls": "--", "lw": 2.4, "zorder": 1.5}
    axes[0].plot([threshold(L) for L in lengths], lengths, label="$n = 3(L+1)$", **orange)
    draw_line(slope, axes[0], 0.0, "no growth")
    ps.legend(axes[0], loc="lower right")
    R, R_long = (over_sample_ratio(runs) for runs in (short, long))
    ps.draw_map(R, axes[1], label="$R$")
    draw_line(R, axes[1], 1.0, "$R = 1$, $L = 4$")
    draw_line(R_long, axes[1], 1.0, "$R = 1$, $L = 20$", dashes="--")
    ps.legend(axes[1], loc="lower right")
    ticks = (3, 5, 10, 20, 50)
    axes[1].set_xticks(ticks, [str(x) for x in ticks])
    axes[1].set_xticks([], minor=True)
    axes[1].set(
        xlabel="$n/L$, training samples per word of a sample", ylabel=r"$\zeta$, size of the start"
    )
    change = abs(R - R.isel(zeta=0))
    return {
        "few": float(R.isel(ratio=0, zeta=0)),
        "many": float(R.isel(ratio=-1, zeta=0)),
        "at_4": sample_ratio_at_one(R),
        "at_20": sample_ratio_at_one(R_long),
        "small": float(change.sel(zeta=slice(None, 1.001)).max()),
        "large": float(change.isel(zeta=-1).max()),
    }


def over_sample_ratio(runs: xr.Dataset) -> xr.DataArray:
    """R at the end over n / L and the start."""
    R = runs.R.isel(time=-1, drop=True).transpose("samples", "zeta").reset_coords(drop=True)
    return R.assign_coords(samples=R.samples / spec_of(runs).length).rename(samples="ratio")


def sample_ratio_at_one(R: xr.DataArray) -> float:
    """The n / L at which R is 1 at the smallest start, between two sizes in their logarithm."""
    return float(ps.crossing(R.isel(zeta=0), 1.0, "up", log_time=True, along="ratio"))


def draw_line(found: xr.DataArray, axes: Axes, level: float, label: str, dashes: str = "-") -> None:
    """The black line on which a map has some value, if it is there, with its name for the legend."""
    if float(found.min()) < level < float(found.max()):
        x, y = (found[dim].values for dim in found.dims)
        style = {"colors": "k", "linewidths": 1, "linestyles": dashes}
        axes.contour(x, y, found.values.T, levels=[level], **style)
    axes.plot([], [], "k" + dashes, lw=1, label=label)


Curve = tuple[np.ndarray, np.ndarray]  # widths, and a number for each


def distance_over_level(claim: Callable[..., ps.Verdict], runs: Sequence[xr.Dataset]) -> Curve:
    """What a claim compared: the distance from a limit at each width, over the one that it asks for."""
    parts = [part for part in claim(*runs).elementary if part.check == "tends_to"]
    trace = parts[0].trace
    assert trace is not None and trace.upper is not None
    return trace.x, trace.measured / trace.upper


def spread_of_the_neurons(draws: xr.Dataset) -> Curve:
    """Of the rates that `lem4.1-neurons` bounds in nine draws of ten: half their range over its middle, which is 1 where
    the slowest neuron stands still."""
    shown = draws.sel(width=draws.width <= max(evidence.WIDTHS))
    low = -usually(-shown.rate_low)
    high = usually(shown.rate_high)
    return shown.width.values, ((high - low) / (high + low)).values


def crossing_width(widths: np.ndarray, ratio: np.ndarray) -> float:
    """From which width on a ratio stays below 1, on straight lines of the logarithms; NaN if it does not come below."""
    if not ratio[-1] < 1 or (ratio < 1).all():
        return float("nan")
    above = int(np.flatnonzero(ratio >= 1)[-1])
    x = np.log(widths[above : above + 2])
    y = np.log(ratio[above : above + 2])
    return float(np.exp(x[0] + (x[1] - x[0]) * y[0] / (y[0] - y[1])))


WINDOW = 4  # neighbouring widths that a fit needs, as in `lemF.19-keys-queries`


def exponents_from_each_width(runs, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The first of four widths, and the exponent of a change over log^2 m in them with its interval: value, low, high."""
    ends = by_width(runs, lambda run: told(at_the_end(run[name])))
    widths = np.array(list(ends), float)
    fits = []
    for start in range(widths.size - WINDOW + 1):
        chosen = list(ends)[start : start + WINDOW]
        m = np.concatenate([np.full(ends[width].size, float(width)) for width in chosen])
        moved = np.concatenate([ends[width] for width in chosen])
        fit = ps.exponent(m, moved / np.log(m) ** 2)
        fits.append((fit.value, fit.low, fit.high))
    return widths[: len(fits)], np.array(fits).T


# Claims that ask for a distance at a width: name in the caption, in the legend (with the distance), colour.
LEVELS = {
    "beta": (
        r"F.10, growth of $\beta$ (0.5)",
        VERMILION,
        the_read_out_stands_still_in_wide_networks,
    ),
    "values": ("F.12, part of the values (0.05)", PURPLE, the_value_matrix_learns_little),
    "loss": ("F.8, exponent of the loss (0.02)", BLUE, the_exponent_of_the_loss_tends_to_one),
    "overlaps": (
        "3.1 (3), change of overlaps (0.1)",
        ORANGE,
        overlaps_of_values_stay_close_to_their_start,
    ),
}


@ps.figure(
    "Lemmas 4.1, F.10 to F.19, Theorem F.8: which widths are wide (ours)",
    *evidence.theory_runs,
    evidence.starts,
    panels=(1, 2),
    size=(8.2, 3.3),
)
def map_of_widths(*given):
    """How wide a network must be for "m large enough", to which no lemma gives a number, in the theorems' regime (n = 48,
    L = 4, m1 = 64, zeta = 0.1, to kappa t = 10^8). (a) The distance of a statement from its limit, over the one that
    its row of the ledger asks for (in brackets; chosen by us); below 1 (black) it is kept, and circles mark the
    crossing. Every neuron moves towards the targets from m = {neurons:.0f} on (nine draws of ten; that is
    {per_neuron:.1f} m1); beta grows by less than half from m = {beta:.0f}, the values add less than a twentieth from
    m = {values:.0f}, the loss falls like 1/t to 2% from m = {loss:.0f}, and overlaps of values keep to a tenth in phase
    1 from m = {overlaps:.0f} only. (b) Exponent in m of the changes of keys and queries over log^2 m in four
    neighbouring widths, with its 95% interval, which Lemma F.19 wants below -2: {below:d} of {fits:d} are. At the last
    four, m = 512 to 4096, the interval of K ends {K_last:.2f} below it, and that of Q {Q_last:.2f}."""
    *runs, draws, axes = given
    distances, powers = axes
    curves = {
        "neurons": ("4.1, slowest neuron (stands still)", GREEN, spread_of_the_neurons(draws))
    }
    for name, (label, color, claim) in LEVELS.items():
        curves[name] = (label, color, distance_over_level(claim, runs))
    found = {}
    for name, (label, color, (widths, ratio)) in curves.items():
        found[name] = crossing_width(widths, ratio)
        distances.plot(widths, ratio, "o-", ms=3, lw=1.4, color=color, label=label)
        distances.plot(found[name], 1.0, "o", ms=8, mfc="none", mew=1.4, color=color)
    distances.axhline(1.0, color="k", lw=0.8, label="the distance asked for")
    distances.set(xscale="log", yscale="log", xlabel="width $m$")
    distances.set_ylabel("distance over that asked for")
    ps.legend(distances, loc="lower left")
    tops = []
    for name, color, shift in (("K", BLUE, 0.97), ("Q", VERMILION, 1.03)):
        first, (value, low, high) = exponents_from_each_width(runs, f"{name}_change")
        powers.errorbar(
            first * shift, value, (value - low, high - value), fmt="o-", ms=4, lw=1.2, capsize=3,
            color=color, label=f"F.19, {name}",
        )  # fmt: skip
        tops.append(high)
        found[f"{name}_last"] = -2 - high[-1]
    powers.axhline(-2.0, color="k", lw=0.8, label="bound of Lemma F.19")
    powers.set(xscale="log", xlim=(100, 700), xlabel="first of four widths $m$")
    powers.set_ylabel(r"exponent in $m$ of the change over $\log^2 m$")
    ps.legend(powers, loc="lower left")
    for panel, ticks in ((distances, evidence.WIDTHS), (powers, evidence.WIDTHS[:3])):
        panel.set_xticks(ticks, [str(m) for m in ticks])
        panel.minorticks_off()
    below = int((np.array(tops) <= -2).sum())
    found["per_neuron"] = found["neurons"] / spec_of(runs[0]).neurons
    return found | {"below": below, "fits": np.size(tops)}


figures = (map_of_sample_sizes, map_of_widths)
