"""`phasescope fork`: words of the command line as the arguments of `ps.fork`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr


def fork_run(
    run: str,
    at: float,
    fields: Sequence[str],
    *,
    clamp: Sequence[str],
    reset: Sequence[str],
    replace: Sequence[str],
    lane: int | None,
    store: Path | None,
) -> xr.Dataset:
    """Fork a stored run, or a lane of a stored block; `fields` are words such as `eta=0.01`, read against its numbers."""
    from .. import find
    from .. import fork as fork_at
    from ..verbs.reading import find_entry
    from .arguments import parse

    arrays = replacements(replace)
    entry = find_entry(run, store)[1]
    study = find(entry.study)
    numbers = study.specify(None, study.arm(entry.arm), **entry.spec)
    change = parse(numbers, fields)
    chosen = run if lane is None else _one_lane(run, lane, store)
    return fork_at(chosen, at, clamp=clamp, reset=reset, replace=arrays, change=change, store=store)


def replacements(words: Sequence[str]) -> dict[str, Any]:
    """Numbers and arrays by the names of parameters, from words such as `W=0.5` and `W=start.npy`."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise SpecError(f'--replace: "{word}" is not of the form NAME=NUMBER or NAME=FILE.npy.')
        if name in found:
            raise SpecError(f"--replace: {name} is given twice.")
        found[name] = _array_in(text) if text.endswith(".npy") else _number(word, text)
    return found


def _number(word: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecError(
            f"--replace {word}: it is neither a number nor a file that ends in .npy."
        ) from None


def _array_in(text: str) -> np.ndarray:
    """The array of a file of NumPy. Nothing in it is executed."""
    import numpy as np

    file = Path(text)
    if not file.is_file():
        raise SpecError(f"--replace {file}: there is no such file.")
    try:
        return np.load(file, allow_pickle=False)
    except Exception as problem:  # the reader raises whatever it meets
        raise SpecError(f"--replace {file}: it cannot be read: {problem}") from None


def _one_lane(run: str, lane: int, store: Path | None) -> xr.Dataset:
    """The records of one lane of a block."""
    from ..verbs.reading import open as open_run

    ds = open_run(run, store=store)
    if "lane" not in ds.dims:
        raise SpecError(f"{run} is a single run: leave --lane out.")
    count = ds.sizes["lane"]
    if not 0 <= lane < count:
        raise SpecError(f"{run} has the lanes 0 to {count - 1}, got --lane {lane}.")
    return ds.isel(lane=lane)
