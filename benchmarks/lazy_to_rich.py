"""Speed of the study `lazy_to_rich`: ratios to an eager PyTorch loop of online SGD, measured in turns on one core.

    python benchmarks/lazy_to_rich.py [--only flow|descent|many] [--quick] [--json FILE]

* flow: `exact_flow` to t = 10^4 against the 10^5 steps of descent that it replaces (a sample of the loop is timed and
  scaled). The first line includes making the kernels' table; the next ones reuse it, alone and as lanes of one program.
* descent: `online_sgd` per step, alone and per run and step where 8 lanes share their batches.
* many: trajectories of `mean_field_flow` over (alpha, w*, sigma) as lanes, per second.

Programs are compiled before they are timed. On the same batches, the loop and `online_sgd` take the same path.
"""

from __future__ import annotations

import collections
import sys
import time
from collections.abc import Sequence
from typing import Any

from harness import Table, Timing, main, ratio, take_turns, torch_or_exit

SAME = 1e-11  # largest relative difference, on the same batches, of gradients and of the way that 60 steps go
STEPS, BATCH, LENGTH = 100_000, 1000, 40  # Figure 1


def job_of(
    arm: str, at: Sequence[float], columns: dict[str, Sequence[float]] | None = None, **changes: Any
):
    """What `phasescope run` would execute."""
    from phasescope.engine.job import Job
    from phasescope.study import find

    study = find("lazy_to_rich")
    return Job(study.arm(arm), study.specify(None, **changes), columns=columns or {}, at=tuple(at))


def execute(job) -> Any:
    """Run a job through the product's engine; its last chunk."""
    from phasescope.engine.loop import execute

    return collections.deque(execute(job), maxlen=1)[0]


def loop_steps(quick: bool):
    """The eager loop in the precision that is faster here: no ratio should profit from a clumsy base."""
    torch = torch_or_exit()
    import torch_lazy_to_rich as loop

    steps = 100 if quick else 500
    sample = lambda dtype: lambda: loop.train(steps, BATCH, LENGTH, dtype)
    return steps, {"float32": sample(torch.float32), "float64": sample(torch.float64)}


def same_path(table: Table, section: str) -> None:
    """60 steps on the same batches, in double precision."""
    import jax
    import jax.random as jr
    import torch
    import torch_lazy_to_rich as loop

    from phasescope.studies.lazy_to_rich import data
    from phasescope.studies.lazy_to_rich.model import definition, gradient
    from phasescope.studies.lazy_to_rich.spec import Spec

    theirs, slopes, first = loop.start(0.3, torch.float64), 0.0, 0.3
    with jax.enable_x64(True):
        spec = Spec(sigma=first)
        ours, update = definition.start(spec), jax.jit(lambda w, x: gradient.gradient(w, x, spec))
        for i in range(60):
            x = data.draw(jr.key(i), "gaussian", LENGTH, BATCH)
            batch, slope = torch.tensor(jax.device_get(x).T).double(), update(ours, x)
            expected = torch.autograd.grad(
                loop.losses(theirs, batch, spec.c_star, 0.5).sum(), list(theirs.values())
            )
            if i == 0:  # from the same weights; later the two sides may differ in a last digit
                gaps = [
                    abs(float(getattr(slope, n)) / e.item() - 1)
                    for n, e in zip(theirs, expected, strict=True)
                ]
                slopes = max(gaps)
            ours = jax.tree.map(lambda w, s: w - spec.eta * s, ours, slope)
            loop.step(theirs, batch, 0.1, spec.c_star, 0.5)
        way = max(
            abs((float(getattr(ours, n)) - w.item()) / (w.item() - first))
            for n, w in theirs.items()
        )
    table.add(section, "same batch: largest relative difference of the gradient", slopes, "", -SAME)
    table.add(section, "same batches: largest relative difference of the way gone", way, "", -SAME)
    if not max(slopes, way) < SAME:
        raise SystemExit(
            f"online_sgd and the loop take different paths ({slopes:.3g}, {way:.3g}): no speed is compared."
        )


def flow(table: Table, quick: bool) -> None:
    """The sampling-free flow against the descent it replaces."""
    from phasescope.studies.lazy_to_rich.kernels import tabulated

    table.title("exact_flow to t = 10^4 against 10^5 eager steps of descent (B = 1000)")
    steps, loops = loop_steps(quick)
    at = [10.0 ** (i / 20) for i in range(-20, 81)]
    alphas = [0.8 + 0.01 * i for i in range(64)]
    numbers = iter(range(1, 10**6))
    one = lambda: execute(job_of("exact_flow", at, alpha=1 + 1e-3 * next(numbers), horizon=1e4))
    lanes = lambda: execute(job_of("exact_flow", at, {"alpha": alphas}, horizon=1e4))

    def anew():
        tabulated.tabulate.cache_clear()
        one()

    anew(), lanes()  # compiled
    best = take_turns(
        loops | {"table and flow": anew, "flow": one, "64 lanes": lanes}, 1 if quick else 5
    )
    base = min((best[name] for name in loops), key=lambda timing: timing.wall)
    for name in loops:
        table.add("flow", f"eager loop, {name}", 1e6 * best[name].wall / steps, "us/step")
    table.add("flow", "exact_flow, table included", 1e3 * best["table and flow"].wall, "ms")
    scale = STEPS / steps
    ratio(
        table,
        "flow",
        "10^5 eager steps / exact_flow with its table",
        base,
        best["table and flow"],
        scale,
        150,
    )
    ratio(
        table,
        "flow",
        "10^5 eager steps / a further (alpha, sigma)",
        base,
        best["flow"],
        scale,
        1000,
    )
    ratio(table, "flow", "the same, as one of 64 lanes", base, best["64 lanes"], 64 * scale, 1000)


def descent(table: Table, quick: bool) -> None:
    """The sampled arm per step."""
    table.title("online_sgd (B = 1000, L = 40) against the eager loop, per step")
    steps, loops = loop_steps(quick)
    same_path(table, "descent")
    ours, width = 200 if quick else 2000, 8
    times = [0.1 * ours]
    alone = lambda: execute(job_of("online_sgd", times, steps=ours))
    columns = {"alpha": [0.5 + 0.25 * i for i in range(width)]}
    shared = lambda: execute(job_of("online_sgd", times, columns, steps=ours // 4))
    alone(), shared()
    best = take_turns(loops | {"alone": alone, "shared": shared}, 1 if quick else 5)
    base = min((best[name] for name in loops), key=lambda timing: timing.wall)
    for name in loops:
        table.add("descent", f"eager loop, {name}", 1e6 * best[name].wall / steps, "us/step")
    table.add("descent", "online_sgd", 1e6 * best["alone"].wall / ours, "us/step")
    ratio(
        table,
        "descent",
        "eager loop / online_sgd, per step",
        base,
        best["alone"],
        ours / steps,
        1.3,
    )
    scale = width * (ours // 4) / steps
    ratio(
        table,
        "descent",
        "eager loop / online_sgd, 8 lanes that share batches",
        base,
        best["shared"],
        scale,
        3,
    )


def many(table: Table, quick: bool) -> None:
    """10^4 trajectories of the mean field."""
    import itertools

    import numpy as np

    table.title("mean_field_flow to t = 4000 over (alpha, w*, sigma), 128 lanes a block")
    axes = np.linspace(0.3, 3, 25), np.linspace(0.2, 0.6, 20), np.geomspace(1e-4, 0.05, 20)
    runs = list(itertools.product(*axes))[:: 40 if quick else 1]
    at = [10.0**i for i in np.linspace(-1, np.log10(4000), 40)]
    names = ("alpha", "w_star", "sigma")
    blocks = [runs[i : i + 128] for i in range(0, len(runs), 128)]
    padded = [block + block[-1:] * (128 - len(block)) for block in blocks]
    work = lambda block: execute(
        job_of(
            "mean_field_flow",
            at,
            dict(zip(names, map(list, zip(*block, strict=True)), strict=True)),
        )
    )
    work(padded[0])
    wall, cpu = time.perf_counter(), time.process_time()
    for block in padded:
        found = work(block)
        assert found.sound and np.isfinite(found.records["loss"]).all()
    taken = Timing(time.perf_counter() - wall, time.process_time() - cpu)
    table.add(
        "many", f"{len(runs)} trajectories", taken.wall, "s", note=f"CPU time: {taken.cpu:.4g}"
    )
    table.add("many", "trajectories per second", len(runs) / taken.wall, "1/s")


if __name__ == "__main__":
    sys.exit(main(__doc__, {"flow": flow, "descent": descent, "many": many}))
