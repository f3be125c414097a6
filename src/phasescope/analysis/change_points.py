"""Change points: an independent witness of phases, which knows no theory and says how firmly it
speaks.

The signal is a row of straight lines (they may jump) plus white noise. How many lines is the old
question of the penalty; three rules answer it here. The penalty starts where white noise gives no
change point in 95 of 100 cases. From there up, all numbers of change points that some penalty
prefers are found, each with its whole range of penalties (Haynes, Eckley & Fearnhead 2017, by
repeated exact searches). The number with the widest range, in log penalty, is the answer, if more
changes would only fit noise, or else if its range is wide (`RANGE`); if not, the signal bends
without breaking and there are none.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
import xarray as xr

SHORTEST = 5  # records in a phase
FEWEST = 20  # records in all
RANGE = np.log(
    30.0
)  # bends are cut in two over factors of 19 (parabola), 25 (exponential), 28 (cube in log time)
DEPTH = (
    1e-4  # a change that removes a smaller part of the squared misfit of one line is not looked for
)
ROUNDING = 1e-6  # noise is not taken to be smaller than this part of the signal's spread

Segments = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class ChangePoints:
    """`times` are the first records of the new phases.

    Any penalty from `low` to `high` gives the same number of them.

    Penalties and `noise` are those of the signal scaled to spread 1. `why` says what decided.
    """

    times: tuple[float, ...]
    low: float
    high: float
    noise: float
    why: str

    @property
    def stability(self) -> float:
        """The width of the range of penalties, in natural log."""
        if not 0 < self.low < self.high:
            return 0.0
        return float(np.log(self.high / self.low))


def change_points(
    da: xr.DataArray, log_time: bool = False, records: int = 200, along: str = "time"
) -> ChangePoints:
    """The times at which one run changes from one straight line to another.

        >>> t = np.arange(100.0)
        >>> loss = xr.DataArray(np.where(t < 40, 1.0, 0.2), {"time": t}, "time")
        >>> ps.change_points(loss).times
        (40.0,)

    **Arguments:** `da`: one run. `log_time`: the lines are straight in log time. `records`: about
    as many records are used at most, evenly spread over the axis, so times are as fine as these.
    `along`: the axis of time.

    **Returns:** a `ChangePoints` with the `times` of the first records of the new phases, the range
    of penalties from `low` to `high` that gives as many of them, the `noise`, and `why` this is the
    answer.

    **Raises:** `ValueError` if `da` has other axes than `along`: select a lane first.
    """
    if da.dims != (along,) or along not in da.coords:
        raise ValueError(
            f"change_points takes one run with an axis {along!r}, got axes {da.dims}: select a lane first."
        )
    t, s, x = _spread_out(
        da[along].values.astype(float), da.values.astype(float), log_time, records
    )
    if s.size < FEWEST:
        return ChangePoints((), np.nan, np.nan, np.nan, f"{s.size} records, {FEWEST} are needed")
    spread = float(np.std(x))
    if spread <= 1e-14 * float(np.abs(x).max()):
        return ChangePoints((), 0.0, np.inf, 0.0, "the signal is constant")
    s = (s - s.mean()) / np.std(s)
    x = (x - x.mean()) / spread
    noise = max(_noise(s, x), ROUNDING)
    misfit = _misfits(s, x)
    floor = noise**2 * _white_noise_penalty(s.size)
    top = float(misfit[0, -1])
    if top <= floor:
        return ChangePoints((), floor, np.inf, noise, "one straight line leaves only noise")
    lowest = max(floor, DEPTH * top)
    ranges = {cuts: ends for cuts, ends in _ranges(misfit, lowest, top).items() if cuts}
    if not ranges:
        return ChangePoints((), lowest, np.inf, noise, "no change removes more than noise would")
    cuts, (low, high) = max(ranges.items(), key=lambda item: np.log(item[1][1] / item[1][0]))
    why = "stable over the widest range of penalties"
    if low <= floor:
        why = "more changes would fit noise"
    elif np.log(high / low) < RANGE:
        bends = "no number of changes is stable: the signal bends without breaking"
        return ChangePoints((), low, high, noise, bends)
    return ChangePoints(tuple(float(t[i]) for i in cuts), low, high, noise, why)


def _spread_out(
    t: np.ndarray, x: np.ndarray, log_time: bool, records: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, times on the axis of the lines, and values: those that are known, about `records` of
    them at most.
    """
    good = np.isfinite(x)
    if log_time:
        good &= t > 0
    t = t[good]
    x = x[good]
    s = np.log(t) if log_time else t
    if s.size > records:
        some = np.unique(np.searchsorted(s, np.linspace(s[0], s[-1], records)).clip(0, s.size - 1))
        return t[some], s[some], x[some]
    return t, s, x


def _white_noise_penalty(n: int) -> float:
    """In units of the noise variance: Bonferroni over n places, and room for the noise being
    estimated from n records.

    By simulation, of white signals of 20 to 200 records about 1% of the Gaussian and up to 5% of
    the Laplace ones show a change at this penalty; noise with heavier tails, or noise that
    remembers, shows more.
    """
    return 2 * np.log(n) + 8 + 120 / n


def _noise(s: np.ndarray, x: np.ndarray) -> float:
    """Standard deviation by the distances of records from the line between their neighbours.

    The largest twentieth is left out, for it may be the changes themselves; 0.871 is what Gaussian
    noise loses by it.
    """
    w = (s[2:] - s[1:-1]) / (s[2:] - s[:-2])
    off = np.sort(np.abs(x[1:-1] - w * x[:-2] - (1 - w) * x[2:]) / np.sqrt(1 + w**2 + (1 - w) ** 2))
    return float(np.sqrt(np.mean(off[: int(np.ceil(0.95 * off.size))] ** 2))) / 0.871


def _misfits(s: np.ndarray, x: np.ndarray) -> np.ndarray:
    """[i, j]: squared misfit of one straight line through the records i, ..., j - 1.

    From running sums.
    """
    sums = [
        np.concatenate([[0.0], np.cumsum(v)]) for v in (np.ones_like(s), s, x, s * s, s * x, x * x)
    ]
    n, S, X, SS, SX, XX = (v[None, :] - v[:, None] for v in sums)
    n = np.where(n > 0, n, 1.0)
    ss = SS - S * S / n
    sx = SX - S * X / n
    xx = XX - X * X / n
    explained = np.where(ss > 0, sx**2 / np.where(ss > 0, ss, 1.0), 0.0)
    return np.maximum(xx - explained, 0.0)


def _ranges(misfit: np.ndarray, lowest: float, top: float) -> dict[Segments, tuple[float, float]]:
    """Every best segmentation for a penalty from `lowest` to `top`, with its range of penalties."""
    search = _searcher(misfit)

    def cost(cuts: Segments) -> float:
        return sum(misfit[i, j] for i, j in itertools.pairwise((0, *cuts, len(misfit) - 1)))

    between: list[tuple[Segments, Segments]] = [((), search(lowest))]
    chain: dict[Segments, tuple[float, float]] = {(): (lowest, top)}
    while between:
        few, many = between.pop()
        if len(many) <= len(few):
            continue
        even = float((cost(few) - cost(many)) / (len(many) - len(few)))
        middle = search(even) if len(many) > len(few) + 1 else few
        better = cost(middle) + even * len(middle) < cost(few) + even * len(few) - 1e-9 * top
        if len(few) < len(middle) < len(many) and better:
            between += [(few, middle), (middle, many)]
            continue
        chain[few] = (max(even, lowest), chain.get(few, (lowest, top))[1])
        chain[many] = (chain.get(many, (lowest, top))[0], min(even, top))
    return {cuts: (low, high) for cuts, (low, high) in chain.items() if low < high}


def _searcher(misfit: np.ndarray) -> Callable[[float], Segments]:
    """PELT over the table of misfits; ruptures brings heavy imports, so it comes in here."""
    from ruptures.base import BaseCost
    from ruptures.detection import Pelt

    class Lines(BaseCost):
        min_size = SHORTEST
        table = misfit.tolist()

        @property
        def model(self) -> str:
            return "lines"

        def fit(self, signal: np.ndarray) -> Lines:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            return self.table[start][end]

    pelt = Pelt(custom_cost=Lines(), min_size=SHORTEST, jump=1).fit(np.zeros((len(misfit) - 1, 1)))
    return lambda penalty: tuple(pelt.predict(pen=penalty)[:-1])
