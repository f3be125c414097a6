"""The ledger for the page: rows that a report kept; and a check that keeps its rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from ..analysis.trace import Trace
from ..analysis.verdict import Verdict
from ..ledger.appearance import key, measured, reason, required, said
from ..ledger.card import checks
from ..ledger.ledger import Row
from ..report.anchors import command
from ..report.evidence import describe
from ..report.kept import ROWS, Kept, Made
from ..report.mathematics import formula
from ..store import Store
from ..study import Study
from ..verbs.context import Context, Stopped
from ..verbs.evidence import Evidence
from ..verbs.judge import judge_all
from ..verbs.rows import chosen_claims
from .wire import plain

MOST_CHECKS = 30
MOST_PLOTS = 3
MOST_RUNS = 50


def kept_rows(studies: Iterable[Study], store: Store) -> dict[str, Any]:
    """The rows that are known of some studies, and when the oldest of them were judged."""
    rows: list[dict[str, Any]] = []
    times = []
    missing = []
    for study in studies:
        found = _kept(study, store)
        if found is None:
            if study.claims:
                missing.append(study.name)
            continue
        made, when = found
        times.append(when)
        rows += [
            _row(row, evidence) for row, evidence in zip(made.rows, made.evidence, strict=True)
        ]
    answer: dict[str, Any] = {"rows": rows, "made": min(times, default=None), "missing": missing}
    if missing:
        answer["hint"] = f"phasescope report {' '.join(missing)}"  # `check` keeps no rows
    return answer


def check(study: Study, context: Context) -> str:
    """Judge all claims of a study and keep the rows, unless what is kept is still true."""
    kept = Kept(study, context, full=False)
    if kept.made() is not None:
        return ""
    wanted = chosen_claims(study)
    with Evidence(study, context) as evidence:
        rows = []
        for row in judge_all(wanted, evidence):
            rows.append(row)
            if context.stop.is_set():
                raise Stopped
        labels = tuple(
            tuple(dict.fromkeys(describe(evidence.at_size(r)) for r in one.regime.evidence))
            for one in wanted
        )
    kept.keep(Made(tuple(rows), labels, {}))
    return ""


def _kept(study: Study, store: Store) -> tuple[Made, str] | None:
    """What is kept of a study, at full size if there is that, and when it was made."""
    for full in (True, False):
        kept = Kept(study, Context(store), full)
        made = kept.made()
        if made is not None and kept.place is not None:
            stamp = (kept.place / ROWS).stat().st_mtime
            when = datetime.datetime.fromtimestamp(stamp, datetime.UTC)
            return made, when.isoformat(timespec="seconds")
    return None


def _row(row: Row, evidence: Iterable[str]) -> dict[str, Any]:
    verdict = row.verdict
    return {
        "study": row.study,
        "id": row.claim,
        "cites": plain(row.cites),
        "kind": str(row.kind or "untyped"),
        "whose": str(row.whose or "untyped"),
        "on": str(row.on or ""),
        "regime": str(row.regime),
        "word": key(row),
        "said": said(row),
        "expected": str(row.expected),
        "surprising": row.surprising,
        "margin": plain(row.margin),
        "text": plain(row.statement),
        "tex": plain(row.tex),
        "mathml": str(formula(row.tex, display=True)) if row.tex else "",
        "why": plain(reason(row)),
        "measured": plain(measured(row)),
        "required": plain(required(row)),
        "where": plain(row.where),
        "at": plain(dict(row.where_at)),
        "sub": _checks(row),
        "runs": list(row.runs[:MOST_RUNS]),
        "evidence": plain(list(evidence)),
        "plot": None if verdict is None else _trace(verdict.trace),
        "command": command(row),
    }


def _checks(row: Row) -> list[dict[str, Any]]:
    """Every check with its numbers, those that decide first."""
    found = sorted(checks(row), key=lambda part: _rank(part, row))[:MOST_CHECKS]
    return [
        {
            "check": part.check or "check",
            "guard": part.is_guard,
            "outcome": str(part.outcome),
            "measured": plain(part.measured),
            "required": plain(part.required),
            "margin": plain(part.margin),
            "where": plain(part.where),
            "at": plain(dict(part.at)),
            "plot": _trace(part.trace) if number < MOST_PLOTS else None,
        }
        for number, part in enumerate(found)
    ]


def _rank(part: Verdict, row: Row) -> tuple[bool, bool, float]:
    nearness = float("inf") if part.margin is None else part.margin
    return part.outcome != row.outcome, part.is_guard, nearness


def _trace(trace: Trace | None) -> dict[str, Any] | None:
    """What a check compared, as numbers to be drawn."""
    if trace is None:
        return None
    lines = ("x", "measured", "lower", "upper", "reference", "fitted")
    return {
        "name": plain(trace.name),
        "along": plain(trace.along),
        **{name: plain(getattr(trace, name)) for name in lines},
        "worst": trace.worst,
        "where": plain(trace.where),
        "words": list(trace.words),
        "log": trace.is_power_law,
    }
