"""`phasescope check`."""

from __future__ import annotations

from typing import Any

from .. import flags
from ..chosen import look_for_corpora_in, studies_named
from ..exit_codes import exit_with
from ..names import check_ids


def check(
    studies: flags.Studies = None,
    claim: flags.ClaimId = None,
    regime: flags.Regime = None,
    full: flags.Full = False,
    recompute: flags.Recompute = False,
    why: flags.Why = False,
    traceback: flags.Traceback = False,
    dry_run: flags.DryRun = False,
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
    as_json: flags.Json = False,
) -> None:
    """The ledger: a word for every claim. With --claim, one claim in full.

    Exit code 0: every word is the established one. 1: a word changed. 2: bad input, or nothing to
    check. 3: a check could not be carried out.

    Example: phasescope check regular_language --claim thm4.5-remark
    """
    check_ids(studies or [], claim=claim)
    look_for_corpora_in(corpora)
    from ... import check as check_studies
    from ...verbs.check_cost import check_cost
    from ..cards import cards
    from ..expectations import say_what_it_takes
    from ..output import emit, show_check_cost, show_claim, show_ledger

    chosen = studies_named(studies)
    asked: dict[str, Any] = {
        "claim": claim,
        "regime": regime,
        "full": full,
        "recompute": recompute,
        "store": store,
    }
    if dry_run:
        cost = check_cost(*chosen, **asked)
        emit({"rows": cost}, as_json, show_check_cost, cost)
        return
    if claim is None:
        say_what_it_takes(chosen, **asked)
    ledger = check_studies(*chosen, **asked)
    if claim is None:
        emit(ledger.to_json(), as_json, show_ledger, ledger, why, traceback)
    else:
        options = {"--full": full, "--recompute": recompute}
        told = cards(ledger, chosen, studies or [], claim, options)
        emit(ledger.to_json(), as_json, show_claim, ledger, told, traceback)
    exit_with(ledger)
