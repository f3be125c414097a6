"""Verdicts with a qualification: of a condition only, of a statement that says nothing, or derived for all sizes."""

from __future__ import annotations

import dataclasses

import xarray as xr

from .lanes import HOLDS, UNDECIDED, UNMET
from .sources import Source, SourceKind
from .verdict import Empty, Outcome, Verdict, undecided


def guard(verdict: Verdict) -> Verdict:
    """A condition without which a row says nothing: something moved, the fit is a fit.

    Where it is not met the row is undecided, whatever the other checks say.

        >>> ps.guard(ps.positive([0.0], "movement")).outcome.value
        'undecided'

    **Arguments:** `verdict`: of the condition.

    **Returns:** a `Verdict` that holds or is undecided, and is not part of the margin.
    """
    outcome = Outcome.HOLDS if verdict.outcome == Outcome.HOLDS else Outcome.UNDECIDED
    lanes = verdict.lanes
    if lanes is not None:
        met = lanes.outcome == HOLDS
        held = xr.where(met, HOLDS, UNDECIDED)
        lanes = lanes.assign({"outcome": held, "margin": lanes.margin * float("nan"), UNMET: ~met})
    return dataclasses.replace(
        verdict,
        outcome=outcome,
        margin=None,
        flips_at=None,
        parts=(),
        check=verdict.check or "guard",
        is_guard=True,
        lanes=lanes,
    )


def vacuous(certificate: Verdict, why: str) -> Verdict:
    """The premises of a statement cannot hold together: it says nothing.

        >>> ps.vacuous(ps.at_least([1e15], 1.0, "t_2 / T"), "t_2 comes after T").empty
        'vacuous'

    **Arguments:** `certificate`: a verdict that holds if the premises exclude each other. `why`: that
    in words.

    **Returns:** a `Verdict`; undecided if the certificate does not hold.
    """
    return _without_content(certificate, why, "vacuous")


def trivial(shown: Verdict, why: str) -> Verdict:
    """The bound of a statement is weaker than what always holds: it says nothing.

        >>> bound = ps.at_least([30.0], 4.2, "bound on the loss")
        >>> ps.trivial(bound, "the loss starts at 4.2").empty
        'trivial'

    **Arguments:** `shown`: a verdict that holds if the bound is so weak. `why`: that in words.

    **Returns:** a `Verdict`; undecided if `shown` does not hold.
    """
    return _without_content(shown, why, "trivial")


def _without_content(shown: Verdict, why: str, empty: Empty) -> Verdict:
    if shown.outcome != Outcome.HOLDS:
        return undecided(f"{shown.measured}: it is not shown that {why}", shown.required)
    measured = f"{why} ({shown.measured})"
    return dataclasses.replace(shown, measured=measured, empty=empty)


def refuted(verdict: Verdict, by: str) -> Verdict:
    """A failing asymptotic statement whose failure is derived for all sizes.

        >>> falls = ps.negative([2.0, 3.0], "trend")
        >>> ps.refuted(falls, by="closed_forms.late_growth").is_derived
        True

    **Arguments:** `verdict`: of the statement. `by`: the closed form or exact limit that says so.

    **Returns:** the same verdict; if it fails, marked as derived.

    **Raises:** `ValueError` if nothing is named.
    """
    if not by.strip():
        raise ValueError("refuted needs the name of the derivation (by=...).")
    if verdict.outcome != Outcome.FAILS:
        return verdict
    source = Source(float("nan"), SourceKind.DERIVED, by)
    parts = tuple(_derived(part, source) for part in verdict.parts)
    return dataclasses.replace(_derived(verdict, source), parts=parts)


def _derived(verdict: Verdict, source: Source) -> Verdict:
    if verdict.outcome != Outcome.FAILS:
        return verdict
    return dataclasses.replace(verdict, is_derived=True, sources=(*verdict.sources, source))
