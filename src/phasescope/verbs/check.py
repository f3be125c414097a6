"""check: the ledger. Every claim of a study in every regime, on evidence that is run once and shared."""

from __future__ import annotations

import dataclasses
import inspect
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from ..analysis.align import exact_joins, would_lose_records
from ..analysis.verdict import Outcome, Verdict
from ..claims.claim import Claim, Regime, RegimeName
from ..claims.requests import Recorded, Request, Sized
from ..claims.statement import wrong_way
from ..claims.words import Said, Word, word_of
from ..discovery import installed
from ..engine.precision import exact_numbers
from ..errors import PlanError, SpecError, nearest, unknown_to_all
from ..ledger.ledger import Ledger, Row
from ..logs.origin import log_ids, origins
from ..study import Study, find
from .context import default_context
from .evidence import Evidence
from .regimes import Standing, covered, standing, standing_of_datasets
from .registration import is_registered
from .remarks import remarks

# Evidence of a user's own: what a run or sweep returned, or what to run.
Own = xr.Dataset | Request


class ClaimInRegime(NamedTuple):
    """What one row of a ledger is about."""

    claim: Claim
    regime: Regime


def check(
    *studies: str | Study,
    claim: str | None = None,
    regime: str | None = None,
    evidence: Own | Sequence[Own] | None = None,
    full: bool = False,
    recompute: bool = False,
    store: str | Path | bool | None = None,
    progress: bool | None = None,
) -> Ledger:
    """Check the claims of some studies.

        >>> ledger = ps.check("linear_modes", claim="waiting_time_is_logarithmic", store=False)
        >>> [str(row.word) for row in ledger]
        ['holds']

    **Arguments:**

    - `studies`: names, paths of files or Studies; all installed ones if none is named.
    - `claim`: the id or name of one claim.
    - `regime`: published, theory or beyond.
    - `evidence`: datasets (of runs, or from `ps.logged`) or requests of your own, on which one claim is
      judged in place of its own evidence, in the order in which the claim takes them.
    - `full`: ask for full-size evidence.
    - `recompute`: run the requests whose evidence is recorded.
    - `store`, `progress`: as for `run`.

    **Returns:** a `Ledger`. A check that could not be carried out is a row too.

    **Raises:** `StudyNotFound` for an unknown study or claim, `SpecError` for an unknown regime,
    `PlanError` if there is nothing to check, or if the claim takes another number of datasets.
    """
    chosen = [find(study) for study in (studies or installed())]
    context = default_context(store, progress)
    rows: list[Row] = []
    asked = having(chosen, claim)
    for number, study in enumerate(asked, 1):
        for remark in remarks(study):
            context.warn_once(f"{remark}.")
        with Evidence(study, context, full, recompute) as gathered:
            if evidence is None:
                wanted = chosen_claims(study, claim, regime)
                context.begin(study.name, number, len(asked), len(wanted))
                rows += judge_all(wanted, gathered)
            else:
                rows.append(_judge_own(study, claim, evidence, gathered))
    if not rows:
        raise PlanError(_nothing_to_check(chosen, claim, regime))
    unchecked = {study.name: dict(study.unchecked) for study in chosen if claim is None}
    return Ledger(tuple(rows), {name: said for name, said in unchecked.items() if said})


def _nothing_to_check(studies: Sequence[Study], claim: str | None, regime: str | None) -> str:
    names = ", ".join(study.name for study in studies) or "no study"
    what = f"the claim {claim} of {names} has no row" if claim else f"{names} has no claim"
    where = f" in the regime {regime}" if regime else ""
    return f"there is nothing to check: {what}{where}."


def _judge_own(
    study: Study, claim: str | None, given: Own | Sequence[Own], evidence: Evidence
) -> Row:
    """One claim on evidence of the caller's."""
    if claim is None:
        raise PlanError("evidence=... is for one claim: name it with claim=...")
    chosen = study.claim(claim)
    own = given if isinstance(given, Sequence) else (given,)
    datasets = []
    runs: list[str] = []
    for one in own:
        if isinstance(one, xr.Dataset):
            datasets.append(one)
            runs += [str(one.attrs["id"])] if one.attrs.get("id") else log_ids(one)
        else:
            ds, ids = evidence.get(one)
            datasets.append(ds)
            runs += ids
    check_count(chosen, len(datasets))
    regime = dataclasses.replace(chosen.regimes[0], because="", evidence=(), name=None, breaks="")
    where = standing_of_datasets(study, chosen, datasets)
    row = judge_datasets(study, chosen, regime, where, datasets)
    if row.error:
        row = dataclasses.replace(row, measured=row.measured + _in_the_logs(datasets))
    return dataclasses.replace(row, runs=tuple(runs), expected=row.word or row.outcome)


def _in_the_logs(datasets: Iterable[xr.Dataset]) -> str:
    """What the logs among some datasets hold, for a check that did not find what it needs in them."""
    logs = [ds for ds in datasets if origins(ds)]
    names = dict.fromkeys(str(name) for ds in logs for name in ds.data_vars)
    return f" (in the log: {', '.join(names)}; ps.logged takes rename=...)" if names else ""


def check_count(claim: Claim, given: int) -> None:
    """A check takes so many datasets, no more and no fewer."""
    parameters = inspect.signature(claim.check).parameters.values()
    named = sum(p.kind != inspect.Parameter.VAR_POSITIONAL for p in parameters)
    any_number = named < len(parameters)
    if given < max(named, 1) or (given > named and not any_number):
        wants = f"{max(named, 1)} or more" if any_number else str(named)
        names = ", ".join(p.name for p in parameters)
        raise PlanError(
            f'claim "{claim.id}" takes {wants} datasets ({names}), got {given} as evidence.'
        )


def having(studies: Iterable[Study], claim: str | None) -> list[Study]:
    """The studies that have the claim; one that none of them has is an error."""
    studies = list(studies)
    if claim is None:
        return studies
    if not isinstance(claim, str):
        raise SpecError(f"the id of a claim is a word, got claim={claim!r}.")
    names = {study.name: {n for c in study.claims for n in c.names} for study in studies}
    found = [study for study in studies if claim in names[study.name]]
    if not found:
        raise unknown_to_all("claim", claim, set().union(*names.values()), names)
    return found


def chosen_claims(
    study: Study, claim: str | None = None, regime: str | None = None
) -> list[ClaimInRegime]:
    """Claims of a study with their regimes, as asked for."""
    known = [name.value for name in RegimeName]
    if regime is not None and not isinstance(regime, str):
        raise SpecError(f"a regime is one of {', '.join(known)}, got regime={regime!r}.")
    if regime is not None and regime not in known:
        raise SpecError(f'there is no regime "{regime}". {nearest(regime, known)}')
    claims: Sequence[Claim] = study.claims if claim is None else (study.claim(claim),)
    rows = [ClaimInRegime(c, named(study, c, r)) for c in claims for r in c.regimes]
    return [row for row in rows if regime in (None, row.regime.name)]


def named(study: Study, claim: Claim, regime: Regime) -> Regime:
    """The regime with its name, which of a typed claim is derived from the evidence."""
    return dataclasses.replace(regime, name=standing(study, claim, regime).regime)


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
    why = f"{type(problem).__name__}: {problem}"
    if would_lose_records(problem):
        why = (
            "it computes with datasets whose coordinates differ, and would lose the records that they do not share; "
            f"select the common ones in the claim ({str(problem).splitlines()[0]})"
        )
    return Verdict(Outcome.UNDECIDED, f"could not be checked: {why}", "a check that runs")
