"""The word for limits: the distance from a value falls with a power of the size."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import xarray as xr

from . import fits
from .align import Misaligned, aligned, in_order
from .over_sizes import FLAT, BySize, axis_of_sizes, band, too_few
from .sources import sources_of
from .trace import Trace, trace_of_line
from .types import ArrayLike
from .verdict import Outcome, Verdict, undecided
from .worst_entry import MARGINS


def tends_to(
    a: BySize,
    limit: ArrayLike = 0.0,
    along: str = "N",
    *,
    within: float | None = None,
    what: str = "",
) -> Verdict:
    """a -> limit as a size grows: the distance falls with a power of the size.

        >>> found = ps.tends_to({m: 310 / m for m in (128, 256, 512, 1024, 4096)}, along="m")
        >>> found.outcome.value, round(found.value, 6)
        ('holds', -1.0)

    **Arguments:** `a`: an array, or a mapping from each size to one. `limit`: a number, or an array.
    `along`: the size. `within`: a distance; the text says from which size on it is kept. `what`: the
    name of a.

    **Returns:** a `Verdict` whose `value` is the exponent of the largest distance at each size. It
    holds if its 95% interval is below -0.05, fails if it is above, and is undecided in between, or
    with fewer than four sizes that do not span two decades.
    """
    required = f"a distance that falls as {along} grows"
    distance = _distances(a, limit, along)
    if isinstance(distance, str):
        return undecided(distance, required)
    sizes = np.asarray(distance[along].values, float)
    values = distance.values
    name = what or "the value"
    summary = f"distance of {name}: {band(values)} at {along} = {band(sizes)}"
    few = too_few(sizes)
    if few or not np.isfinite(values).all():
        return undecided(f"{summary}; {few or 'not all are numbers'}", required)
    if (values == 0).all():
        return undecided(f"{name} is at its limit at all sizes: no approach to see", required)
    fit = fits.exponent(sizes, np.maximum(values, np.finfo(float).tiny))
    outcome, margin = _judged(fit)
    reach, inside = _from_size(sizes, values, within, along)
    return Verdict(
        outcome=outcome,
        measured=f"{summary}, exponent {fit}{inside}",
        required=required,
        where=f"{along}={sizes[-1]:.6g}",
        value=fit.value,
        at={along: float(sizes[-1])},
        margin=margin,
        check="tends_to",
        trend="away" if outcome == Outcome.FAILS else "",
        reach=reach,
        sizes={along: tuple(float(s) for s in sizes)},
        sources=sources_of(() if within is None else (within,)),
        trace=_approach(sizes, values, within, along, name),
    )


def _judged(fit: fits.Exponent) -> tuple[Outcome, float | None]:
    """Whether the distance falls with a power of the size, with the margin if that is known."""
    if fit.high <= -FLAT:
        return Outcome.HOLDS, _margin(fit.high)
    if fit.low > -FLAT:
        return Outcome.FAILS, _margin(fit.low)
    return Outcome.UNDECIDED, None


def _margin(slope: float) -> float:
    return float(np.clip(-(slope + FLAT) / FLAT, *MARGINS))


def _approach(
    sizes: np.ndarray, values: np.ndarray, within: float | None, along: str, name: str
) -> Trace:
    """The distance at each size, the power law through it, and the distance asked for."""
    bound = None if within is None else np.full(sizes.size, float(within))
    fitted = fits.power_law(sizes, values, fits.exponent(sizes, values).value)
    line = trace_of_line(
        sizes, {"measured": values, "fitted": fitted, "upper": bound}, sizes.size - 1
    )
    said = f"distance of {name} from its limit"
    return dataclasses.replace(line, name=said, along=along, is_power_law=fitted is not None)


def _distances(a: BySize, limit: ArrayLike, along: str) -> xr.DataArray | str:
    """The largest distance from the limit at each size, in order; a sentence if there is none."""
    if isinstance(a, Mapping):
        if not a:
            return "there are no sizes"
        sizes = [float(size) for size in a]
        found = xr.DataArray([_largest_gap(x, limit) for x in a.values()], {along: sizes}, (along,))
        return in_order(found, along)
    try:
        numbers, goal = aligned(a, limit)
    except Misaligned as mismatch:
        return str(mismatch)
    gap = abs(numbers - goal)
    dim = axis_of_sizes(gap, along)
    found = gap.max([d for d in gap.dims if d != dim], skipna=False)
    if dim not in found.coords:
        found = found.assign_coords({dim: np.arange(1, found.size + 1)})
    return in_order(found.rename({dim: along}) if dim != along else found, along)


def _largest_gap(x: ArrayLike, limit: ArrayLike) -> float:
    numbers, goal = aligned(x, limit)
    return float(np.abs(numbers.values - goal.values).max())


def _from_size(
    sizes: np.ndarray, values: np.ndarray, within: float | None, along: str
) -> tuple[str, str]:
    """From which size on the distance is kept, for `reach` and for the sentence."""
    if within is None:
        return "", ""
    inside = np.logical_and.accumulate((values <= within)[::-1])[::-1]
    if not inside.any():
        return "", f"; above {within:g} at all sizes"
    start = f"from {along} = {sizes[np.argmax(inside)]:.6g}"
    return start, f"; at most {within:g} {start}"
