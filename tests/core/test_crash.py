"""Kill a run at any moment, as often as you like: it goes on, and ends with the bits of an unbroken one."""

from __future__ import annotations

import json
import multiprocessing
import os
import pty
import random
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import slow
from toys import same_bits

from phasescope.engine.job import Job
from phasescope.store import Store
from phasescope.verbs.context import Context
from phasescope.verbs.run import find_or_run, run_identity

KILLS = 24


def unbroken(seed: int):
    return find_or_run(slow.study, Job(slow.wander, slow.study.spec, seed), Context()).dataset


def checkpoints(store: Path) -> int:
    return len(list(store.glob(".drafts/*/*/*/*.json")))


def live_and_die(processes, store: Path, seed: int, chance: random.Random) -> bool:
    """One life of a process; whether it was killed. It dies while it starts, or soon after it has saved something."""
    process = processes.Process(target=slow.carry_on, args=(str(store), seed))
    process.start()
    if chance.random() < 0.25:
        process.join(chance.uniform(0, 0.6))
    else:
        before, deadline = checkpoints(store), time.monotonic() + 60
        while process.is_alive() and checkpoints(store) == before and time.monotonic() < deadline:
            process.join(0.005)
        process.join(chance.uniform(0, 0.15))
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


@pytest.fixture(scope="module")
def survivors(tmp_path_factory):
    """A store whose runs were killed again and again until they were done; and how many kills it took."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["phasescope.verbs.run", "phasescope.plan.flow", "zarr"])
    store, chance, kills, seed = (
        tmp_path_factory.mktemp("crash") / "store",
        random.Random(2024),
        0,
        0,
    )
    while kills < KILLS:
        while live_and_die(processes, store, seed, chance):
            kills += 1
        seed += 1
    return store, seed, kills


def test_a_run_that_was_killed_again_and_again_ends_as_an_unbroken_one(survivors):
    store, seeds, kills = survivors
    runs = {entry.seed: Store(store).load(entry) for entry in Store(store).entries()}
    same = {seed: same_bits(runs[seed], unbroken(seed)) for seed in range(seeds)}
    assert (kills >= 20, same) == (True, dict.fromkeys(range(seeds), True))


def test_kills_leave_no_damage(survivors):
    found = Store(survivors[0]).repair()
    assert (found.checked, found.damaged) == (survivors[1], [])


def test_kills_leave_no_unfinished_run_behind_the_finished_ones(survivors):
    assert Store(survivors[0]).unfinished() == []


# --- Ctrl-C ---------------------------------------------------------------------------------------------------------

TELLING = """
import os, signal, sys
from phasescope.cli import app as cli
from phasescope.verbs import execute as running
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background may have switched Ctrl-C off
part = running.part_of
def told(chunk):
    os.write(1, b"piece\\n")  # a bar would take what is printed
    return part(chunk)
running.part_of = told
sys.argv = ["phasescope", *sys.argv[1:]]
cli.main()
"""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """`phasescope run`, and Ctrl-C after a few pieces: the store, the exit code, and what was said."""
    store = tmp_path_factory.mktemp("stopped") / "store"
    command = [
        sys.executable,
        "-c",
        TELLING,
        "run",
        slow.__file__,
        "wander",
        "steps=3000000",
        "--store",
        str(store),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(4):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    return store, process.returncode, said


def test_ctrl_c_says_in_one_line_that_nothing_is_lost(stopped):
    assert stopped[1:] == (
        130,
        "Stopped. What was done is kept; the same command goes on from there.\n",
    )


def test_ctrl_c_leaves_a_run_that_can_be_listed(stopped):
    command = [sys.executable, "-c", TELLING, "runs", "--json", "--store", str(stopped[0])]
    [row] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[
        "runs"
    ]
    assert (row["status"], row["position"]["local"] > 0) == ("unfinished", True)


def test_ctrl_c_leaves_a_run_that_goes_on(stopped):
    job = Job(slow.wander, slow.study.spec.replace(steps=3_000_000))
    with Store(stopped[0]).draft(run_identity(slow.study, job, Context())) as draft:
        left = draft.resume()
    assert 0 < left.position["local"] < 3_000_000


# --- a terminal that is closed --------------------------------------------------------------------------------------

# Whoever started these tests with nohup had the signal ignored, and what they start would do so too.
AT_A_TERMINAL = (
    "import fcntl, signal, termios; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "fcntl.ioctl(2, termios.TIOCSCTTY, 0)" + TELLING
)


class Terminal:
    """A terminal of its own for a process, which somebody looks at until it is closed."""

    def __init__(self) -> None:
        self.window, self.inside = pty.openpty()
        self._closed = threading.Event()
        self._looking = threading.Thread(target=self._look)

    def run(self, words: list[str]) -> subprocess.Popen:
        command = [sys.executable, "-c", AT_A_TERMINAL, *words]
        ends = {"stdin": self.inside, "stdout": subprocess.PIPE, "stderr": self.inside}
        process = subprocess.Popen(command, **ends, start_new_session=True, text=True)
        os.close(self.inside)
        self._looking.start()
        return process

    def close(self) -> None:
        """What closing the window does: the kernel sends SIGHUP, and whatever is written or read fails."""
        self._closed.set()
        self._looking.join()
        os.close(self.window)

    def _look(self) -> None:
        while not self._closed.is_set():
            if select.select([self.window], [], [], 0.05)[0]:
                os.read(self.window, 4096)


@pytest.fixture(scope="module")
def hung_up(tmp_path_factory):
    """`phasescope run` whose terminal is closed after a few pieces, when it shows a bar: the store and the exit code.

    The signal comes once more from the shell, which is closed too.
    """
    store = tmp_path_factory.mktemp("hung_up") / "store"
    terminal = Terminal()
    words = ["run", slow.__file__, "wander", "steps=9000000", "--store", str(store)]
    process = terminal.run(words)
    for _ in range(4):
        process.stdout.readline()
    time.sleep(1.2)
    terminal.close()
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=120)
    return store, process.returncode


def test_a_closed_terminal_stops_a_run_as_ctrl_c_does(hung_up):
    """Nothing would be saved yet by itself, five seconds after the last time."""
    store, code = hung_up
    [unfinished] = Store(store).unfinished()
    assert (code, unfinished.position["local"] > 0) == (129, True)


# --- a bar that is shown when the process ends at once ----------------------------------------------------------------

AT_ONCE = "from phasescope.cli.ending import Stop; Stop().at_once(2, None)"
KEPT = "Stopped at once. What was saved is kept; the same command goes on from there."


def test_what_ends_at_once_gives_a_terminal_its_cursor_back():
    window, inside = pty.openpty()
    done = subprocess.run([sys.executable, "-c", AT_ONCE], stderr=inside, check=False)
    os.close(inside)
    said = os.read(window, 4096).decode()
    os.close(window)
    assert (done.returncode, said) == (130, f"\x1b[?25h\r\n{KEPT}\r\n")


def test_what_ends_at_once_writes_no_codes_into_a_file():
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, f"{KEPT}\n")
