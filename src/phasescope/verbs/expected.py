"""What runs that are not there yet will take, judged by runs that are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..store import Entry, Store
from .context import cores


class Typical(NamedTuple):
    """What one run, or block of lanes, of a study takes: seconds to compute it, and megabytes on disk."""

    seconds: float
    megabytes: float


# Means over all runs of the claims and figures, two at a time on two cores (647 runs, November 2026). The seconds are twice those
# that were measured, with programs compiled before: a report of all studies took twice the CPU time without.
MEASURED = {
    "co_occurrence": Typical(4.7, 1.0),
    "lazy_to_rich": Typical(5.3, 3.8),
    "regular_language": Typical(1.05, 1.6),
    "scan_and_snap": Typical(0.86, 0.52),
    "state_tracking": Typical(6.9, 0.61),
}
GIGABYTES = 8.0  # of memory that a check of these studies needs: 7.4 were measured


def typical_of(study: str, store: Store | None) -> Typical | None:
    """What a run of the study takes: by its runs in the store, else as measured; None if neither is known."""
    here = [] if store is None else [e for e in store.entries() if e.study == study]
    if here:
        return measured(here)
    return MEASURED.get(study)


def measured(entries: Iterable[Entry]) -> Typical:
    """The means over some stored runs."""
    runs = list(entries)
    seconds = sum(float(entry.manifest.get("seconds", 0.0)) for entry in runs)
    size = sum(_size(entry.folder) for entry in runs)
    return Typical(seconds / len(runs), size / 1e6 / len(runs))


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def free_megabytes(folder: Path) -> float:
    """The room on the disk on which a folder is, or would be made."""
    while not os.path.exists(folder):
        folder = folder.parent
    return shutil.disk_usage(folder).free / 1e6


def expected_sentence(rows: list[dict], store: Path) -> str:
    """What a check or a report will take, in one sentence, from the rows of `check_cost`."""
    needed = sum(row["needed"] for row in rows)
    missing = sum(row["missing"] for row in rows)
    asked = rows[0]["study"] if len(rows) == 1 else f"{len(rows)} studies"
    if not missing:
        found = f"all {needed} runs are" if needed != 1 else "the run is"
        return f"{asked}: {found} in {store}; only judging and drawing are left."
    known = [row for row in rows if row["seconds"] is not None]
    seconds = sum(row["seconds"] for row in known) / cores()
    disk = sum(row["megabytes"] for row in known)
    takes = f"about {duration(seconds)} on {cores()} cores, {disk:.3g} MB in {store}"
    if not known:
        takes = f"how long is not known yet; kept in {store}"
    elif len(known) < len(rows):
        unknown = ", ".join(row["study"] for row in rows if row["seconds"] is None)
        takes += f", and what is not known yet of {unknown}"
    memory = ""
    if any(row["study"] in MEASURED for row in rows):
        memory = f", up to {GIGABYTES:g} GB of memory"
    return (
        f"{asked}: {missing} of {needed} runs {'is' if missing == 1 else 'are'} missing: {takes}{memory} "
        f"({free_megabytes(store) / 1e3:.3g} GB of disk are free)."
    )


def duration(seconds: float) -> str:
    """A duration as people say it: seconds, minutes, hours, days or years."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    if seconds < 730 * 24 * 3600:
        return f"{seconds / 86400:.0f} days"
    return f"{seconds / (365.25 * 86400):.3g} years"
