"""What the page asks its server for: lists of many runs, against reading the store's own `index.json`; and panels.

    python benchmarks/index.py [--quick] [--only NAME] [--json FILE]

The runs are folders with a `run.json` as the store writes it, and nothing else: listing reads no records.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Table, Timing, main, ratio, take_turns

CLI = "from phasescope.cli.app import main; main()"
ARMS = [("regular_language", "symmetric"), ("lazy_to_rich", "flow"), ("linear_modes", "descent")]


def fill(root: Path, count: int) -> None:
    """A store of so many runs."""
    from phasescope.store import Identity
    from phasescope.store.sealed import seal

    for seed in range(count):
        study, arm = ARMS[seed % len(ARMS)]
        spec = {f"field_{i}": 0.1 * i + seed for i in range(12)} | {"kind": "flow"}
        identity = Identity(study, arm, spec, seed)
        array = {"sha256": "0" * 64, "coord": False}
        document = {
            "format": identity.format,
            "identity": identity.to_json(),
            "status": "finished",
            "manifest": {
                "seconds": 1.5,
                "device": "cpu",
                "versions": {"jax": "0.10", "numpy": "2"},
            },
            "created": f"2026-01-{1 + seed % 28:02d}T{seed % 24:02d}:00:00+00:00",
            "files": {"records.zarr.zip": {"sha256": "0" * 64, "size": 1000 + seed}},
            "content": dict.fromkeys(("loss", "progress", "time", "attention"), array),
        }
        folder = root / study / arm / identity.digest
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes(seal(document))


def listing(table: Table, quick: bool) -> None:
    """All runs of a store, and its command, against what they were before there was an index."""
    from phasescope.store import Store
    from phasescope.verbs.store_contents import finished_row
    from phasescope.verbs.stored_runs import stored_runs

    count = 400 if quick else 4000
    table.title(f"Listing {count} runs")
    with _place() as folder:
        store = Store(folder / "store")
        fill(store.root, count)
        time.sleep(2.1)  # the times of files are believed when they are a while back

        def before() -> list[object]:
            return [finished_row(entry) for entry in store.survey()[0]] + store.unfinished()

        known = ("size", "kind")
        now = [{k: v for k, v in row.items() if k not in known} for row in stored_runs(store)]
        if json.dumps(now) != json.dumps(before()):
            raise SystemExit("the index and the store do not say the same; nothing is timed.")
        best = take_turns(
            {"index.json": before, "index": lambda: stored_runs(store)}, 2 if quick else 5
        )
        for name, timing in best.items():
            table.add("listing", f"all rows, {name}", timing.wall, "s")
        ratio(table, "listing", "index.json / index", best["index.json"], best["index"], 1.0, 2.0)
        command = [sys.executable, "-c", CLI, "runs", "--store", str(store.root)]
        for words in ([], ["--json"], ["field_1=9.1", "--last", "20"]):
            best = take_turns({"": lambda words=words: _call([*command, *words])}, 2)[""]
            name = " ".join(["phasescope runs", *words])
            table.add("listing", name, best.wall, "s", -2.0, f"CPU time: {best.cpu:.3g}")


def many(table: Table, quick: bool) -> None:
    """A hundred thousand runs: made known once, then listed and filtered."""
    from phasescope.store import Store
    from phasescope.verbs.run_index import Query, RunIndex

    count = 3000 if quick else 100_000
    table.title(f"{count} runs")
    with _place() as folder:
        store = Store(folder / "store")
        fill(store.root, count)
        time.sleep(2.1)
        began, cpu = time.perf_counter(), time.process_time()
        index = RunIndex(store)
        index.refresh()
        cpu = time.process_time() - cpu
        table.add(
            "many",
            "the index made anew",
            time.perf_counter() - began,
            "s",
            None,
            f"CPU time: {cpu:.3g}",
        )
        index.close()
        asked = {
            "a page of runs, newest first": Query(),
            "a page, by size": Query(sort="-size", offset=count // 2),
            "a page of those with a number": Query(text="field_3=77"),
            "a page of one arm": Query(study="linear_modes", arm="descent"),
            "nothing found": Query(text="nowhere at all"),
        }
        index = RunIndex(store)
        contestants = {
            name: lambda query=query: (index.refresh(), index.select(query))
            for name, query in asked.items()
        }
        contestants["a thorough look, all rows"] = index.every
        contestants["a thorough look, rows with a number"] = lambda: index.every("field_3=77")
        contestants["a thorough look, the last 20"] = lambda: index.every(last=20)
        for name, timing in take_turns(contestants, 3).items():
            table.add("many", name, timing.wall, "s", -2.0, f"CPU time: {timing.cpu:.3g}")
        index.close()


def _call(words: list[str]) -> Timing:
    """A command, with the CPU time of its process."""
    wall, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return Timing(time.perf_counter() - wall, cpu)


def panels(table: Table, quick: bool) -> None:
    """A run of 10^4 records and 50 panels: what the server needs for each of them."""
    import numpy as np
    import xarray as xr

    from phasescope.page.run_view import described_records, values

    records = 1000 if quick else 10_000
    table.title(f"50 panels of {records} records")
    time_ = np.geomspace(1, 1e5, records)
    noise = np.random.default_rng(0)
    shapes = {"curve": (), "curves": (8,), "many": (64,), "matrix": (16, 16)}
    ds = xr.Dataset(
        {
            f"{name}{i}": (
                ("time", *(f"{name}_{k}" for k in range(len(shape)))),
                noise.random((records, *shape)),
            )
            for name, shape in shapes.items()
            for i in range(35 if name == "curve" else 5)
        },
        {"time": time_},
    )
    points = {"curve": 2000, "curves": 2000, "many": 1000, "matrix": 1000}
    contestants = {
        f"numbers of {name}": lambda name=name: values(ds, f"{name}0", points[name], None)
        for name in shapes
    }
    contestants["numbers of all 50"] = lambda: [
        values(ds, str(k), points[str(k).rstrip("0123456789")], None) for k in ds.data_vars
    ]
    contestants["what the run is"] = lambda: described_records(ds)
    wanted = {"numbers of all 50": -2.0}
    for name, timing in take_turns(contestants, 5).items():
        note = f"CPU time: {1e3 * timing.cpu:.3g} ms"
        table.add("panels", name, timing.wall, "s", wanted.get(name, -0.1), note)


class _place(tempfile.TemporaryDirectory):
    """A folder for a store and for the cache of this benchmark."""

    def __enter__(self) -> Path:  # type: ignore[override]
        folder = Path(super().__enter__())
        os.environ["PHASESCOPE_CACHE"] = str(folder / "cache")
        return folder


if __name__ == "__main__":
    sys.exit(main(__doc__, {"listing": listing, "many": many, "panels": panels}))
