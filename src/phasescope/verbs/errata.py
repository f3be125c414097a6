"""errata: what the authors of a paper should know, as a sheet that can be sent to them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .. import __version__
from ..claims.claim import Claim
from ..claims.statement import Whose
from ..ledger.errata import (
    DISPUTED,
    ErrataSheet,
    claims_named_in,
    errata_entries,
    listed_errata,
)
from ..ledger.ledger import Row
from ..ledger.tally import Group, group_of, in_words, tally
from ..study import Study, find
from .context import default_context
from .evidence import Evidence
from .judge import judge_all
from .rows import chosen_claims


def errata(
    study: str | Study,
    *,
    full: bool = False,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
) -> ErrataSheet:
    """What the authors of a paper should know: its errata, with the rows of the ledger that show them.

        >>> sheet = ps.errata("linear_modes", store=False)
        >>> [entry.label for entry in sheet]
        []

    **Arguments:** `study`: a name, the path of a file or a Study. The table under "Errata of the paper"
    in the README.md beside it is read. `full`: ask for full-size evidence. `store`, `progress`:
    as for `run`.

    **Returns:** an `ErrataSheet` with `to_markdown()`, `to_latex()` and `to_json()`. It has the listed
    errata, and every statement of the paper whose row is false, against, vacuous or not reproduced:
    what is printed, what was found and where, the corrected statement with its row, the authors'
    answer, and the command that makes the row again. Only the claims that it shows are checked.

    **Raises:** `StudyNotFound` for an unknown study.
    """
    chosen = find(study)
    named = claims_named_in(" ".join(listed_errata(page_of(chosen)).values()))
    wanted = [
        one
        for one in chosen_claims(chosen)
        if one.claim.id in named or _concerns_the_authors(one.claim)
    ]
    with Evidence(chosen, default_context(store, progress), full) as evidence:
        rows = list(judge_all(wanted, evidence))
    return errata_sheet(chosen, rows)


def errata_sheet(study: Study, rows: Iterable[Row]) -> ErrataSheet:
    """The sheet of a study from rows that were judged already."""
    return ErrataSheet(
        study=study.name,
        paper=study.paper,
        version=__version__,
        counts=_counts(study),
        entries=errata_entries(listed_errata(page_of(study)), rows),
    )


def page_of(study: Study) -> str:
    """The README.md beside the module of the study's Spec; empty if there is none."""
    module = sys.modules.get(type(study.spec).__module__)
    file = getattr(module, "__file__", None)
    page = None if file is None else Path(file).with_name("README.md")
    if page is None or not page.is_file():
        return ""
    return page.read_text(encoding="utf-8", errors="replace")


def _concerns_the_authors(claim: Claim) -> bool:
    if claim.typed is None:
        return False
    if claim.typed.whose == Whose.CORRECTED:
        return True
    disputed = any(regime.expect in DISPUTED for regime in claim.regimes)
    return claim.typed.whose == Whose.PAPER and disputed


def _counts(study: Study) -> str:
    """The established words of the paper's statements."""
    entries = []
    for claim in study.claims:
        kind = claim.typed.kind if claim.typed else None
        whose = claim.typed.whose if claim.typed else None
        entries += [(group_of(kind, whose), str(regime.expect)) for regime in claim.regimes]
    words = tally(entries).words.get(Group.PAPER, {})
    return in_words(words) if words else ""
