"""The blocks of a sweep on other processes: sent, waited for, and if they kill their workers, tried alone.

Workers write into the store and send back names, so whoever dies loses nothing that was finished.
"""

from __future__ import annotations

import concurrent.futures as futures
import dataclasses
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..cluster.failures import Failure, failure_of
from ..discovery import installed
from ..errors import PlanError, StoreError, StudyNotFound
from ..identity import Unidentified
from ..plan.given import GivenArm
from ..plan.plan import DeclaredArm
from ..store import Identity, Store
from ..store.mark import make_mark
from ..study import Study, find
from .context import Context
from .received_block import SIGHT, Parcel, run_parcel
from .run import find_entry_for, run_identity
from .sweep_tasks import Layout
from .under_way import run_under_way

# So many blocks that fail before any succeeds are the failure of the sweep.
HOPELESS = 10

Submit = Callable[[Parcel], "futures.Future[str]"]


class ExecutorLost(Exception):
    """The executor itself is gone: a broken pool of processes, or a scheduler that no longer answers."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How it went: the blocks that were set aside by their number, each with the reason; and why it ended early.

    It is hopeless if several blocks failed and none succeeded.
    """

    aside: Mapping[int, str]
    ended: str = ""
    hopeless: bool = False


def carry_out_on_workers(layout: Layout, context: Context, executor: futures.Executor) -> Outcome:
    """Have all blocks that the store lacks computed into it by other processes.

    An error of the code fails at once. A block whose workers die, that takes too much memory or too long is set
    aside; what is left is done, then those blocks are tried once more, each alone.
    """
    store = _check_executor(layout, context, executor)
    sending = _Sending(layout, context, store, executor)
    meter = context.meter(f"{layout.name} on workers", len(layout.tasks))
    with run_under_way(), meter as tick:  # Ctrl-C lets the executor close its workers
        tick(len(layout.tasks) - len(sending.parcels))
        try:
            while sending.parcels and not sending.is_hopeless():
                sending.send_all(tick)
                sending.send_suspects(tick)
        except ExecutorLost as lost:
            return Outcome(sending.aside | sending.suspects, str(lost))
    if sending.parcels:
        count = len(sending.aside)
        ended = f"{count} blocks failed before any was done, and the others were not tried"
        return Outcome(sending.aside, ended, hopeless=True)
    return Outcome(sending.aside)


class _Sending:
    """The blocks that are still to be computed, those that are under suspicion, and those that were set aside."""

    def __init__(
        self, layout: Layout, context: Context, store: Store, executor: futures.Executor
    ) -> None:
        limit = getattr(executor, "time_limit", None)
        home = findable(layout.study)
        self.executor = executor
        self.store = store
        self.identities = _identities(layout, context)
        mark = make_mark(store.root)
        self.parcels = {
            number: Parcel(task, home, identity.digest, str(store.root), mark, limit)
            for number, (task, identity) in enumerate(
                zip(layout.tasks, self.identities, strict=True)
            )
            if find_entry_for(store, identity) is None
        }
        self.suspects: dict[int, str] = {}
        self.under_suspicion: dict[int, Parcel] = {}
        self.aside: dict[int, str] = {}
        self.done = len(layout.tasks) - len(self.parcels)  # those that were stored before count

    def is_hopeless(self) -> bool:
        """Whether several blocks failed and none succeeded: then it is not a matter of single blocks."""
        return not self.done and len(self.aside) >= HOPELESS

    def send_all(self, tick: Callable[[int], None]) -> None:
        """Send all blocks at once. Stops early if the first ones all fail."""
        for number, failure in self._results(list(self.parcels)):
            parcel = self.parcels.pop(number)
            if failure is None:
                tick(1)
            elif failure is Failure.TIME:
                self.aside[number] = _reason(failure, parcel)
            else:
                self.suspects[number] = _reason(failure, parcel)
                self.under_suspicion[number] = parcel
            if not self.done and len(self.suspects) + len(self.aside) >= HOPELESS:
                return

    def send_suspects(self, tick: Callable[[int], None]) -> None:
        """Send the blocks under suspicion one by one: who fails alone cannot be a neighbour's victim."""
        while self.under_suspicion and not self.is_hopeless():
            number = next(iter(self.under_suspicion))
            [(_, failure)] = self._results([number])
            parcel = self.under_suspicion.pop(number)
            self.suspects.pop(number)
            if failure is None:
                tick(1)
            else:
                self.aside[number] = _reason(failure, parcel)
        self.aside |= self.suspects

    def _results(self, numbers: Sequence[int]) -> Iterator[tuple[int, Failure | None]]:
        """The blocks of these numbers as they end. An error of the code is raised, and the others are cancelled."""
        parcels = self.parcels | self.under_suspicion
        pending: dict[futures.Future[str], int] = {}
        try:
            for number in numbers:
                pending[self._submit(parcels[number])] = number
            for future in futures.as_completed(pending):
                failure = self._failure(future)
                if failure is None:
                    self._wait_for(self.identities[pending[future]])
                    self.done += 1
                yield pending[future], failure
        finally:
            for future in pending:
                future.cancel()

    def _submit(self, parcel: Parcel) -> futures.Future[str]:
        try:
            return self.executor.submit(run_parcel, parcel)
        except (futures.BrokenExecutor, RuntimeError) as error:
            raise ExecutorLost(_lost(self.executor, error)) from None

    def _failure(self, future: futures.Future[str]) -> Failure | None:
        """What went wrong, if it is of the kind that leaves other blocks alone; None if nothing did."""
        try:
            future.result()
            return None
        except BaseException as error:
            failure = failure_of(error)
            if failure is Failure.EXECUTOR:
                raise ExecutorLost(_lost(self.executor, error)) from None
            if failure is Failure.PYTHON:
                raise
            return failure

    def _wait_for(self, identity: Identity) -> None:
        """A shared folder may take a moment to show what another machine wrote."""
        ends = time.monotonic() + SIGHT
        while find_entry_for(self.store, identity) is None:
            if time.monotonic() > ends:
                raise StoreError(
                    f"a worker says that it stored {identity.study}/{identity.arm}/{identity.digest}, but "
                    f"{self.store.root} does not have it: results come back through the store, so it must be a folder "
                    "that all workers share."
                )
            time.sleep(0.1)


def findable(study: Study) -> str:
    """The name or the file under which another process finds the study."""
    if study.name in installed() and find(study.name) is study:
        return study.name
    for arm in study.arms:
        function = arm.function if isinstance(arm, DeclaredArm) else arm
        try:
            file = inspect.getsourcefile(function)
            if file is not None and find(file) is study:
                return file
        except (StudyNotFound, TypeError):
            continue
    raise PlanError(
        f"{study.name} is not an installed study, so other processes cannot find it: install it, name it by "
        "the path of its file, or use threads."
    )


def _check_executor(layout: Layout, context: Context, executor: futures.Executor) -> Store:
    """What other processes need: a store, arms that can be sent, and processes that were not forked."""
    if isinstance(layout.arm, GivenArm):
        raise PlanError(
            f"{layout.name} is given arrays, which are not sent to other processes: use threads."
        )
    if context.store is None:
        raise PlanError(
            f"{layout.name}: other processes bring their results back through the store: name one, or use threads."
        )
    method = getattr(getattr(executor, "_mp_context", None), "get_start_method", None)
    if method is not None and method() == "fork":
        raise PlanError(
            "these processes would be forked, and a copy of JAX's locks without its threads may wait for ever: use "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")), or ps.workers.'
        )
    return context.store


def _identities(layout: Layout, context: Context) -> list[Identity]:
    try:
        return [
            run_identity(layout.study, job, context, task.width)
            for task, job in zip(layout.tasks, layout.jobs(), strict=True)
        ]
    except Unidentified as problem:
        raise PlanError(
            f"{layout.name} cannot be stored ({problem}), so other processes cannot bring its results back: "
            "use threads."
        ) from None


def _reason(failure: Failure, parcel: Parcel) -> str:
    if failure is Failure.TIME:
        return f"{failure.value} of {parcel.limit:g} s"
    return failure.value


def _lost(executor: futures.Executor, error: BaseException) -> str:
    """What happened to the executor, in words."""
    if isinstance(error, futures.BrokenExecutor):
        return "a process of the pool died (a crash, too little memory, or killed), and the pool with it"
    where = getattr(executor, "where", "the scheduler")
    return f"the connection to {where} is lost"
