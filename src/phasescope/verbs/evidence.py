"""Evidence: the requests of one study, resolved once each, several at a time if there are cores for it."""

from __future__ import annotations

import concurrent.futures as futures
import gc
from collections.abc import Iterable
from typing import Any, Self, overload

import xarray as xr

from ..claims.requests import Maps, Recorded, Request, Runs, Sized, Sweeps, Tables
from ..engine.job import Job
from ..engine.precision import exact_numbers
from ..engine.programs import (
    advance_stage_jit,
    begin_reductions_jit,
    begin_run_jit,
    enter_stage_jit,
    inspect_state_jit,
)
from ..errors import PhasescopeError, PlanError
from ..logs.origin import log_ids
from ..records.derive import warn_of_underived
from ..records.evidence_file import made_by_other_code, read
from ..records.reduced import without_records
from ..study import Study
from .context import Context, cores
from .map import map_layouts, resolve_map
from .run import find_or_run, is_stored
from .sweep import layout_cost, run_layout
from .sweep_layout import lay_out
from .sweep_tasks import Layout
from .validate import requested_job

Plain = Runs | Sweeps | Tables | Recorded
Resolved = tuple[xr.Dataset, tuple[str, ...]]


def forget_programs() -> None:
    """Let go of the programs of runs: a process may map 65,530 pieces of memory (Linux), and five studies need more.

    Another study has no use for them, and whoever has finds them again in the cache on disk. What a user's own
    functions were compiled to stays.
    """
    jitted = (begin_run_jit, begin_reductions_jit, enter_stage_jit, advance_stage_jit)
    for program in (*jitted, inspect_state_jit):
        compiled: Any = getattr(program, "_cached")  # noqa: B009  (the jitted function inside an equinox one)
        compiled.clear_cache()
    gc.collect()


class Evidence:
    """Remembers what it found and what failed: neither is run again for another claim, plot or figure."""

    def __init__(
        self, study: Study, context: Context, full: bool = False, recompute: bool = False
    ) -> None:
        self.study = study
        self.context = context
        self.full = full
        self.recompute = recompute
        self._known: dict[Request | Maps, futures.Future[Resolved]] = {}
        self._pool: futures.Executor | None = None

    def __enter__(self) -> Self:
        self._pool = futures.ThreadPoolExecutor(cores())
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        assert self._pool is not None
        if kind is not None:  # what runs saves and stops; what has not begun never does
            self.context.stop.set()
        self._pool.shutdown(cancel_futures=True)
        self._pool = None
        forget_programs()

    def ask(self, requests: Iterable[Request | Maps]) -> None:
        """Begin with these in the background, in this order."""
        if self._pool is not None and cores() > 1:
            for sized in dict.fromkeys(self.at_size(request) for request in requests):
                if sized not in self._known:
                    self._known[sized] = self._pool.submit(self._resolve, sized)

    def get(self, request: Request | Maps) -> Resolved:
        """The dataset, and the ids of the runs that it came from."""
        sized = self.at_size(request)
        if sized not in self._known:
            found: futures.Future[Resolved] = futures.Future()
            self._known[sized] = found
            try:
                found.set_result(self._resolve(sized))
            except Exception as problem:
                found.set_exception(problem)
        return self._known[sized].result()

    @overload
    def at_size(self, request: Request) -> Plain: ...

    @overload
    def at_size(self, request: Request | Maps) -> Plain | Maps: ...

    def at_size(self, request: Request | Maps) -> Plain | Maps:
        """The request at the size asked for, and run again if that was asked for."""
        if isinstance(request, Sized):
            return request.full if self.full else request.small
        if isinstance(request, Recorded) and self.recompute:
            return request.request
        return request

    def _resolve(self, request: Plain | Maps) -> Resolved:
        if isinstance(request, Recorded):
            return read(request.file), (f"recorded:{request.file.stem}",)
        if isinstance(request, Tables):
            table = _table(request)
            return table, log_ids(table) if isinstance(table, xr.Dataset) else ()
        if isinstance(request, Maps):
            return resolve_map(self.study, request, self.context, self.full), ()
        if isinstance(request, Runs):
            # What diverged is evidence too.
            found = find_or_run(self.study, self._job(request), self.context, throw=False)
            warn_of_underived(f"{self.study.name}.{request.arm.__name__}", found.dataset)
            ds = without_records(found.dataset, request.reduce)
            return ds, (found.run_id,) if found.run_id else ()
        swept = run_layout(self._layout(request), self.context)
        return swept.dataset, tuple(dict.fromkeys(filter(None, swept.run_ids)))

    def _job(self, request: Runs) -> Job:
        return requested_job(
            self.study,
            request.arm,
            preset=request.preset,
            seed=request.seed,
            at=request.at,
            keep=request.keep,
            reduce=request.reduce,
            changes=dict(request.changes),
        )

    def _layout(self, request: Sweeps) -> Layout:
        fields = dict(request.changes) | {k: list(v) for k, v in request.axes}
        return lay_out(
            self.study,
            request.arm,
            fields,
            preset=request.preset,
            seeds=request.seeds,
            at=request.at,
            block=request.block,
            ties=request.ties,
            keep=request.keep,
            reduce=request.reduce,
        )

    def is_outdated(self, request: Request) -> bool:
        """Whether this is recorded evidence that other code than today's has made."""
        asked = self.at_size(request)
        if not isinstance(asked, Recorded):
            return False
        try:
            ds, _ = self.get(asked)
        except PhasescopeError:  # it is not there, and the row says so
            return False
        spec = type(self.study.default_for(asked.request.arm))
        return made_by_other_code(asked, ds, spec)

    def missing(self, request: Request | Maps) -> tuple[int, int]:
        """How many runs or blocks the request needs, and how many of them the store lacks."""
        sized = self.at_size(request)
        if isinstance(sized, Tables | Recorded):
            return 0, 0
        if isinstance(sized, Runs):
            return 1, int(not is_stored(self.study, self._job(sized), self.context))
        if isinstance(sized, Maps):
            layouts = map_layouts(self.study, sized, self.context, self.full)
        else:
            layouts = [self._layout(sized)]
        costs = [layout_cost(layout, self.context) for layout in layouts]
        return sum(cost["blocks"] for cost in costs), sum(cost["missing"] for cost in costs)


def _table(request: Tables) -> Any:
    """What a function computes for a claim.

    **Raises:** `PlanError` if that is no dataset, such as the None of a function without `return`.
    """
    with exact_numbers():
        table = request.function(**dict(request.arguments))
    if not isinstance(table, xr.Dataset | xr.DataArray):
        name = getattr(request.function, "__name__", "the function")
        raise PlanError(
            f"{name}, which ps.tables calls, returned {type(table).__name__}, not a dataset: end it with return, as in "
            "return ps.logged(...)."
        )
    return table
