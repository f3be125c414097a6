"""check: the ledger. Every claim of a study in every regime, on evidence that is run once and shared."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path

import xarray as xr

from ..claims.claim import Claim
from ..discovery import installed
from ..errors import PlanError
from ..ledger.ledger import Ledger, Row
from ..logs.origin import log_ids, origins
from ..study import Study, find
from .context import default_context
from .evidence import Evidence
from .judge import judge_all, judge_datasets
from .own_evidence import Own, listed
from .regimes import standing_of_datasets
from .remarks import remarks
from .rows import chosen_claims, having


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
    datasets = []
    runs: list[str] = []
    for one in listed(given):
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
