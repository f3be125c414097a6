"""Interrupts at seeded moments, compilation included: no crash, a valid store, and the bits of an unbroken run.

`make test` sends a handful, `make full` a hundred.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import slow
from toys import same_bits

import phasescope as ps
from phasescope.store import Store

HANDFUL = 4
ALL = 100
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
OFTEN = [6, 3, 1]  # SIGINT is Ctrl-C, SIGHUP a closed terminal
IMPATIENT = 0.2  # of those who send a second one soon after
ORDERLY = {0, 129, 130, 143}  # what a shell sees; a crash would be 139 or 134

# A parent in the background may have switched Ctrl-C off, which a child inherits.
CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["phasescope", *sys.argv[1:]]
from phasescope.cli.app import main
main()
"""


@dataclasses.dataclass(frozen=True)
class Asked:
    """A run, as words of the command line and as the call in Python."""

    words: tuple[str, ...]
    call: functools.partial

    def unbroken(self):
        return _unbroken(self)

    def from_store(self, store: Path):
        return self.call(store=store)


@functools.cache
def _unbroken(asked: Asked):
    return asked.call(store=False)


WALK = Asked(
    ("run", slow.__file__, "wander", "steps=500000"),
    functools.partial(ps.run, slow.__file__, "wander", steps=500_000),
)
TRAINING = Asked(
    ("run", "regular_language", "exhaustive", "--preset", "tiny", "steps=500000"),
    functools.partial(ps.run, "regular_language", "exhaustive", preset="tiny", steps=500_000),
)


@dataclasses.dataclass(frozen=True)
class Stopped:
    """A process that was sent a signal after so many seconds: its exit code as a shell sees it, and what it said."""

    after: float
    code: int
    said: str


def start(asked: Asked, store: Path) -> subprocess.Popen:
    """The command as a process of its own, which finds no compiled program anywhere."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *asked.words, "--store", str(store)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PHASESCOPE_CACHE": "0"},
    )


def stop(asked: Asked, store: Path, longest: float, chance: random.Random) -> Stopped:
    """Start the command, and send it a signal at some moment of its life."""
    [number] = chance.choices(SIGNALS, OFTEN)
    after = chance.uniform(0.05, 0.8 * longest)
    again = chance.uniform(0.0, 0.5) if chance.random() < IMPATIENT else None
    process = start(asked, store)
    time.sleep(after)
    process.send_signal(number)
    if again is not None:
        time.sleep(again)
        process.send_signal(number)
    _, said = process.communicate(timeout=120)
    code = process.returncode
    return Stopped(after, code if code >= 0 else 128 - code, said)


@functools.cache
def life(asked: Asked, folder: Path) -> float:
    """Seconds that the command takes if nobody stops it."""
    began = time.monotonic()
    process = start(asked, folder / "unbroken")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return time.monotonic() - began


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("interrupts")


TRIALS = [
    pytest.param(trial, marks=() if trial < HANDFUL else pytest.mark.full) for trial in range(ALL)
]


@pytest.mark.parametrize("trial", TRIALS)
def test_an_interrupt_at_any_moment_ends_in_order_and_the_run_goes_on_to_the_same_bits(
    trial, folder
):
    asked = TRAINING if trial >= HANDFUL and trial % 3 == 0 else WALK
    store = folder / f"store-{trial}"
    stopped = stop(asked, store, life(asked, folder), random.Random(trial))
    found = Store(store).repair()
    unfinished = len(Store(store).unfinished())
    goes_on = asked.from_store(store)
    print(f"trial {trial}: {stopped.code} after {stopped.after:.2f} s, {unfinished} unfinished")
    assert (stopped.code in ORDERLY, stopped.said.count("Segmentation")) == (True, 0), stopped
    assert found.damaged == [], stopped
    assert found.checked == 1 or stopped.code != 0, stopped
    assert same_bits(goes_on, asked.unbroken()), stopped


# --- while libraries are imported -----------------------------------------------------------------------------------

IMPORTS = 30
WHILE_IMPORTING = [
    pytest.param(trial, marks=() if trial < HANDFUL else pytest.mark.full)
    for trial in range(IMPORTS)
]


def wait_for_library(process: subprocess.Popen, name: str) -> None:
    """Wait until a process has begun to load a compiled library."""
    deadline = time.monotonic() + 60
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if name in maps.read_text():
                return
        time.sleep(0.005)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="nobody says what is loaded")
@pytest.mark.parametrize("trial", WHILE_IMPORTING)
def test_an_interrupt_while_a_compiled_library_is_imported_ends_in_order(trial, tmp_path):
    process = start(WALK, tmp_path / "store")
    wait_for_library(process, "jaxlib")
    time.sleep(random.Random(trial).uniform(0.0, 0.5))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    kept = "Stopped. What was done is kept; the same command goes on from there.\n"
    assert (process.returncode, said) == (130, kept)
    assert Store(tmp_path / "store").repair().damaged == []


AT_START = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "phasescope.cli.app":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
from phasescope.cli import main
main()
"""


def test_an_interrupt_while_the_commands_are_imported_is_one_word():
    done = subprocess.run([sys.executable, "-c", AT_START], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_the_installed_command_begins_where_an_interrupt_is_one_word():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["phasescope"] == "phasescope.cli:main"
