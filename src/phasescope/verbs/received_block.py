"""What another process does for a sweep: one block, into the store that the sweep reads."""

from __future__ import annotations

import dataclasses
import platform
import threading
import time
from pathlib import Path

from ..cluster.watch import watched
from ..engine.job import Job
from ..errors import PlanError, StoreError
from ..identity import Fingerprint, Unidentified
from ..plan.plan import Arm
from ..spec import Spec
from ..store import Store
from ..store.mark import read_mark
from ..study import Study, find
from .context import Context
from .run import find_or_run, run_identity
from .sweep_tasks import Task

SIGHT = 15.0  # seconds in which a shared folder may show what another machine wrote
# The code behind the arms that this process has run: it is read once, not for every block.
codes: dict[tuple[Arm, type[Spec]], Fingerprint | Unidentified] = {}


@dataclasses.dataclass(frozen=True)
class Parcel:
    """One block as it travels, in plain values.

    `study` is the name of an installed study or the path of a file, `root` the folder of the store and `mark` its
    mark; `digest` is the identity that the block has where it was asked for, and `limit` the seconds it may take.
    """

    task: Task
    study: str
    digest: str
    root: str
    mark: str
    limit: float | None = None


def run_parcel(parcel: Parcel) -> str:
    """Run the block into the store, or find it there; returns its digest.

    Raises `StoreError` if this process does not see the store, `PlanError` if its code is another.
    """
    root = Path(parcel.root)
    _check_store(root, parcel.mark)
    study = find(parcel.study)
    job = parcel.task.job(study, study.arm(parcel.task.arm))
    _check_code(study, job, parcel)

    def work(stop: threading.Event) -> None:
        context = Context(Store(root), stop=stop, codes=codes)
        find_or_run(study, job, context, parcel.task.width, throw=False)

    watched(work, parcel.limit)
    return parcel.digest


def _check_store(root: Path, mark: str) -> None:
    """A folder of the same name that is another one would swallow the results."""
    ends = time.monotonic() + SIGHT
    while (found := read_mark(root)) != mark:
        if found is not None or time.monotonic() > ends or not root.parent.is_dir():
            raise StoreError(
                f"the worker on {platform.node()} does not see the store {root}: results come back through "
                "it, so it must be a folder that all workers share. Choose one with --store DIR."
            )
        time.sleep(0.2)


def _check_code(study: Study, job: Job, parcel: Parcel) -> None:
    """Other code would store its results under other names, where nobody looks for them."""
    if run_identity(study, job, Context(codes=codes), parcel.task.width).digest != parcel.digest:
        raise PlanError(
            f"the worker on {platform.node()} has other code of {study.name}.{parcel.task.arm} (or of phasescope) "
            "than this process: install the same on all machines, and start the workers anew."
        )
