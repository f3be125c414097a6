"""What a run needs in memory, held against what there is, before anything is compiled.

The shapes of a run follow from its plan without computing it. A size that cannot fit is refused by them; the plan itself
is made under a limit, so that a table which the machine cannot hold is an error of the run that asked for it and not the
end of other programs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from ..errors import PlanError
from ..identity.places import authors_place
from .scoped_settings import WhileInside

try:
    import resource
except ImportError:  # not on Windows
    resource = None

MEMORY = Path("/proc/meminfo")
STATUS = Path("/proc/self/status")
# What a batch system or a container allows, in both versions of control groups.
GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
LEAST_ROOM = 2**30  # that a plan may always ask for
EXHAUSTED = "RESOURCE_EXHAUSTED"  # what XLA says when it finds no memory
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def bytes_of(tree: Any) -> int:
    """The bytes that the arrays of a tree take; shapes alone will do."""
    leaves = [x for x in jax.tree.leaves(tree) if hasattr(x, "shape") and hasattr(x, "dtype")]
    return sum(x.size * x.dtype.itemsize for x in leaves)


def machine_bytes() -> int | None:
    """The memory of this machine, or as much of it as this process may have; None where nobody says."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return min([whole, *_allowed()])
    return None


def device_bytes() -> int | None:
    """The memory of the device on which programs run; None where nobody says."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return machine_bytes()
    return (device.memory_stats() or {}).get("bytes_limit")


def check_fits(what: str, needed: int, there: int | None, remedy: str) -> None:
    """Refuse what needs more bytes than there are; `what` says of whom and for what, as in "study.arm: its state".

    **Raises:** `PlanError`.
    """
    if there is not None and needed > there:
        raise PlanError(
            f"{what} takes at least {in_units(needed)} of memory, and there are {in_units(there)}. {remedy}"
        )


def in_units(size: float) -> str:
    """Bytes as people say them."""
    for unit in UNITS:
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} EB"


class NoMemory(PlanError, MemoryError):
    """A size for which there is no room. On a worker it is the failure of one block, as any lack of memory is."""


@contextlib.contextmanager
def within_memory(arm: str) -> Iterator[None]:
    """Inside, a plan is made: what the machine has no room for is an error in one sentence.

    **Raises:** `PlanError`.
    """
    with _limited:
        try:
            yield
        except MemoryError as error:
            place = authors_place(error)
            where = f" at {place}" if place else ""
            said = f": {error}" if str(error) else ""
            raise NoMemory(
                f"{arm}: its plan takes more than half of the memory that was free{said}{where}. Ask for a smaller size."
            ) from None


@contextlib.contextmanager
def out_of_memory_named(arm: str) -> Iterator[None]:
    """A program that finds no memory while it runs is an error in one sentence; what was saved of the run is kept.

    **Raises:** `PlanError`.
    """
    try:
        yield
    except (jax.errors.JaxRuntimeError, MemoryError) as error:
        if isinstance(error, jax.errors.JaxRuntimeError) and EXHAUSTED not in str(error):
            raise
        raise NoMemory(
            f"{arm}: its program found no more memory: {str(error).splitlines()[0]} "
            "Ask for a smaller size, or for fewer lanes in a block."
        ) from None


def free_bytes() -> int | None:
    """The memory that nobody uses; None where the system does not say."""
    return _kilobytes(MEMORY, "MemAvailable")


def _limit_memory() -> Callable[[], None]:
    """Let this process ask for half of what is free now, and for no more; returns what takes the limit away.

    The other half is for the program, which has the tables of its plan too.
    """
    free = free_bytes()
    used = _kilobytes(STATUS, "VmData")
    if resource is None or free is None or used is None:
        return _nothing
    jax.local_devices()  # what a device reserves when it is first used does not count
    used = _kilobytes(STATUS, "VmData") or used
    data = resource.RLIMIT_DATA
    set_limit = resource.setrlimit
    soft, hard = resource.getrlimit(data)
    limit = used + max(LEAST_ROOM, free // 2)
    if soft != resource.RLIM_INFINITY and soft <= limit:
        return _nothing

    def undo() -> None:
        set_limit(data, (soft, hard))

    try:
        set_limit(data, (limit, hard))
    except (OSError, ValueError):
        return _nothing
    return undo


def _nothing() -> None:
    pass


def _allowed() -> Iterator[int]:
    """The limits under which this process stands, if there are any."""
    for file in GROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):
            yield int(file.read_text())


def _kilobytes(file: Path, name: str) -> int | None:
    """A number of bytes that a file of the system tells in a line such as `MemAvailable: 123 kB`."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in file.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


_limited = WhileInside(_limit_memory)
