"""The words for O, Omega and Theta.

A statement about large sizes cannot be refuted at one size. These checks look at a ratio at several
sizes, and at its trend: where a bound does not hold yet they say whether it is approached.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np
import xarray as xr

from . import fits
from .align import Misaligned, aligned, coordinates_of, in_order, in_words, one
from .lanes import FAILS, HOLDS, UNDECIDED, lane_table, swept_axes
from .over_sizes import FLAT, BySize, axis_of_sizes, band, distinct_sizes, sizes_along, too_few
from .trace import Trace, trace_of_line
from .types import ArrayLike, Index
from .verdict import OUTCOMES, Outcome, Trend, Verdict, undecided
from .worst_entry import MARGINS

End = Literal["upper", "lower"]


def big_o(a: BySize, b: ArrayLike = 1.0, along: str = "N", what: str = "") -> Verdict:
    """a = O(b): the largest |a / b| at each size does not grow with the size.

        >>> N = xr.DataArray([8.0, 16.0, 32.0, 64.0], dims="N")
        >>> a = (3 * N - 1).assign_coords(N=N)
        >>> ps.big_o(a, a.N, along="N").outcome.value
        'holds'

    **Arguments:** `a`, `b`: arrays; `a` may be a mapping from each size to an array, `b` being part
    of it then. `along`: the asymptotic variable, which may be `time`. `what`: the name of the ratio.

    **Returns:** a `Verdict` whose `value` is the constant. The upper end of the 95% interval of the
    slope of the ratio (log-log) is at most 0.05, over two decades or four sizes; with fewer it is
    undecided. A ratio that falls is no failure. One that grows fails, with the trend of its slope.
    """
    return _bounded(a, b, along, what, "upper")


def big_omega(a: BySize, b: ArrayLike = 1.0, along: str = "N", what: str = "") -> Verdict:
    """a = Omega(b): the smallest a / b at each size is positive and does not fall with the size.

        >>> ps.big_omega({8: [2.0], 16: [2.01], 32: [2.0], 64: [2.02]}).outcome.value
        'holds'

    **Arguments:** `a`, `b`, `along`, `what`: as for `big_o`.

    **Returns:** a `Verdict` whose `value` is the constant. A ratio that is not positive fails.
    """
    return _bounded(a, b, along, what, "lower")


def big_theta(a: BySize, b: ArrayLike = 1.0, along: str = "N", what: str = "") -> Verdict:
    """a = Theta(b): both `big_o` and `big_omega`.

        >>> found = ps.big_theta({N: [0.2, 0.3 - 0.1 / N] for N in (8, 16, 32, 64)})
        >>> found.outcome.value, found.sizes
        ('holds', {'N': (8.0, 16.0, 32.0, 64.0)})

    **Arguments:** `a`, `b`, `along`, `what`: as for `big_o`.

    **Returns:** a `Verdict`; with one size it is undecided and its text has the band.
    """
    upper = big_o(a, b, along, what)
    lower = big_omega(a, b, along, what)
    found = upper & lower
    parts = tuple(dataclasses.replace(part, check="big_theta") for part in found.parts)
    return dataclasses.replace(found, parts=parts)


def _bounded(a: BySize, b: ArrayLike, along: str, what: str, end: End) -> Verdict:
    growth = "does not grow" if end == "upper" else "is positive and does not fall"
    required = f"a ratio that {growth} with {along}"
    check = "big_o" if end == "upper" else "big_omega"
    try:
        extreme = _extreme_by_size(a, b, along, end)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    if isinstance(extreme, str):
        return undecided(extreme, required)
    name = what or "the ratio"
    rows = tuple(d for d in swept_axes(extreme) if d != along)
    outcomes, margins = _judge_rows(extreme.transpose(*rows, along), along, end)
    candidates = np.flatnonzero(outcomes == outcomes.min())
    worst = candidates[np.argmin(np.nan_to_num(margins.ravel()[candidates]))]
    index = np.unravel_index(worst, outcomes.shape)
    row: Index = {d: int(i) for d, i in zip(rows, index, strict=True)}
    outcome = OUTCOMES[int(outcomes[index])]
    margin = None if outcome == Outcome.UNDECIDED else float(margins[index])
    found = _described(extreme.isel(row), along, name, end, outcome)
    return dataclasses.replace(
        found,
        required=required,
        margin=margin,
        check=check,
        sizes={along: distinct_sizes(extreme, along)},
        lanes=lane_table(extreme, rows, outcomes, margins) if rows else None,
        trace=_by_size(extreme, row, along, name, end),
    )


def _by_size(extreme: xr.DataArray, row: Index, along: str, name: str, end: End) -> Trace | None:
    """The extreme ratio at each size, and the power law through it; a lower bound is held above 0."""
    x = extreme.isel(row)
    values = np.atleast_1d(x.values)
    if values.size < 2 or not np.isfinite(values).all():
        return None
    sizes = np.array(sizes_along(x, along))
    worst = int(np.argmax(values) if end == "upper" else np.argmin(values))
    floor = np.zeros(values.size) if end == "lower" and (values <= 0).any() else None
    fitted = fits.power_law(sizes, values, fits.exponent(sizes, values).value)
    curves = {"measured": values, "fitted": fitted, "lower": floor}
    word = "sup" if end == "upper" else "inf"
    return dataclasses.replace(
        trace_of_line(sizes, curves, worst),
        name=f"{word} of {name}",
        along=along,
        where=in_words(coordinates_of(extreme, row)),
        is_power_law=fitted is not None,
    )


def _judge_rows(x: xr.DataArray, along: str, end: End) -> tuple[np.ndarray, np.ndarray]:
    """Outcome (1, 0, -1) and margin of every row, all at once.

    A row with an entry that is no number is undecided. One that is infinite fails, and so does a lower
    bound that is not positive, however few the sizes are.
    """
    values = x.values
    sizes = np.array(sizes_along(x, along))
    lost = np.asarray(np.isnan(values).any(-1) | ~np.isfinite(sizes).all())
    unknown = lost | bool(too_few(sizes))
    if end == "upper":
        unknown |= (values == 0).all(-1)
    with np.errstate(invalid="ignore"):
        negative = (values <= 0).any(-1) & ~lost if end == "lower" else np.zeros_like(lost)
    infinite = np.isinf(values).any(-1) & ~lost & ~negative
    broken = negative | infinite
    positive = np.maximum(np.nan_to_num(values, nan=1.0, posinf=1.0), np.finfo(float).tiny)
    _, low, high = fits.exponents(np.broadcast_to(sizes, values.shape), positive)
    worst = high if end == "upper" else -low
    best = low if end == "upper" else -high
    outcome = np.where(worst <= FLAT, HOLDS, np.where(best > FLAT, FAILS, UNDECIDED))
    outcome = np.where(broken, FAILS, np.where(unknown, UNDECIDED, outcome))
    margin = (FLAT - np.where(outcome == HOLDS, worst, best)) / FLAT
    margin = np.where(negative, -1.0, np.where(infinite, MARGINS[0], np.clip(margin, *MARGINS)))
    return outcome, np.where(outcome == UNDECIDED, np.nan, margin)


def _extreme_by_size(a: BySize, b: ArrayLike, along: str, end: End) -> xr.DataArray | str:
    """The sup of |a / b|, or the inf of a / b, at each size; a sentence if there is none."""
    if isinstance(a, Mapping):
        sizes = np.array([float(size) for size in a])
        arrays = [one(x) for x in a.values()]
        ratios = xr.DataArray([_extreme(x.values, end) for x in arrays], {along: sizes}, (along,))
        return in_order(ratios / np.asarray(b, float), along)
    numbers, other = aligned(a, b)
    dim = axis_of_sizes(numbers, along)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = numbers / other
    kept = {dim, *swept_axes(ratio)}
    rest = [d for d in ratio.dims if d not in kept]
    if ratio.size == 0:
        return "there are no entries"
    extreme = (
        abs(ratio).max(rest, skipna=False) if end == "upper" else ratio.min(rest, skipna=False)
    )
    extreme = extreme.rename({dim: along}) if dim != along else extreme
    return in_order(extreme, along)


def _extreme(values: np.ndarray, end: End) -> float:
    if values.size == 0:
        return np.nan
    return float(np.abs(values).max() if end == "upper" else values.min())


def _described(x: xr.DataArray, along: str, name: str, end: End, outcome: Outcome) -> Verdict:
    """A ratio whose outcome is known, in words: how it goes with its size, or what stands in the way."""
    values = np.atleast_1d(x.values)
    sizes = np.array(sizes_along(x, along))
    word = "sup" if end == "upper" else "inf"
    summary = f"{word} of {name}: {band(values)} at {along} = {band(sizes)}"
    if np.isnan(values).any() or not np.isfinite(sizes).all():
        lost = int(np.isnan(values).sum())
        return Verdict(outcome, f"{summary}, but {lost} are no numbers", "")
    if end == "lower" and (values <= 0).any():
        bad = int(np.argmin(values))
        return Verdict(
            outcome=outcome,
            measured=f"{name} = {values[bad]:.4g} is not positive",
            required="",
            where=f"{along}={sizes[bad]:.6g}",
            value=float(values[bad]),
            at={along: float(sizes[bad])},
            trend=_sign_trend(values),
        )
    if np.isinf(values).any():
        return Verdict(outcome, f"{summary}, which is infinite", "")
    if end == "upper" and (values == 0).all():
        return Verdict(outcome, f"{name} is 0 at all sizes: nothing to bound", "")
    few = too_few(sizes)
    if few:
        return Verdict(outcome, f"{summary}; {few}", "")
    positive = np.maximum(values, np.finfo(float).tiny)
    fit = fits.exponent(sizes, positive)
    sign = 1 if end == "upper" else -1
    constant = float(values.max() if end == "upper" else values.min())
    at = int(np.argmax(values) if end == "upper" else np.argmin(values))
    return Verdict(
        outcome=outcome,
        measured=f"{summary}, exponent {fit}",
        required="",
        where=f"{along}={sizes[at]:.6g}",
        value=constant,
        at={along: float(sizes[at])},
        trend=_slope_trend(sizes, positive, sign) if outcome == Outcome.FAILS else "",
    )


def _slope_trend(sizes: np.ndarray, values: np.ndarray, sign: int) -> Trend:
    """Whether the local slope comes down as the size grows: then the bound is approached."""
    slopes = sign * np.diff(np.log(values)) / np.diff(np.log(sizes))
    if slopes.size < 2:
        return ""
    half = slopes.size // 2
    early = slopes[:half].mean()
    late = slopes[-half:].mean()
    return "towards" if late < early and slopes[-1] <= slopes[0] else "away"


def _sign_trend(values: np.ndarray) -> Trend:
    """Negative first and positive at the end: approached."""
    return "towards" if values[-1] > 0 else "away"
