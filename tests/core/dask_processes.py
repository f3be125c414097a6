"""A scheduler and workers of Dask as processes of their own, to be killed; and the command line beside them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

STUDY = Path(__file__).with_name("poisonous.py")
PATIENCE = 90.0  # seconds, on a machine that has other things to do


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(so: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.02)


class Processes:
    """What was started here; whatever still lives at the end is killed."""

    def __init__(self, folder: Path, tls: Sequence[str] = ()) -> None:
        self.folder = folder
        self.log = folder / "begun.log"
        self.tls = list(tls)
        self.port = free_port()
        self.workers: list[subprocess.Popen[str]] = []
        self.others: list[subprocess.Popen[str]] = []

    @property
    def address(self) -> str:
        return f"{'tls' if self.tls else 'tcp'}://127.0.0.1:{self.port}"

    def start_scheduler(self) -> subprocess.Popen[str]:
        self.port = free_port()
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        quiet = ["--dashboard-address", "127.0.0.1:0"]
        scheduler = self._start("distributed.cli.dask_scheduler", *place, *quiet, *self.tls)
        self.others.append(scheduler)
        wait_until(self._listens, "the scheduler")
        return scheduler

    def start_worker(self, *more: str) -> subprocess.Popen[str]:
        place = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", *self.tls]
        nanny = [] if more else ["--no-nanny"]
        worker = self._start("distributed.cli.dask_worker", self.address, *place, *nanny, *more)
        self.workers.append(worker)
        return worker

    def start_client(self, store: Path, *words: str) -> subprocess.Popen[str]:
        client = self._start(
            "phasescope", "sweep", str(STUDY), "wander", *words, "--store", str(store),
            "--cluster", self.address, "--json",
        )  # fmt: skip
        self.others.append(client)
        return client

    def kill_workers(self) -> None:
        for worker in self.workers:
            kill(worker)
        self.workers.clear()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_workers()
        for process in self.others:
            kill(process)

    def _start(self, module: str, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", module, *words]
        environment = os.environ | {"POISONOUS_LOG": str(self.log)}
        return subprocess.Popen(
            command, env=environment, start_new_session=True, text=True,
            stdout=subprocess.PIPE if module == "phasescope" else subprocess.DEVNULL,
            stderr=subprocess.PIPE if module == "phasescope" else subprocess.DEVNULL,
        )  # fmt: skip

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def kill(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Kill a process; by SIGKILL with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    process.wait(PATIENCE)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
