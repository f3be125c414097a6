"""A preview of a run while a slider moves: its beginning, at a few of its records, as far as there is time for.

Nothing is approximated: the same program runs, and what is shown are measured numbers of the run. It ends earlier, and lies
at fewer records. What is derived from all records, or inspected at the end of a stage, is not in it.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import xarray as xr

from ..engine.job import Job
from ..engine.loop import execute
from ..engine.precision import exact_numbers
from ..plan.plan import never
from ..records.arrays import join, part_of
from ..records.dataset import labels, measured

SLOW = 0.08  # seconds of an answer above which the next preview goes less far
FAST = 0.045  # and below which it goes further
RECORDS = (
    16,
    64,
)  # of a preview that goes least far, and of the whole: one call of the program at most
LEAST = 0.3  # of the records of a run, which a preview reaches however long it takes
LONGEST = 0.2  # seconds after which a preview ends where it is
LESS = 0.75
MORE = 1.2


@dataclasses.dataclass(frozen=True)
class Part:
    """What a preview shows of a run: `records` of `of`, up to the time `until`, where the run goes on to `end`."""

    records: int
    of: int
    until: float
    end: float

    @property
    def beyond(self) -> list[float]:
        """Times from just after the last record to the end of the run, at which nothing is known yet."""
        if self.until >= self.end:
            return []
        return [float(np.nextafter(self.until, np.inf)), self.end]


class Previews:
    """How far the previews of each arm go, as a part of its records: learned from how long they took."""

    def __init__(self) -> None:
        self._reach: dict[str, float] = {}

    def made(self, job: Job, name: str) -> tuple[xr.Dataset, Part] | None:
        """The beginning of a run; None if its records are not known beforehand."""
        times = planned_times(job)
        if times is None or len(times) <= RECORDS[0]:
            return None
        began = time.monotonic()
        reach = self._reach.get(name, 0.5)
        ds, part = beginning(job, times, reach)
        self._reach[name] = next_reach(reach, time.monotonic() - began)
        return ds, part


def next_reach(reach: float, seconds: float) -> float:
    """How far the next preview goes after one that went so far in so many seconds."""
    if seconds > SLOW:
        return max(reach * LESS, LEAST)
    return min(reach * MORE, 1.0) if seconds < FAST else reach


def planned_times(job: Job) -> np.ndarray | None:
    """The times of all records of a run; None if a stage may end before its last."""
    stages = job.plan().stages
    if job.is_block or any(stage.until is not never for stage in stages):
        return None
    found = [np.zeros(1)]
    offset = 0.0
    for stage in stages:
        local = stage.lay_out()
        unit = float(stage.unit)
        found.append(offset + unit * local)
        offset += unit * float(local[-1]) if local.size else 0.0
    return labels(np.concatenate(found))


def beginning(job: Job, times: np.ndarray, reach: float) -> tuple[xr.Dataset, Part]:
    """What a run measures at some of the first of its records; `reach` is which part of them, up to 1."""
    last = round(reach * (len(times) - 1))
    few, many = RECORDS
    count = min(last + 1, round(few + (many - few) * max(reach - LEAST, 0.0) / (1 - LEAST)))
    chosen = np.unique(np.linspace(0, last, count).round().astype(int))
    asked = job.recorded_at(times[chosen])
    end = float(times[last]) if last < len(times) - 1 else None
    parts = []
    began = time.monotonic()
    for chunk in execute(asked, end=end):
        parts.append(part_of(chunk))
        if len(parts) > 1 and time.monotonic() - began > LONGEST:
            break
    records = dataclasses.replace(join(parts), inspected=None)
    with exact_numbers():
        ds = measured(asked, records)
    kept = [name for name, x in ds.data_vars.items() if "time" in x.dims]
    shown = int(ds.sizes["time"])
    return ds[kept], Part(shown, len(times), float(ds["time"][-1]), float(times[-1]))
