"""weights: the parameters that a run ended with, for torch and TransformerLens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr

from ..errors import PhasescopeError, SpecError, StoreError
from ..files import os_errors_as_store_errors, write_atomically
from ..networks.hooked import hooked, hooked_config, named_parameters, why_not_hooked
from ..networks.spec import TextSpec
from ..store import Entry, Store
from ..study import find
from .arrayfile import check_out
from .reading import opened
from .states import entry_of, state
from .validate import is_whole

LAYOUTS = ("own", "hooked")
CONFIG = "config"  # the entry of a file's metadata
PARAMS = "params."
NET = "net."  # what of the parameters of an arm on text is its decoder


class Weights(dict[str, np.ndarray]):
    """Arrays by name. With the layout `hooked`, `config` has the arguments of `HookedTransformerConfig`; else it is empty."""

    def __init__(self, arrays: dict[str, np.ndarray], config: dict[str, Any]) -> None:
        super().__init__(arrays)
        self.config = config


def _entries(x: Weights) -> tuple[tuple[tuple[Any, np.ndarray], ...], tuple[tuple[str, ...], Any]]:
    """The arrays with their names, as those of a dict, and what makes the same of others."""
    children = tuple((jax.tree_util.DictKey(name), array) for name, array in x.items())
    return children, (tuple(x), json.dumps(x.config))


def _again(said: tuple[tuple[str, ...], Any], arrays: Iterable[Any]) -> Weights:
    names, config = said
    return Weights(dict(zip(names, arrays, strict=True)), json.loads(config))


# JAX takes a class of dicts for one value, and `params=` takes a tree of arrays.
jax.tree_util.register_pytree_with_keys(Weights, _entries, _again)


def weights(
    run: str | Path | xr.Dataset,
    stage: str | None = None,
    *,
    out: str | Path | None = None,
    layout: str = "own",
    lane: int | None = None,
    store: str | Path | None = None,
) -> Weights:
    """The parameters of a run at the end of a stage, and nothing else: for torch, and for TransformerLens.

        >>> ds = ps.run("regular_language", "text_gpt", preset="tiny", positions="learned")
        >>> ps.weights(ds)["net.blocks.0.query"].shape  # width, head, size of a head
        (4, 2, 2)
        >>> found = ps.weights(ds, layout="hooked", out="hooked.safetensors")
        >>> found["blocks.0.attn.W_Q"].shape, found.config["d_vocab"]
        ((2, 4, 2), 30)

    **Arguments:**

    - `run`: a dataset that `run` returned, or what `ps.open` takes: an id or a folder.
    - `stage`: the name of a stage; the last one that was finished if not given.
    - `out`: a file to write, as safetensors; `safetensors.torch.load_file` reads it. The entry `config` of its
      metadata is the configuration, as JSON.
    - `layout`: `own` are the names that `params=` of `ps.given` and `ps.replay` takes. `hooked`, of an arm
      on text, are the names and shapes of TransformerLens's `HookedTransformer`.
    - `lane`: of a block of runs, such as several seeds: which of them, counted from 0.
    - `store`: the folder in which ids are looked up; by default as for `run`.

    **Returns:** the arrays by name. Their attribute `config` is a mapping: with `hooked` the arguments of
    `HookedTransformerConfig`. Biases that the run has not are zeros there, an embedding that is scaled is
    multiplied out, and fixed positions are a table.

    **Raises:** `SpecError` for another ending of `out` than .safetensors, for a block without a `lane`, for
    a lane that is not there, and with `hooked` for an arm that is not on text, or a decoder with ALiBi,
    with normalisation after each addition, or without the diagonal of attention; `StoreError` as
    `ps.state`, or if the study is not installed any more.
    """
    if layout not in LAYOUTS:
        raise SpecError(f'layout is "own" or "hooked", got layout={layout!r}.')
    if out is not None:
        check_out(Path(out))
    home, entry = entry_of(run, store)
    spec = _text_spec(entry)
    if layout == "hooked":
        _check_on_text(entry, spec)
    leaves = _of_lane(state(entry.folder, stage), home, entry, lane)
    found = _own(leaves, entry) if spec is None else _hooked_or_own(leaves, entry, spec, layout)
    if out is not None:
        _write(found, Path(out))
    return found


def _text_spec(entry: Entry) -> TextSpec | None:
    """The numbers of a run of a decoder on text; None if it is of another arm, or its study is not installed."""
    try:
        study = find(entry.study)
        spec = study.specify(None, study.arm(entry.arm), **entry.spec)
    except PhasescopeError:
        return None
    return spec if isinstance(spec, TextSpec) else None


def _check_on_text(entry: Entry, spec: TextSpec | None) -> None:
    if spec is None:
        raise SpecError(
            f'{entry.id}: layout="hooked" is for the arms that train a decoder on text (of a TextSpec), and '
            f'{entry.study}.{entry.arm} is none. layout="own" has its parameters under their own names.'
        )
    reason = why_not_hooked(spec.shape(1))
    if reason is not None:
        raise SpecError(
            f'{entry.id} is no HookedTransformer: {reason}. layout="own" has its parameters under their own names.'
        )


def _of_lane(
    arrays: dict[str, np.ndarray], home: Store, entry: Entry, lane: int | None
) -> dict[str, np.ndarray]:
    """The state of one run of a block; that of a single run is what it is."""
    if not entry.lanes:
        if lane is not None:
            raise SpecError(f"{entry.id} is a single run, got lane={lane}. Leave it out.")
        return arrays
    count = opened(home, entry).sizes["lane"]
    names = ", ".join(entry.lanes)
    if lane is None:
        raise SpecError(
            f"{entry.id} is a block of {count} runs that differ in {names}, and weights are of one: say which, from lane=0 "
            f"to lane={count - 1}. ps.state has all of them, lanes last."
        )
    if not (is_whole(lane) and 0 <= lane < count):
        raise SpecError(
            f"{entry.id} is a block of {count} runs that differ in {names}: lanes go from 0 to {count - 1}, got lane={lane!r}."
        )
    return {name: x[..., lane] for name, x in arrays.items()}


def _own(arrays: dict[str, np.ndarray], entry: Entry) -> Weights:
    """What was trained, under its own names."""
    found = {
        name.removeprefix(PARAMS): x for name, x in arrays.items() if f"{name}.".startswith(PARAMS)
    }
    if not found:
        raise StoreError(
            f"{entry.id}: nobody can say which of its arrays are parameters: the study {entry.study} is not installed, or "
            "its state has another shape by now. ps.state has all arrays, by number."
        )
    return Weights(found, {})


def _hooked_or_own(
    arrays: dict[str, np.ndarray], entry: Entry, spec: TextSpec, layout: str
) -> Weights:
    """The decoder of a run on text. Its names follow from its numbers: the corpus is not read."""
    leaves = list(arrays.values())
    shape = spec.shape(len(leaves[0]))
    net = named_parameters(leaves, shape)
    if net is None:
        raise StoreError(
            f"{entry.id}: its state has another shape than {entry.study}.{entry.arm} has by now. ps.state has all arrays."
        )
    if layout == "own":
        return Weights({f"{NET}{name}": x for name, x in net.items()}, {})
    return Weights(hooked(net, shape), hooked_config(shape))


def _write(found: Weights, file: Path) -> None:
    from safetensors.numpy import save

    arrays = {name: np.asarray(x, order="C") for name, x in found.items()}
    with os_errors_as_store_errors(file, "write the weights to"):
        write_atomically(file, save(arrays, metadata={CONFIG: json.dumps(found.config)}))
