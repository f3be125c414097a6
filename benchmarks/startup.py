"""Start-up of the command line: what it imports, how long it takes, and what a second run compiles.

    python benchmarks/startup.py [--quick] [--json FILE]

Everything happens in child processes that keep to one core, with a cache and a store of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Table, main, take_turns


def startup(table: Table, quick: bool) -> None:
    """The command line, cold: what it imports, how long it takes, and what a second run compiles."""
    table.title("Start-up of the command line (child processes on the same core)")
    rounds = 2 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *words, **more: _phasescope(folder, *words, **more)
        calls = {"list": ("list",), "--help": ("--help",)}
        for words in calls.values():
            run(*words)  # byte code, catalogues
        best = take_turns({name: (lambda words=words: run(*words)) for name, words in calls.items()}, rounds)
        for name, words in calls.items():
            table.add("startup", f"phasescope {name}", best[name].wall, "s", -0.5)
            heavy = run(*words, imports=True)
            table.add("startup", f"phasescope {name}: heavy packages imported", len(heavy), "", -0.5, " ".join(heavy))
        common = ("run", "regular_language", "symmetric")
        runs = {"first": (), "second, another eta": ("eta=0.07",), "third, other steps": ("steps=3000",)}
        for name, more in runs.items():
            before, began = _programs(folder), time.perf_counter()
            run(*common, *more)
            seconds, fresh = time.perf_counter() - began, len(_programs(folder) - before)
            table.add("startup", f"phasescope run, {name}", seconds, "s")
            table.add("startup", f"phasescope run, {name}: programs compiled", fresh, "", None if not more else -0.5)


def _phasescope(folder: str, *words: str, imports: bool = False) -> list[str]:
    """The command in a fresh process, with its own cache and store; on request, the heavy packages it imported."""
    # The list of imports goes through a file descriptor that rich does not touch.
    program = (
        "import sys\nfrom phasescope.cli import main\nsys.argv[0] = 'phasescope'\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('jax', 'torch', 'diffrax', 'matplotlib', 'scipy', 'pandas', 'xarray')\n"
        "print('\\n' + ' '.join(m for m in heavy if m in sys.modules), file=sys.stderr)"
    )
    environment = os.environ | {"XDG_CACHE_HOME": f"{folder}/cache", "PHASESCOPE_STORE": f"{folder}/store"}
    command = [sys.executable, "-c", program] if imports else [str(Path(sys.executable).parent / "phasescope")]
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise SystemExit(f"phasescope {' '.join(words)} failed:\n{done.stderr}")
    return done.stderr.strip("\n").splitlines()[-1].split() if imports and done.stderr.strip() else []


def _programs(folder: str) -> set[str]:
    """The compiled programs in the persistent cache."""
    return {str(p) for p in Path(folder, "cache").rglob("*-cache")}


if __name__ == "__main__":
    sys.exit(main(__doc__, {"startup": startup}))
