"""check: the ledger. Every claim of a study in every regime, on evidence that is run once and shared."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..analysis.align import exact_joins, would_lose_records
from ..analysis.verdict import Outcome, Verdict
from ..claims.claim import Claim, Regime, RegimeName
from ..claims.requests import Recorded, Sized
from ..discovery import installed
from ..engine.precision import exact_numbers
from ..errors import SpecError, nearest, unknown_to_all
from ..ledger.ledger import Ledger, Row
from ..study import Study, find
from .context import default_context
from .evidence import Evidence


class ClaimInRegime(NamedTuple):
    """What one row of a ledger is about."""

    claim: Claim
    regime: Regime


def check(
    *studies: str | Study,
    claim: str | None = None,
    regime: str | None = None,
    full: bool = False,
    recompute: bool = False,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
) -> Ledger:
    """Check the claims of some studies.

        >>> ledger = ps.check("linear_modes", claim="waiting_time_is_logarithmic", store=False)
        >>> [str(row.outcome) for row in ledger]
        ['holds']

    **Arguments:**

    - `studies`: names, paths of files or Studies; all installed ones if none is named.
    - `claim`: the id or name of one claim.
    - `regime`: published, theory or beyond.
    - `full`: ask for full-size evidence.
    - `recompute`: run the requests whose evidence is recorded.
    - `store`, `progress`: as for `run`.

    **Returns:** a `Ledger`. A check that could not be carried out is a row too.

    **Raises:** `StudyNotFound` for an unknown study or claim, `SpecError` for an unknown regime.
    """
    chosen = [find(study) for study in (studies or installed())]
    context = default_context(store, progress)
    rows = []
    for study in having(chosen, claim):
        wanted = chosen_claims(study, claim, regime)
        with Evidence(study, context, full, recompute) as evidence:
            rows += judge_all(wanted, evidence)
    return Ledger(tuple(rows))


def having(studies: Iterable[Study], claim: str | None) -> list[Study]:
    """The studies that have the claim; one that none of them has is an error."""
    studies = list(studies)
    if claim is None:
        return studies
    names = {study.name: {n for c in study.claims for n in (c.id, c.name)} for study in studies}
    found = [study for study in studies if claim in names[study.name]]
    if not found:
        raise unknown_to_all("claim", claim, set().union(*names.values()), names)
    return found


def chosen_claims(
    study: Study, claim: str | None = None, regime: str | None = None
) -> list[ClaimInRegime]:
    """Claims of a study with their regimes, as asked for."""
    known = [name.value for name in RegimeName]
    if regime is not None and regime not in known:
        raise SpecError(f'there is no regime "{regime}". {nearest(regime, known)}')
    claims: Sequence[Claim] = study.claims if claim is None else (study.claim(claim),)
    return [ClaimInRegime(c, r) for c in claims for r in c.regimes if regime in (None, r.name)]


def judge_all(wanted: Sequence[ClaimInRegime], evidence: Evidence) -> Iterator[Row]:
    """One row after the other, in this order; the evidence of later ones is gathered meanwhile."""
    evidence.ask(request for one in wanted for request in one.regime.evidence)
    with evidence.context.meter(f"{evidence.study.name}: checking", len(wanted)) as tick:
        for one in wanted:
            yield judge(one.claim, one.regime, evidence)
            tick(1)


def judge(claim: Claim, regime: Regime, evidence: Evidence) -> Row:
    """One row. A check that cannot be carried out is undecided and surprising, and does not hide the others."""
    began = time.perf_counter()
    runs: tuple[str, ...] = ()
    error = False
    try:
        resolved = [evidence.get(request) for request in regime.evidence]
        runs = tuple(dict.fromkeys(id for _, ids in resolved for id in ids))
        with exact_numbers(), exact_joins():
            verdict = claim(*(ds for ds, _ in resolved))
    except Exception as problem:
        error = True
        verdict = _unchecked(problem)
    return Row(
        study=evidence.study.name,
        claim=claim.id,
        cites=claim.cites,
        statement=claim.statement,
        regime=regime.name,
        outcome=verdict.outcome,
        expected=regime.expect,
        because=regime.because,
        measured=verdict.measured,
        required=verdict.required,
        where=verdict.where,
        at=verdict.at,
        vacuous=verdict.vacuous,
        value=verdict.value,
        runs=runs,
        reduced=not evidence.full
        and any(isinstance(request, Sized) for request in regime.evidence),
        seconds=round(time.perf_counter() - began, 3),
        error=error,
        recorded=not evidence.recompute
        and any(isinstance(request, Recorded) for request in regime.evidence),
        outdated=any(evidence.is_outdated(request) for request in regime.evidence),
    )


def _unchecked(problem: Exception) -> Verdict:
    why = f"{type(problem).__name__}: {problem}"
    if would_lose_records(problem):
        why = (
            "it computes with datasets whose coordinates differ, and would lose the records that they do not share; "
            f"select the common ones in the claim ({str(problem).splitlines()[0]})"
        )
    return Verdict(Outcome.UNDECIDED, f"could not be checked: {why}", "a check that runs")
