"""replay: our gradient and update on the batches that another program trained on."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..errors import PlanError, RunDiverged
from ..logs.origin import digest_of_arrays
from ..networks.fed import check_tokens
from ..networks.spec import TextSpec
from ..plan.given import given
from ..plan.observables import stage_names
from ..plan.plan import Arm, fields_read
from ..plan.times import Times
from ..records.divergence import divergence
from ..study import Study, find
from ..tensors import without_gradient
from .arrayfile import arrays_in
from .run import run
from .states import entry_of, shapes_of_state
from .validate import requested_job

REPLAYED = "replayed"  # the attribute that says which batches a run was fed
STEPS = "steps"  # what studies call the number of updates
PARAMS = "params"
WINDOWS = "windows"  # the sequences of a batch of text


def replay(
    study: str | Study,
    arm: str | Arm,
    batches: Any,
    *,
    params: Any = None,
    memory: Any = None,
    preset: str | None = None,
    seed: int = 0,
    at: Times | None = None,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
    **changes: Any,
) -> xr.Dataset:
    """Feed the batches of another program to an arm's own gradient and update.

        >>> label = np.array([[0, 1], [1, 0]])  # of two batches of two sequences
        >>> counts = np.ones((2, 2, 5))  # of two common and three distinct tokens
        >>> batches = {"label": label, "counts": counts}
        >>> ds = ps.replay("scan_and_snap", "sampled", batches, preset="tiny", batch=2, store=False)
        >>> ds["params.weights.Y"].shape
        (8, 3)

    So agreement with released code is a number: log the batches and the weights of that code, replay the
    batches, and compare. The steps are as many as there are batches.

    **Arguments:**

    - `study`, `arm`: as for `ps.run`. The arm draws batches: its dynamics is `ps.descent(sample=...)`, or has a
      `sampler` (see `ps.Dynamics`).
    - `batches`: one for each step, along the first axis of an array, or of all arrays of a batch by name; or a
      list of batches (arrays, mappings or tuples, of NumPy or torch); or a .npz or .safetensors file of them.
    - `params`, `memory`: where the other program began, and what it held fixed, as for `ps.given`; by default
      the arm's own.
    - `preset`, `seed`, `at`, `store`, `progress`, `changes`: as for `ps.run`.

    **Returns:** the dataset of the run, and beside its observables the parameters at the end, under the names
    that `ps.state` has for them (`params.weights.Y`). The batches are part of the run's identity, and
    the attribute `replayed` has their source, number and SHA-256.

    **Raises:** `PlanError` for an arm that draws no batches, names or shapes that do not fit, too few, or, of an
    arm on text, a token that its vocabulary has not; `SpecError` for a file that cannot be read; and what `ps.run` raises.
    """
    chosen = find(study)
    own = chosen.arm(arm)
    arrays, where = _arrays(batches, own.__name__)
    count = _count(arrays, own.__name__)
    if STEPS not in changes and STEPS in fields_read(own, chosen.default_for(own)):
        changes[STEPS] = count
    fed = given(own, params=params, memory=memory, batches=arrays.get("", arrays))
    said = {"source": where, "batches": count, "sha256": digest_of_arrays(arrays)}
    asked: dict[str, Any] = {"preset": preset, "seed": seed, "at": at}
    job = requested_job(chosen, fed, changes=changes, **asked)
    names = list(shapes_of_state(job, 0))
    if isinstance(job.spec, TextSpec) and WINDOWS in arrays:
        check_tokens(job.spec, arrays[WINDOWS], own.__name__)
    # What a run ended with is read from a store.
    with contextlib.nullcontext(store) if store is not False else _nowhere() as folder:
        try:
            ds = run(chosen, fed, store=folder, progress=progress, **asked, **changes)
        except RunDiverged as error:
            if store is not False:
                raise
            raise divergence(chosen.name, job, _without_folder(error.dataset)) from None
        ds = _with_end(ds, names).assign_attrs({REPLAYED: json.dumps(said)})
        return _without_folder(ds) if store is False else ds


def _without_folder(ds: xr.Dataset) -> xr.Dataset:
    """The dataset by itself: its folder is gone in a moment."""
    ds = ds.load()
    del ds.attrs["folder"]
    return ds


def _nowhere() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="phasescope-")


def _with_end(ds: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """The dataset with the parameters at the end of its stage; `names` are those of its state."""
    home, entry = entry_of(ds, None)
    leaves = home.snapshot(entry, stage_names(ds)[0])
    ends = {
        name: (tuple(f"{name}_{axis}" for axis in range(x.ndim)), x)
        for name, x in zip(names, leaves, strict=True)
        if name.partition(".")[0] == PARAMS
    }
    return ds.assign(ends)


def _arrays(batches: Any, arm: str) -> tuple[dict[str, np.ndarray], str]:
    """The arrays of all batches by name ('' if a batch is one array), steps first, and where they came from."""
    if isinstance(batches, str | os.PathLike):
        found = arrays_in(Path(batches), "batches")
        return {_own_name(name): x for name, x in found.items()}, str(batches)
    where = "arrays in memory"
    if isinstance(batches, Mapping):
        return {str(name): _as_array(x) for name, x in batches.items()}, where
    if isinstance(batches, Sequence):
        return _stacked(batches, arm), where
    if isinstance(batches, Iterable) and not hasattr(batches, "shape"):
        raise PlanError(
            f"{arm}: batches are arrays or a list of them, got {type(batches).__name__}: draw as many as there are steps and "
            "keep them, as in list(itertools.islice(loader, steps))."
        )
    return {"": _as_array(batches)}, where


def _own_name(name: str) -> str:
    """The name without `batches.`, with which it may stand in a file that `--given` takes."""
    return "" if name == "batches" else name.removeprefix("batches.")


def _stacked(batches: Sequence[Any], arm: str) -> dict[str, np.ndarray]:
    """A list of batches, as a loader yields them, with the steps along the first axis."""
    listed = [_named(batch) for batch in batches]
    if not listed:
        raise PlanError(f"{arm}: there is no batch in an empty list.")
    first = {name: x.shape for name, x in listed[0].items()}
    for number, batch in enumerate(listed):
        shapes = {name: x.shape for name, x in batch.items()}
        if shapes != first:
            odd = min(name for name in {**shapes, **first} if shapes.get(name) != first.get(name))
            raise PlanError(
                f'{arm}: batch {number} differs from batch 0 in "{odd}": its shape is {shapes.get(odd, "none")}, and there '
                f"{first.get(odd, 'none')}. Leave out a last batch that is smaller."
            )
    return {name: np.stack([batch[name] for batch in listed]) for name in first}


def _named(batch: Any) -> dict[str, np.ndarray]:
    """The arrays of one batch by name: keys, names of fields, or places in a tuple."""
    if isinstance(batch, Mapping):
        return {str(name): _as_array(x) for name, x in batch.items()}
    if hasattr(batch, "_fields"):
        return {name: _as_array(getattr(batch, name)) for name in batch._fields}
    if isinstance(batch, tuple):
        return {str(place): _as_array(x) for place, x in enumerate(batch)}
    return {"": _as_array(batch)}


def _as_array(x: Any) -> np.ndarray:
    """An array, or a tensor of torch on any device."""
    return np.asarray(without_gradient(x))


def _count(arrays: Mapping[str, np.ndarray], arm: str) -> int:
    counts = {name or "batches": len(x) if x.ndim else 0 for name, x in arrays.items()}
    if len(set(counts.values())) != 1 or not min(counts.values()):
        told = (
            ", ".join(f"{name} has {count}" for name, count in counts.items()) or "there are none"
        )
        raise PlanError(
            f"{arm}: batches lie along the first axis, and every array has as many: {told}."
        )
    return next(iter(counts.values()))
