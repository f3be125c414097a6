"""Where a curve rests and where it leaves, with the rate at which noise alone would raise the alarm.

Both rates are of independent Gaussian noise, whatever its level and its size: records so close that their noise is
correlated are thinned first. That of an escape is a bound by the union over the records. That of a plateau is no theorem: it
was counted on noise, of 10 to 150 records, and is kept there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ProbeError

LEAST = 3  # records of which a size of noise can be told
# Second differences for one degree of freedom of Student's t, since the size of the noise is told by their median: with a
# Gaussian in its place 4% of curves of 10 records are cut short where 1% are allowed. Counted in the tests.
PER_FREEDOM = 3


class Plateau(NamedTuple):
    """A stretch of records, `start` to `stop - 1`, its mean level, and the size of the noise."""

    start: int
    stop: int
    level: float
    noise: float


def first_escape(curve: Any, *, baseline: int, false_alarm: float = 0.01) -> int | None:
    """The first record at which a curve has left the level at which it began.

        >>> from phasescope import probes
        >>> curve = np.r_[np.random.default_rng(0).normal(size=50), 20.0, 21.0]
        >>> probes.first_escape(curve, baseline=20)
        50

    A record has left if it is further from the mean of the baseline than Student's t allows, at a level that
    is shared out among the records after the baseline.

    **Arguments:** `curve`: one number a record. `baseline`: records at the beginning that are known to be at
    rest; at least 3. `false_alarm`: the share of curves of noise alone in which there may be an escape.

    **Returns:** the index of the record; None if there is none.

    **Raises:** `ProbeError` for a curve with NaN or without records after the baseline.
    """
    x = _checked(curve, false_alarm)
    if not LEAST <= baseline < x.size:
        raise ProbeError(
            f"baseline is a number of records from {LEAST} to {x.size - 1}, of {x.size}, got {baseline}."
        )
    rest = x[:baseline]
    later = x[baseline:]
    wide = rest.std(ddof=1) * np.sqrt(1 + 1 / baseline)
    from scipy import stats  # takes a second to import

    limit = stats.t.isf(false_alarm / (2 * later.size), baseline - 1) * wide
    out = np.flatnonzero(np.abs(later - rest.mean()) > limit)
    return int(baseline + out[0]) if out.size else None


def longest_plateau(curve: Any, *, false_alarm: float = 0.01, least: int = 8) -> Plateau | None:
    """The longest stretch in which a curve shows nothing but noise about one level.

        >>> from phasescope import probes
        >>> noise = np.random.default_rng(0).normal(scale=0.01, size=60)
        >>> curve = noise + np.r_[np.linspace(2, 1, 20), np.ones(30), np.linspace(1, 0, 10)]
        >>> found = probes.longest_plateau(curve)
        >>> round(found.level, 2), 18 <= found.start <= 22, 48 <= found.stop <= 52
        (1.0, True, True)

    The size of the noise is told by second differences, which a slope does not enter and a few jumps do not
    change. A stretch is a plateau if its records span no more than noise of this size does.

    **Arguments:** `curve`: one number a record. `false_alarm`: the share of curves of noise alone that may be
    cut short. `least`: a shorter stretch is none: a slope spans little in a few records.

    **Returns:** a `Plateau`; None if there is none.

    **Raises:** `ProbeError` for a curve with NaN or with fewer than 3 records.
    """
    x = _checked(curve, false_alarm)
    if x.size < LEAST:
        raise ProbeError(f"a plateau is looked for in {LEAST} records or more, got {x.size}.")
    bends = np.diff(x, 2)
    from scipy import stats

    noise = float(np.median(np.abs(bends)) / (stats.norm.ppf(0.75) * np.sqrt(6)))
    freedom = (x.size - 2) / PER_FREEDOM
    span = 2 * float(stats.t.isf(false_alarm / (2 * x.size), freedom)) * noise
    start, stop = _longest_within(x, span)
    if stop - start < max(least, 1):
        return None
    return Plateau(start, stop, float(x[start:stop].mean()), noise)


def _longest_within(x: np.ndarray, span: float) -> tuple[int, int]:
    """The longest stretch whose largest and smallest records differ by a span at most; the first of several."""
    best = (0, 0)
    start = 0
    for stop in range(1, x.size + 1):
        while np.ptp(x[start:stop]) > span:
            start += 1
        if stop - start > best[1] - best[0]:
            best = (start, stop)
    return best


def _checked(curve: Any, false_alarm: float) -> np.ndarray:
    x = np.asarray(curve, float)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ProbeError(
            "a curve is one finite number a record: choose one lane, and leave out NaN."
        )
    if not 0 < false_alarm < 1:
        raise ProbeError(f"false_alarm is a share between 0 and 1, got {false_alarm}.")
    return x
