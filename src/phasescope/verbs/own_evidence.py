"""Evidence of a user's own: what a run, a sweep or a log is as a dataset, or what to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr

from ..claims.requests import Request
from ..errors import SpecError

Own = xr.Dataset | Request


def listed(given: Any) -> Sequence[Own]:
    """One or several, as a list.

    **Raises:** `SpecError` for what is neither a dataset nor a request, such as the path of a log.
    """
    several = isinstance(given, Sequence) and not isinstance(given, str)
    for one in given if several else (given,):
        if not isinstance(one, Own):
            raise SpecError(
                f"evidence is a dataset or a request, got {one!r}: ps.logged makes a dataset of a log, ps.open reads a run."
            )
    return given if several else (given,)
