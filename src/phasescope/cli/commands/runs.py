"""`phasescope runs`."""

from __future__ import annotations

from .. import flags


def runs(
    words: flags.Words = None,
    last: flags.Last = None,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """What the store holds, unfinished runs included; with words, only the runs that all of them occur in.

    Example: phasescope runs regular_language eta=0.1 --last 20
    """
    from ...store import Store
    from ...verbs.stored_runs import stored_runs
    from ..output import emit
    from ..runs_table import show_runs

    text = " ".join(words or [])
    rows = stored_runs(Store(Store.default_root(store)), text, last)
    emit({"runs": rows}, as_json, show_runs, rows, text)
