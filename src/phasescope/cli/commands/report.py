"""`phasescope report`."""

from __future__ import annotations

from pathlib import Path

from .. import flags
from ..chosen import look_for_corpora_in, studies_named
from ..exit_codes import exit_with
from ..names import check_ids


def report(
    studies: flags.Studies = None,
    out: flags.OutDir = Path("phasescope-report"),
    full: flags.Full = False,
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
) -> None:
    """Ledger and figures as one self-contained HTML file to search and read; Markdown, JSON, LaTeX beside it.

    What did not change since the last time is neither judged nor drawn again. Exit codes are those of `check`.

    Example: phasescope report --out report
    """
    check_ids(studies or [])
    look_for_corpora_in(corpora)
    from ...report import write_report
    from ...verbs.context import default_context
    from ..expectations import say_what_it_takes
    from ..output import show_report

    chosen = studies_named(studies)
    say_what_it_takes(chosen, full=full, figures=True, store=store)
    made = write_report(chosen, default_context(store), out, full)
    show_report(made)
    exit_with(made.ledger)
