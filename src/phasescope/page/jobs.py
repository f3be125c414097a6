"""Background work: runs and checks, a few at a time, with progress; each can be stopped and lands in the store."""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
import dataclasses
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ..errors import PhasescopeError, SpecError
from ..store import Store
from ..verbs.context import Context, Stopped
from ..verbs.progress import Tick
from .wire import plain

AT_ONCE = 2
MOST_WAITING = 32
REMEMBERED = 200  # jobs that are over
Work = Callable[[Context], str]


@dataclasses.dataclass
class Job:
    """One piece of work. `state` is waiting, running, done, stopped or failed; `version` rises with every change."""

    id: str
    what: dict[str, Any]
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    state: str = "waiting"
    progress: float = 0.0
    run: str = ""
    problem: str = ""
    version: int = 0
    began: float = dataclasses.field(default_factory=time.time)

    def to_json(self) -> dict[str, Any]:
        """The job for the page. What changes meanwhile has a later version, and is told once more."""
        version = self.version
        over = self.state in ("done", "stopped", "failed")
        return {
            "job": self.id,
            **self.what,
            "state": self.state,
            "progress": round(self.progress, 4),
            "done": over,
            "run": self.run or None,
            "problem": plain(self.problem) or None,
            "began": self.began,
            "version": version,
        }


class Jobs:
    """All jobs of this server. `changed` is called with the id of a run when one has landed in the store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._numbers = itertools.count(1)
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._version = 0
        self._workers = futures.ThreadPoolExecutor(AT_ONCE, thread_name_prefix="job")

    def start(self, what: dict[str, Any], work: Work) -> Job:
        """Begin some work, which returns the id of a run or nothing."""
        with self._lock:
            waiting = [job for job in self._jobs.values() if job.state in ("waiting", "running")]
            if len(waiting) >= MOST_WAITING:
                raise SpecError(f"{len(waiting)} runs wait already: stop some, or wait for them.")
            over = [id for id, job in self._jobs.items() if job not in waiting]
            for id in over[: max(len(self._jobs) - REMEMBERED, 0)]:
                del self._jobs[id]
            job = Job(str(next(self._numbers)), what)
            self._jobs[job.id] = job
        self._tell(job)
        self._workers.submit(self._carry_out, job, work)
        return job

    def all(self) -> list[Job]:
        """All jobs, the latest first."""
        with self._lock:
            return list(self._jobs.values())[::-1]

    def stop(self, id: str) -> Job | None:
        """Stop a job: it saves what it has. None if there is no such job."""
        with self._lock:
            job = self._jobs.get(id)
            if job is not None:
                job.stop.set()
                if job.state == "waiting":
                    job.state = "stopped"
        if job is not None:
            self._tell(job)
        return job

    def since(self, version: int) -> tuple[int, list[Job]]:
        """The jobs that changed since a version, and the version now."""
        with self._lock:
            return self._version, [job for job in self._jobs.values() if job.version > version]

    def close(self) -> None:
        """Stop everything that is under way, and wait until it has saved."""
        for job in self.all():
            job.stop.set()
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _tell(self, job: Job) -> None:
        with self._lock:
            self._version += 1
            job.version = self._version

    def _carry_out(self, job: Job, work: Work) -> None:
        with self._lock:
            if job.stop.is_set():
                return
            job.state = "running"
        self._tell(job)
        try:
            job.run = work(Context(self.store, self._meter(job), stop=job.stop))
            job.state, job.progress = "done", 1.0
        except Stopped:
            job.state = "stopped"
        except PhasescopeError as error:
            job.state, job.problem = "failed", f"{type(error).__name__}: {error}"
        except Exception as error:  # whatever a study raises: the page says it, and goes on
            job.state, job.problem = "failed", f"{type(error).__name__}: {error}"
        self._tell(job)

    def _meter(self, job: Job) -> Callable[[str, float], AbstractContextManager[Tick]]:
        @contextlib.contextmanager
        def meter(label: str, total: float) -> Iterator[Tick]:
            done = 0.0

            def tick(amount: float) -> None:
                nonlocal done
                done += amount
                job.progress = min(done / total, 1.0) if total > 0 else 0.0
                self._tell(job)

            yield tick

        return meter
