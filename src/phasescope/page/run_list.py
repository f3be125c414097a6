"""The lines of a list of runs."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from ..errors import PhasescopeError
from . import studies
from .wire import plain


def listed(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the index for the page."""
    study, arm, _ = row["id"].split("/")
    return {
        "id": row["id"],
        "study": study,
        "arm": arm,
        "kind": row.get("kind", ""),
        "when": plain(row.get("created")),
        "differs": plain(_differs(study, arm, row)),
        "swept": plain(row.get("swept", {})),
        "seed": plain(row.get("seed")),
        "status": plain(row["status"]),
        "problem": plain(row.get("problem")),
        "size": plain(row.get("size", 0)),
        "seconds": plain(row.get("seconds")),
    }


def _differs(study: str, arm: str, row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a run that are not the defaults; all, if its study is not installed."""
    known = _defaults(study, arm)
    swept = row.get("swept", {})
    spec = row.get("spec", {})
    return {k: v for k, v in spec.items() if k not in swept and known.get(k, _defaults) != v}


@functools.lru_cache(maxsize=256)
def _defaults(study: str, arm: str) -> dict[str, Any]:
    with contextlib.suppress(PhasescopeError):
        return dict(studies.by_name(study).default_for(arm).to_json())
    return {}
