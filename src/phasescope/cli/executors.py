"""Executors for `--cluster`: a Dask scheduler to send the blocks of a sweep to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import MissingExtra


@contextlib.contextmanager
def executor_at(address: str | None) -> Iterator[Any]:
    """The executor of the Dask scheduler at an address; None if no address is given."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingExtra(
            "`--cluster` needs the cluster extra: pip install 'phasescope[cluster]'"
        ) from error
    with Client(address) as client:
        yield client.get_executor()
