"""The page in a browser: a run of 10^4 records and 50 panels is drawn in 2 s and scrubbed at 30 frames a second.

    python benchmarks/page.py
    python benchmarks/page.py --quick               # to try the script; numbers not to be quoted

Needs phasescope[page], playwright and chromium. The exit status is 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from harness import Table, machine
from jaxtyping import Array, Float
from playwright.sync_api import Page, sync_playwright

import phasescope as ps

DRAWN_IN = 2.0  # seconds
FRAMES = 30.0  # a second
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"

SCALARS = {f"curve_{i}": Float[Array, ""] for i in range(30)}
FEW = {f"curves_{i}": Float[Array, "head"] for i in range(10)}
HEAT = {f"heat_{i}": Float[Array, "token"] for i in range(5)}
MATRICES = {f"matrix_{i}": Float[Array, "row column"] for i in range(5)}
KINDS = SCALARS | FEW | HEAT | MATRICES
Seen: Any = type("Seen", (ps.Observables,), {"__annotations__": KINDS})


class Spec(ps.Spec):
    """The numbers of the synthetic run."""

    records: int = ps.field(10_000, at_least=2, doc="times at which the waves are recorded")


def waves(spec: Spec) -> ps.Plan:
    """Waves of many frequencies, as curves, heat maps and matrices."""

    def seen(state: Any) -> Any:
        t = state["t"]
        wave = lambda i, size: jnp.sin(t * (1 + i) / 7 + jnp.arange(size)) + 0.1 * jnp.sin(31 * t)
        matrix = lambda i: jnp.outer(wave(i, 16), wave(i + 1, 16))
        return Seen(
            *(wave(i, 1)[0] for i in range(len(SCALARS))),
            *(wave(i, 6) for i in range(len(FEW))),
            *(wave(i, 32) for i in range(len(HEAT))),
            *(matrix(i) for i in range(len(MATRICES))),
        )

    times = np.linspace(0.01, 100.0, spec.records)
    stage = ps.Stage("training", ps.formula(lambda t: {"t": jnp.asarray(t)}), times)
    return ps.Plan(lambda key: {"t": jnp.zeros(())}, (stage,), seen)


study = ps.Study("waves", Spec(), arms=(waves,))


@contextlib.contextmanager
def served(store: Path) -> Iterator[str]:
    """`phasescope serve` over a store; gives its URL."""
    command = [sys.executable, "-c", "from phasescope.cli.app import main; main()", "serve"]
    command += ["--no-browser", "--port", "0", "--store", str(store)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        found = next(m for line in process.stdout if (m := re.search(r"http://\S+", line)))
        yield found.group()
    finally:
        process.terminate()
        process.wait(30)


FRONT = "() => document.querySelector('h1') && !document.querySelector('main [aria-busy]')"
DRAWN = """() => {
  const near = [...document.querySelectorAll('.panel')].filter((p) => p.getBoundingClientRect().top < innerHeight);
  return near.length > 5 && near.every((p) => p.dataset.drawn);
}"""
# The cursor is set at every frame, as by a pointer that is dragged; gives the milliseconds between frames.
SCRUB = """([frames, from]) => new Promise((done) => {
  const slider = document.querySelector('.cursor input'), most = +slider.max, gaps = [];
  let last = performance.now(), n = 0;
  const tick = (now) => {
    gaps.push(now - last);
    last = now;
    slider.value = String(Math.round(from + (n * 0.5 * most) / frames));
    slider.dispatchEvent(new Event('input'));
    if (n++ < frames) requestAnimationFrame(tick);
    else done(gaps.slice(2));
  };
  requestAnimationFrame(tick);
})"""
# Every panel is seen once, so that all have their numbers; gives how many were drawn.
ALL = """() => new Promise((done) => {
  const tick = () => {
    const wanting = [...document.querySelectorAll('.panel')].find((p) => !p.dataset.drawn);
    wanting?.scrollIntoView();
    if (wanting) setTimeout(tick, 30);
    else done(document.querySelectorAll('.panel[data-drawn]').length);
  };
  tick();
})"""


def counter(page: Page) -> Callable[[], float]:
    """A counter of the CPU seconds of the page's main thread, which other work on the machine does not change much."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    return seconds


def measured(page: Page, url: str, run: str, rounds: int, frames: int) -> dict[str, list[float]]:
    """Seconds until all panels in sight are drawn, and frames a second while the cursor is dragged, round by round."""
    home = url.partition("?")[0]
    found: dict[str, list[float]] = {"opened": [], "frames": [], "longest": [], "cpu": []}
    for _ in range(rounds):
        page.goto("about:blank")
        began = time.perf_counter()
        page.goto(f"{home}#/run/{run}")
        page.wait_for_function(DRAWN, polling=16)
        found["opened"].append(time.perf_counter() - began)
    began = time.perf_counter()
    found["panels"] = [page.evaluate(ALL)]
    found["all"] = [time.perf_counter() - began]
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    most = int(page.get_attribute(".cursor input", "max") or 0)
    worked = counter(page)
    for place in ("scrollTo(0, 0)", "scrollTo(0, document.body.scrollHeight)"):
        page.evaluate(place)
        page.wait_for_timeout(300)
        for _ in range(rounds):
            before = worked()
            gaps = page.evaluate(SCRUB, [frames, most // 4])
            found["cpu"].append(1000 * (worked() - before) / frames)
            found["frames"].append(1000 / statistics.fmean(gaps))
            found["longest"].append(max(gaps))
    return found


def main() -> int:
    """Make the run, serve it, open it, and say how fast it was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="1,000 records: to try the script, not to quote"
    )
    quick = parser.parse_args().quick
    if BROWSER is None:
        print("this benchmark needs chromium on the path (apt-get install chromium)")
        return 2
    about, table = machine(-1), Table()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        records = 1_000 if quick else 10_000
        ds = ps.run(study, "waves", records=records, store=folder, progress=False)
        table.title(
            f"{ds.sizes['time']} records x {len(ds.data_vars)} panels, {ds.nbytes / 1e6:.0f} MB"
        )
        with served(Path(folder)) as url, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS.split())
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.goto(url)
            page.wait_for_function(FRONT)  # studies are imported for the front page, not for a run
            found = measured(page, url, ds.attrs["id"], rounds=3, frames=150)
            browser.close()
    opened, frames = found["opened"], found["frames"]
    table.add("page", "panels in sight drawn, run not yet in memory", opened[0], "s", -DRAWN_IN)
    table.add("page", "panels in sight drawn, opened again", min(opened), "s", -DRAWN_IN)
    table.add(
        "page", f"all {found['panels'][0]:.0f} panels, scrolled through", found["all"][0], "s"
    )
    table.add("page", "scrubbing, slowest round", min(frames), "frames/s", FRAMES)
    table.add("page", "scrubbing, best round", max(frames), "frames/s", FRAMES)
    table.add(
        "page",
        "CPU time of the page for one frame, best round",
        min(found["cpu"]),
        "ms",
        -1000 / FRAMES,
    )
    table.add("page", "longest frame of all rounds", max(found["longest"]), "ms")
    return int(bool(table.missed) and not quick)


if __name__ == "__main__":
    sys.exit(main())
