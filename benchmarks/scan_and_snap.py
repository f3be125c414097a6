"""Speed of the study `scan_and_snap`: everything is a ratio, measured side by side in this process.

    python benchmarks/scan_and_snap.py [--only small|figure_6|sizes|diagram] [--quick] [--json FILE]

The process keeps to one core. Contestants take turns, and the best of several rounds counts. Before anything is
timed, their trajectories are compared on the same sequences. JAX is timed through the product's own engine, in
float64 but for Figure 6; the eager loops use float32, as one would. README.md says what each line means.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from harness import Table, Timing, main, ratio, take_turns, torch_or_exit

SAME = 1e-10  # largest relative difference of losses between contestants
FIGURE_6 = ((1, 33), (3, 79), (5, 125), (10, 240))  # last tokens of a panel, and its vocabulary
RATES, RATIOS, SEEDS = (0.5, 1.0, 2.0, 3.0), (1.0, 2.0, 5.0, 10.0), 10
UPDATES = 100
PRINTED = (
    "one_hot"  # the model as the paper prints it: the loop that the thresholds were set against
)


def job(
    arm: str,
    columns: dict[str, Sequence[float]] | None = None,
    at: Sequence[float] = (),
    seed=0,
    **changes: Any,
):
    """What `phasescope run` or a block of a sweep would execute; by default recorded at every tenth of the way."""
    from phasescope.engine.job import Job
    from phasescope.study import find

    study = find("scan_and_snap")
    spec = study.specify(None, **changes)
    times = at or [spec.steps * (i + 1) // 10 for i in range(10)]
    return Job(study.arm(arm), spec, seed, columns=columns or {}, at=tuple(map(float, times)))


def execute(job, name: str = "loss") -> dict[int, Any]:
    """Run a job through the product's engine; an observable by step."""
    from phasescope.engine.loop import execute

    seen = {}
    for chunk in execute(job):
        seen |= {round(t): x for t, x in zip(chunk.time.tolist(), chunk.records[name], strict=True)}
    return seen


def compare(
    table: Table, section: str, name: str, found: Sequence[float], reference: Sequence[float]
) -> None:
    """Nothing is timed that does not do the same."""
    import numpy as np

    gap = float(np.max(np.abs(np.asarray(found) / np.asarray(reference) - 1)))
    table.add(section, f"{name}: largest relative difference of the loss", gap, "", -SAME)
    if not gap < SAME:
        raise SystemExit(
            f"{name} does not follow the same trajectory: {gap:.3g}; its speed means nothing."
        )


def loops():
    """The eager loops, if torch is there."""
    torch_or_exit()
    import torch_scan_and_snap

    return torch_scan_and_snap


def same_sequences(
    table: Table,
    section: str,
    num_last: int,
    per_last: int,
    init: str,
    steps: int,
    styles: Sequence[str],
) -> None:
    """The eager loops on sequences with the counts that the engine draws, against the engine."""
    import jax
    import jax.random as jr
    import numpy as np
    import torch

    from phasescope.engine.precision import exact_numbers
    from phasescope.studies.scan_and_snap.training import sampling

    eager = loops()
    work = job(
        "sampled",
        num_last=num_last,
        per_last=per_last,
        init=init,
        steps=steps,
        at=range(1, steps + 1),
    )
    ours = [float(x) for t, x in sorted(execute(work, "batch_loss").items()) if t > 0]
    data, spec = eager.Data.syn(num_last, per_last, torch.float64), work.spec
    with exact_numbers():
        key = jr.split(jr.fold_in(work.key(), 1))[1]  # as the engine derives it for the first stage
        draw = jax.jit(lambda t: sampling.draw(jr.fold_in(key, t), spec))
        batches = [jax.device_get(draw(t)) for t in range(steps)]
        first = (
            jax.device_get(sampling.uniform_start(jr.fold_in(work.key(), 0), spec))
            if init == "uniform"
            else None
        )
    C, D, S, K = spec.common, spec.distinct, spec.context, spec.labels
    given = []
    for label, counts in batches:
        slots = np.stack([np.repeat(np.arange(C + D), row.astype(int)) for row in counts])
        given.append(
            (
                torch.tensor(label),
                torch.tensor(np.where(slots < C, slots, slots + D * label[:, None])),
            )
        )
    start = None
    if first is not None:
        M = data.P.shape[1]
        order = np.r_[
            data.label.numpy(), np.setdiff1d(np.arange(M), data.label.numpy())
        ]  # labels come first
        start = np.zeros((M, M)), np.zeros((M, M))
        start[0][:S, order], start[1][S : S + num_last, :S] = first.Y, first.Z
    for style in styles:
        log = eager.train(steps, data, 1.0, 1.0, style=style, given=given, start=start)[0]
        compare(
            table, section, f"sampled, K = {K}, torch {style} on the same sequences", ours, log.loss
        )


def small(table: Table, quick: bool) -> None:
    """One step of Syn-Small: mini-batches of 128 sequences of 128 tokens, and endless sequences."""
    eager = loops()
    table.title("Syn-Small (K = 2, M = 34): batch 128, T = 128, momentum 0.9")
    same_sequences(table, "small", 2, 1, "zero", 10, eager.STYLES)
    import torch

    exact = eager.Data.syn(2, 1, torch.float64)
    losses = eager.population(UPDATES + 1, exact, 1.0, 1.0)[0].loss
    for arm in ("population", "symmetric"):
        found = execute(job(arm, steps=UPDATES))
        compare(
            table,
            "small",
            f"{arm} against torch population",
            list(found.values()),
            [losses[t] for t in found],
        )

    data, sample = eager.Data.syn(2, 1), 50 if quick else 200
    steps = {"sampled": 1000, "population": 100_000, "symmetric": 100_000}
    if quick:
        steps = {name: n // 5 for name, n in steps.items()}
    work = {arm: job(arm, steps=n) for arm, n in steps.items()}
    contestants: dict[str, Callable[[], Any]] = {
        style: (lambda s=style: Timing(*eager.train(sample, data, 1.0, 1.0, style=s)[1:]))
        for style in eager.STYLES
    }
    contestants["torch population"] = lambda: Timing(*eager.population(sample, data, 1.0, 1.0)[1:])
    contestants |= {arm: (lambda j=j: execute(j)) for arm, j in work.items()}
    for j in work.values():
        execute(j)
    best = take_turns(contestants, 2 if quick else 6)
    for name in (*eager.STYLES, "torch population"):
        table.add("small", f"torch eager, {name}", 1e6 * best[name].wall / sample, "us/step")
    for arm, n in steps.items():
        table.add("small", arm, 1e6 * best[arm].wall / n, "us/step", note=f"{n} steps, 10 records")
    for arm, wanted in (("sampled", 7), ("population", 400), ("symmetric", None)):
        for style in eager.STYLES:
            name, least = (
                f"{arm} against a sampled step of torch {style}",
                wanted if style == PRINTED else None,
            )
            ratio(table, "small", name, best[style], best[arm], steps[arm] / sample, least)
    for arm in ("population", "symmetric"):
        name = f"{arm} against a population step of torch"
        ratio(table, "small", name, best["torch population"], best[arm], steps[arm] / sample)


def figure_6(table: Table, quick: bool) -> None:
    """The whole of Figure 6: 4 panels, 4 rates, 4 ratios, 10 seeds, 100 updates each from a random start."""
    eager = loops()
    runs = len(RATES) * len(RATIOS)
    panels = FIGURE_6[:2] if quick else FIGURE_6
    seeds = 1 if quick else SEEDS
    table.title(
        f"Figure 6: {len(panels)} panels, {runs} rates x {seeds} seeds, {UPDATES} updates, in float32"
    )
    total = {name: Timing(0.0, 0.0) for name in (*eager.STYLES, "sampled")}
    compiling = 0.0
    for last, _ in panels:
        same_sequences(table, "figure_6", last, 2, "uniform", 3, eager.STYLES)
        data = eager.Data.syn(last, 2)
        first = take_turns({"first": lambda n=last: panel(n, SEEDS)}, 1)["first"]
        best = {"sampled": Timing(0.0, 0.0)} | {
            s: Timing(float("inf"), float("inf")) for s in eager.STYLES
        }
        steps = {"lookup": 40, "one_hot": 8}
        for seed in range(seeds):  # an eager loop between any two seeds
            turns = {"sampled": lambda n=last, s=seed: panel(n, s)}
            turns |= {
                s: (
                    lambda s=s, d=data, n=steps[s]: Timing(
                        *eager.train(n, d, 1.0, 1.0, style=s, init="uniform")[1:]
                    )
                )
                for s in eager.STYLES
                if s != "one_hot" or seed < 2
            }
            for name, spent in take_turns(turns, 1 if quick else 2).items():
                if name == "sampled":
                    best[name] = Timing(best[name].wall + spent.wall, best[name].cpu + spent.cpu)
                else:
                    best[name] = Timing(
                        min(best[name].wall, spent.wall), min(best[name].cpu, spent.cpu)
                    )
        scale = runs * seeds * UPDATES
        for name, spent in best.items():
            count = scale if name == "sampled" else steps[name]
            words = (
                f"sampled, {runs} lanes that share their draws"
                if name == "sampled"
                else f"torch {name}"
            )
            table.add(
                "figure_6", f"K = {2 * last}: {words}", 1e6 * spent.wall / count, "us/run-step"
            )
            total[name].wall += spent.wall * scale / count
            total[name].cpu += spent.cpu * scale / count
        compiling += first.wall - best["sampled"].wall / seeds
    for name, spent in total.items():
        note = (
            ""
            if name == "sampled"
            else f"a sample of steps of each panel, scaled to {runs * seeds} runs"
        )
        table.add("figure_6", f"all panels, {name}", spent.wall, "s", note=note)
    table.add("figure_6", "compiling", compiling, "s")
    for style in eager.STYLES:
        least = 30 if style == PRINTED else None
        ratio(
            table,
            "figure_6",
            f"Figure 6 against torch {style}",
            total[style],
            total["sampled"],
            1.0,
            least,
        )


def panel(last: int, seed: int, precision: str = "float32") -> None:
    """The runs of one panel with one seed: one block, whose runs share their draws."""
    grid = {"eta_Z": tuple(z for z in RATES for _ in RATIOS), "ratio": RATIOS * len(RATES)}
    numbers = {
        "num_last": last,
        "per_last": 2,
        "init": "uniform",
        "steps": UPDATES,
        "precision": precision,
    }
    execute(job("sampled", grid, [UPDATES], seed, **numbers), "dt_entropy")


def sizes(table: Table, quick: bool) -> None:
    """`symmetric` costs the same whatever K and M are."""
    steps = 20_000 if quick else 200_000
    table.title(f"symmetric, {steps} steps: K = 2, M = 34 against K = 100, M = 30,000")
    few = job("symmetric", steps=steps, classes=2.0, vocabulary=34.0)
    many = job("symmetric", steps=steps, classes=100.0, vocabulary=30_000.0)
    execute(few), execute(many)
    best = take_turns(
        {"few": lambda: execute(few), "many": lambda: execute(many)}, 3 if quick else 8
    )
    for name, words in (("few", "K = 2, M = 34"), ("many", "K = 100, M = 30,000")):
        table.add("sizes", words, 1e6 * best[name].wall / steps, "us/step")
    table.add(
        "sizes",
        "time of the large one over the small one",
        best["many"].wall / best["few"].wall,
        "",
        -1.05,
    )


def diagram(table: Table, quick: bool) -> None:
    """A phase diagram of `symmetric` over eta_Y / eta_Z and K, on whatever device JAX has."""
    import jax
    import numpy as np

    device = jax.devices()[0]
    rows, columns = (40, 25) if quick else (400, 250)
    ratios, classes = (
        x.ravel() for x in np.meshgrid(np.geomspace(0.1, 100, rows), np.geomspace(2, 1000, columns))
    )
    cpu, cells = device.platform == "cpu", len(ratios)
    table.title(
        f"Phase diagram: {cells} cells (eta_Y / eta_Z x K) of symmetric, on {device.device_kind}"
    )

    def blocks(width: int, count: int, steps: int) -> None:
        for i in np.linspace(0, cells - width, count).astype(int):
            lanes = {
                "ratio": ratios[i : i + width].tolist(),
                "classes": classes[i : i + width].tolist(),
            }
            execute(job("symmetric", lanes, [steps], steps=steps))

    for width in (128, 512) if cpu else (4096, 32_768, cells):
        first = take_turns({"first": lambda w=width: blocks(w, 1, UPDATES)}, 1)["first"]
        for steps in (UPDATES, 40 * UPDATES):
            count = min(8 * UPDATES // steps + 2, -(-cells // width))
            best = take_turns(
                {"cells": lambda w=width, n=count, s=steps: blocks(w, n, s)}, 1 if quick else 3
            )["cells"]
            speed = count * width * steps / best.wall
            whole = cells * steps / speed
            note = f"{count} blocks timed, all cells {whole:.3g} s; compiling {first.wall:.1f} s"
            table.add(
                "diagram", f"lanes of {width}, {steps} updates", speed, "run-steps/s", note=note
            )


if __name__ == "__main__":
    sys.exit(
        main(__doc__, {"small": small, "figure_6": figure_6, "sizes": sizes, "diagram": diagram})
    )
