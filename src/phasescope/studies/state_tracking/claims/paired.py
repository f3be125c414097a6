"""Words of the claims about converged decoders: means over late records, and differences of paired seeds."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

import phasescope as ps

LATE = 0.75  # records after this part of a stage are averaged
NEAR_PERFECT = ps.chosen(0.95, "near-perfect: 19 of 20 chains")
CONVERGED = ps.chosen(
    1e-2, "the training loss approaches zero: a part in ten thousand of its start"
)
FEW = ps.chosen(0.5, "every other chain")


def ends(run: xr.Dataset) -> list[xr.Dataset]:
    """Every stage at its end: the mean over the records of its last quarter."""
    found = []
    begin = 0.0
    for name in ps.stage_names(run):
        here = ps.in_stage(run, name)
        end = float(here.time[-1])
        late = here.time.values > begin + LATE * (end - begin)
        found.append(here.isel(time=np.flatnonzero(late)).mean("time", skipna=False))
        begin = end
    return found


def end(run: xr.Dataset) -> xr.Dataset:
    """The end of training: the mean over the records of the last quarter of the last stage."""
    return ends(run)[-1]


def area(accuracy: xr.DataArray) -> xr.DataArray:
    """The area under accuracy over log length, 1 if every length is solved; one number a seed."""
    octaves = accuracy.assign_coords(test_length=np.log2(accuracy.test_length))
    span = float(octaves.test_length[-1] - octaves.test_length[0])
    return octaves.integrate("test_length") / span


def more(a: xr.DataArray, b: xr.DataArray, what: str, by: float = 0.0) -> ps.Verdict:
    """Whether a exceeds b by more than `by` in the mean over paired seeds: its 95% interval (Student) decides.

    It fails if the whole interval lies below, and is undecided if `by` is inside it.
    """
    apart = (a - b).values.ravel()
    if apart.size < 2 or not np.isfinite(apart).all():
        return ps.undecided(
            f"{what}: fewer than two seeds, or a seed without a number", "five seeds"
        )
    half = _half_width(apart)
    low = float(apart.mean()) - half
    high = float(apart.mean()) + half
    said = f"{what}: {apart.mean():+.3f} [{low:+.3f}, {high:+.3f}], {apart.size} paired seeds"
    asked = f"above {by:g}, with all of its 95% interval"
    if low <= by <= high:
        return ps.undecided(said, asked)
    nearer = low if low > by else high
    found = ps.positive(xr.DataArray(nearer - by), what)
    return dataclasses.replace(
        found,
        measured=said,
        required=asked,
        value=float(apart.mean()),
        margin=_margin(nearer - by, half),
    )


def _margin(slack: float, half: float) -> float:
    """The distance of the interval from the bound, in units of its half width."""
    if half == 0:
        return float(np.sign(slack))
    return float(np.clip(slack / half, -1, 1))


def _half_width(apart: np.ndarray) -> float:
    """Of the 95% interval of a mean of differences."""
    import scipy.stats  # half a second that few claims need

    quantile = float(scipy.stats.t.ppf(0.975, apart.size - 1))
    return quantile * float(apart.std(ddof=1)) / float(np.sqrt(apart.size))


def converged(*runs: xr.Dataset) -> ps.Verdict:
    """The first stage has come to its end: its loss is small in every seed, and its length is solved."""
    found = []
    for run in runs:
        first = ends(run)[0]
        found += [
            ps.within(first.loss, 0.0, CONVERGED, "training loss"),
            ps.within(
                first.accuracy.isel(test_length=0).mean("seed", skipna=False),
                NEAR_PERFECT,
                1.0,
                "accuracy at the training length",
            ),
        ]
    return ps.guard(ps.all_of(found))


def fall(run: xr.Dataset, band: str, length: int) -> xr.DataArray:
    """By which part a band of attention falls along chains of this length, a number a seed.

    A straight line is fitted to all steps, so that two noisy ends do not decide.
    """
    here = end(run)[f"attention_{band}"].sel(test_length=length).isel(step=slice(length))
    step = xr.DataArray(np.arange(length), dims="step")
    step = step.assign_coords(step=here.step)
    centred = step - step.mean()
    slope = (centred * here).sum("step", skipna=False) / (centred**2).sum()
    first = here.mean("step", skipna=False) - slope * (length - 1) / 2
    return -slope * (length - 1) / first


def band_mean(run: xr.Dataset, band: str, length: int) -> xr.DataArray:
    """A band of attention, mean over the steps of chains of this length."""
    here = end(run)[f"attention_{band}"].sel(test_length=length).isel(step=slice(length))
    return here.mean("step", skipna=False)


def is_a_band(run: xr.Dataset, band: str, length: int) -> ps.Verdict:
    """A share of attention, and not a small one: else its fall says nothing."""
    least = ps.chosen(0.1, "a fifth of what one of two bands has at most")
    most = ps.chosen(0.9, "two bands share one attention")
    here = band_mean(run, band, length)
    return ps.guard(ps.within(here, least, most, f"attention on the right {band}"))
