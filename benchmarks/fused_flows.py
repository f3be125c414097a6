"""Flows as fused lanes against the engine as it is, through `ps.sweep` alone: trajectories a second, on a GPU.

    python benchmarks/fused_flows.py [--only mean_field_flow|scan_and_snap] [--lanes N] [--limit S] [--json FILE]

The engine as it is without fused lanes (PHASESCOPE_FUSED=0) solves by diffrax. First the two paths must give the same numbers,
or nothing is timed. Every section is a process of its own with a time limit. Without a GPU it says so and ends.
README.md says what the numbers should reach.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fused_lanes import (
    Size,
    device_name,
    engine_of,
    grid,
    in_children,
    on_device,
    seconds,
    summary,
    sweep_of,
)
from harness import Table

RECORDS = 20
SIDE_BY_SIDE = 2**13  # lanes at which the two paths are compared
MANY = 2**17  # lanes that fill a GPU, and the widest block of a sweep
SAME = 1e-9  # largest relative difference of a kept observable between the two paths; the tolerance of the flows is 1e-9
LIMIT = 540  # seconds for one section
# What one H200 should reach, in trajectories a second; the second is 5 times what the engine did when it was set.
GOALS = {"mean_field_flow": 3e5, "scan_and_snap": 3.3e5}
VARIABLE = "PHASESCOPE_FUSED"


@contextmanager
def by_diffrax() -> Iterator[None]:
    """Inside, no lanes are fused."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "0"
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def mean_field(lanes: int, shift: float = 0.0) -> dict[str, Any]:
    """Both heads to t = 4000, over (alpha, w*); another `shift` is another question of the same shapes."""
    import numpy as np

    axes = grid(Size(lanes, 0, False), alpha=(0.5 + shift, 4.0 + shift), w_star=(0.25, 0.6))
    times = np.geomspace(1.0, 4000.0, RECORDS).tolist()
    return axes | {"at": times, "keep": ["loss", "g", "h"], "progress": False}


def snapping(lanes: int, shift: float = 0.0) -> dict[str, Any]:
    """`scan_and_snap.symmetric` as a flow to t = 200, over both step sizes, one record at the end."""
    axes = grid(Size(lanes, 0, False), eta_Y=(0.5 + shift, 1.0 + shift), eta_Z=(0.1, 0.5))
    asked = {"optimiser": "flow", "horizon": 200.0, "at": [200.0], "keep": ["loss"]}
    return axes | asked | {"progress": False}


def compare(table: Table, section: str, study: str, arm: str, asked: dict[str, Any]) -> None:
    """The same sweep by both paths: nothing is timed that does not do the same."""
    import numpy as np

    first, fused = seconds(lambda: sweep_of(study, arm, store=False, **asked))
    with by_diffrax():
        usual = sweep_of(study, arm, store=False, **asked)
    table.add(section, "first call, compilation included", first, "s", note=engine_of(fused))
    if not engine_of(fused).startswith("fused lanes"):
        raise SystemExit(f"{study}.{arm} was not fused: {engine_of(fused)}.")
    for name in asked["keep"]:
        if not np.array_equal(np.isnan(fused[name]), np.isnan(usual[name])):
            raise SystemExit(f"{study}.{arm}: {name} is NaN at other places than by diffrax.")
    gap = max(
        float(np.nanmax(np.abs(fused[name] - usual[name]) / np.abs(usual[name]).max()))
        for name in asked["keep"]
    )
    table.add(section, "largest difference to diffrax, relative", gap, "", -SAME)
    if gap > SAME:
        raise SystemExit(f"{study}.{arm}: the two paths differ by {gap:.1e}; nothing is timed.")


def rate(study: str, arm: str, asked: Any, lanes: int) -> float:
    """Trajectories a second on the device, compiled before."""
    sweep_of(study, arm, store=False, **asked(lanes, 1e-3))
    return lanes / min(on_device(study, arm, **asked(lanes, shift)) for shift in (2e-3, 3e-3))


def measure(table: Table, section: str, study: str, arm: str, asked: Any, lanes: int) -> float:
    """Both paths side by side, then many fused lanes; how many times faster the fused ones are."""
    with by_diffrax():
        usual = rate(study, arm, asked, SIDE_BY_SIDE)
    table.add(section, f"diffrax, {SIDE_BY_SIDE} lanes", usual, "trajectories/s")
    fused = rate(study, arm, asked, SIDE_BY_SIDE)
    table.add(section, f"fused, {SIDE_BY_SIDE} lanes", fused, "trajectories/s")
    best = rate(study, arm, asked, lanes)
    goal = GOALS[section] if lanes == MANY else None
    table.add(section, f"fused, {lanes} lanes", best, "trajectories/s", goal)
    call, _ = seconds(lambda: sweep_of(study, arm, store=False, **asked(lanes, 4e-3)))
    table.add(section, f"warm call of {lanes} lanes without store", call, "s")
    return max(fused, best) / usual


def mean_field_flow(table: Table, lanes: int) -> None:
    """`lazy_to_rich.mean_field_flow`, both heads, 20 records."""
    study, arm = "lazy_to_rich", "mean_field_flow"
    table.title(f"{study}.{arm} to t = 4000, rtol 1e-10, {RECORDS} records of loss, g and h")
    compare(table, arm, study, arm, mean_field(SIDE_BY_SIDE))
    ratio = measure(table, arm, study, arm, mean_field, lanes)
    table.add(arm, "fused over diffrax", ratio, "x")


def scan_and_snap(table: Table, lanes: int) -> None:
    """`scan_and_snap.symmetric` as a flow: 70 numbers, so that the stages of a step are a loop."""
    study, arm = "scan_and_snap", "symmetric"
    table.title(f"{study}.{arm} as a flow to t = 200, rtol 1e-9, one record of the loss")
    compare(table, study, study, arm, snapping(SIDE_BY_SIDE))
    ratio = measure(table, study, study, arm, snapping, lanes)
    table.add(study, "fused over diffrax", ratio, "x")


SECTIONS = {"mean_field_flow": mean_field_flow, "scan_and_snap": scan_and_snap}


def child(name: str, lanes: int, out: Path) -> None:
    """One section in this process; its lines are written as they come."""
    table = Table()
    print(f"\n{name} on {device_name()}", flush=True)
    try:
        SECTIONS[name](table, lanes)
    finally:
        out.write_text(json.dumps({"device": device_name(), "results": table.lines}))


def has_gpu() -> bool:
    """Asked in a process of its own: one that has seen a GPU keeps most of its memory."""
    asked = "import jax, sys; sys.exit(jax.default_backend() != 'gpu')"
    return subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=list(SECTIONS), action="append", help="may be repeated")
    parser.add_argument("--lanes", type=int, default=MANY, help="runs of the large sweep")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one section")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child, chosen.lanes, chosen.json)
        return 0
    if not has_gpu():
        print("No GPU here: flows are fused only on one, so nothing was measured.")
        return 0
    flags = {"lanes": chosen.lanes}
    found, failed = in_children(__file__, chosen.only or SECTIONS, flags, chosen.limit)
    return summary(found, failed, chosen.json)


if __name__ == "__main__":
    sys.exit(main())
