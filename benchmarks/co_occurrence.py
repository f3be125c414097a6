"""Speed of the study `co_occurrence`: everything is a ratio, measured side by side in this process.

    python benchmarks/co_occurrence.py [--only step|figure|orthogonal|lanes] [--quick] [--json FILE]

The process keeps to one core, all numbers are float64. The base is gradient descent in eager PyTorch, written from the
paper's equations (`torch_co_occurrence.py`); the fastest way of several counts. Loops that already contain the exact
reduction of the MLP to a vector are timed beside it, as "same reduction, eager", without a threshold. Before anything
is timed, trajectories are compared. The eager loops record nothing; ours record all observables a few times.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from harness import Table, Timing, main, ratio, record_steps, take_turns, torch_or_exit

SAME = 1e-10  # largest difference of the loss of a type between contestants that do the same
SAMPLE = 200  # eager steps that are timed in each round


def job(
    arm: str,
    preset: str | None,
    at: tuple[float, ...] | None = None,
    columns: Any = None,
    **changes: Any,
):
    """What `phasescope run` would execute."""
    from phasescope.engine.job import Job
    from phasescope.study import find

    study = find("co_occurrence")
    return Job(study.arm(arm), study.specify(preset, **changes), columns=columns or {}, at=at)


def execute(work) -> dict[float, Any]:
    """Run a job through the product's engine; the losses of the four types by time."""
    from phasescope.engine.loop import execute

    losses = {}
    for chunk in execute(work):
        losses |= dict(zip(chunk.time.tolist(), chunk.records["loss_type"], strict=True))
    return losses


def eager(preset: str, style: str):
    """The eager loop from the very weights and samples of seed 0."""
    torch_or_exit()
    import jax
    import jax.random as jr
    import numpy as np
    import torch_co_occurrence

    from phasescope.studies.co_occurrence.training import batch_of, random_start, weights

    work = job("weights", preset)
    with jax.enable_x64(True):
        start, _ = random_start(work.spec, jr.fold_in(work.key(), 0))
        run = weights(work.spec).init(jr.fold_in(work.key(), 0))
        batch, d = batch_of(run, work.spec), work.spec.dim
        matrices = [*(np.asarray(w)[:, :d] for w in start.weights[:3]), np.asarray(start.weights.W)]
    return torch_co_occurrence.Loop(
        matrices, start.a, batch.tokens, batch.labels, work.spec.eta, style
    ), batch


def path(preset: str, style: str, steps: tuple[int, ...]) -> dict[float, Any]:
    """The losses of the four types along the eager loop, after these steps."""
    import numpy as np

    loop, batch = eager(preset, style)
    found, done = {}, 0
    for step in steps:
        loop.run(step - done)
        done = step
        losses = loop.losses().detach().numpy()
        found[step * loop.eta] = np.array([losses[batch.types == kind].mean() for kind in range(4)])
    return found


def difference(found: dict[float, Any], reference: dict[float, Any]) -> float:
    """The largest difference of the loss of a type, at all times of the reference."""
    import numpy as np

    times = np.array(sorted(found))
    nearest = lambda t: found[times[np.argmin(abs(times - t))]]
    assert all(np.min(abs(times - t)) < 1e-9 * (1 + t) for t in reference), "records at other times"
    return max(float(np.max(abs(nearest(t) - x))) for t, x in reference.items())


def demand(table: Table, section: str, name: str, gap: float, most: float) -> None:
    """Nothing is timed that does not do the same."""
    table.add(section, f"{name}: largest difference of a type's loss", gap, "", -most)
    if not gap < most:
        raise SystemExit(
            f"{name} does not follow the same trajectory: {gap:.3g}; its speed means nothing."
        )


def loops(preset: str) -> dict[str, Any]:
    """All eager styles as contestants, warmed up."""
    import torch_co_occurrence

    made = {style: eager(preset, style)[0] for style in torch_co_occurrence.STYLES}
    for loop in made.values():
        loop.run(20)
    return {style: (lambda loop=loop: Timing(*loop.run(SAMPLE))) for style, loop in made.items()}


def against_eager(
    table: Table,
    section: str,
    name: str,
    best: dict[str, Timing],
    ours: Timing,
    steps: float,
    wanted: float | None = None,
) -> None:
    """Ratios to the eager loops; the threshold holds for the fastest that is written from the paper's equations."""
    import torch_co_occurrence

    base = min(torch_co_occurrence.PRINTED, key=lambda style: best[style].wall)
    for style in torch_co_occurrence.STYLES:
        reduced = " (same reduction, eager)" if style in torch_co_occurrence.REDUCED else ""
        words = f"{name} against {style}{reduced}"
        ratio(
            table,
            section,
            words,
            best[style],
            ours,
            steps / SAMPLE,
            wanted if style == base else None,
        )


def products(steps: int):
    """The three products of matrices that a dense step cannot do without, added to the weights, and nothing else."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        K, Q = 0.1 * jnp.ones((128, 64)), 0.1 * jnp.ones((128, 64))

        def one(t, pair):
            K, Q = pair
            M = 1e-9 * (K.T @ Q)
            return K + Q @ M.T, Q + K @ M

        run = jax.jit(lambda pair: jax.lax.fori_loop(0, steps, one, pair))
        jax.block_until_ready(run((K, Q)))

    def timed():
        with jax.enable_x64(True):
            jax.block_until_ready(run((K, Q)))

    return timed


def step(table: Table, quick: bool) -> None:
    """One step of descent on the weights, in the paper's own setting."""
    import torch_co_occurrence

    steps = 2000 if quick else 10_000
    at = (1, 3, 10, 30, 100, 300)
    table.title(
        f"One run of the paper's experiment (n=60, L=5, d=64, m=128, m1=256), {steps} steps"
    )
    times = tuple(0.01 * t for t in at)
    mine = execute(job("weights", "figure1", times, steps=at[-1]))
    for style in torch_co_occurrence.STYLES:
        demand(table, "step", f"torch {style}", difference(mine, path("figure1", style, at)), SAME)
    few = tuple(0.01 * t for t in record_steps(steps, 10))
    works = {arm: job(arm, "figure1", few, steps=steps) for arm in ("weights", "gram_descent")}
    for work in works.values():
        execute(work)
    contestants = loops("figure1") | {
        arm: (lambda work=work: execute(work)) for arm, work in works.items()
    }
    best = take_turns(contestants | {"products": products(steps)}, 2 if quick else 5)
    for style in torch_co_occurrence.STYLES:
        table.add("step", f"torch eager, {style}", 1e6 * best[style].wall / SAMPLE, "us/step")
    for arm in works:
        table.add("step", f"{arm}, warm, 10 records", 1e6 * best[arm].wall / steps, "us/step")
    table.add("step", "three dense products alone", 1e6 * best["products"].wall / steps, "us/step")
    against_eager(table, "step", "weights", best, best["weights"], steps, 15)


def figure(table: Table, quick: bool) -> None:
    """The 30,000 epochs of Figure 1 by the Gram flow."""
    epochs = 3000 if quick else 30_000
    table.title(
        f"Figure 1's {epochs} epochs by the gram flow (1e-6 a step), against the eager loop"
    )
    steps = record_steps(epochs, 24)
    times = tuple(0.01 * t for t in steps)
    # Descent with this step is some 1e-3 off the flow on the way, in proportion to the step: extrapolated from two step sizes
    # it must be on the flow all along, and by the last of 30,000 epochs it must be there as it is.
    numbers = {"horizon": 0.01 * epochs, "accuracy": "coarse"}
    for preset in ("figure1_gain", "figure1"):
        flow = execute(job("gram", preset, times, **numbers))
        descent = execute(job("weights", preset, times, steps=epochs))
        halved = execute(job("weights", preset, times, steps=2 * epochs, eta=0.005))
        last, most = max(descent), 2e-5 if not quick else 1e-2
        table.add(
            "figure", f"gram flow, {preset}: difference on the way", difference(flow, descent), ""
        )
        limit = {t: 2 * x - descent[t] for t, x in halved.items()}
        demand(
            table,
            "figure",
            f"gram flow, {preset}, descent to step 0",
            difference(flow, limit),
            most,
        )
        demand(
            table,
            "figure",
            f"gram flow, {preset}, at the end",
            difference(flow, {last: descent[last]}),
            most,
        )
    works = {
        preset: job("gram", preset, times, **numbers) for preset in ("figure1_gain", "figure1")
    }
    contestants = loops("figure1") | {
        name: (lambda work=work: execute(work)) for name, work in works.items()
    }
    best = take_turns(contestants, 2 if quick else 5)
    for name in works:
        table.add("figure", f"gram flow, {name}, warm, 24 records", best[name].wall, "s")
        against_eager(
            table, "figure", f"gram flow, {name},", best, best[name], epochs, None if quick else 150
        )


def orthogonal(table: Table, quick: bool) -> None:
    """The reduction to 149 numbers, at any sizes, without compiling anew."""
    from phasescope.engine.programs import advance_stage_jit

    table.title("orthogonal: gradient flow to kappa t = 10^8 at any sizes, 240 records")
    sizes = (
        {"samples": 60, "length": 5, "dim": 163, "width": 128, "neurons": 256},
        {"samples": 600, "length": 3, "dim": 10**4, "width": 10**4, "neurons": 7},
        {"samples": 6000, "length": 50, "dim": 10**6, "width": 1024, "neurons": 10**5},
        {"samples": 10**7, "length": 5, "dim": 10**9, "width": 10**6, "neurons": 64},
    )
    began = time.perf_counter()
    execute(job("orthogonal", "orthogonal", **sizes[0]))
    table.add("orthogonal", "compile and first run", time.perf_counter() - began, "s")
    before = advance_stage_jit._cached._cache_size()  # type: ignore[attr-defined]
    works = {str(tuple(x.values())): job("orthogonal", "orthogonal", **x) for x in sizes}
    best = take_turns(
        {name: (lambda work=work: execute(work)) for name, work in works.items()}, 2 if quick else 5
    )
    for name, timing in best.items():
        table.add(
            "orthogonal",
            f"(n, L, d, m, m1) = {name}",
            timing.wall,
            "s",
            -0.5,
            f"CPU {timing.cpu:.3g} s",
        )
    again = advance_stage_jit._cached._cache_size() - before  # type: ignore[attr-defined]
    table.add("orthogonal", "programs compiled for the other sizes", again, "")
    if again:
        raise SystemExit("Other sizes compiled anew.")


def lanes(table: Table, quick: bool) -> None:
    """A thousand seeds of `weights` as lanes."""
    runs, steps, block = (64, 100, 16) if quick else (1024, 200, 16)
    table.title(
        f"{runs} seeds of weights, {steps} steps each, start and records included, in blocks of {block}"
    )
    times = (0.01 * steps,)
    single = job("weights", "figure1", times, steps=steps)
    alone = execute(single)
    seeds = lambda i: {"seed": tuple(range(i, i + block))}
    works = [job("weights", "figure1", times, seeds(i), steps=steps) for i in range(0, runs, block)]
    first = {t: x[..., 0] for t, x in execute(works[0]).items()}
    demand(table, "lanes", "lane 0 against its own run", difference(first, alone), SAME)
    best = take_turns(
        loops("figure1") | {"single": lambda: execute(single), "block": lambda: execute(works[0])},
        5,
    )
    best |= take_turns({"lanes": lambda: [execute(work) for work in works]}, 1)
    for name, count in (("single", 1), ("block", block), ("lanes", runs)):
        words = {
            "single": "weights, one run",
            "block": f"weights, {block} seeds",
            "lanes": f"weights, {runs} seeds",
        }[name]
        table.add("lanes", words, 1e6 * best[name].wall / count / steps, "us/run-step")
    table.add("lanes", f"weights, {runs} seeds", runs * steps / best["lanes"].wall, "run-steps/s")
    words = "a run in a block against a run by itself"
    table.add("lanes", words, best["block"].wall / block / best["single"].wall, "")
    against_eager(table, "lanes", "weights in lanes", best, best["lanes"], runs * steps)


if __name__ == "__main__":
    sys.exit(
        main(__doc__, {"step": step, "figure": figure, "orthogonal": orthogonal, "lanes": lanes})
    )
