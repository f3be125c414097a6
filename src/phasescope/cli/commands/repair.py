"""`phasescope repair`."""

from __future__ import annotations

import typer

from .. import flags
from ..exit_codes import CHANGED


def repair(store: flags.StoreDir = None, as_json: flags.Json = False) -> None:
    """Verify every hash, rebuild the index, and name what is damaged. Exit 1 if something was.

    Example: phasescope repair --store ./phasescope-runs
    """
    from ...store import Store
    from ...verbs.store_contents import repair as repair_store
    from ..output import emit, show_repair

    summary = repair_store(Store(Store.default_root(store)))
    emit(summary, as_json, show_repair, summary)
    if summary["damaged"]:
        raise typer.Exit(CHANGED)
