"""What every benchmark shares: one core, contestants that take turns, a table of ratios with their thresholds.

A benchmark is a file of sections `(table, quick) -> None` that ends in `sys.exit(main(__doc__, {"name": section}))`.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def pin() -> int:
    """Keep to one core, before JAX and torch count them: no option makes XLA single-threaded, only this does."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    if not hasattr(os, "sched_setaffinity"):
        print("This system cannot pin a process to a core; ratios against JAX will flatter it.")
        return -1
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


@dataclasses.dataclass
class Table:
    """Results as they come: printed at once, and kept for the file."""

    lines: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    missed: list[str] = dataclasses.field(default_factory=list)

    def title(self, words: str) -> None:
        print(f"\n{words}", flush=True)

    def add(
        self,
        section: str,
        name: str,
        value: float,
        unit: str,
        wanted: float | None = None,
        note: str = "",
    ) -> None:
        """One number; `wanted` is its least value, or its greatest where less is better (negative)."""
        ok = wanted is None or (value >= wanted if wanted >= 0 else value <= -wanted)
        goal = (
            ""
            if wanted is None
            else f"  [{'>=' if wanted >= 0 else '<='} {abs(wanted):g}: {'ok' if ok else 'MISSED'}]"
        )
        print(f"  {name:<58} {value:>12.5g} {unit:<14}{goal} {note}".rstrip(), flush=True)
        line = {
            "section": section,
            "name": name,
            "value": value,
            "unit": unit,
            "wanted": wanted,
            "ok": ok,
            "note": note,
        }
        self.lines.append(line)
        if not ok:
            self.missed.append(name)


@dataclasses.dataclass
class Timing:
    """The best round of one contestant; CPU seconds show whether something else held the core meanwhile."""

    wall: float
    cpu: float


def take_turns(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Timing]:
    """Everybody once, then everybody again: a slow moment of the machine hits all alike."""
    best = {name: Timing(float("inf"), float("inf")) for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            wall, cpu = time.perf_counter(), time.process_time()
            given = work()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            if isinstance(given, Timing):  # it excludes its own preparations
                wall, cpu = given.wall, given.cpu
            best[name] = Timing(min(best[name].wall, wall), min(best[name].cpu, cpu))
    return best


@functools.cache
def record_steps(last: int, count: int = 100) -> tuple[int, ...]:
    """`count` different whole steps up to `last`, as evenly spaced in log time as whole numbers can be."""
    import numpy as np

    for n in range(count, 20 * count):
        steps = np.unique(np.round(np.geomspace(1, last, n)).astype(int))
        if len(steps) >= count:
            break
    return tuple(int(t) for t in steps[-count:])


def ratio(
    table: Table,
    section: str,
    name: str,
    slow: Timing,
    fast: Timing,
    scale: float,
    wanted: float | None = None,
) -> None:
    """How many times faster, in wall time; the same in CPU time tells whether the core was shared meanwhile."""
    table.add(
        section,
        name,
        scale * slow.wall / fast.wall,
        "x",
        wanted,
        f"CPU time: {scale * slow.cpu / fast.cpu:.4g}",
    )


def torch_or_exit():
    """PyTorch on one thread, if it is there."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"{error}. The base of the ratios is a PyTorch loop: pip install 'phasescope[bench]'"
        ) from None
    torch.set_num_threads(1)
    return torch


def machine(core: int) -> dict[str, Any]:
    """What the numbers belong to."""
    import importlib.metadata as metadata

    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "-"

    names = [
        x.split(":", 1)[1].strip() for x in _lines("/proc/cpuinfo") if x.startswith("model name")
    ]
    return {
        "cpu": names[0] if names else platform.processor(), "cores": os.cpu_count(), "pinned_to": core,
        "load": os.getloadavg()[0], "python": platform.python_version(), "system": platform.system(),
        "versions": {name: version(name) for name in ("phasescope", "jax", "jaxlib", "equinox", "numpy", "torch")},
    }  # fmt: skip


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main(doc: str, sections: Mapping[str, Callable[[Table, bool], None]]) -> int:
    """The command line of a benchmark: its sections, one after the other, on one core."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument(
        "--only", choices=list(sections), action="append", help="one section; may be repeated"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer steps, runs and rounds: to try the script, not to quote",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    chosen = parser.parse_args()
    core = pin()
    about, table, began = machine(core), Table(), time.perf_counter()
    print(
        f"{about['cpu']}, pinned to core {core} of {about['cores']}, load {about['load']:.1f}; {about['versions']}"
    )
    for name in chosen.only or sections:
        sections[name](table, chosen.quick)
    print(
        f"\n{time.perf_counter() - began:.0f} s. "
        + (f"Missed: {'; '.join(table.missed)}." if table.missed else "All thresholds met.")
    )
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(
            json.dumps({"machine": about, "quick": chosen.quick, "results": table.lines}, indent=1)
            + "\n"
        )
    return 1 if table.missed and not chosen.quick else 0
