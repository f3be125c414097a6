"""`phasescope fork`: words of the command line as the arguments of `ps.fork`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def fork_run(
    run: str,
    at: float,
    fields: Sequence[str],
    clamp: Sequence[str],
    reset: Sequence[str],
    store: Path | None,
) -> xr.Dataset:
    """Fork a stored run; `fields` are words such as `eta=0.01`, read against the numbers of the run."""
    from .. import find
    from .. import fork as fork_at
    from ..verbs.reading import find_entry
    from .arguments import parse

    entry = find_entry(run, store)[1]
    study = find(entry.study)
    numbers = study.specify(None, study.arm(entry.arm), **entry.spec)
    change = parse(numbers, fields)
    return fork_at(run, at, clamp=clamp, reset=reset, change=change, store=store)
