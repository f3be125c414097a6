"""Where phases begin and end, by the paper's own criteria, and the quantities that its theorems compare."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from . import closed_forms
from .spec import Spec

FLOWS = ("log_flow", "frozen")  # the arms whose time is tau


def spec_of(ds: xr.Dataset) -> Spec:
    """The numbers of the run, as asked for."""
    return Spec.of(ds)


def training_time(ds: xr.Dataset) -> xr.DataArray:
    r"""$\tau = \eta t$; flow arms record it already."""
    return ds.time if ds.attrs["arm"] in FLOWS else ds.time * spec_of(ds).eta


def phase_1(ds: xr.Dataset) -> xr.Dataset:
    """The records of phase 1 after the start."""
    return ds.isel(time=np.flatnonzero((ds.stage == 0) & (ds.time > 0)))


def phase_2(ds: xr.Dataset) -> xr.Dataset:
    """The records after phase 1, its end included."""
    end_of_phase_1 = float(ds.time[ds.stage == 0][-1])
    return ds.isel(time=np.flatnonzero((ds.stage == 1) | (ds.time == end_of_phase_1)))


def ran_to_the_end(*runs: xr.Dataset) -> ps.Verdict:
    """Undecided if a run broke off: what it would have shown later is unknown."""
    return ps.all_of(ps.reached(run) for run in runs)


def becomes_right(accuracy: xr.DataArray, what: str) -> ps.Verdict:
    """Wrong somewhere at the first record, right everywhere at the last: what was always right was not learned."""
    wrong = ps.at_most(accuracy.isel(time=0).min(), 0.999, f"{what} at the start")
    right = ps.within(accuracy.isel(time=-1), 1.0, 1.0, f"{what} at the end")
    return right & wrong


def onset(ds: xr.Dataset) -> xr.DataArray:
    r"""$t_2$, read off the run: where $\|u\|$ grows fastest in log time."""
    return ps.knee(ds.u_norm)


def learned(ds: xr.Dataset) -> xr.DataArray:
    """The time from which every string is classified correctly for good; a first hit would mislead for parity."""
    return ps.sustained(ds.accuracy == 1)


def learned_by_length(ds: xr.Dataset) -> xr.DataArray:
    """The same for each length from 2 on."""
    return ps.sustained(ds.accuracy_by_length.sel(length=slice(2, None)) == 1)


def half_time(ds: xr.Dataset) -> xr.DataArray:
    r"""When the loss falls through half of $(N - 1) \log 2$, what is left once length 1 is learned."""
    return ps.crossing(ds.loss, 0.5 * (ds.sizes["length"] - 1) * np.log(2), "down", log_time=True)


def margin(ds: xr.Dataset) -> xr.DataArray:
    r"""$\min_n y_n T(X_n)$ over all training strings."""
    pairs = ds.output_differ.sel(length=slice(2, None))
    return xr.apply_ufunc(np.minimum, ds.output_match.min("length"), (-pairs).min("length"))


def margin_norm(ds: xr.Dataset) -> float:
    """|u*| at t_0: from the solver where it could be certified, else by its closed form for weak separation.

    For parity that form, at the longest length whose pivot is position 1, is a lower bound.
    """
    norm = np.float64(ds.margin_norm) if "margin_norm" in ds else np.float64(np.nan)
    if np.isfinite(norm) or "score_match" not in ds:
        return norm
    spec = spec_of(ds)
    longest = int(np.flatnonzero(spec.pivots == 1)[-1]) + 1
    end = phase_1(ds).isel(time=-1).sel(length=longest)
    return closed_forms.weak_margin_norm(
        np.float64(end.score_match), np.float64(end.score_differ), spec.lam, longest
    )


def is_key(ds: xr.Dataset) -> xr.DataArray:
    """True where `key_scores` has a score; `ds` may have some of the lengths only."""
    pivots = spec_of(ds).pivots[ds.length.values.astype(int) - 1]
    pivots = xr.DataArray(pivots, dims="length", coords={"length": ds.length})
    return (ds.position <= ds.length) & (ds.position != pivots)


def attention_step(ds: xr.Dataset) -> xr.DataArray:
    r"""$\|W_{t+1} - W_t\|$ between records; the multiplicities of p, q, m and s are 2, 2, 4 and 2."""

    def square(name: str) -> xr.DataArray:
        return ds[name].diff("time") ** 2

    pairs = square("score_match") + square("score_differ") + square("score_self")
    others = square("score_other").sum(("length", "position"), skipna=False)
    total = 2 * pairs.sum("length", skipna=False) + 4 * others
    return total**0.5


def key_scores(ds: xr.Dataset) -> xr.DataArray:
    """Scores of the keys that are no pivot, the last token's own on the diagonal; nan elsewhere."""
    scores = ds.score_other + xr.where(ds.position == ds.length, ds.score_self, 0.0)
    return scores.where(is_key(ds))


def read_out_rate(ds: xr.Dataset) -> xr.DataArray:
    r"""$dv/d\tau$, from the recorded attention and outputs: $\frac12\sum_L(\omega^+G^+\varphi^+ - \omega^-G^-\varphi^-)$."""
    share = xr.where(ds.length == 1, 1.0, 0.5)
    push = share / (1 + np.exp(ds.output_match)) * ds.attention_match
    pull = (
        xr.where(ds.length == 1, 0.0, 0.5) / (1 + np.exp(-ds.output_differ)) * ds.attention_differ
    )
    return 0.5 * (push - pull).sum("length")


def excess_attention(ds: xr.Dataset, case: str) -> xr.DataArray:
    r"""How far the pivot's attention (`match`), or position 2's (`differ`), exceeds $1/L$ in even pairs.

    Formed from scores, never by subtracting weights: in the theorems' setting it is $10^{-9}$ and less.
    """
    lam = spec_of(ds).lam
    length = ds.length.sel(length=slice(2, None))
    keys = key_scores(ds).sel(length=length)
    if case == "match":
        mine = ds.score_match.sel(length=length)
        return _excess(length, (keys - mine) / lam)
    mine = keys.sel(position=2)
    pivot = ds.score_differ.sel(length=length)
    others = keys.where(keys.position != 2)
    return _excess(length, (others - mine) / lam, (pivot - mine) / lam)


def _excess(
    length: xr.DataArray, gaps: xr.DataArray, one_more: xr.DataArray | None = None
) -> xr.DataArray:
    """The excess over 1/L of a key whose score is ahead of the others by minus these gaps."""
    ahead = xr.apply_ufunc(lambda x: -np.expm1(x), gaps).sum("position")
    weight = xr.apply_ufunc(np.exp, gaps).sum("position") + 1
    if one_more is not None:
        ahead = ahead - np.expm1(one_more)
        weight = weight + np.exp(one_more)
    return ahead / (length * weight)
