"""Start-up: what the command line imports, and how long a first answer takes.

    python benchmarks/startup.py [--quick] [--json FILE]

Everything happens in child processes that keep to one core, with a cache and a store of their own.
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
from typing import Any

from harness import Table, Timing, main, ratio, take_turns


def startup(table: Table, quick: bool) -> None:
    """The command line, cold: what it imports, and how long it takes; a typo is answered as quickly."""
    table.title("Start-up of the command line (child processes on the same core)")
    rounds = 2 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *words, **more: _phasescope(folder, *words, **more)
        calls = {
            "list": ("list",),
            "--help": ("--help",),
            "run (a typo)": ("run", "regular_language", "symetric"),
        }
        for words in calls.values():
            run(*words)  # byte code, catalogues
        best = take_turns(
            {name: (lambda words=words: run(*words)) for name, words in calls.items()}, rounds
        )
        for name, words in calls.items():
            table.add("startup", f"phasescope {name}", best[name].wall, "s", -0.5)
            heavy = run(*words, imports=True)
            table.add(
                "startup",
                f"phasescope {name}: heavy packages imported",
                len(heavy),
                "",
                -0.5,
                " ".join(heavy),
            )


# A first question of a step arm and of two flows: study, arm, fixed numbers, and the float that is asked for anew.
QUESTIONS = (
    ("regular_language", "symmetric", {}, "eta"),
    ("scan_and_snap", "symmetric", {"preset": "tiny", "optimiser": "flow"}, "eta_Y"),
    ("lazy_to_rich", "mean_field_flow", {"preset": "tiny"}, "sigma"),
)

ASK = """
import json, sys, time
import jax
study, arm, fixed, field = json.loads(sys.argv[1])
values = json.loads(sys.argv[2])
asked, found = [], []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **more: asked.append(name) if name.endswith("backend_compile_duration") else None
)
jax.monitoring.register_event_listener(lambda name, **more: found.append(name) if name.endswith("cache_hits") else None)
import phasescope as ps
from phasescope.study import find
find(study)
ps.run
seconds = []
for value in values:
    began, busy = time.perf_counter(), time.process_time()
    ps.run(study, arm, store=False, **fixed, **{field: value})
    seconds.append((time.perf_counter() - began, time.process_time() - busy))
print(json.dumps({"compiled": len(asked) - len(found), "seconds": seconds}))
"""

EAGER = """
from scipy.integrate import solve_ivp
solve_ivp(lambda t, y: y * (1 - y), (0, 20), [1e-3], method="DOP853", rtol=1e-9, atol=1e-12)
"""


def answers(table: Table, quick: bool) -> None:
    """A first answer in a new process: with nothing kept, with programs kept, and the imports alone."""
    table.title("First answers of a Python session (child processes on the same core)")
    rounds = 1 if quick else 3
    eager = min(_child(EAGER, {})[1].wall for _ in range(rounds + 1))
    table.add("answers", "an eager ODE of one number by SciPy, imports included", eager, "s")
    for study, arm, fixed, field in QUESTIONS:
        question = json.dumps((study, arm, fixed, field))
        said: dict[str, list[dict[str, Any]]] = {"first": [], "second": []}
        best = {name: Timing(float("inf"), float("inf")) for name in ("first", "second", "imports")}
        for turn in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                environment = {"PHASESCOPE_CACHE": f"{folder}/programs"}
                calls = {
                    "imports": "[]",
                    "first": f"[{0.02 + 0.001 * turn}]",
                    "second": f"[{0.03 + 0.001 * turn}, 0.04]",
                }
                for name, values in calls.items():
                    output, taken = _child(ASK, environment, question, values)
                    if (
                        name == "second"
                    ):  # its last question is asked of a process that has answered one
                        taken.wall -= output["seconds"][-1][0]
                        taken.cpu -= output["seconds"][-1][1]
                    best[name] = Timing(
                        min(best[name].wall, taken.wall), min(best[name].cpu, taken.cpu)
                    )
                    said.setdefault(name, []).append(output)
        label = f"{study}.{arm}"
        for name, timing in best.items():
            table.add(
                "answers", f"{label}: {name}", timing.wall, "s", None, f"CPU time: {timing.cpu:.3g}"
            )
        again = min(output["seconds"][-1][0] for output in said["second"])
        table.add("answers", f"{label}: asked again in the same process", again, "s")
        compiled = {
            name: max(output["compiled"] for output in said[name]) for name in ("first", "second")
        }
        table.add(
            "answers", f"{label}: programs compiled by the first process", compiled["first"], ""
        )
        table.add(
            "answers",
            f"{label}: programs compiled by the second process",
            compiled["second"],
            "",
            -0.5,
        )
        ratio(
            table,
            "answers",
            f"{label}: first over second process",
            best["first"],
            best["second"],
            1.0,
        )
        ratio(
            table,
            "answers",
            f"{label}: second process over imports alone",
            best["second"],
            best["imports"],
            1.0,
        )


def _child(program: str, environment: dict[str, str], *words: str) -> tuple[Any, Timing]:
    """What a fresh process printed as JSON on its last line, and how long it took from its start to its end."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None, Timing(wall, cpu)


def _phasescope(folder: str, *words: str, imports: bool = False) -> list[str]:
    """The command in a fresh process, with its own cache and store; on request, the heavy packages it imported."""
    # The list of imports goes through a file descriptor that rich does not touch.
    program = (
        "import sys\nfrom phasescope.cli import main\nsys.argv[0] = 'phasescope'\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('jax', 'torch', 'diffrax', 'matplotlib', 'scipy', 'pandas', 'xarray')\n"
        "print('\\nimported:', *(m for m in heavy if m in sys.modules), file=sys.stderr)"
    )
    environment = os.environ | {
        "XDG_CACHE_HOME": f"{folder}/cache",
        "PHASESCOPE_STORE": f"{folder}/store",
    }
    command = (
        [sys.executable, "-c", program]
        if imports
        else [str(Path(sys.executable).parent / "phasescope")]
    )
    done = subprocess.run(
        [*command, *words], env=environment, capture_output=True, text=True, cwd=folder
    )
    if done.returncode and words[0] != "run":
        raise SystemExit(f"phasescope {' '.join(words)} failed:\n{done.stderr}")
    return done.stderr.splitlines()[-1].removeprefix("imported:").split() if imports else []


if __name__ == "__main__":
    sys.exit(main(__doc__, {"startup": startup, "answers": answers}))
