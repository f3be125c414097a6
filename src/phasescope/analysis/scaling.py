"""The word for power laws: a fitted exponent with its interval, against what is asked of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from . import fits
from .align import Misaligned, aligned, axis, coordinates_of, in_words, numbers_in
from .lanes import FAILS, HOLDS, UNDECIDED, lane_table, swept_axes
from .sources import sources_of
from .trace import Trace, trace_of_line
from .types import ArrayLike, Index
from .verdict import OUTCOMES, Outcome, Verdict, undecided
from .worst_entry import MARGINS, first, is_tolerance, name_of, verdict_at


def scales_like(
    y: ArrayLike,
    x: ArrayLike,
    exponent: float,
    tol: float,
    what: str = "",
    *,
    along: str | None = None,
    span: float = 4.0,
    logs: float = 0.0,
) -> Verdict:
    """y ~ x ** exponent with a positive factor: the 95% interval of the fitted exponent decides,
    not its middle.

        >>> x = np.geomspace(1.0, 100.0, 20)
        >>> ps.scales_like(3 * x**2, x, exponent=2.0, tol=0.05).outcome.value
        'holds'

    **Arguments:**

    - `y`, `x`: arrays with the same points. An entry y <= 0 breaks the law.
    - `exponent`, `tol`: what is asked of the exponent.
    - `what`: what the verdict calls y.
    - `along`: the axis of the points, every other one then being lanes with fits of their own;
      without it all points are one fit.
    - `span`: the factor that x must span at least.
    - `logs`: the law holds up to this power of ln x, which is divided out.

    **Returns:** a `Verdict`. It holds if the whole interval lies within exponent ± tol, fails if
    all of it lies outside, and is undecided when the interval straddles a limit, with fewer than
    four different x, or if x spans less than a factor `span`. Of several lanes the worst decides.
    """
    required = f"exponent {exponent:.4g} ± {tol:.4g}"
    if logs:
        required += f", up to (ln x)^{logs:g}"
    try:
        y, x = aligned(y, x)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    name = name_of(what, y)
    if logs:
        y = y / np.log(x) ** logs
    if y.size == 0:
        return undecided("there are no entries", required)
    dim = None if along is None else axis(y, along)
    law = (float(exponent), float(tol), span)
    outcomes, margins, distances = power_laws(y, x, dim, law)
    lanes = [d for d in y.dims if dim is not None and d != dim]
    worst = _worst_fit(outcomes, distances)
    lane = dict(zip(lanes, worst, strict=True))
    outcome = OUTCOMES[int(outcomes[worst])]
    fitted = described(y.isel(lane), x.isel(lane), span, outcome, name, required)
    over = tuple(d for d in lanes if d in swept_axes(y))
    rest = tuple(i for i, d in enumerate(lanes) if d not in over)
    found = dataclasses.replace(
        _in_lane(fitted, y, lane),
        check="scales_like",
        sources=sources_of((exponent, tol)),
        lanes=lane_table(y, over, outcomes.min(rest), margins.min(rest)) if over else None,
        trace=_points_of_fit(y, x, lane, float(exponent), name),
    )
    return _with_margin(found, margins, tol)


def _with_margin(found: Verdict, margins: np.ndarray, tol: float) -> Verdict:
    """The verdict with the smallest margin, and with the factor on a tolerance of ours that turns it."""
    if found.outcome == Outcome.UNDECIDED or np.isnan(margins).all():
        return found
    margin = float(margins.min())
    flips = 1 - margin if tol > 0 and is_tolerance(found.sources) else None
    return dataclasses.replace(found, margin=margin, flips_at=flips)


def _points_of_fit(
    y: xr.DataArray, x: xr.DataArray, lane: Index, exponent: float, name: str
) -> Trace | None:
    """The points of one fit, the power law that was fitted and the one that was asked for."""
    u = x.isel(lane).values.ravel()
    v = y.isel(lane).values.ravel()
    fitted = fits.power_law(u, v, fits.exponent(u, v).value)
    if fitted is None:
        return None
    asked = fits.power_law(u, v, exponent)
    line = trace_of_line(u, {"measured": v, "fitted": fitted, "reference": asked}, None)
    return dataclasses.replace(
        line,
        name=name,
        along=_name_on_axis(x),
        where=in_words(coordinates_of(y, lane)),
        is_power_law=True,
    )


def _name_on_axis(x: xr.DataArray) -> str:
    """The name of x if it is a coordinate as it stands; arithmetic such as 1 / x keeps a name that is wrong then."""
    if x.name in x.coords:
        coordinate = x.coords[x.name].broadcast_like(x).transpose(*x.dims)
        numbers = coordinate.dtype.kind in "fiu"
        if numbers and np.array_equal(coordinate.values, x.values):
            return str(x.name)
    return "x"


def _worst_fit(outcomes: np.ndarray, distances: np.ndarray) -> tuple[int, ...]:
    """The fit that decides: of the worst outcome, the one farthest from what was asked for."""
    worst = outcomes == outcomes.min()
    candidates = np.flatnonzero(worst)
    best = candidates[np.argmax(distances.ravel()[candidates])]
    return tuple(int(i) for i in np.unravel_index(best, outcomes.shape))


def _in_lane(verdict: Verdict, x: xr.DataArray, lane: Index) -> Verdict:
    """The verdict about one lane of x, with the coordinates of the lane added."""
    coordinates = coordinates_of(x, lane)
    where = ", ".join(filter(None, (in_words(coordinates), verdict.where)))
    return dataclasses.replace(verdict, where=where, at=numbers_in(coordinates) | dict(verdict.at))


def power_laws(
    y: xr.DataArray, x: xr.DataArray, along: str | None, law: tuple[float, float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcome (1, 0, -1), margin and distance of every fit, all fits at once.

    The axes are those of y but `along`; without it all points are one fit. It holds if the whole
    interval lies within exponent ± tol, and fails if all of it lies outside.
    """
    exponent, tol, span = law
    last = [along] if along is not None else list(y.dims)
    kept = [d for d in y.dims if d not in last]
    shape = tuple(y.sizes[d] for d in kept)
    v = y.transpose(*kept, *last).values.reshape(*shape, -1)
    u = x.transpose(*kept, *last).values.reshape(*shape, -1)
    lost = np.asarray(((v <= 0) | np.isinf(v)).any(-1))
    usable = ~lost & ~(np.isnan(v) | ~(np.isfinite(u) & (u > 0))).any(-1)
    ordered = np.sort(u, -1)
    with np.errstate(invalid="ignore"):
        different = 1 + (np.diff(ordered, axis=-1) > 0).sum(-1)
        usable &= (different >= 4) & (ordered[..., -1] >= span * ordered[..., 0])
    value, low, high = fits.exponents(u, v)
    with np.errstate(invalid="ignore"):
        inside = (exponent - tol <= low) & (high <= exponent + tol)
        outside = (high < exponent - tol) | (low > exponent + tol)
        worst_end = np.maximum(np.abs(low - exponent), np.abs(high - exponent))
        nearest_end = np.minimum(np.abs(low - exponent), np.abs(high - exponent))
    outcome = np.where(usable & inside, HOLDS, np.where(usable & outside | lost, FAILS, UNDECIDED))
    reaching = np.where(inside, worst_end, nearest_end)
    with np.errstate(invalid="ignore"):
        margin = 1 - reaching / tol if tol > 0 else np.where(inside, 1.0, -1.0)
    margin = np.where(lost, -1.0, np.where(outcome == UNDECIDED, np.nan, margin))
    first_bad = np.take_along_axis(v, np.argmax((v <= 0) | np.isinf(v), -1)[..., None], -1)[..., 0]
    distance = np.where(usable, np.abs(value - exponent), 0.0)
    distance = np.where(lost, np.abs(first_bad - exponent), distance)
    return outcome, np.asarray(np.clip(margin, *MARGINS)), distance


def described(
    y: xr.DataArray, x: xr.DataArray, span: float, outcome: Outcome, what: str, required: str
) -> Verdict:
    """One fit of ln y on ln x, whose outcome is known, in words: the fit, or what stands in its way."""
    u = x.values
    v = y.values
    lost = ~(v > 0) & ~np.isnan(v) | np.isinf(v)
    if lost.any():
        index = first(y.copy(data=lost))
        bad = float(y.isel(index))
        said = f"{what} = {bad:.4g}, which no power law takes"
        return verdict_at(outcome, said, required, y, index, bad)
    missing = int((np.isnan(v) | ~(np.isfinite(u) & (u > 0))).sum())
    if missing:
        return undecided(
            f"{missing} of {v.size} points have no place on logarithmic axes", required
        )
    if np.unique(u).size < 4:
        return undecided(f"{np.unique(u).size} different points, a fit needs 4", required)
    if u.max() < span * u.min():
        return undecided(
            f"the points span a factor {u.max() / u.min():.4g} only, asked for {span:.4g}", required
        )
    fit = fits.exponent(x, y)
    return Verdict(outcome, f"{what}: exponent {fit}", required, "", fit.value)
