"""check: the ledger. Every claim of a study in every regime, on evidence that is run once and shared."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..analysis.align import exact_joins, would_lose_records
from ..analysis.verdict import Outcome, Verdict
from ..claims.claim import REGIMES, Claim, Regime
from ..claims.requests import Recorded, Sized
from ..discovery import installed
from ..engine.precision import exact_numbers
from ..errors import SpecError, nearest, unknown_to_all
from ..ledger.ledger import Ledger, Row
from ..study import Study, find
from .evidence import Evidence
from .run import Lab, lab


def check(
    *studies: str | Study,
    claim: str | None = None,
    regime: str | None = None,
    full: bool = False,
    recompute: bool = False,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
) -> Ledger:
    """The ledger of some studies (all installed ones if none is named).

    `full` asks for full-size evidence, `recompute` for fresh runs where evidence is recorded.
    """
    chosen = [find(s) for s in (studies or installed())]
    return check_in(chosen, lab(store, progress), claim, regime, full, recompute)


def check_in(
    studies: Iterable[Study], lab: Lab, claim: str | None, regime: str | None, full: bool, recompute: bool = False
) -> Ledger:
    """`check`, in a given lab."""
    rows = []
    for study in knowing(studies, claim):
        chosen = chosen_claims(study, claim, regime)
        with (
            Evidence(study, lab, full, recompute) as evidence,
            lab.meter(f"{study.name}: checking", len(chosen)) as tick,
        ):
            evidence.ask(request for _, where in chosen for request in where.evidence)
            for one, where in chosen:
                rows.append(judge(one, where, evidence))
                tick(1)
    return Ledger(tuple(rows))


def knowing(studies: Iterable[Study], claim: str | None) -> list[Study]:
    """The studies that have the claim; one that none of them has is an error."""
    studies = list(studies)
    names = {study.name: {n for c in study.claims for n in (c.id, c.name)} for study in studies}
    if claim is None or any(claim in known for known in names.values()):
        return [study for study in studies if claim is None or claim in names[study.name]]
    raise unknown_to_all("claim", claim, set().union(*names.values()), names)


def chosen_claims(study: Study, claim: str | None, regime: str | None) -> list[tuple[Claim, Regime]]:
    """Claims of a study with their regimes, as asked for."""
    if regime not in (None, *REGIMES):
        raise SpecError(f'there is no regime "{regime}". {nearest(regime, REGIMES)}')
    claims: Sequence[Claim] = study.claims if claim is None else (study.claim(claim),)
    return [(c, r) for c in claims for r in c.regimes if regime in (None, r.name)]


def _unchecked(problem: Exception) -> Verdict:
    why = f"{type(problem).__name__}: {problem}"
    if would_lose_records(problem):
        why = (
            "it computes with datasets whose coordinates differ, and would lose the records that they do not share; "
            f"select the common ones in the claim ({str(problem).splitlines()[0]})"
        )
    return Verdict(Outcome.UNDECIDED, f"could not be checked: {why}", "a check that runs")


def judge(claim: Claim, regime: Regime, evidence: Evidence) -> Row:
    """One row. A check that cannot be carried out is undecided and surprising, and does not hide the others."""
    began, runs, error = time.perf_counter(), (), False
    try:
        resolved = [evidence.get(request) for request in regime.evidence]
        runs = tuple(dict.fromkeys(id for _, ids in resolved for id in ids))
        with exact_numbers(), exact_joins():
            verdict = claim(*(ds for ds, _ in resolved))
    except Exception as problem:
        error = True
        verdict = _unchecked(problem)
    reduced = not evidence.full and any(isinstance(request, Sized) for request in regime.evidence)
    recorded = not evidence.recompute and any(isinstance(request, Recorded) for request in regime.evidence)
    return Row(
        evidence.study.name, claim.id, claim.cites, claim.statement, regime.name, verdict.outcome.value,
        regime.expect.value, regime.because, verdict.measured, verdict.required, verdict.where, verdict.value,
        runs, reduced, round(time.perf_counter() - began, 3), error, recorded,
        any(evidence.is_outdated(request) for request in regime.evidence), verdict.at, verdict.vacuous,
    )  # fmt: skip
