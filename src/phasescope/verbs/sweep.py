"""sweep: the same run over the product of some values, as one dataset whose sweep axes are ordinary dims.

Each block is stored as it finishes, so that a sweep which is stopped goes on where it was.
"""

from __future__ import annotations

import concurrent.futures as futures
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import xarray as xr

from ..analysis.lanes import mark_swept
from ..claims.tied import Tied, untied
from ..errors import SpecError, SweepIncomplete
from ..files import Document
from ..plan.plan import Arm
from ..plan.reductions import Reduction
from ..plan.times import Times
from ..records.derive import warn_of_underived
from ..records.reduced import tell_reductions, without_records
from ..study import Study, find
from .context import Context, cores, default_context
from .labels import label, without_a_mark_of_nothing
from .run import Result, find_or_run, is_stored
from .sent_blocks import Outcome, carry_out_on_workers
from .sweep_fold import fold
from .sweep_layout import lay_out
from .sweep_tasks import Layout, Task

NAMED = 5  # blocks that an error message names


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
    - `executor`: of `concurrent.futures`, to carry the tasks, such as `ps.workers`; threads of this process
      if not given.
    - `fields`: fields of the Spec; those given as lists are the axes.

    **Returns:** a dataset with a dim for each axis, labelled by its field; of `reduce` alone it has no
    other dims. A lane that left the finite
    numbers is data: it has a time `diverged_at`, and NaN from there on. A run that left its last stage early stays
    where it stopped: its last record is repeated.

    **Raises:** `StudyNotFound`, `SpecError`, `PlanError`, `StoreError`; `SweepIncomplete`, whose `dataset`
    is what there is, if other processes could not compute all of it.
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
) -> Document:
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


def layout_cost(layout: Layout, context: Context) -> Document:
    """What a sweep would cost: axes, runs, programs and blocks, and how many of these the store already has."""
    pairs = zip(layout.tasks, layout.jobs(), strict=True)
    stored = sum(is_stored(layout.study, job, context, task.width) for task, job in pairs)
    return {
        "axes": {k: len(v) for k, v in (layout.outer | layout.inner).items()},
        "tied": {axis: list(others) for axis, others in layout.tied.items()},
        "runs": sum(task.lanes for task in layout.tasks),
        "programs": math.prod(len(v) for k, v in layout.outer.items() if k != "seed"),
        "blocks": len(layout.tasks),
        "block": layout.tasks[0].width,
        "stored": stored,
        "missing": len(layout.tasks) - stored,
    }


def run_layout(layout: Layout, context: Context, executor: futures.Executor | None = None) -> Swept:
    """Run the tasks that the store lacks, then fold all of them into one dataset.

    Raises `SweepIncomplete` if other processes were to do it, and could not do all.
    """
    if not isinstance(executor, futures.Executor | None):
        raise SpecError(
            f"{layout.name}: executor is one of concurrent.futures, such as ps.workers(2), got executor={executor!r}."
        )
    if executor is not None and not _is_local(executor):
        outcome = carry_out_on_workers(layout, context, executor)
        if outcome.aside or outcome.ended:
            raise _incomplete(layout, context, outcome)

    def work(task: Task) -> Result:
        job = layout.job(task)
        return find_or_run(
            layout.study, job, context, task.width, f"{layout.name} block", throw=False
        )

    results = []
    with context.meter(f"{layout.name} sweep", len(layout.tasks)) as tick:
        for result in _map(work, layout.tasks, context, executor):
            results.append(result)
            tick(1)
    ds = _as_dataset(layout, [result.dataset for result in results])
    warn_of_underived(layout.name, ds)
    return Swept(ds, [result.run_id for result in results])


def _as_dataset(layout: Layout, blocks: Sequence[xr.Dataset | None]) -> xr.Dataset:
    """The blocks as one dataset; those that are missing are NaN."""
    ds = fold(layout, blocks)
    ds = mark_swept(ds, [axis for axis in (*layout.outer, *layout.inner) if axis != "seed"])
    ds = label(ds, layout.study)
    reduce = layout.tasks[0].reduce
    if reduce:
        ds = without_records(tell_reductions(ds, reduce), reduce)
    # One text: a netCDF file has no lists of words.
    ids = [block.attrs.get("id", "") for block in blocks if block is not None]
    return ds.assign_attrs(ids=" ".join(ids))


def _incomplete(layout: Layout, context: Context, outcome: Outcome) -> SweepIncomplete:
    """The error of a sweep of which only a part was computed, with that part."""
    blocks: list[xr.Dataset | None] = []
    for task, job in zip(layout.tasks, layout.jobs(), strict=True):
        stored = is_stored(layout.study, job, context, task.width)
        found = find_or_run(layout.study, job, context, task.width, throw=False) if stored else None
        blocks.append(None if found is None else found.dataset)
    count = sum(block is not None for block in blocks)
    failed = {layout.tasks[number].in_words(): why for number, why in sorted(outcome.aside.items())}
    ended = f"{outcome.ended}; " if outcome.ended else ""
    again = "; run the same command again." if outcome.ended and not outcome.hopeless else "."
    message = (
        f"{layout.name}: {ended}{count} of {len(blocks)} blocks are stored{again}{_named(failed)}"
    )
    ds = None if count == 0 else without_a_mark_of_nothing(_as_dataset(layout, blocks))
    return SweepIncomplete(message, ds, failed)


def _named(failed: Mapping[str, str]) -> str:
    """The end of an error message: the reasons why blocks were given up, and the first blocks of each."""
    if not failed:
        return ""
    alike: dict[str, list[str]] = {}
    for block, why in failed.items():
        alike.setdefault(why, []).append(block)
    named = [f"{_first(blocks)} ({why})" for why, blocks in alike.items()]
    return f" Not done: {'; '.join(named)}. The same command tries only what is not stored."


def _first(blocks: Sequence[str]) -> str:
    """The first few of some blocks, and how many more there are."""
    more = f" and {len(blocks) - NAMED} more" if len(blocks) > NAMED else ""
    return f"{', '.join(blocks[:NAMED])}{more}"


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
    if own and jax.default_backend() != "cpu":  # else every thread would compile the same kernel
        yield work(tasks[0])
        tasks = tasks[1:]
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


def _is_local(executor: futures.Executor) -> bool:
    return isinstance(executor, futures.ThreadPoolExecutor)
