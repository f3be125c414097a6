"""probe: evidence of a series of checkpoints that phasescope did not make."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..errors import ProbeError
from ..logs.evidence import as_evidence
from ..logs.origin import Origin
from ..probes import doubled_tokens
from .contents import Contents, Tensors, check_alike, contents, tensors_at
from .folders import Place, places
from .groups import RULES, Members, members, ungrouped
from .heads import Attention
from .models import Known, Runner, are_installed, check_fits, known_model

TIME = "time"


def probe(
    source: Any,
    *,
    steps: Sequence[float] | None = None,
    groups: Mapping[str, str] | None = None,
    attention: bool | None = None,
    tokens: Any = None,
    length: int = 25,
    sequences: int = 4,
    seed: int = 0,
    pickles: bool = False,
) -> xr.Dataset:
    """Make evidence of a series of checkpoints of PyTorch or Hugging Face.

        >>> from safetensors.numpy import save_file
        >>> for step in (0, 100):
        ...     save_file({"h.0.attn.q_proj": np.full((2, 2), 1.0 + step)}, f"step{step}.safetensors")
        >>> ds = ps.probe(["step0.safetensors", "step100.safetensors"])
        >>> ds.relative_norm.sel(group="key_query").values.tolist()
        [1.0, 101.0]

    Nothing in the files is executed. Norms need neither torch nor much memory: tensors are read piece by
    piece. Checkpoints that are the same, tensor by tensor, raise a warning, as do parameters that are NaN or infinite.

    **Arguments:**

    - `source`: a .safetensors file; a folder with model.safetensors (or its index and parts) and
      config.json; a folder of such folders or files, or a model in the cache of Hugging Face; or a list.
    - `steps`: of the checkpoints, in the order of the list or of their names. By default the names say
      them: `checkpoint-500`, `step1000`, `epoch=3-step=100`, `model_200.safetensors`.
    - `groups`: groups of parameters by regular expressions on their names; by default positional,
      key_query, value, output, mlp, embedding and readout, as far as the names tell.
    - `attention`: whether to compute attention and loss, which needs torch, transformers, and a model like
      GPT-2 or GPT-NeoX; by default if that is so.
    - `tokens`: the probe batch, whole numbers `[sequence, position]`, on which entropy, drift and loss are
      computed; by default the doubled sequences.
    - `length`, `sequences`, `seed`: of the doubled random sequences on which heads are scored.
    - `pickles`: also take .pt and .bin, which torch reads with `weights_only=True`.

    **Returns:** a dataset such as `ps.logged` returns, over the steps: `norm`, `relative_norm` and `moved` by
    group; `copy_of`, the step of an earlier checkpoint that is the same; and, of a known model, `entropy`,
    `drift` (from the checkpoint before), `drift_from_start`, `previous_token_score` and `induction_score` by
    layer and head, and `loss`. The coordinate `sha256` has the digest of every checkpoint. The attributes
    `ungrouped` and `ungrouped_names` say how many parameters are in no group, and which.

    **Raises:** `ProbeError` for what is no checkpoint, is cut off, lies outside its folder, or is not of one
    model; `MissingExtra` if what was asked for needs a library that is not installed.
    """
    found = places(source, steps, pickles)
    first = tensors_at(found[0])
    known = known_model(found[0])
    belong = members(first, groups, known.heads if known else None)
    heads = None
    if _is_wanted(attention, known, found[0], tokens):
        assert known is not None
        check_fits(known, first, found[0].path)
        own = doubled_tokens(known.vocabulary, length, sequences, seed)
        heads = Attention(Runner(known), own, own if tokens is None else _batch(tokens))
    seen: list[Contents] = []
    for place in found:
        tensors = tensors_at(place)
        check_alike(tensors, first, place.path, found[0].path)
        seen.append(contents(tensors, belong, first, seen[0].digests if seen else {}))
        if heads is not None:
            heads.add(tensors, place.path)
    ds = _norms(found, seen, belong, first)
    _warn_of_copies(found, ds)
    _warn_of_no_numbers(found, ds)
    if heads is not None:
        ds = ds.merge(heads.dataset(ds[TIME])).assign_attrs(probe_batch=heads.described)
    return as_evidence(ds, [_origin(source, found, seen)])


def _is_wanted(asked: bool | None, known: Known | None, place: Place, tokens: Any) -> bool:
    """Whether to compute attention and loss.

    **Raises:** `ProbeError` if it was asked for, or tokens were given, and it cannot be.
    """
    if asked and known is None:
        raise ProbeError(
            f"{place.path}: attention is computed of models whose config.json says model_type gpt2 or gpt_neox. Of others "
            "there are norms: attention=False (--norms-only)."
        )
    wanted = known is not None and are_installed() if asked is None else asked
    if tokens is not None and not wanted:
        raise ProbeError("tokens are for attention and loss, which this probe does not compute.")
    return wanted


def _batch(tokens: Any) -> np.ndarray:
    """The probe batch, as whole numbers `[sequence, position]`."""
    batch = np.asarray(tokens)
    if batch.ndim != 2 or batch.dtype.kind not in "iu" or not batch.size or batch.shape[1] < 2:
        raise ProbeError(
            f"tokens are whole numbers [sequence, position], two positions or more, got {batch.dtype} of shape {batch.shape}."
        )
    return batch.astype(np.int64)


def _norms(
    found: Sequence[Place], seen: Sequence[Contents], belong: Members, first: Tensors
) -> xr.Dataset:
    sizes: dict[str, int] = {}
    for of_tensor in belong.values():
        for member in of_tensor:
            sizes[member.group] = sizes.get(member.group, 0) + member.size
    names = sorted(sizes, key=[*RULES, *sizes].index)
    left_out = ungrouped(first, belong)
    norm = np.sqrt([[one.squares[name] for name in names] for one in seen])
    moved = np.sqrt([[one.distances[name] for name in names] for one in seen])
    start = np.where(norm[0] == 0, np.nan, norm[0])
    dims = (TIME, "group")
    return xr.Dataset(
        {
            "norm": (dims, norm, {"long_name": "norm of the parameters of a group"}),
            "relative_norm": (dims, norm / start, {"long_name": "norm relative to the start"}),
            "moved": (dims, moved / start, {"long_name": "distance from the start, over its norm"}),
            "copy_of": (TIME, _copies(found, seen), {"long_name": "step that it is a copy of"}),
        },
        coords={
            TIME: [place.step for place in found],
            "group": names,
            "parameters": ("group", [sizes[name] for name in names]),
            "sha256": (TIME, [one.digest for one in seen]),
        },
        attrs={
            "tensors": len(first),
            "ungrouped": sum(left_out.values()),
            "ungrouped_names": ", ".join(left_out),
        },
    )


def _copies(found: Sequence[Place], seen: Sequence[Contents]) -> list[float]:
    """For each checkpoint the step of the first one with the same tensors, NaN if there is none before it."""
    steps: dict[str, float] = {}
    copies = []
    for place, one in zip(found, seen, strict=True):
        assert place.step is not None
        copies.append(steps.get(one.digest, np.nan))
        steps.setdefault(one.digest, place.step)
    return copies


def _warn_of_copies(found: Sequence[Place], ds: xr.Dataset) -> None:
    pairs = [
        f"{place.path.name} is that of step {copy:g}"
        for place, copy in zip(found, ds["copy_of"].values, strict=True)
        if np.isfinite(copy)
    ]
    if pairs:
        more = f", and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        are = "is a copy" if len(pairs) == 1 else "are copies"
        warnings.warn(
            f"{len(pairs)} of {len(found)} checkpoints {are} of an earlier one, tensor by tensor: "
            f"{'; '.join(pairs[:3])}{more}. Either training did not move, or files were saved under wrong names.",
            stacklevel=3,
        )


def _warn_of_no_numbers(found: Sequence[Place], ds: xr.Dataset) -> None:
    """Say which checkpoints have parameters that are NaN or infinite: what is computed of them is unknown."""
    finite = np.isfinite(ds["norm"].values)
    bad = np.flatnonzero(~finite.all(axis=1))
    if bad.size:
        groups = ", ".join(ds["group"].values[~finite[bad[0]]])
        warnings.warn(
            f"{bad.size} of {len(found)} checkpoints have parameters that are NaN or infinite, first {found[bad[0]].path.name} "
            f"({groups}): what is computed of them is unknown.",
            stacklevel=3,
        )


def _origin(source: Any, found: Sequence[Place], seen: Sequence[Contents]) -> Origin:
    """Where the series lies, and one digest for all of it."""
    single = isinstance(source, str | os.PathLike)
    where = str(source) if single else f"{found[0].path} to {found[-1].path}"
    lines = [[place.step, one.digest] for place, one in zip(found, seen, strict=True)]
    digest = hashlib.sha256(json.dumps(lines).encode()).hexdigest()
    many = f"{len(found)} checkpoints" if len(found) > 1 else "a checkpoint"
    kind = "pickles" if found[0].is_pickled else "safetensors"
    return Origin(where, f"{many}, {kind}", digest)
