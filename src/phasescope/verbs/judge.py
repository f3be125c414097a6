"""judge: a claim on its evidence, as one row of a ledger."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Iterator, Sequence

import xarray as xr

from ..analysis.align import exact_joins, would_lose_records
from ..analysis.verdict import Outcome, Verdict
from ..claims.claim import Claim
from ..claims.regime import Regime
from ..claims.requests import Recorded, Sized
from ..claims.statement import wrong_way
from ..claims.words import Said, Word, word_of
from ..engine.precision import exact_numbers
from ..errors import PlanError
from ..identity.places import said_with_place
from ..ledger.ledger import Row
from ..study import Study
from .evidence import Evidence
from .regimes import Standing, covered, standing
from .registration import is_registered
from .rows import ClaimInRegime


def judge_all(wanted: Sequence[ClaimInRegime], evidence: Evidence) -> Iterator[Row]:
    """One row after the other, in this order; the evidence of later ones is gathered meanwhile."""
    evidence.ask(request for one in wanted for request in one.regime.evidence)
    with evidence.context.meter(f"{evidence.study.name}: checking", len(wanted)) as tick:
        for one in wanted:
            yield judge(one.claim, one.regime, evidence)
            tick(1)


def judge(claim: Claim, regime: Regime, evidence: Evidence) -> Row:
    """One row. A check that cannot be carried out is undecided and surprising, and does not hide the others."""
    study = evidence.study
    began = time.perf_counter()
    runs: tuple[str, ...] = ()
    where = standing(study, claim, regime)
    if evidence.full:
        where = dataclasses.replace(where, reduced=False)
    try:
        resolved = [evidence.get(request) for request in regime.evidence]
        runs = tuple(dict.fromkeys(id for _, ids in resolved for id in ids))
    except Exception as problem:
        row = _row(study, claim, regime, where, _unchecked(problem), problem=problem)
    else:
        row = judge_datasets(study, claim, regime, where, [ds for ds, _ in resolved])
    return dataclasses.replace(
        row,
        runs=runs,
        reduced=not evidence.full
        and any(isinstance(request, Sized) for request in regime.evidence),
        seconds=round(time.perf_counter() - began, 3),
        recorded=not evidence.recompute
        and any(isinstance(request, Recorded) for request in regime.evidence),
        outdated=any(evidence.is_outdated(request) for request in regime.evidence),
        registered=is_registered(claim, regime.evidence),
    )


def judge_datasets(
    study: Study, claim: Claim, regime: Regime, where: Standing, datasets: Sequence[xr.Dataset]
) -> Row:
    """One row on datasets that are there."""
    try:
        about = covered(study, claim, datasets)
        with exact_numbers(), exact_joins():
            verdict = claim(*about.evidence)
        away = wrong_way(claim.typed.as_, verdict) if claim.typed else ""
        if away:
            raise PlanError(f"{claim.id}: {away}")
    except Exception as problem:
        return _row(study, claim, regime, where, _unchecked(problem), problem=problem)
    row = _row(study, claim, regime, where, verdict)
    return dataclasses.replace(row, compared=about.compared, asked=about.asked)


def _row(
    study: Study,
    claim: Claim,
    regime: Regime,
    where: Standing,
    verdict: Verdict,
    problem: Exception | None = None,
) -> Row:
    said = _said(claim, where, verdict, problem)
    typed = claim.typed
    return Row(
        study=study.name,
        claim=claim.id,
        cites=claim.cites,
        statement=claim.statement,
        regime=where.regime,
        outcome=verdict.outcome,
        expected=regime.expect or Word.HOLDS,
        because=regime.explained(verdict),
        measured=verdict.measured,
        required=verdict.required,
        where=verdict.where,
        where_at=verdict.at,
        vacuous=said.word == Word.VACUOUS,
        value=verdict.value,
        runs=(),
        reduced=False,
        seconds=0.0,
        error=problem is not None,
        traceback="" if problem is None else "".join(traceback.format_exception(problem)),
        kind=typed.kind if typed else None,
        whose=typed.whose if typed else None,
        on=regime.on,
        word=said.word,
        missing=said.missing,
        assumptions=where.assumptions,
        margin=verdict.margin,
        flips_at=verdict.flips_at,
        sizes=verdict.sizes,
        sources=verdict.sources,
        reach=verdict.reach,
        tex=typed.tex if typed else "",
        page=typed.page if typed else "",
        erratum=typed.erratum if typed else "",
        answer=study.answers.get(claim.id),
        verdict=verdict,
    )


def _said(claim: Claim, where: Standing, verdict: Verdict, problem: Exception | None) -> Said:
    """The word of a row; none for an untyped claim, which has an outcome only."""
    if problem is not None:
        return Said(Word.ERROR)
    if claim.typed is None:
        return Said(None)
    return word_of(claim.typed, verdict, where.assumptions, where.protocols, where.reduced)


def _unchecked(problem: Exception) -> Verdict:
    why = said_with_place(problem)
    if would_lose_records(problem):
        why = (
            "it computes with datasets whose coordinates differ, and would lose the records that they do not share; "
            f"select the common ones in the claim ({str(problem).splitlines()[0]})"
        )
    return Verdict(Outcome.UNDECIDED, f"could not be checked: {why}", "a check that runs")
