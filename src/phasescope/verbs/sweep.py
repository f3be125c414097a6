"""sweep: the same run over the product of some values, as one dataset whose sweep axes are ordinary dims.

Each block is stored as it finishes, so that a sweep which is stopped goes on where it was.
"""

from __future__ import annotations

import concurrent.futures as futures
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from ..analysis.lanes import mark_swept
from ..claims.tied import Tied, untied
from ..discovery import installed
from ..errors import PlanError
from ..plan.given import GivenArm
from ..plan.plan import Arm
from ..plan.reductions import Reduction
from ..plan.times import Times
from ..records.derive import warn_of_underived
from ..records.reduced import tell_reductions, without_records
from ..store import Store
from ..study import Study, find
from .context import Context, cores, default_context
from .labels import label, without_a_mark_of_nothing
from .run import Result, find_or_run, is_stored
from .sweep_fold import fold
from .sweep_layout import Layout, Task, lay_out


class Swept(NamedTuple):
    """The dataset of a sweep, and the ids of its blocks in the store (empty ones for those that are not stored)."""

    dataset: xr.Dataset
    run_ids: list[str]


def sweep(
    study: str | Study,
    arm: str | Arm,
    *tied: Tied,
    preset: str | None = None,
    seeds: int | Sequence[int] = 1,
    at: Times | None = None,
    block: int | None = None,
    keep: Sequence[str] | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    executor: futures.Executor | None = None,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
    **fields: Any,
) -> xr.Dataset:
    """Run one arm over the product of some values and return one dataset.

        >>> sw = ps.sweep("linear_modes", "logistic", epsilon=[1e-3, 1e-4], store=False)
        >>> sw.loss.dims
        ('epsilon', 'time')

    Floats and seeds are lanes of one program, other fields are programs of their own. Finished blocks
    are read from the store.

    **Arguments:**

    - `study`, `arm`, `preset`, `at`, `keep`, `reduce`, `store`, `progress`: as for `run`.
    - `tied`: fields that move together along one axis, from `ps.tied`.
    - `seeds`: how many, or which.
    - `block`: how many lanes a block has, which is part of a run's identity.
    - `executor`: of `concurrent.futures`, to carry the tasks; threads of this process if not given.
    - `fields`: fields of the Spec; those given as lists are the axes.

    **Returns:** a dataset with a dim for each axis, labelled by its field; of `reduce` alone it has no
    other dims. A lane that left the finite
    numbers is data: it has a time `diverged_at`, and NaN from there on.

    **Raises:** `StudyNotFound`, `SpecError`, `PlanError`, `StoreError`.
    """
    layout = lay_out(
        find(study),
        arm,
        untied(tied, fields),
        preset=preset,
        seeds=seeds,
        at=at,
        block=block,
        ties=[tie.names for tie in tied],
        keep=keep,
        reduce=reduce,
    )
    swept = run_layout(layout, default_context(store, progress), executor)
    return without_a_mark_of_nothing(swept.dataset)


def sweep_cost(
    study: str | Study,
    arm: str | Arm,
    *tied: Tied,
    preset: str | None = None,
    seeds: int | Sequence[int] = 1,
    at: Times | None = None,
    block: int | None = None,
    keep: Sequence[str] | None = None,
    reduce: Mapping[str, Reduction] | None = None,
    store: str | Path | bool | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """What the `sweep` of the same arguments would cost, see `layout_cost`; nothing runs."""
    layout = lay_out(
        find(study),
        arm,
        untied(tied, fields),
        preset=preset,
        seeds=seeds,
        at=at,
        block=block,
        ties=[tie.names for tie in tied],
        keep=keep,
        reduce=reduce,
    )
    return layout_cost(layout, default_context(store, progress=False))


def layout_cost(layout: Layout, context: Context) -> dict[str, Any]:
    """What a sweep would cost: axes, runs, programs and blocks, and how many of these the store already has."""
    pairs = zip(layout.tasks, layout.jobs(), strict=True)
    stored = sum(is_stored(layout.study, job, context, task.width) for task, job in pairs)
    return {
        "axes": {k: len(v) for k, v in (layout.outer | layout.inner).items()},
        "runs": sum(task.lanes for task in layout.tasks),
        "programs": math.prod(len(v) for k, v in layout.outer.items() if k != "seed"),
        "blocks": len(layout.tasks),
        "block": layout.tasks[0].width,
        "stored": stored,
        "missing": len(layout.tasks) - stored,
    }


def run_layout(layout: Layout, context: Context, executor: futures.Executor | None = None) -> Swept:
    """Run the tasks that the store lacks, then fold all of them into one dataset."""
    if executor is not None and context.store is not None and not _is_local(executor):
        _run_elsewhere(layout, context, executor)

    def work(task: Task) -> Result:
        job = task.job(layout.study, layout.arm)
        return find_or_run(
            layout.study, job, context, task.width, f"{layout.name} block", throw=False
        )

    results = []
    with context.meter(f"{layout.name} sweep", len(layout.tasks)) as tick:
        for result in _map(work, layout.tasks, context, executor):
            results.append(result)
            tick(1)
    ds = fold(layout, [result.dataset for result in results])
    ds = mark_swept(ds, [axis for axis in (*layout.outer, *layout.inner) if axis != "seed"])
    ds = label(ds, layout.study)
    reduce = layout.tasks[0].reduce
    if reduce:
        ds = without_records(tell_reductions(ds, reduce), reduce)
    # One text: a netCDF file has no lists of words.
    ids = " ".join(result.dataset.attrs.get("id", "") for result in results)
    ds = ds.assign_attrs(ids=ids)
    warn_of_underived(layout.name, ds)
    return Swept(ds, [result.run_id for result in results])


def _map(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    context: Context,
    executor: futures.Executor | None,
) -> Iterator[Result]:
    """The results in the order of the tasks; several are worked on at a time if there are cores for it."""
    if len(tasks) == 1 or (executor is None and cores() == 1):
        yield from map(work, tasks)
        return
    own = executor is None or not _is_local(executor)
    pool = futures.ThreadPoolExecutor(cores()) if own else executor
    assert pool is not None
    pending = [pool.submit(work, task) for task in tasks]
    try:
        for future in pending:
            yield future.result()
    except BaseException:
        context.stop.set()  # what runs saves and stops; what has not begun never does
        for future in pending:
            future.cancel()
        raise
    finally:
        if own:
            pool.shutdown(wait=True, cancel_futures=True)


def _run_elsewhere(layout: Layout, context: Context, executor: futures.Executor) -> None:
    """Other processes write into the store themselves and return only ids: a lost one loses nothing finished."""
    name = layout.study.name
    if name not in installed():
        raise PlanError(
            f"{name} is not an installed study, so other processes cannot find it: install it, or use threads."
        )
    if isinstance(layout.arm, GivenArm):
        raise PlanError(
            f"{layout.name} is given arrays, which are not sent to other processes: use threads."
        )
    assert context.store is not None
    pending = [executor.submit(run_task, task, str(context.store.root)) for task in layout.tasks]
    with context.meter(f"{name} on workers", len(pending)) as tick:
        for future in futures.as_completed(pending):
            future.result()
            tick(1)


def run_task(task: Task, root: str) -> str:
    """What a worker process does: run one block into the store and return its id."""
    study = find(task.study)
    job = task.job(study, study.arm(task.arm))
    return find_or_run(study, job, Context(Store(Path(root))), task.width, throw=False).run_id


def _is_local(executor: futures.Executor) -> bool:
    return isinstance(executor, futures.ThreadPoolExecutor)
