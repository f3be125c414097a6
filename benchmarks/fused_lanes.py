"""A million runs in one sweep: what the device does, and what the call takes, through `ps.sweep` alone.

    python benchmarks/fused_lanes.py [--only symmetric|reduced|scan_and_snap|dry_run] [--lanes N] [--steps N] [--limit S]

Meant for a GPU, where lanes are fused; on a CPU it does the same at a small size, to try the script. Every section is a
process of its own with a time limit, and prints as it goes: one that hangs or fails leaves the others alone. README.md says
what the numbers should reach.
"""

from __future__ import annotations

import argparse
import concurrent.futures as futures
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from harness import Table, record_steps

RECORDS = 20
SAME = 1e-10  # largest relative difference of a kept observable between the two paths through the engine
LIMIT = 420  # seconds for one section
# What one H200 should reach: seconds on the device, seconds of the warm call with store, run-steps a second.
DEVICE_SECONDS = 2.0
CALL_SECONDS = 5.0
SCAN_AND_SNAP_RATE = 4e9
DRY_RUN_SECONDS = 1.0


class Size(NamedTuple):
    """How many runs of how many steps; `full` if they are those of the targets, on a GPU."""

    lanes: int
    steps: int
    full: bool


def size(lanes: int | None, steps: int | None) -> Size:
    """What was asked for; by default the size of the targets on a GPU, and little elsewhere."""
    import jax

    on_gpu = jax.default_backend() == "gpu"
    wanted = (2**20, 10_000) if on_gpu else (2**9, 200)
    found = Size(lanes or wanted[0], steps or wanted[1], False)
    return found._replace(full=on_gpu and found[:2] == wanted)


def goal(size: Size, value: float) -> float | None:
    """The target, where it is one."""
    return value if size.full else None


def device_name() -> str:
    import jax

    device = jax.devices()[0]
    return f"{device.platform}: {device.device_kind}"


def grid(size: Size, **ranges: tuple[float, float]) -> dict[str, Any]:
    """Two fields over ranges, so that their product has about so many points."""
    import numpy as np

    first = 1 << (size.lanes.bit_length() // 2)
    counts = (first, max(size.lanes // first, 1))
    pairs = zip(ranges.items(), counts, strict=True)
    return {name: np.linspace(low, high, n) for (name, (low, high)), n in pairs}


def question(size: Size, shift: float = 0.0) -> dict[str, Any]:
    """Runs of even pairs, N = 6, over lam and eta; another `shift` is another question of the same shapes."""
    axes = grid(size, lam=(2.0 + shift, 18.0 + shift), eta=(0.05, 0.2))
    times = record_steps(size.steps, RECORDS)
    return axes | {"steps": size.steps, "at": times, "max_length": 6, "progress": False}


@contextmanager
def device_clock() -> Iterator[list[float]]:
    """Seconds of every call that advances runs, waited for: what the device does, and what it takes to ask it."""
    import jax

    from phasescope.engine import loop

    calls: list[float] = []
    advance = loop.advance_stage_jit

    def timed(*arguments: Any) -> Any:
        jax.block_until_ready([x for x in jax.tree.leaves(arguments) if isinstance(x, jax.Array)])
        began = time.perf_counter()
        found = jax.block_until_ready(advance(*arguments))
        calls.append(time.perf_counter() - began)
        return found

    loop.advance_stage_jit = timed
    try:
        yield calls
    finally:
        loop.advance_stage_jit = advance


def seconds(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def sweep_of(study: str, arm: str, **asked: Any) -> Any:
    import phasescope as ps

    return ps.sweep(study, arm, **asked)


def on_device(study: str, arm: str, **asked: Any) -> float:
    """The seconds that the device is busy with a sweep, its blocks one after the other."""
    with futures.ThreadPoolExecutor(1) as one, device_clock() as calls:
        sweep_of(study, arm, store=False, executor=one, **asked)
    return sum(calls)


def engine_of(ds: Any) -> str:
    return json.loads(ds.attrs["provenance"])["engine"] if "provenance" in ds.attrs else "several"


def compare(table: Table, section: str, study: str, arm: str, asked: dict[str, Any]) -> None:
    """Some runs by the ordinary path and by the one that a wide block takes: nothing is timed that does not do the same."""
    import numpy as np

    few = {k: v[:: max(len(v) // 8, 1)][:8] for k, v in asked.items() if isinstance(v, np.ndarray)}
    # As many lanes as take the path of the whole sweep; the few are among them.
    wide = sweep_of(study, arm, store=False, **asked)
    os.environ["PHASESCOPE_FUSED"] = "0"
    plain = sweep_of(study, arm, store=False, **asked | few)
    del os.environ["PHASESCOPE_FUSED"]
    gap = largest_difference(wide.sel(few), plain, asked["keep"])
    table.add(section, "largest relative difference to the ordinary path", gap, "", -SAME)
    if not gap <= SAME:
        raise SystemExit(f"{study}.{arm}: the two paths differ by {gap:.1e}; nothing is timed.")


def largest_difference(found: Any, plain: Any, names: Iterable[str]) -> float:
    """The largest relative difference of some observables; infinite if one is NaN where the other is not."""
    import numpy as np

    gaps = [0.0]
    for name in names:
        a, b = found[name].values, plain[name].values
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return float("inf")
        gap = np.abs(a - b) / np.maximum(np.abs(b), 1e-9)
        gaps.append(float(np.max(gap[~np.isnan(b)], initial=0.0)))
    return max(gaps)


def timed_sweep(
    table: Table, section: str, study: str, arm: str, asked: Any, size: Size
) -> tuple[float, float]:
    """First call, warm call with store, and device seconds of a sweep; `asked(shift)` gives its arguments."""
    work = size.lanes * size.steps
    first, ds = seconds(lambda: sweep_of(study, arm, store=False, **asked(0.0)))
    table.add(section, "first call, compilation included", first, "s", note=engine_of(ds))
    table.add(section, "brought back", ds.nbytes / 1e6, "MB")
    busy = on_device(study, arm, **asked(1e-3))
    table.add(section, "run-steps a second on the device", work / busy, "1/s")
    with tempfile.TemporaryDirectory() as folder:
        call, _ = seconds(lambda: sweep_of(study, arm, store=folder, **asked(2e-3)))
        table.add(section, "warm call with store", call, "s", _at_most(size, section))
        again, _ = seconds(lambda: sweep_of(study, arm, store=folder, **asked(2e-3)))
        table.add(section, "the same sweep, found in the store", again, "s")
        kept = sum(x.stat().st_size for x in Path(folder).rglob("*") if x.is_file())
        table.add(section, "on disk", kept / 1e6, "MB")
    _memory(table, section)
    return busy, call


def _at_most(size: Size, section: str) -> float | None:
    return goal(size, -CALL_SECONDS) if section == "symmetric" else None


def _memory(table: Table, section: str) -> None:
    """The most memory of the device that was in use, and of this process."""
    import resource

    import jax

    stats = jax.devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        table.add(section, "memory of the device, at most", stats["peak_bytes_in_use"] / 1e9, "GB")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table.add(section, "memory of the process, at most", most / 1e6, "GB")


def symmetric(table: Table, size: Size) -> None:
    """`regular_language.symmetric`, N = 6, 20 records of loss and accuracy."""
    study, arm = "regular_language", "symmetric"
    table.title(
        f"{study}.{arm}: {size.lanes} runs of {size.steps} steps, {RECORDS} records of loss, accuracy"
    )
    keep = {"keep": ["loss", "accuracy"]}
    few = size._replace(lanes=min(size.lanes, 2**14))
    compare(table, "symmetric", study, arm, question(few) | keep)
    busy, _ = timed_sweep(
        table, "symmetric", study, arm, lambda shift: question(size, shift) | keep, size
    )
    table.add("symmetric", "seconds on the device", busy, "s", goal(size, -DEVICE_SECONDS))


def reduced(table: Table, size: Size) -> None:
    """The same runs, of which only phase times and the last loss are brought back."""
    import phasescope as ps

    study, arm = "regular_language", "symmetric"
    table.title(f"{study}.{arm}: {size.lanes} runs of {size.steps} steps, reduced on the device")
    reduce = {
        "learned": ps.when("accuracy", at_least=1.0, how="sustained"),
        "halved": ps.when("loss", at_most=2.0, log_time=True),
        "end": ps.final("loss"),
    }
    busy, _ = timed_sweep(
        table,
        "reduced",
        study,
        arm,
        lambda shift: question(size, shift) | {"reduce": reduce},
        size,
    )
    table.add("reduced", "seconds on the device", busy, "s")


def scan_and_snap(table: Table, size: Size) -> None:
    """`scan_and_snap.symmetric`, with as many records of two scalars."""
    study, arm = "scan_and_snap", "symmetric"
    keep = scalars(study, arm)[:2]
    table.title(
        f"{study}.{arm}: {size.lanes} runs of {size.steps} steps, {RECORDS} records of {', '.join(keep)}"
    )
    times = record_steps(size.steps, RECORDS)

    def asked(shift: float, of: Size = size) -> dict[str, Any]:
        axes = grid(of, eta_Y=(0.5 + shift, 1.0 + shift), eta_Z=(0.1, 0.5))
        return axes | {"steps": size.steps, "at": times, "keep": keep, "progress": False}

    few = size._replace(lanes=min(size.lanes, 2**14))
    compare(table, "scan_and_snap", study, arm, asked(0.0, few))
    busy, _ = timed_sweep(table, "scan_and_snap", study, arm, asked, size)
    rate = size.lanes * size.steps / busy
    table.add(
        "scan_and_snap", "run-steps a second, target", rate, "1/s", goal(size, SCAN_AND_SNAP_RATE)
    )


def scalars(study: str, arm: str) -> list[str]:
    """The observables without axes that an arm measures, in order."""
    import phasescope as ps
    from phasescope.engine.job import Job, shapes_of
    from phasescope.plan.observables import known

    found = ps.find(study)
    seen = known(shapes_of(Job(found.arm(arm), found.default_for(arm))).measured)
    return [name for name, x in seen.items() if x.shape == ()]


def dry_run(table: Table, size: Size) -> None:
    """CPU seconds of `phasescope sweep --dry-run`, of 2^17 cells against one."""
    cells = 2**17 if size.full or size.lanes >= 2**17 else 2**14
    side = 1 << (cells.bit_length() // 2)
    table.title(f"phasescope sweep --dry-run: {cells} cells against one, CPU time of the process")
    with tempfile.TemporaryDirectory() as folder:
        one = _cpu_of(["lam=2", "eta=0.1"], folder)  # the first fills the cache
        one = min(one, _cpu_of(["lam=2", "eta=0.1"], folder))
        axes = [f"lam=2:18:{side}", f"eta=0.05:0.2:{cells // side}"]
        many = min(_cpu_of(axes, folder) for _ in range(2))
    table.add("dry_run", "one cell", one, "s")
    table.add("dry_run", f"{cells} cells", many, "s")
    table.add("dry_run", "more than one cell", many - one, "s", -DRY_RUN_SECONDS)


def _cpu_of(fields: list[str], store: str) -> float:
    import resource

    main = "from phasescope.cli.app import main; main()"
    command = [sys.executable, "-c", main, "sweep", "regular_language", "symmetric"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [*fields, "--keep", "loss,accuracy", "--dry-run", "--store", store]
    subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


SECTIONS = {
    "symmetric": symmetric,
    "reduced": reduced,
    "scan_and_snap": scan_and_snap,
    "dry_run": dry_run,
}


def child(name: str, lanes: int | None, steps: int | None, out: Path) -> None:
    """One section in this process; its lines are written as they come."""
    table = Table()
    chosen = size(lanes, steps)
    print(f"\n{name} on {device_name()}", flush=True)
    try:
        SECTIONS[name](table, chosen)
    finally:
        out.write_text(json.dumps({"device": device_name(), "results": table.lines}))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=list(SECTIONS), action="append", help="may be repeated")
    parser.add_argument("--lanes", type=int, help="runs of a sweep, a power of two")
    parser.add_argument("--steps", type=int, help="steps of a run")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one section")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(chosen.child, chosen.lanes, chosen.steps, chosen.json)
        return 0
    flags = {"lanes": chosen.lanes, "steps": chosen.steps}
    found, failed = in_children(__file__, chosen.only or SECTIONS, flags, chosen.limit)
    return summary(found, failed, chosen.json)


def in_children(
    script: str, names: Iterable[str], flags: dict[str, Any], limit: float
) -> tuple[dict[str, Any], list[str]]:
    """Every section in a process of its own, which `--child` asks for: what each wrote down, and who failed."""
    found: dict[str, Any] = {}
    failed: list[str] = []
    given = {f"--{name}": str(value) for name, value in flags.items() if value is not None}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "lines.json"
            words = [sys.executable, script, "--child", name, "--json", str(out)]
            try:
                more = [word for pair in given.items() for word in pair]
                subprocess.run([*words, *more], check=True, timeout=limit)
            except subprocess.TimeoutExpired:
                failed.append(f"{name} (not finished within {limit:g} s)")
            except subprocess.CalledProcessError as problem:
                failed.append(f"{name} (exit status {problem.returncode})")
            if out.exists():
                found[name] = json.loads(out.read_text())
    return found, failed


def summary(found: dict[str, Any], failed: list[str], file: Path | None) -> int:
    """All numbers as a table, what failed and what was missed, also into a file; the exit status."""
    lines = [line for one in found.values() for line in one["results"]]
    missed = [f"{line['section']}: {line['name']}" for line in lines if not line["ok"]]
    print_table(found)
    for what, names in (("Failed", failed), ("Missed", missed)):
        if names:
            print(f"{what}: {'; '.join(names)}.")
    if file:
        file.write_text(json.dumps({"sections": found, "failed": failed}, indent=1) + "\n")
    return 1 if failed or missed else 0


def print_table(found: dict[str, Any]) -> None:
    """All numbers once more, as a table of Markdown with the name of the device."""
    devices = sorted({one["device"] for one in found.values()})
    print(f"\n| {', '.join(devices)} | | |\n|---|---|---|")
    for name, one in found.items():
        for line in one["results"]:
            wanted = "" if line["wanted"] is None else f"{abs(line['wanted']):g}"
            print(f"| {name}: {line['name']} | {line['value']:.4g} {line['unit']} | {wanted} |")
    print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
