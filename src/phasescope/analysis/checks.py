"""The words of theorems.

Each returns a Verdict: the worst case found, what was required, and where it was.

What counts as evidence is the same for all. An entry that breaks the statement makes it fail, and
so does an infinite one. An entry that is NaN is not known: a phase that never began, a run that
left the numbers, a corner that a ragged sweep does not have. A statement with unknown entries and
no broken one is undecided, as is one about nothing at all; neither is ever a success. `where=`
marks the entries a statement is about; the others are not looked at.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import xarray as xr

from .align import Misaligned, aligned, axis, in_order, one
from .comparisons import bounded, monotone, near
from .sources import Bound, sources_of
from .types import ArrayLike, Axis, Condition
from .verdict import Verdict, undecided
from .worst_entry import MARGINS, among, name_of


def agree(
    a: ArrayLike,
    b: ArrayLike,
    atol: float = 0.0,
    rtol: float = 0.0,
    what: str = "",
    *,
    where: Condition | None = None,
) -> Verdict:
    """|a - b| <= atol + rtol |b| everywhere.

        >>> ps.agree([1.0, 2.0], [1.0, 2.001], atol=0.01).outcome.value
        'holds'

    **Arguments:**

    - `a`, `b`: arrays; entries that belong together are found by coordinates.
    - `atol`, `rtol`: what is allowed, absolutely and relative to `b`.
    - `what`: what the verdict calls the quantity.
    - `where`: true at the entries that the statement is about; all of them if not given.

    **Returns:** a `Verdict`; undecided if the coordinates do not coincide, for agreement at no
    common time is none.
    """
    required = _tolerance("equal", atol, rtol)
    try:
        (left, right), asked = among(where, a, b)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    return near(
        left,
        right,
        (atol, rtol),
        required,
        name_of(what, left),
        "differs by",
        check="agree",
        asked=asked,
        sources=sources_of((atol, rtol, b if isinstance(b, Bound) else 0.0)),
    )


def constant(
    x: ArrayLike, atol: float = 0.0, rtol: float = 0.0, what: str = "", along: Axis = None
) -> Verdict:
    """|x - x0| <= atol + rtol |x0| at all records, x0 being the first: a conserved quantity.

        >>> ps.constant([3.0, 3.0, 3.2], rtol=0.01).outcome.value
        'fails'

    **Arguments:** `x`: an array. `atol`, `rtol`: the drift allowed. `what`: its name in the
    verdict. `along`: the axis; the only one or time if not given. Every other entry has its own
    start.

    **Returns:** a `Verdict`; undecided with fewer than two records.
    """
    required = _tolerance("as at the start", atol, rtol)
    numbers = one(x)
    dim = axis(numbers, along)
    if numbers.sizes[dim] < 2:
        return undecided(
            f"{name_of(what, numbers)} has {numbers.sizes[dim]} records: nothing to compare",
            required,
        )
    numbers = in_order(numbers, dim)
    numbers, start = aligned(numbers, numbers.isel({dim: 0}, drop=True))
    return near(
        numbers,
        start,
        (atol, rtol),
        required,
        name_of(what, numbers),
        "drifts by",
        check="constant",
        sources=sources_of((atol, rtol)),
    )


def within(
    x: ArrayLike, lo: ArrayLike, hi: ArrayLike, what: str = "", *, where: Condition | None = None
) -> Verdict:
    """lo <= x <= hi everywhere; the smallest slack decides.

        >>> ps.within([0.2, 0.9], 0.0, 1.0).outcome.value
        'holds'

    **Arguments:** `x`: an array. `lo`, `hi`: numbers, or arrays with axes of `x`. `what`: its name
    in the verdict. `where`: true at the entries that the statement is about.

    **Returns:** a `Verdict`, whose `value` is the entry with the smallest slack.
    """
    return bounded(x, lo, hi, what, where, check="within")


def at_most(
    x: ArrayLike, bound: ArrayLike, what: str = "", *, where: Condition | None = None
) -> Verdict:
    """x <= bound everywhere; the smallest slack decides.

        >>> ps.at_most([0.1, 0.7], 0.5, "loss").measured
        'loss = 0.7 (worst of 2, slack -0.2)'

    **Arguments:** `x`: an array. `bound`: a number, or an array with axes of `x`. `what`: its name
    in the verdict. `where`: true at the entries that the statement is about.

    **Returns:** a `Verdict`; undecided where the bound is infinite.
    """
    return bounded(x, -np.inf, bound, what, where, check="at_most")


def at_least(
    x: ArrayLike, bound: ArrayLike, what: str = "", *, where: Condition | None = None
) -> Verdict:
    """x >= bound everywhere; the smallest slack decides.

        >>> ps.at_least([0.8, 0.9], 0.5, "accuracy").required
        'at least 0.5'

    **Arguments:** `x`: an array. `bound`: a number, or an array with axes of `x`. `what`: its name
    in the verdict. `where`: true at the entries that the statement is about.

    **Returns:** a `Verdict`; undecided where the bound is infinite.
    """
    return bounded(x, bound, np.inf, what, where, check="at_least")


def positive(x: ArrayLike, what: str = "", *, where: Condition | None = None) -> Verdict:
    """x > 0 everywhere: zero has no sign.

        >>> ps.positive([0.0, 1.0]).outcome.value
        'fails'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `where`: true at the entries that
    the statement is about.

    **Returns:** a `Verdict`.
    """
    return bounded(x, 0.0, np.inf, what, where, strictly="positive", check="positive")


def negative(x: ArrayLike, what: str = "", *, where: Condition | None = None) -> Verdict:
    """x < 0 everywhere: zero has no sign.

        >>> ps.negative([-2.0, -1.0]).outcome.value
        'holds'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `where`: true at the entries that
    the statement is about.

    **Returns:** a `Verdict`.
    """
    return bounded(x, -np.inf, 0.0, what, where, strictly="negative", check="negative")


def increasing(x: ArrayLike, what: str = "", along: Axis = None, strictly: bool = True) -> Verdict:
    """x rises with the coordinate of its axis: each entry against all before it.

        >>> ps.increasing([1.0, 3.0, 2.0]).outcome.value
        'fails'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `along`: the axis; the only one
    or time if not given. `strictly`: whether two equal entries break the statement.

    **Returns:** a `Verdict`; undecided with fewer than two entries along the axis.
    """
    return monotone(one(x), 1, what, along, strictly, check="increasing")


def decreasing(x: ArrayLike, what: str = "", along: Axis = None, strictly: bool = True) -> Verdict:
    """x falls with the coordinate of its axis: each entry against all before it.

        >>> ps.decreasing([3.0, 2.0, 2.0], strictly=False).outcome.value
        'holds'

    **Arguments:** `x`: an array. `what`: its name in the verdict. `along`: the axis; the only one
    or time if not given. `strictly`: whether two equal entries break the statement.

    **Returns:** a `Verdict`; undecided with fewer than two entries along the axis.
    """
    return monotone(one(x), -1, what, along, strictly, check="decreasing")


def ordered(*times: ArrayLike, what: str = "") -> Verdict:
    """t1 < t2 < ... in every lane.

        >>> ps.ordered(1.0, 2.5, 4.0).outcome.value
        'holds'

    **Arguments:** `times`: two or more numbers or arrays. `what`: their name in the verdict.

    **Returns:** a `Verdict`. A time that is NaN never came: undecided, unless others are already
    out of order.

    **Raises:** `ValueError` with fewer than two times.
    """
    if len(times) < 2:
        raise ValueError(f"ordered needs two times or more, got {len(times)}.")
    required = " < ".join(f"t{i + 1}" for i in range(len(times)))
    try:
        lanes = aligned(*times)
    except Misaligned as mismatch:
        return undecided(str(mismatch), required)
    kept = {d: lanes[0][d].variable for d in lanes[0].dims if d in lanes[0].coords}
    numbers = np.arange(1, len(times) + 1)
    stacked = xr.DataArray(
        np.stack([t.values for t in lanes]), {"t": numbers, **kept}, ("t", *lanes[0].dims)
    )
    found = monotone(stacked, 1, what or "times", "t", strictly=True, check="ordered")
    found = dataclasses.replace(found, required=required, margin=_order_margin(found, stacked))
    if stacked.ndim > 1:
        return found
    listed = ", ".join(f"t{n} = {t:.4g}" for n, t in zip(numbers, stacked.values, strict=True))
    return dataclasses.replace(found, measured=f"{what or 'times'}: {listed}")


def _order_margin(found: Verdict, times: xr.DataArray) -> float | None:
    """The logarithm of the smallest ratio of two times in a row, where times have a logarithm."""
    if found.margin is None or not (times.values > 0).all():
        return found.margin
    with np.errstate(invalid="ignore"):
        steps = np.diff(np.log(times.values), axis=0)
    return float(np.clip(np.nan_to_num(steps, nan=MARGINS[0]).min(), *MARGINS))


def _tolerance(word: str, atol: float, rtol: float) -> str:
    parts = []
    if atol > 0:
        parts.append(f"{atol:.4g}")
    if rtol > 0:
        parts.append(f"{100 * rtol:.4g}%")
    if not parts:
        return f"{word}, exactly"
    return f"{word} within {' + '.join(parts)}"
