"""Workers: the same sweep in one process, on one worker and on two, side by side.

    python benchmarks/cluster.py [--quick]

It needs two cores and pip install 'phasescope[cluster]'. The sweep in one process may use one thread for blocks, as
one worker does. Every round computes all blocks anew, into a store of its own; programs are compiled before. All
contestants must give the same bits, or nothing is printed.
"""

from __future__ import annotations

import concurrent.futures as futures
import sys
import tempfile
from pathlib import Path

from harness import Table, Timing, take_turns

LENGTHS = (6, 8, 10, 12)
LANES = 64


def sweep(executor: futures.Executor, steps: int):
    """All blocks anew; the dataset."""
    import numpy as np

    import phasescope as ps

    with tempfile.TemporaryDirectory() as folder:
        return ps.sweep(
            "regular_language",
            "symmetric",
            max_length=list(LENGTHS),
            lam=np.linspace(2, 18, LANES),
            steps=steps,
            block=LANES,
            store=Path(folder) / "store",
            executor=executor,
            progress=False,
        ).load()


def compare(table: Table, quick: bool) -> dict[str, Timing]:
    """One thread, one worker, two workers, in turns."""
    import phasescope as ps

    steps = 1_000 if quick else 20_000
    rounds = 1 if quick else 5
    with futures.ThreadPoolExecutor(1) as thread, ps.workers(1) as one, ps.workers(2) as two:
        carriers = {"one process": thread, "1 worker": one, "2 workers": two}
        for turn in range(
            2
        ):  # programs are compiled, or read from the cache; the second time by both workers
            found = {name: sweep(carrier, steps + turn) for name, carrier in carriers.items()}
            first = found["one process"]
            for name, ds in found.items():
                assert ds.identical(first.assign_attrs(ds.attrs)), f"{name} gives other digits"
        best = take_turns(
            {name: (lambda c=carrier: sweep(c, steps)) for name, carrier in carriers.items()},
            rounds,
        )
    serial = best["one process"].wall
    runs = len(LENGTHS) * LANES
    table.title(
        f"{runs} runs of regular_language.symmetric in {len(LENGTHS)} blocks, {steps} steps"
    )
    for name, timing in best.items():
        table.add(
            "workers", name, timing.wall, "s", None, f"{serial / timing.wall:.2f} x one process"
        )
    return best


if __name__ == "__main__":
    compare(Table(), quick="--quick" in sys.argv[1:])
