"""`phasescope serve`."""

from __future__ import annotations

from .. import flags
from ..chosen import look_for_corpora_in


def serve(
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
    port: flags.Port = 8017,
    host: flags.Host = "127.0.0.1",
    no_browser: flags.NoBrowser = False,
    allow_remote: flags.AllowRemote = False,
) -> None:
    """A local page over the store: ledger, runs with one time cursor, maps, and a lab. Needs phasescope[page].

    Example: phasescope serve --store ./phasescope-runs
    """
    look_for_corpora_in(corpora)
    from ...page.server import serve as serve_page

    serve_page(store, port, host, not no_browser, allow_remote)
