"""`phasescope runs`."""

from __future__ import annotations

from .. import flags


def runs(store: flags.StoreDir = None, as_json: flags.Json = False) -> None:
    """What the store holds, unfinished runs included.

    Example: phasescope runs --store ./phasescope-runs
    """
    from ...store import Store
    from ...verbs.store_contents import stored_runs
    from ..output import emit
    from ..runs_table import show_runs

    rows = stored_runs(Store(Store.default_root(store)))
    emit({"runs": rows}, as_json, show_runs, rows)
