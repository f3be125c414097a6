"""What it means when a call that was sent elsewhere does not come back."""

from __future__ import annotations

import asyncio
import concurrent.futures as futures
import enum
import sys


class TimeLimit(Exception):
    """A call took longer than it may."""


class Failure(enum.Enum):
    """Whose failure it is: of the call itself, of the process that carried it, or of the whole executor."""

    PYTHON = "an error of the code"
    WORKER = "the worker died: a crash of the code, too little memory, or killed from outside"
    MEMORY = "too little memory"
    TIME = "past its time limit"
    EXECUTOR = "the executor is gone"


def failure_of(error: BaseException) -> Failure:
    """What an exception of a future says."""
    if isinstance(error, futures.BrokenExecutor | futures.CancelledError | asyncio.CancelledError):
        return Failure.EXECUTOR
    if isinstance(error, TimeLimit):
        return Failure.TIME
    if isinstance(error, MemoryError) or _is_out_of_device_memory(error):
        return Failure.MEMORY
    if _is_killed_worker(error):
        return Failure.WORKER
    return Failure.PYTHON


def _is_out_of_device_memory(error: BaseException) -> bool:
    return type(error).__name__ == "JaxRuntimeError" and "RESOURCE_EXHAUSTED" in str(error)


def _is_killed_worker(error: BaseException) -> bool:
    """Whether Dask gave the call up since every worker that had it died."""
    scheduler = sys.modules.get("distributed.scheduler")
    return scheduler is not None and isinstance(error, scheduler.KilledWorker)
