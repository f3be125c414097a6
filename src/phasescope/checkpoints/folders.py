"""Where checkpoints lie: files and folders as PyTorch and Hugging Face write them, each with its step.

What a folder names is opened only if it lies in that folder: a link to elsewhere is refused. The one exception is the cache of
Hugging Face, whose snapshots are links into the folder `blobs` beside them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ProbeError
from ..files import Document

ENDING = ".safetensors"
PICKLED = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
PICKLED_MODELS = ("pytorch_model.bin", "model.pt", "model.pth", "model.bin")
WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
CONFIG = "config.json"
LARGEST_JSON = 2**24
SHARD = re.compile(r"-\d{5}-of-\d{5}\.")
COMMIT = re.compile(r"[0-9a-f]{40}")
STEP = re.compile(r"(?:step|checkpoint|ckpt|iter|iteration)s?[-_=]?(\d+)(?![0-9a-zA-Z])", re.I)
HUB = re.compile(r"[\w-][\w.-]*(?:/[\w.-]+)?")  # what a model of Hugging Face is called
OF_THE_HUB = (
    "Nothing is downloaded: a model of Hugging Face is its folder models--OWNER--NAME in the cache."
)
NUMBER = re.compile(r"(?<![0-9a-zA-Z])(\d+)(?![0-9a-zA-Z])|(?<=[a-zA-Z])(\d+)(?![0-9a-zA-Z])")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where one checkpoint lies: what it is called, its files, the configuration beside it, and its step if it is known."""

    path: Path
    files: tuple[Path, ...]
    config: Path | None
    step: float | None

    @property
    def is_pickled(self) -> bool:
        return self.files[0].suffix != ENDING


def places(source: Any, steps: Sequence[float] | None, pickles: bool) -> list[Place]:
    """The checkpoints of a file, a folder, or several of them, in the order of their steps.

    **Raises:** `ProbeError` if there is none, if a step is not known or is there twice, or for a file that is not read.
    """
    several = isinstance(source, Sequence) and not isinstance(source, str)
    listed = list(source) if several else [source]
    if not listed:
        raise ProbeError("there is no checkpoint in an empty list.")
    found = [place for one in listed for place in _places_at(_path(one), pickles)]
    if steps is not None:
        if not np.isfinite(steps).all() or min(steps, default=0) < 0:
            raise ProbeError(
                f"steps are finite numbers from 0, one for each checkpoint, got {steps}."
            )
        if len(steps) != len(found):
            names = ", ".join(place.path.name for place in found[:4])
            raise ProbeError(
                f"steps has {len(steps)} numbers for {len(found)} checkpoints ({names}, ...)."
            )
        pairs = zip(found, steps, strict=True)
        found = [dataclasses.replace(place, step=float(step)) for place, step in pairs]
    elif len(found) == 1 and found[0].step is None:
        found = [dataclasses.replace(found[0], step=0.0)]
    return _in_order(found)


def _in_order(found: Iterable[Place]) -> list[Place]:
    by_step: dict[float, Place] = {}
    for place in found:
        if place.step is None:
            raise ProbeError(
                f"{place.path}: its name does not say its step. Give the steps of all checkpoints: steps=[...] (--steps)."
            )
        if place.step in by_step:
            raise ProbeError(
                f"{by_step[place.step].path} and {place.path} are both of step {place.step:g}. Give steps=[...] (--steps)."
            )
        by_step[place.step] = place
    return [by_step[step] for step in sorted(by_step)]


def _path(one: Any) -> Path:
    if not isinstance(one, str | os.PathLike):
        raise ProbeError(f"a checkpoint is a path or a list of paths, got {type(one).__name__}.")
    path = Path(one).expanduser()
    if not path.exists():
        is_file = path.suffix in (ENDING, *PICKLED)
        hub = f" {OF_THE_HUB}" if HUB.fullmatch(str(one)) and not is_file else ""
        raise ProbeError(f"{path}: there is no such file or folder.{hub}")
    return path


def _places_at(path: Path, pickles: bool) -> list[Place]:
    """The checkpoints of one path that the caller named."""
    if path.is_file():
        _check_kind(path, pickles)
        return [_of_file(path, path.parent)]
    if not path.is_dir():
        raise ProbeError(f"{path} is neither a file nor a folder, and is not read.")
    if (path / "refs").is_dir() and (path / "snapshots").is_dir():
        return _of_cache(path, pickles)
    below = _below(path, pickles)
    own = _of_folder(path, pickles)
    if own and below:
        warnings.warn(
            f"{path}: the checkpoints in its folders are probed; the model beside them has no step, and is left out.",
            stacklevel=2,
        )
    if below:
        return below
    if own:
        return [own]
    files = _loose_files(path, pickles)
    if not files:
        raise ProbeError(f"{path}: there is no checkpoint in this folder.{_pickles_there(path)}")
    return [_of_file(file, path) for file in files]


def _below(path: Path, pickles: bool) -> list[Place]:
    """The checkpoints in the folders of a folder."""
    folders = sorted(one for one in path.iterdir() if one.is_dir())
    found = []
    for folder in folders:
        place = _of_folder(inside(folder, path), pickles)
        if place is not None:
            found.append(place)
        elif step_of(folder.name) is not None and not pickles:
            for pickled in _pickled_in(
                folder
            ):  # a series with a gap would not be told from a whole one
                _check_kind(pickled, pickles)
        if place is None and STEP.search(folder.name):
            warnings.warn(
                f"{folder}: there is no checkpoint in this folder. It is left out.{_other_files(folder)}",
                stacklevel=2,
            )
    return found


def _other_files(folder: Path) -> str:
    """What of a folder would be a checkpoint if it was named itself."""
    named = sorted(one.name for one in folder.iterdir() if one.suffix == ENDING)
    return f" Its {named[0]} is not called {WHOLE}: name the file itself." if named else ""


def _pickled_in(folder: Path) -> list[Path]:
    return [folder / name for name in PICKLED_MODELS if (folder / name).is_file()]


def _of_cache(path: Path, pickles: bool) -> list[Place]:
    """The revisions of a model in the cache of Hugging Face: the names of their branches say the steps."""
    found = []
    for ref in sorted((path / "refs").iterdir()):
        commit = ref.read_text(errors="replace")[:64].strip() if ref.is_file() else ""
        folder = path / "snapshots" / commit
        if COMMIT.fullmatch(commit) and folder.is_dir():
            place = _of_folder(inside(folder, path), pickles)
            if place is not None:
                found.append(dataclasses.replace(place, path=ref, step=step_of(ref.name)))
    numbered = [place for place in found if place.step is not None]
    if not found:
        raise ProbeError(f"{path}: there is no checkpoint with a branch in this cache.")
    return numbered or found


def _of_folder(folder: Path, pickles: bool) -> Place | None:
    """The one checkpoint that a folder is; None if it is none."""
    config = folder / CONFIG
    beside = inside(config, folder) if config.is_file() else None
    step = step_of(folder.name)
    for name in (INDEX, WHOLE):
        _check_is_there(folder / name)
    if (folder / INDEX).is_file():
        return Place(folder, _shards(inside(folder / INDEX, folder), folder), beside, step)
    if (folder / WHOLE).is_file():
        return Place(folder, (inside(folder / WHOLE, folder),), beside, step)
    if pickles and _pickled_in(folder):
        return Place(folder, (inside(_pickled_in(folder)[0], folder),), beside, step)
    return None


def _loose_files(folder: Path, pickles: bool) -> list[Path]:
    """Files of a folder of which each is a checkpoint."""
    endings = (ENDING, *PICKLED) if pickles else (ENDING,)
    named = sorted(one for one in folder.iterdir() if one.suffix in endings and not one.is_dir())
    for one in named:
        _check_is_there(one)
    files = [one for one in named if one.is_file()]
    shards = [file for file in files if SHARD.search(file.name)]
    if shards:
        raise ProbeError(
            f"{shards[0]} is a part of a checkpoint, and there is no {INDEX} that says of which."
        )
    return [inside(file, folder) for file in files]


def _check_is_there(file: Path) -> None:
    """Refuse the name of a checkpoint that is no file: without it a series would have a gap."""
    if (file.is_symlink() or file.exists()) and not file.is_file():
        what = "a link to what is not there" if file.is_symlink() else "no file"
        raise ProbeError(f"{file} is {what}: the checkpoint is not whole.")


def _of_file(file: Path, folder: Path) -> Place:
    config = folder / CONFIG
    beside = inside(config, folder) if config.is_file() else None
    step = step_of(file.name.removesuffix(file.suffix))
    return Place(file, (file,), beside, step_of(file.parent.name) if step is None else step)


def _check_kind(file: Path, pickles: bool) -> None:
    if file.suffix in PICKLED and not pickles:
        raise ProbeError(
            f"{file} is a pickle, which can run code, and is not read. Save it as safetensors, or insist: pickles=True "
            "(--allow-pickles) lets torch read tensors of it, and nothing else."
        )
    if file.suffix not in (ENDING, *PICKLED):
        raise ProbeError(
            f"{file} is no checkpoint: those are {ENDING} files, or folders of them. ps.logged reads logs."
        )


def _pickles_there(folder: Path) -> str:
    below = (*folder.glob("*"), *folder.glob("*/*"))
    there = sorted(one.name for one in below if one.suffix in PICKLED)[:1]
    if there:
        return (
            f" {there[0]} is a pickle, which can run code: pickles=True (--allow-pickles) insists."
        )
    return f" One has {ENDING} files, or folders with {WHOLE} or {INDEX}."


def _shards(index: Path, folder: Path) -> tuple[Path, ...]:
    """The files that an index names, which lie beside it."""
    said = read_json(index).get("weight_map")
    if not isinstance(said, dict) or not said:
        raise ProbeError(f'{index} has no "weight_map", which says where each tensor lies.')
    names = sorted({str(name) for name in said.values()})
    for name in names:
        if Path(name).name != name or not name.endswith(ENDING):
            raise ProbeError(
                f"{index} names {name!r}; parts of a checkpoint are {ENDING} files beside the index."
            )
        if not (folder / name).is_file():
            raise ProbeError(
                f"{index} names {name}, which is not there: the checkpoint is not whole."
            )
    return tuple(inside(folder / name, folder) for name in names)


def read_json(file: Path) -> Document:
    """A JSON object, of a size that fits into memory.

    **Raises:** `ProbeError` if it is none.
    """
    try:
        if file.stat().st_size > LARGEST_JSON:
            raise ProbeError(f"{file} has more than {LARGEST_JSON / 2**20:g} MiB, and is not read.")
        said = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        if isinstance(problem, ProbeError):
            raise
        raise ProbeError(f"{file} is not JSON: {problem}.") from None
    if not isinstance(said, dict):
        raise ProbeError(f"{file} is not a JSON object.")
    return said


def inside(path: Path, folder: Path) -> Path:
    """The path, if what it stands for lies in the folder.

    **Raises:** `ProbeError` for a link to elsewhere.
    """
    real = path.resolve()
    roots = [folder.resolve()]
    if folder.parent.name == "snapshots":
        roots.append(folder.parent.parent.resolve() / "blobs")
    if not any(real.is_relative_to(root) for root in roots):
        raise ProbeError(
            f"{path} is a link to {real}, outside its folder, and is not followed. Name that file, or copy it."
        )
    return path


def step_of(name: str) -> float | None:
    """The step that a name says: `checkpoint-500`, `step1000`, `epoch=3-step=100`, `model_200`; None if it says none."""
    if COMMIT.fullmatch(name):
        return None
    named = STEP.search(name)
    if named:
        return float(named[1])
    numbers = [one or other for one, other in NUMBER.findall(name)]
    return float(numbers[-1]) if numbers else None
