"""Who carries the blocks of a sweep: `--workers`, `--cluster`, or threads of this process."""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
from collections.abc import Mapping
from pathlib import Path

from ..errors import SpecError


def chosen_executor(
    count: int | None,
    address: str | None,
    folder: Path | None,
    files: Mapping[str, Path | None],
    time_limit: float | None,
) -> contextlib.AbstractContextManager[futures.Executor | None]:
    """The executor that the flags ask for; None for threads."""
    given = {word: path for word, path in files.items() if path is not None}
    if address is None and (folder is not None or given):
        raise SpecError("--tls and its files are for --cluster ADDRESS.")
    if folder is not None and given:
        raise SpecError(
            "--tls FOLDER has all three files: give it, or --tls-ca, --tls-cert and --tls-key."
        )
    if count is None and address is None:
        if time_limit is not None:
            raise SpecError(
                "--time-limit is for blocks on workers: add --workers N or --cluster ADDRESS."
            )
        return contextlib.nullcontext()
    if count is not None and address is not None:
        raise SpecError("--workers starts processes here, --cluster uses others: give one of them.")
    from .. import workers

    return workers(count, cluster=address, tls=folder or given or None, time_limit=time_limit)
