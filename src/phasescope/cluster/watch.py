"""What a worker does around a call: it keeps a time limit, and lets the call save itself before the worker closes."""

from __future__ import annotations

import concurrent.futures as futures
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .failures import TimeLimit

T = TypeVar("T")
GRACE = 5.0  # seconds in which a call that is told to stop may save itself
LAST_WORDS = 1.0  # seconds in which a worker still sends what it has to say before it ends
THREAD = "phasescope block"
LOOK = 0.25  # seconds between two looks at the clock and at the worker


def watched(work: Callable[[threading.Event], T], limit: float | None) -> T:
    """Call `work(stop)` and return what it returns; past the limit (in seconds), or if the worker closes, set `stop`.

    Compiled programs cannot be interrupted: a call that does not heed `stop` is left behind, and the process
    ends, which its nanny replaces by a new one. Raises `TimeLimit` past the limit.
    """
    worker = _dask_worker()
    if worker is None and limit is None:
        return work(threading.Event())
    stop = threading.Event()
    outcome = _in_a_thread(work, stop)
    ends = None if limit is None else time.monotonic() + limit
    while not _is_done(outcome, LOOK if ends is None else min(LOOK, ends - time.monotonic())):
        if worker is not None and worker.status.name in ("closing", "closing_gracefully"):
            return _handed_back(outcome, stop)
        if ends is not None and time.monotonic() >= ends:
            _give_up(outcome, stop, worker)
            if not outcome.done() or outcome.exception() is not None:
                raise TimeLimit(f"it took longer than {limit:g} s")
    return outcome.result()


def _in_a_thread(work: Callable[[threading.Event], T], stop: threading.Event) -> futures.Future[T]:
    """The outcome of the work; its thread does not keep the process alive."""
    outcome: futures.Future[T] = futures.Future()

    def carry_out() -> None:
        try:
            outcome.set_result(work(stop))
        except BaseException as error:  # also what ends a run on purpose
            outcome.set_exception(error)

    threading.Thread(target=carry_out, name=THREAD, daemon=True).start()
    return outcome


def _is_done(outcome: futures.Future[Any], seconds: float) -> bool:
    return bool(futures.wait([outcome], max(0.0, seconds)).done)


def _handed_back(outcome: futures.Future[T], stop: threading.Event) -> T:
    """The worker closes: what runs saves itself, and the scheduler gives it to another worker."""
    from distributed import Reschedule

    stop.set()
    _is_done(outcome, GRACE)
    if outcome.done() and outcome.exception() is None:
        return outcome.result()
    raise Reschedule


def _give_up(outcome: futures.Future[Any], stop: threading.Event, worker: Any) -> None:
    """The time is over: the call may save itself; one that does not listen ends with its process."""
    stop.set()
    if _is_done(outcome, GRACE) or worker is None or worker.nanny is None:
        return
    threading.Timer(LAST_WORDS, os._exit, [1]).start()


def _dask_worker() -> Any:
    """The worker of Dask whose task this is; None elsewhere."""
    module = sys.modules.get("distributed.worker")
    if module is None:
        return None
    try:
        return module.get_worker()
    except ValueError:
        return None
