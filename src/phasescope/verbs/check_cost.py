"""check_cost: what a check would run, before it does."""

from __future__ import annotations

from pathlib import Path

from ..claims.requests import Recorded
from ..discovery import installed
from ..files import Document
from ..records.evidence_file import manifest_of, read
from ..study import Study, find
from .context import default_context
from .evidence import Evidence
from .expected import typical_of
from .rows import chosen_claims, having


def check_cost(
    *studies: str | Study,
    claim: str | None = None,
    regime: str | None = None,
    full: bool = False,
    recompute: bool = False,
    figures: bool = False,
    store: str | Path | bool | None = None,
) -> list[Document]:
    """What the `check` of the same arguments would cost; nothing runs.

    For each study: runs that its claims need (with `figures`, its figures too), runs that the store lacks, seconds and
    megabytes that the missing ones may take (None if nothing is known), and, with `recompute`, the seconds that recorded
    evidence took by device.
    """
    context = default_context(store, progress=False)
    rows = []
    for study in having([find(study) for study in (studies or installed())], claim):
        evidence = Evidence(study, context, full, recompute)
        rows.append(_study_cost(evidence, claim, regime, figures))
    return rows


def _study_cost(
    evidence: Evidence, claim: str | None, regime: str | None, figures: bool
) -> Document:
    study = evidence.study
    asked = [
        request for one in chosen_claims(study, claim, regime) for request in one.regime.evidence
    ]
    if figures:
        asked += [request for figure in study.figures for request in figure.evidence]
    wanted = {evidence.at_size(request): request for request in asked}
    again = [e for e in wanted.values() if evidence.recompute and isinstance(e, Recorded)]
    needed = 0
    missing = 0
    for request in wanted.values():
        runs, lacking = evidence.missing(request)
        needed += runs
        missing += lacking
    missing_here = missing - sum(evidence.missing(e)[1] for e in again)
    typical = typical_of(study.name, evidence.context.store)
    return {
        "study": study.name,
        "needed": needed,
        "missing": missing,
        "seconds": None if typical is None else round(missing_here * typical.seconds, 1),
        "megabytes": None if typical is None else round(missing_here * typical.megabytes, 1),
        "recorded": _recorded_seconds([manifest_of(read(e.file)) for e in again]),
    }


def _recorded_seconds(manifests: list[Document]) -> dict[str, float]:
    """Seconds that recorded evidence took, by the device it was made on."""
    seconds: dict[str, float] = {}
    for manifest in manifests:
        device = str(manifest.get("device", "unknown"))
        seconds[device] = round(seconds.get(device, 0.0) + float(manifest.get("seconds", 0.0)), 1)
    return seconds
