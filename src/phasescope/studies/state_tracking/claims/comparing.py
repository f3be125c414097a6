"""Words of the decoder's claims: how far a decoder extrapolates, and whether one group is ahead of another."""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr

import phasescope as ps

MOST = ps.chosen(0.95, "19 of 20 chains")
SOME = ps.chosen(0.1, "a fifth of what one of two bands has")
SHARED = ps.chosen(0.6, "two bands share one attention")
HALF_OCTAVE = ps.chosen(0.1, "half an octave of five")
SLACK = ps.chosen(0.02, "a standard error of 500 chains")


def reach(accuracy: xr.DataArray) -> xr.DataArray:
    """The area under accuracy over log length, 1 if every length is solved; one number a seed."""
    octaves = accuracy.assign_coords(test_length=np.log2(accuracy.test_length))
    span = float(octaves.test_length[-1] - octaves.test_length[0])
    return octaves.integrate("test_length") / span


def ahead(a: xr.DataArray, b: xr.DataArray, what: str, by: float = 0.0) -> ps.Verdict:
    """Whether the mean of a over seeds exceeds that of b by more than `by`: the 95% interval (Welch) decides.

    It fails if the whole interval lies below, and is undecided if `by` is inside it.
    """
    required = f"above {by:g}, with all of its 95% interval"
    x = a.values.ravel()
    y = b.values.ravel()
    if min(x.size, y.size) < 2 or not np.isfinite([*x, *y]).all():
        return ps.undecided(f"{what}: fewer than two seeds, or a seed without a number", required)
    difference = float(x.mean() - y.mean())
    half = _half_width(x, y)
    low, high = difference - half, difference + half
    if low > by:
        outcome = ps.Outcome.HOLDS
    elif high < by:
        outcome = ps.Outcome.FAILS
    else:
        outcome = ps.Outcome.UNDECIDED
    words = f"{what}: {x.mean():.3f} - {y.mean():.3f} = {difference:+.3f} [{low:+.3f}, {high:+.3f}], {x.size} seeds"
    return ps.Verdict(
        outcome=outcome,
        measured=words,
        required=required,
        value=difference,
        margin=_margin(outcome, difference - by, half),
        check="positive",
    )


def not_ahead(a: xr.DataArray, b: xr.DataArray, names: str, by: float) -> ps.Verdict:
    """Whether the mean of a over seeds exceeds that of b by less than `by`, with all of its 95% interval.

    `names` says what b - a is.
    """
    return ahead(b, a, names, by=-by)


def ends_somewhere(*reaches: xr.DataArray) -> ps.Verdict:
    """Not every length is solved by all seeds: else there is nothing to compare."""
    most = ps.chosen(0.999, "all lengths")
    return ps.guard(ps.all_of(ps.within(r.mean(), 0.0, most, "reach") for r in reaches))


def _margin(outcome: ps.Outcome, slack: float, half: float) -> float | None:
    """The distance of the interval from the bound, in units of its half width."""
    if outcome == ps.Outcome.UNDECIDED:
        return None
    if half == 0:
        return float(np.sign(slack))
    return float(np.clip((abs(slack) - half) / half, 0, 1) * np.sign(slack))


def _half_width(x: np.ndarray, y: np.ndarray) -> float:
    """Of Welch's 95% interval for the difference of two means; 0 where no seed differs from another."""
    a = x.var(ddof=1) / x.size
    b = y.var(ddof=1) / y.size
    if a + b == 0:
        return 0.0
    import scipy.stats  # half a second that few claims need

    freedom = (a + b) ** 2 / (a**2 / (x.size - 1) + b**2 / (y.size - 1))
    return float(scipy.stats.t.ppf(0.975, freedom) * np.sqrt(a + b))


def solved(run: xr.Dataset, name: str, least: float = MOST) -> ps.Verdict:
    """The training length is solved in the mean over seeds, by a share that is one: else a comparison says nothing."""
    first = run.accuracy.isel(time=-1, test_length=0).mean("seed", skipna=False)
    return ps.guard(ps.within(first, least, 1.0, f"{name}: accuracy at the training length"))


def concentration(run: xr.Dataset, length: int) -> xr.DataArray:
    """1 - epsilon: attention on the two right clauses together, mean over the steps of chains of this length."""
    last = run.isel(time=-1).sel(test_length=length)
    return (
        (last.attention_predicate + last.attention_answer)
        .isel(step=slice(length))
        .mean("step", skipna=False)
    )


def along(run: xr.Dataset, band: str, length: int) -> xr.DataArray:
    """A band of attention at the end of training over the steps of a chain, mean over seeds."""
    here = run[f"attention_{band}"].isel(time=-1).sel(test_length=length).isel(step=slice(length))
    return here.mean("seed", skipna=False)


def relative_fall(run: xr.Dataset, band: str, length: int = 20) -> xr.DataArray:
    """By which part a band falls from the first to the last step, mean over seeds.

    A straight line is fitted to all steps, so that two noisy ends do not decide.
    """
    here = along(run, band, length)
    if not np.isfinite(here).all():
        return xr.DataArray(np.nan)
    slope, start = np.polyfit(np.arange(length), here.values, 1)
    return xr.DataArray(-slope * (length - 1) / start)


def is_a_band(run: xr.Dataset, band: str, length: int = 20) -> ps.Verdict:
    """It is a share of attention, and not a small one: else its fall says nothing."""
    here = along(run, band, length)
    return ps.guard(ps.within(here, SOME, SHARED, f"attention on the right {band}"))


def own_answer(run: xr.Dataset) -> xr.DataArray:
    """Attention of answers on themselves at the training length and the end of training, mean over heads and steps."""
    length = int(run.test_length[0])
    return (
        run.attention_answer.isel(time=-1)
        .sel(test_length=length)
        .isel(step=slice(length))
        .mean("step", skipna=False)
    )


def ends_of_stages(run: xr.Dataset) -> list[xr.Dataset]:
    """The last record of every stage."""
    return [ps.in_stage(run, name).isel(time=-1) for name in ps.stage_names(run)]


def moves_right(run: xr.Dataset, slack: float = SLACK) -> ps.Verdict:
    """After each later stage, accuracy at twice its length and beyond is what it was before, or more."""
    found = []
    for k, (before, after) in enumerate(itertools.pairwise(ends_of_stages(run)), 1):
        far = run.test_length >= min(
            2 ** (k + 1) * int(run.test_length[0]), int(run.test_length[-1])
        )
        gain = (
            (after.accuracy - before.accuracy)
            .mean("seed", skipna=False)
            .isel(test_length=np.flatnonzero(far))
        )
        found.append(
            ps.positive(
                gain + slack, f"gain of stage {k} at twice its length and beyond + {slack:g}"
            )
        )
    return ps.all_of(found)
