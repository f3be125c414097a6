"""Appendices B and C: the closed system, its reductions, and what gradient flow conserves; exact statements, to rounding."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..closed_forms import first_phase
from ..phases import (
    at_the_end,
    first_phase_end,
    ran_to_the_end,
    side_by_side,
    spec_of,
    turning_time,
)
from ..theory import gram, orthogonal, six_families, weight_flow
from ..training import gram_descent, weights
from . import evidence


def same_motion(run: xr.Dataset, other: xr.Dataset, atol: float) -> ps.Verdict:
    """Two runs that should be one."""
    names = ("loss", "G", "F_type", "C", "A", "beta")
    return ps.all_of(
        ps.agree(run[name], other[name], atol=atol, rtol=atol, what=name) for name in names
    )


def learning(run: xr.Dataset) -> ps.Verdict:
    """The run goes somewhere: its loss falls and its scores move."""
    moved = ps.at_least(at_the_end(run.S_change), 1e-3, "change of the scores")
    return ps.decreasing(run.loss, "loss") & moved


@ps.claim(
    "Appendix C",
    ps.theory(ps.runs(weight_flow, **evidence.SMALL), ps.runs(six_families, **evidence.SMALL)),
    id="App.C",
)
def six_families_close(weights, families):
    """The six families of overlaps follow the flow of the weights to 1e-7 up to kappa t = 1e4."""
    return (
        same_motion(families, weights, 1e-7) & learning(weights) & ran_to_the_end(weights, families)
    )


@ps.claim(
    "Lemmas C.1 to C.4",
    ps.theory(evidence.distinct_words),
    ps.beyond(evidence.shared_words),
    id="C.1",
)
def the_closed_system_is_the_gradient(ds):
    """The six equations of Appendix C agree with automatic differentiation to 1e-12, also where words repeat."""
    return ps.at_most(abs(ds.error), 1e-12, "relative error of a family") & ps.positive(
        ds["size"], "size of the rates"
    )


@ps.claim(
    "Reduction R2 (ours)",
    ps.theory(ps.runs(weight_flow, **evidence.SMALL), ps.runs(gram, **evidence.SMALL)),
    id="R2",
)
def words_alone_close(weights, grams):
    """The Gram matrices of the words, whose number does not depend on m or m1, follow the flow of the weights to 1e-7."""
    return same_motion(grams, weights, 1e-7) & learning(weights) & ran_to_the_end(weights, grams)


@ps.claim(
    "Reductions R1 and R2 for descent (ours)",
    ps.theory(
        ps.runs(weights, **evidence.SMALL_DESCENT), ps.runs(gram_descent, **evidence.SMALL_DESCENT)
    ),
    id="R2-descent",
)
def descent_closes_too(weights, grams):
    """Gradient descent on the weights and its exact image in the Gram matrices agree to 1e-10 over 2000 steps."""
    moved = ps.at_least(at_the_end(weights.S_change), 1e-4, "change of the scores")
    falls = ps.decreasing(weights.loss, "loss")
    return same_motion(grams, weights, 1e-10) & moved & falls & ran_to_the_end(weights, grams)


@ps.claim(
    "Reduction R3 (ours)",
    ps.theory(
        ps.runs(gram, init="orthogonal", **evidence.SMALL_SYMMETRIC),
        ps.runs(orthogonal, **evidence.SMALL_SYMMETRIC),
    ),
    id="R3",
)
def symmetric_words_close(grams, sectors):
    """From an orthogonal start with distinct words, 149 numbers follow the Gram matrices to 1e-7 up to kappa t = 1e4."""
    found = []
    for name in ("loss", "loss_type", "beta", "C", "A", "test_F", "gsum"):
        found.append(ps.agree(sectors[name], grams[name], atol=1e-7, rtol=1e-7, what=name))
    special = ps.agree(
        sectors.G.sel(word=[1, 2, 3]), grams.G.sel(word=[1, 2, 3]), atol=1e-7, what="G"
    )
    return ps.all_of(found) & special & learning(grams) & ran_to_the_end(grams, sectors)


@ps.claim(
    "Conserved quantities (ours)", ps.theory(ps.runs(weight_flow, **evidence.SMALL)), id="conserved"
)
def flow_conserves_three_matrices(run):
    """W_Q W_Q^T - W_K W_K^T, W_V W_V^T - W^T W and (I - a a^T / |a|^2) W move by less than 1e-11 up to kappa t = 1e4."""
    values_moved = ps.at_least(at_the_end(run.A_change), 0.1, "change of A")
    keys_moved = ps.at_least(at_the_end(run.K_change), 1e-6, "change of K")
    still = ps.at_most(abs(run.drift), 1e-11, "drift")
    return still & (values_moved & keys_moved) & ran_to_the_end(run)


@ps.claim(
    "Casimirs (ours)",
    ps.theory(*evidence.theory_runs),
    ps.published(evidence.figure_1),
    id="casimirs",
)
def flow_conserves_four_traces(*runs):
    """tr A - beta / |a|^2, tr Q - tr K and the traces of their squares stay what they were, to 1e-11 of their largest part."""
    ds = side_by_side(runs, "casimir", "A_change", "beta")
    start = ds.casimir.isel(time=0, drop=True)
    drift = abs(ds.casimir - start) / abs(start).max("which")
    grown = at_the_end(ds.beta) - ds.beta.isel(time=0, drop=True)
    moved = ps.positive(at_the_end(ds.A_change), "change of A") & ps.positive(
        grown, "growth of beta"
    )
    return ps.at_most(drift, 1e-11, "relative drift of a Casimir") & moved & ran_to_the_end(*runs)


@ps.claim(
    "Conserved quantities under descent (ours)",
    ps.theory(ps.runs(weights, **evidence.SMALL_DESCENT)),
    id="violation",
)
def descent_breaks_them_exactly_so(run):
    """A step of descent changes the first conserved matrix by eta^2 (W_K M M^T W_K^T - W_Q M^T M W_Q^T), the second by eta^2
    (|c|^2 b b^T - |a|^2 r r^T) with r = W_V c, and the third not at all: to 1e-9 of the changes, or to rounding."""
    violated = run.violation.isel(invariant=[0, 1])
    error = run.violation_error.isel(invariant=[0, 1])
    third = run.violation.isel(invariant=2)
    return (
        ps.at_most(error, 1e-9 * violated + 1e-14, "violation less formula")
        & ps.positive(violated, "violation")
        & ps.at_least(violated.isel(invariant=1).max(), 1e-6, "largest violation")
        & ps.at_most(abs(third), 1e-14, "violation of the third")
        & ran_to_the_end(run)
    )


@ps.claim("Phase 1 of a lazy network (ours)", ps.theory(evidence.many, evidence.sixty), id="R4")
def the_first_phase_is_universal(*runs):
    """With m = 10^6 the landmarks of phase 1 are those of five numbers with frozen uniform attention: kappa T_0.5 = 3.565 and
    kappa T_1 = 12.979 for n to infinity, 3.846 and 6.902 at n = 60, L = 5; within 0.5%."""
    found = []
    for run in runs:
        spec = spec_of(run)
        marks = first_phase(spec.samples, spec.length)
        half = turning_time(run) / marks["half"]
        end = first_phase_end(run) / marks["end"]
        found.append(
            ps.within(half, 0.995, 1.005, f"kappa T_0.5 / closed form, n = {spec.samples}")
        )
        found.append(ps.within(end, 0.995, 1.005, f"kappa T_1 / closed form, n = {spec.samples}"))
    return ps.all_of(found) & ran_to_the_end(*runs)


claims = (
    six_families_close,
    the_closed_system_is_the_gradient,
    words_alone_close,
    descent_closes_too,
    symmetric_words_close,
    flow_conserves_three_matrices,
    flow_conserves_four_traces,
    descent_breaks_them_exactly_so,
    the_first_phase_is_universal,
)
