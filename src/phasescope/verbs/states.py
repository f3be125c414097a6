"""state: the arrays of a run's state at the end of a stage."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from ..engine.job import Job
from ..engine.precision import exact_numbers
from ..engine.programs import Inputs, Program, begin_run, enter_stage
from ..errors import PhasescopeError, StoreError, nearest
from ..files import os_errors_as_store_errors, write_atomically
from ..plan.dynamics import State
from ..plan.given import with_arrays
from ..plan.observables import flag_word, stage_names
from ..records.dataset import GIVEN
from ..store import Entry, Store
from ..store.sealed import pack_tensors
from ..store.values import Column, LongColumn
from ..study import find
from .arrayfile import check_out
from .reading import find_entry

Arrays = dict[str, np.ndarray]


def state(
    run: str | Path | xr.Dataset,
    stage: str | None = None,
    *,
    out: str | Path | None = None,
    store: str | Path | None = None,
) -> Arrays:
    """The state of a run at the end of a stage: what is trained, held fixed and carried.

        >>> ds = ps.run("linear_modes", "descent", steps=10)
        >>> arrays = ps.state(ds, out="weights.safetensors")
        >>> {name: array.shape for name, array in arrays.items()}
        {'params.a': (3,), 'params.b': (3,)}

    **Arguments:**

    - `run`: a dataset that `run` returned, or what `ps.open` takes: an id or a folder.
    - `stage`: the name of a stage; the last one that was finished if not given.
    - `out`: a file to write, as safetensors.
    - `store`: the folder in which ids are looked up; by default as for `run`.

    **Returns:** the arrays by name: `params...` is what was trained, `memory...` what was held fixed,
    `carry...` what the dynamics carries (moments, step size). Lanes of a block are the last axis, with
    the copies of the last one that fill the block up. If the study is not installed, or its state has
    another shape by now, the names are numbers.

    **Raises:** `StoreError` if there is no such run or stage, if the run ended before it, or if the
    file cannot be written; `SpecError` if its name does not end in .safetensors.
    """
    if out is not None:
        check_out(Path(out))
    home, entry = entry_of(run, store)
    records = home.load(entry)
    names = stage_names(records)
    chosen = _chosen_stage(home, entry, names, stage)
    leaves = home.snapshot(entry, chosen)
    named = json.loads(records.attrs.get(GIVEN, "{}"))
    given = dict(zip(named, home.snapshot(entry, GIVEN), strict=True)) if named else {}
    arrays = _named(entry, given, names.index(chosen), leaves)
    if out is not None:
        file = Path(out)
        with os_errors_as_store_errors(file, "write the state to"):
            write_atomically(file, pack_tensors(arrays))
    return arrays


def entry_of(run: str | Path | xr.Dataset, store: str | Path | None) -> tuple[Store, Entry]:
    """The store and the entry of a run: of its dataset, its id or its folder."""
    if not isinstance(run, xr.Dataset):
        return find_entry(run, store)
    if "folder" not in run.attrs:
        raise StoreError(
            "this dataset is of no stored run, or of a sweep of several blocks: states are kept with "
            "stored runs. Run it with a store, or give the id of one block."
        )
    return find_entry(Path(run.attrs["folder"]), store)


def _chosen_stage(home: Store, entry: Entry, names: Sequence[str], stage: str | None) -> str:
    """The stage that was asked for, else the last one with a state."""
    if entry.lanes and (entry.identity.keep is not None or entry.identity.reduce is not None):
        raise StoreError(
            f"{entry.id} is a block of a sweep of which only some observables were kept, and states are not among them. "
            "Sweep without keep and reduce, or run one of its lanes."
        )
    ended = [name for name in names if home.snapshot(entry, name)]
    if stage is None:
        if not ended:
            raise StoreError(
                f"{entry.id} ({entry.status}) ended before the first of its stages did."
            )
        return ended[-1]
    word = flag_word(stage)
    if word not in names:
        raise StoreError(f'{entry.id} has no stage "{stage}". {nearest(word, names)}')
    if word not in ended:
        raise StoreError(
            f'{entry.id} ({entry.status}) ended before its stage "{stage}" did: there is no state of its '
            f"end. Stages that ended: {', '.join(ended) or 'none'}."
        )
    return word


def _named(entry: Entry, given: Arrays, stage: int, leaves: Sequence[np.ndarray]) -> Arrays:
    """The leaves under the names that they have in the state of the plan, or under numbers."""
    shapes: Mapping[str, tuple[int, ...]] = {}
    with contextlib.suppress(PhasescopeError, ValueError, TypeError):
        shapes = shapes_of_state(_job_of(entry, given), stage)
    if list(shapes.values()) == [leaf.shape for leaf in leaves]:
        return dict(zip(shapes, leaves, strict=True))
    return {f"{number:06d}": leaf for number, leaf in enumerate(leaves)}


def _job_of(entry: Entry, given: Arrays) -> Job:
    """What was run, by the study's code of today, with what was given."""
    study = find(entry.study)
    own = study.arm(entry.arm)
    arm = with_arrays(own, given) if given else own
    spec = study.specify(None, own, **entry.spec)
    # Only shapes are asked for: of a wide block, whose numbers are in its records, the first will do.
    columns = {name: _numbers(column) for name, column in (entry.lanes or {}).items()}
    return Job(arm, spec, entry.seed, columns)


def _numbers(column: Column) -> Sequence[float]:
    return [column.first] * column.count if isinstance(column, LongColumn) else column


def shapes_of_state(job: Job, stage: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of the state in a stage (-1: at the start), by name, in the order of the leaves; nothing
    runs.
    """

    def entered(inputs: Inputs) -> State:
        program = Program(job.arm, job.is_block)
        found = begin_run(program, inputs)[0]
        for index in range(stage + 1):
            found = enter_stage(program.at_stage(index), inputs, found)
        return found

    with exact_numbers():
        inputs = job.inputs()
        shapes = eqx.filter_eval_shape(entered, inputs)
        data = jax.eval_shape(_without_keys, eqx.filter(shapes, _is_shape))
    found = jax.tree_util.tree_flatten_with_path(data)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): x.shape for path, x in found}


def _without_keys(state: State) -> State:
    """Random keys as their raw words, which is how they are stored."""

    def plain(x: jax.Array) -> jax.Array:
        is_key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        return jax.random.key_data(x) if is_key else x

    return jax.tree.map(plain, state)


def _is_shape(x: object) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)
