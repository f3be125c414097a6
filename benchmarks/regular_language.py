"""Speed of the study `regular_language`: everything is a ratio, measured side by side in this process.

    python benchmarks/regular_language.py [--only single|lanes|scaling] [--quick] [--json FILE]

The process keeps to one core. Contestants take turns, and the best of several rounds counts. Before anything is
timed, their trajectories are compared. README.md says what each line means and which numbers it should reach.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness import Table, Timing, main, ratio, record_steps, take_turns, torch_or_exit

SAME = 1e-10  # largest relative difference of losses between contestants
STEPS, SWITCH, LENGTH, LAM, ETA = 10_000, 100, 6, 2.0, 0.1  # the paper's own setting
RECORDS = 100
TORCH_SAMPLE = 400  # steps of the eager loop that are timed in each round, and scaled to 10^4
PRINTED = (
    "einsum"  # the model as the paper prints it: the loop that the thresholds were set against
)


def engine_job(
    arm: str,
    steps: int = STEPS,
    columns: dict[str, Sequence[float]] | None = None,
    keep: tuple[str, ...] | None = None,
    **changes: Any,
):
    """What `phasescope run` would execute, recorded at 100 log-spaced steps; `keep` as in `ps.run`."""
    from phasescope.engine.job import Job
    from phasescope.records.choice import wanted_of
    from phasescope.studies.regular_language import study

    spec = study.specify(None, steps=steps, **changes)
    at = tuple(map(float, record_steps(steps)))
    job = Job(study.arm(arm), spec, columns=columns or {}, at=at)
    return job.wanting(wanted_of(study.name, job, keep, None))


def execute(job) -> dict[int, Any]:
    """Run a job through the product's engine; the loss by step. It is copied, so that the other records can go, as they do in
    a sweep once they are stored: views of them would keep a gigabyte of 8,192 runs."""
    from phasescope.engine.loop import execute

    losses = {}
    for chunk in execute(job):
        losses |= {
            round(t): x.copy()
            for t, x in zip(chunk.time.tolist(), chunk.records["loss"], strict=True)
        }
    return losses


def difference(found: dict[int, Any], reference: dict[int, Any]) -> float:
    """The largest relative difference at the steps both have."""
    import numpy as np

    common = sorted(set(found) & set(reference))
    assert len(common) >= RECORDS // 2, f"only {len(common)} steps in common"
    return max(
        float(np.max(np.abs(np.asarray(found[t]) / np.asarray(reference[t]) - 1))) for t in common
    )


def compare(
    table: Table, section: str, name: str, found: dict[int, Any], reference: dict[int, Any]
) -> None:
    """Nothing is timed that does not do the same."""
    gap = difference(found, reference)
    table.add(section, f"{name}: largest relative difference of the loss", gap, "", -SAME)
    if not gap < SAME:
        raise SystemExit(
            f"{name} does not follow the same trajectory: {gap:.3g}; its speed means nothing."
        )


def torch_loops():
    """The eager loops, if torch is there."""
    torch_or_exit()
    import torch_regular_language

    return torch_regular_language


def eager(style: str, steps: int = TORCH_SAMPLE) -> Callable[[], Timing]:
    """A sample of the eager loop, as a contestant."""
    torch_loop = torch_loops()
    return lambda: Timing(*torch_loop.train(steps, LENGTH, LAM, ETA, SWITCH, style)[1:])


def single(table: Table, quick: bool) -> None:
    """One run of 10^4 steps, in the paper's own setting."""
    torch_loop, loops = torch_loops(), _c_loops(1)
    steps = 2000 if quick else STEPS
    at = record_steps(steps)
    table.title(f"One run, N = {LENGTH}, {steps} steps, float64, {RECORDS} log-spaced records")

    firsts, paths = {}, {}
    for arm in ("symmetric", "exhaustive"):
        job = engine_job(arm, steps)
        began = time.perf_counter()
        paths[arm] = execute(job)
        firsts[arm] = time.perf_counter() - began
    reference = dict(enumerate(torch_loop.train(steps, LENGTH, LAM, ETA, SWITCH)[0].loss))
    for style in torch_loop.STYLES[1:]:
        log = torch_loop.train(200, LENGTH, LAM, ETA, SWITCH, style)[0]
        compare(table, "single", f"torch {style} (200 steps)", dict(enumerate(log.loss)), reference)
    for arm, path in paths.items():
        compare(table, "single", f"{arm} arm", path, reference)
    for block, loop in loops.items():
        path = loop(LAM, ETA, steps, SWITCH, at)[0]
        compare(
            table,
            "single",
            f"C, blocks of {block}",
            dict(zip(at, path[:, 0], strict=True)),
            reference,
        )

    jobs = {arm: engine_job(arm, steps) for arm in paths}
    contestants: dict[str, Callable[[], Any]] = {style: eager(style) for style in torch_loop.STYLES}
    contestants |= {arm: (lambda job=job: execute(job)) for arm, job in jobs.items()}
    if loops:
        contestants["C"] = lambda: loops[1](LAM, ETA, steps, SWITCH, at, True)
    best = take_turns(contestants, 3 if quick else 6)

    scale = steps / TORCH_SAMPLE
    for style in torch_loop.STYLES:
        note = f"{TORCH_SAMPLE} steps timed; {scale * best[style].wall:.2f} s for {steps} (scaled)"
        table.add(
            "single",
            f"torch eager, {style}",
            1e6 * best[style].wall / TORCH_SAMPLE,
            "us/step",
            note=note,
        )
    base = scale * best[PRINTED].wall
    for arm in ("exhaustive", "symmetric"):
        table.add("single", f"{arm}, warm", 1e6 * best[arm].wall / steps, "us/step")
    if loops:
        table.add(
            "single",
            "C, the reduced system, loss every step",
            1e6 * best["C"].wall / steps,
            "us/step",
        )
    for arm, least in (("exhaustive", 50), ("symmetric", 800)):
        for rival in torch_loop.STYLES:
            wanted = least if rival == PRINTED else None
            ratio(
                table,
                "single",
                f"{arm} against torch {rival}",
                best[rival],
                best[arm],
                scale,
                wanted,
            )
    if loops:
        ratio(
            table, "single", "C against symmetric (what is left)", best["symmetric"], best["C"], 1.0
        )
    for arm, seconds in firsts.items():
        table.add("single", f"{arm}: compile and first run", seconds, "s")
        for rival in torch_loop.STYLES:
            words = f"{arm}: torch {rival} / (compile and run)"
            table.add(
                "single",
                words,
                scale * best[rival].wall / seconds,
                "x",
                1 if rival == PRINTED else None,
            )
    end_to_end(table, steps, base)


def end_to_end(table: Table, steps: int, base: float) -> None:
    """`ps.run` as a user calls it: executed, derived quantities added, stored, loaded; then found in the store."""
    import phasescope as ps

    with tempfile.TemporaryDirectory() as folder:
        at, fresh = record_steps(steps), []
        go = lambda eta: ps.run(
            "regular_language",
            "symmetric",
            steps=steps,
            eta=eta,
            at=at,
            store=folder,
            progress=False,
        )
        go(0.09)
        for eta in (0.091, 0.092, 0.093):
            began = time.perf_counter()
            go(eta)
            fresh.append(time.perf_counter() - began)
        again = take_turns({"again": lambda: go(0.093)}, 3)["again"]
    table.add("single", "ps.run(symmetric) end to end, stored", min(fresh), "s")
    table.add("single", "ps.run(symmetric) end to end against torch", base / min(fresh), "x")
    table.add("single", "the same run, found in the store", again.wall, "s")


def lanes(table: Table, quick: bool) -> None:
    """8,192 runs of `symmetric` over (lam, eta), in blocks."""
    import numpy as np

    runs, steps = (1024, 2000) if quick else (8192, STEPS)
    trial = 256 if quick else 512
    widths, blocks = (32, 64, 128, 256), (8, 16, 32, 64)
    lam, eta = (
        x.ravel()
        for x in np.meshgrid(
            np.linspace(2, 18, runs // 32), np.linspace(0.05, 0.2, 32), indexing="ij"
        )
    )
    at = record_steps(steps)
    table.title(f"{runs} runs over lam and eta, {steps} steps each, {RECORDS} log-spaced records")

    def in_blocks(width: int, count: int, keep: tuple[str, ...] | None = None) -> dict[int, Any]:
        """The product's own cut of a sweep: what was asked with the columns of each block, one after the other."""
        asked = engine_job("symmetric", steps, keep=keep)
        parts = []
        for i in range(0, count, width):
            columns = {
                "lam": tuple(lam[i : i + width].tolist()),
                "eta": tuple(eta[i : i + width].tolist()),
            }
            parts.append(execute(dataclasses.replace(asked, columns=columns)))
        return {t: np.concatenate([p[t] for p in parts]) for t in parts[0]}

    few = slice(0, 256)
    alone = execute(engine_job("exhaustive", steps, lam=float(lam[40]), eta=float(eta[40])))
    path = in_blocks(64, 256)
    compare(
        table,
        "lanes",
        "lane 40 against its own exhaustive run",
        {t: x[40] for t, x in path.items()},
        alone,
    )
    loops = _c_loops(*blocks)
    for block, loop in loops.items():
        found = dict(zip(at, loop(lam[few], eta[few], steps, SWITCH, at)[0], strict=True))
        compare(table, "lanes", f"C, blocks of {block}: 256 runs", found, path)

    # Which width, which block: on fewer runs.
    contestants: dict[str, Callable[[], Any]] = {
        f"width {w}": (lambda w=w: in_blocks(w, trial)) for w in widths
    }
    few = slice(0, trial)
    contestants |= {
        f"C {b}": (lambda f=f: f(lam[few], eta[few], steps, SWITCH, at)) for b, f in loops.items()
    }
    for width in widths:
        in_blocks(width, width)
    found = take_turns(contestants, 2)
    for name, timing in found.items():
        words = f"symmetric, {name}" if name[0] == "w" else f"C, blocks of {name[2:]}"
        table.add(
            "lanes", f"{words} ({trial} runs)", 1e6 * timing.wall / trial / steps, "us/run-step"
        )

    styles = torch_loops().STYLES
    contestants = {style: eager(style) for style in styles} | {
        "symmetric": lambda: in_blocks(128, runs)
    }
    if loops:
        quickest = min(loops, key=lambda b: found[f"C {b}"].wall)
        contestants["symmetric, loss"] = lambda: in_blocks(128, runs, ("loss",))
        contestants["C"] = lambda: loops[quickest](lam, eta, steps, SWITCH, at)
        contestants["C always"] = lambda: loops[quickest](lam, eta, steps, SWITCH, at, True)
    best = take_turns(contestants, 2)
    scale = runs * steps / TORCH_SAMPLE
    per_step = lambda name: 1e6 * best[name].wall / steps / runs
    seconds = f"{best['symmetric'].wall:.1f} s in all"
    for style in styles:
        table.add(
            "lanes", f"torch eager, {style}", 1e6 * best[style].wall / TORCH_SAMPLE, "us/step"
        )
    table.add(
        "lanes",
        f"symmetric, {runs} runs in blocks of 128",
        per_step("symmetric"),
        "us/run-step",
        note=seconds,
    )
    for style in styles:
        wanted = 5000 if style == PRINTED else None
        ratio(
            table,
            "lanes",
            f"symmetric against torch {style}",
            best[style],
            best["symmetric"],
            scale,
            wanted,
        )
    if loops:
        table.add(
            "lanes",
            f"C, {runs} runs in blocks of {quickest}, same records",
            per_step("C"),
            "us/run-step",
        )
        table.add(
            "lanes",
            f"C, {runs} runs in blocks of {quickest}, loss every step",
            per_step("C always"),
            "us/run-step",
        )
        table.add(
            "lanes",
            f"symmetric, {runs} runs in blocks of 128, of which the loss is kept",
            per_step("symmetric, loss"),
            "us/run-step",
        )
        mine = best["symmetric, loss"]
        ratio(table, "lanes", "symmetric against C, same records", best["C"], mine, 1.0)
        ratio(
            table, "lanes", "symmetric against C, loss every step", best["C always"], mine, 1.0, 1
        )


def _seconds(advance: Any, steps: int, rounds: int = 3) -> float:
    """CPU seconds of one call that takes some steps."""
    return take_turns({"": lambda: advance(steps)}, rounds)[""].cpu


def scaling(table: Table, quick: bool) -> None:
    """Cost of a step (CPU time) against the longest string N: N^2 for `symmetric`, N 2^N for `exhaustive`."""
    import numpy as np

    table.title("Cost of a step against the longest string N")
    large = (256,) if quick else (181, 256, 362, 512, 724, 1024)
    sizes = {"symmetric": (4, 8, 16, 32, 64, 128, *large), "exhaustive": (4, 6, 8, 10)}
    cost: dict[str, list[float]] = {}
    for arm, lengths in sizes.items():
        cost[arm] = []
        for n in lengths:
            advance = _advancer(arm, n)
            seconds = functools.partial(_seconds, advance)
            call = seconds(8)  # a call fills all its records: it costs something without any step
            guess = max((seconds(72) - call) / 64, 1e-7)
            count = int(np.clip(0.4 / guess, 64, 400_000))
            cost[arm].append((seconds(count) - call) / (count - 8))
            table.add("scaling", f"{arm}, N = {n}", 1e6 * cost[arm][-1], "us/step")
    fits = (
        [("symmetric", 64, 256)] if quick else [("symmetric", 128, 1024), ("symmetric", 128, 512)]
    )
    for arm, low, high in [*fits, ("exhaustive", 4, 10)]:
        x = np.array([n * 2.0**n if arm == "exhaustive" else n for n in sizes[arm]])
        keep = [low <= n <= high for n in sizes[arm]]
        slope, error = _slope(np.log(x[keep]), np.log(np.array(cost[arm])[keep]))
        law = "N 2^N" if arm == "exhaustive" else "N"
        table.add(
            "scaling",
            f"{arm}: exponent of {law}, {low} <= N <= {high}",
            slope,
            "",
            note=f"+- {error:.2g} (95%)",
        )


def _advancer(arm: str, length: int) -> Callable[[int], Any]:
    """Phase 2 from its start, by this many steps, in the compiled program that the engine itself calls."""
    import jax
    import numpy as np

    from phasescope.engine.calls import SPANS, Call
    from phasescope.engine.precision import exact_numbers
    from phasescope.engine.programs import advance_stage_jit, begin_run_jit, enter_stage_jit

    job = engine_job(arm, max_length=length, lam=float(length**2))
    with exact_numbers():
        inputs = job.inputs()
        second = job.program.at_stage(1)
        state = enter_stage_jit(second, inputs, begin_run_jit(job.program, inputs)[0])

    def advance(steps: int) -> None:
        starts = np.full(SPANS, steps)
        starts[0] = 0
        nowhere = np.zeros(SPANS, bool)
        call = Call(
            starts=starts, stops=np.full(SPANS, steps), is_record=nowhere, asks_until=nowhere
        )
        with exact_numbers():
            jax.block_until_ready(advance_stage_jit(second, inputs, state, job.nobody_done(), call))

    advance(1)
    return advance


def _slope(x, y) -> tuple[float, float]:
    """A straight line's slope, and the half-width of its 95% interval."""
    from scipy import stats

    fit = stats.linregress(x, y)
    return float(fit.slope), float(fit.stderr * stats.t.ppf(0.975, len(x) - 2))


def _c_loops(*blocks: int) -> dict[int, Any]:
    """The C loop for each block size; none without a compiler."""
    import c_loop

    if not c_loop.available():
        print("No gcc here: the C loop is left out.")
        return {}
    return {block: c_loop.compiled(LENGTH, block) for block in blocks}


if __name__ == "__main__":
    sys.exit(main(__doc__, {"single": single, "lanes": lanes, "scaling": scaling}))
