"""What the records say fits together: losses, margins, forces, ratios and clocks from each other (ours)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import spec_of
from ..spec import LABELS, SHARES
from . import evidence
from .parts import EXACT, where_it_learns
from .premises import any_flow


def types_of(run: xr.Dataset) -> np.ndarray:
    """The type of every sample, 0 to 3."""
    counts = [round(share * spec_of(run).samples) for share in SHARES]
    return np.repeat(np.arange(4), counts)


def by_type(run: xr.Dataset, x: xr.DataArray) -> xr.DataArray:
    """Means over the samples of each type."""
    kinds = types_of(run)
    parts = [
        x.isel(sample=np.flatnonzero(kinds == k)).mean("sample", skipna=False) for k in range(4)
    ]
    return xr.concat(parts, run.loss_type["type"]).transpose("time", "type")


def same(found: xr.DataArray, expected: xr.DataArray, what: str) -> ps.Verdict:
    """Equal to rounding, relative to the largest entry."""
    size = abs(expected).max(skipna=False)
    return ps.agree(found / size, expected / size, EXACT, EXACT, what)


def losses_fit(run: xr.Dataset) -> ps.Verdict:
    """Margins from outputs, losses and loss derivatives from margins."""
    signs = xr.DataArray(np.array(LABELS)[types_of(run)], dims="sample")
    losses = by_type(run, xr.apply_ufunc(np.logaddexp, 0.0, -run.margin))
    slopes = by_type(run, 1 / (1 + np.exp(run.margin)))
    counts = xr.DataArray(np.bincount(types_of(run)), dims="type")
    shares = xr.DataArray(np.array(SHARES), dims="type")
    fresh = xr.apply_ufunc(
        np.logaddexp, 0.0, -xr.DataArray(np.array(LABELS), dims="type") * run.test_F
    )
    return (
        same(run.margin, signs * run.F, "margin")
        & same(run.margin_min, run.margin.min("sample", skipna=False), "margin_min")
        & same(run.F_type, by_type(run, run.F), "F_type")
        & same(run.loss_type, losses, "loss_type")
        & same(run.loss, (shares * run.loss_type).sum("type", skipna=False), "loss")
        & same(run.gsum, slopes * counts, "gsum")
        & same(run.test_loss, (shares * fresh).sum("type", skipna=False), "test_loss")
    )


def rates_fit(run: xr.Dataset) -> ps.Verdict:
    """Ratios from rates and derivatives; the two parts of the rates of the values; the rate of beta."""
    one, two, three = (run.Gdot.sel(word=k, drop=True) for k in (1, 2, 3))
    sums = [run.gsum.sel(type=k, drop=True) for k in (1, 2, 3, 4)]
    special = {"word": [1, 2, 3]}
    by_beta = run.beta * run.c.sel(special)
    share = abs(run.Gdot.sel(special) / by_beta - 1).max("word", skipna=False)
    pull = (run.G * run.c).sum("word", skipna=False)
    common = (sums[1] + sums[2] + sums[3] - sums[0]) / (sums[0] - sums[1])
    return (
        same(run.R, -three / np.maximum(one, two), "R")
        & same(run.R2, -three / (one + two), "R2")
        & same(run.R_g, common, "R_g")
        & same(run.balance, abs(sums[1] - sums[2]) / np.minimum(sums[1], sums[2]), "balance")
        & ps.agree(run.value_share, share, ps.chosen(1e-9, "a difference of nearly equal numbers"))
        & same(run.betadot, 2 * spec_of(run).output_norm * pull, "betadot")
    )


def end_fits(run: xr.Dataset) -> ps.Verdict:
    """The whole state at the end against what is recorded of it, and scores against their changes."""
    end = run.isel(time=-1)
    whole = run.isel(stage_end=-1)
    words = spec_of(run).dim
    C = whole.C_all.values[:words, :words]
    random = np.where(np.maximum(*np.ogrid[:words, :words]) >= 3, C, 0.0)
    rms = np.sqrt((random**2).sum() / (words**2 - 9))
    small = ps.chosen(1e-10, "a difference of nearly equal numbers")
    return (
        ps.agree(end.G.values, whole.G_all.values[:words], EXACT, EXACT, "G at the end")
        & ps.agree(end.S.values, whole.S_all.values[:3, :3], EXACT, EXACT, "S at the end")
        & ps.agree(run.C, run.S - run.S.isel(time=0, drop=True), small, what="C")
        & ps.agree(end.C.values, C[:3, :3], small, what="C at the end")
        & ps.agree(end.C_random, np.abs(random).max(), rtol=small, what="C_random")
        & ps.agree(end.C_random_rms, rms, rtol=small, what="C_random_rms")
        & ps.agree(end.S_change, np.abs(C).max(), rtol=small, what="S_change")
    )


def clocks_fit(run: xr.Dataset) -> ps.Verdict:
    """Natural time, training time and log time."""
    return (
        same(run.kappa, 0 * run.kappa + float(spec_of(run).kappa), "kappa")
        & same(run.tau, run.time + 0 * run.tau, "tau")
        & same(run.t, run.tau / run.kappa, "t")
        & same(run.s, np.log1p(run.tau), "s")
    )


@ps.claim(
    "Definitions (ours)",
    ps.on("training", evidence.small_families),
    id="ours-definitions",
    kind="identity",
    whose="ours",
    tex=r"\hat L = \tfrac1n\textstyle\sum_i\ell(y_iF_i),\quad R = -\dot G_3/\max(\dot G_1,\dot G_2),\quad "
    r"\dot\beta = 2\|a\|^2G\cdot c,\quad \tau = \kappa t",
    page="Section 2.2, Equations (1) and (2)",
    assumes=any_flow,
)
@where_it_learns
def recorded_quantities_fit_together(run):
    """In a small run margins, losses, gradients, rates, ratios, the state at the end and the clocks are what
    the definitions make them of each other."""
    return losses_fit(run) & rates_fit(run) & end_fits(run) & clocks_fit(run)


claims = (recorded_quantities_fit_together,)
