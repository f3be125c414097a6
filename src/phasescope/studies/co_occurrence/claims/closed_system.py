"""Appendices B and C: the closed system, its reductions, and what gradient flow conserves; exact statements, to rounding."""

from __future__ import annotations

import xarray as xr

import phasescope as ps

from ..closed_forms import first_phase
from ..phases import (
    at_the_end,
    first_phase_end,
    ran_to_the_end,
    spec_of,
    trained,
    turning_time,
)
from ..theory import gram, orthogonal, six_families, weight_flow
from ..training import gram_descent, weights
from . import evidence
from .parts import EXACT, SOLVED, where_it_learns
from .premises import any_flow, lazy

CONSERVED = ps.chosen(1e-11, "what a hundred steps of the solver leave")
MOVED = ps.chosen(1e-4, "far more than rounding")


def same_motion(run: xr.Dataset, other: xr.Dataset, atol: float) -> ps.Verdict:
    """Two runs that should be one."""
    names = ("loss", "G", "F_type", "C", "A", "beta")
    return ps.all_of(
        ps.agree(run[name], other[name], atol=atol, rtol=atol, what=name) for name in names
    )


def learning(run: xr.Dataset) -> ps.Verdict:
    """The run goes somewhere: its loss falls and its scores move."""
    moved = ps.guard(ps.at_least(at_the_end(run.S_change), MOVED, "change of the scores"))
    return ps.guard(ps.decreasing(run.loss, "loss")) & moved


@ps.claim(
    "Appendix C",
    ps.on(
        "training", ps.runs(weight_flow, **evidence.SMALL), ps.runs(six_families, **evidence.SMALL)
    ),
    id="appC-closed",
    aliases=("App.C",),
    kind="identity",
    tex=r"\text{six families of overlaps follow closed equations}",
    page="Appendix C",
    assumes=any_flow,
)
def six_families_close(weights, families):
    """The six families of overlaps follow the flow of the weights, to the accuracy of the solver, up to kappa t
    = 1e4."""
    return (
        same_motion(families, weights, SOLVED)
        & learning(weights)
        & ran_to_the_end(weights, families)
    )


@ps.claim(
    "Lemmas C.1 to C.4",
    ps.on("closed form", evidence.distinct_words),
    ps.on(
        "closed form",
        evidence.shared_words,
        breaks="every irrelevant word in one place only (Assumption 2.3)",
    ),
    id="lemC.1-C.4-gradient",
    aliases=("C.1",),
    kind="identity",
    tex=r"\partial_t\,w_j^\top W_V\mu,\ \partial_t\langle w_j,w_{j'}\rangle,\ \partial_t\,\nu^\top W_V^\top "
    r"W_V\mu,\ \ldots",
    page="Appendix C.1, Lemmas C.1 to C.4",
    assumes=any_flow,
)
def the_closed_system_is_the_gradient(ds):
    """The six equations of Appendix C agree with automatic differentiation to rounding, also where words repeat."""
    return (
        ps.agree(ds.error, 0.0, atol=EXACT, what="relative error of a family")
        & ps.agree(ds.own, ds["size"], rtol=EXACT, what="largest rate of a family")
        & ps.guard(ps.positive(ds["size"], "size of the rates"))
    )


@ps.claim(
    "Reduction R2 (ours)",
    ps.on("training", ps.runs(weight_flow, **evidence.SMALL), ps.runs(gram, **evidence.SMALL)),
    id="ours-R2",
    aliases=("R2",),
    kind="identity",
    whose="ours",
    tex=r"\dot\beta = 2m_1G\cdot c,\ \dot G = \beta c + m_1Ac,\ \dot A = Gc^\top + cG^\top,\ \dot S = KM + MQ",
    page="Appendix C",
    assumes=any_flow,
)
def words_alone_close(weights, grams):
    """The Gram matrices of the words, whose number does not depend on m or m1, follow the flow of the weights."""
    return same_motion(grams, weights, SOLVED) & learning(weights) & ran_to_the_end(weights, grams)


@ps.claim(
    "Reductions R1 and R2 for descent (ours)",
    ps.on(
        "training",
        ps.runs(weights, **evidence.SMALL_DESCENT),
        ps.runs(gram_descent, **evidence.SMALL_DESCENT),
    ),
    id="ours-R2-descent",
    aliases=("R2-descent",),
    kind="identity",
    whose="ours",
    tex=r"W(t) = W(0) + a(b(t) - b(0))^\top/\|a\|^2",
    page="Appendix C",
)
def descent_closes_too(weights, grams):
    """Gradient descent on the weights and its exact image in the Gram matrices agree to 1e-10 over 2000 steps."""
    rounding = ps.chosen(1e-10, "rounding of float64 over 2000 steps")
    moved = ps.guard(ps.at_least(at_the_end(weights.S_change), MOVED, "change of the scores"))
    falls = ps.guard(ps.decreasing(weights.loss, "loss"))
    return same_motion(grams, weights, rounding) & moved & falls & ran_to_the_end(weights, grams)


@ps.claim(
    "Reduction R3 (ours)",
    ps.on(
        "population",
        ps.runs(gram, init="orthogonal", **evidence.SMALL_SYMMETRIC),
        ps.runs(orthogonal, **evidence.SMALL_SYMMETRIC),
    ),
    id="ours-R3",
    aliases=("R3",),
    kind="identity",
    whose="ours",
    tex=r"\text{149 numbers at any } n, L, d, m, m_1",
    page="Appendix C",
)
def symmetric_words_close(grams, sectors):
    """From an orthogonal start with distinct words, 149 numbers follow the Gram matrices up to kappa t = 1e4."""
    found = []
    for name in ("loss", "loss_type", "beta", "C", "A", "test_F", "gsum"):
        found.append(ps.agree(sectors[name], grams[name], atol=SOLVED, rtol=SOLVED, what=name))
    special = ps.agree(
        sectors.G.sel(word=[1, 2, 3]), grams.G.sel(word=[1, 2, 3]), atol=SOLVED, what="G"
    )
    return ps.all_of(found) & special & learning(grams) & ran_to_the_end(grams, sectors)


@ps.claim(
    "Conserved quantities (ours)",
    ps.on("training", ps.runs(weight_flow, **evidence.SMALL)),
    id="ours-conserved",
    aliases=("conserved",),
    kind="upper",
    whose="ours",
    tex=r"W_QW_Q^\top - W_KW_K^\top,\quad W_VW_V^\top - W^\top W,\quad (I - aa^\top/\|a\|^2)W",
    page="Appendix B",
    assumes=any_flow,
)
def flow_conserves_three_matrices(run):
    """W_Q W_Q^T - W_K W_K^T, W_V W_V^T - W^T W and (I - a a^T / |a|^2) W stay what they were up to kappa t = 1e4."""
    still = ps.at_most(abs(run.drift), CONSERVED, "drift")
    values = ps.guard(ps.at_least(at_the_end(run.A_change), ps.chosen(0.1, "moves"), "change of A"))
    keys = ps.guard(ps.at_least(at_the_end(run.K_change), ps.chosen(1e-6, "moves"), "change of K"))
    return still & values & keys & learning(run) & ran_to_the_end(run)


@ps.claim(
    "Casimirs (ours)",
    ps.on("training", *evidence.theory_runs, evidence.figure_1),
    id="ours-casimirs",
    aliases=("casimirs",),
    kind="upper",
    whose="ours",
    tex=r"\mathrm{tr}A - \beta/\|a\|^2,\quad \mathrm{tr}Q - \mathrm{tr}K,\quad \text{and their squares}",
    page="Appendix B",
    assumes=any_flow,
)
@where_it_learns
def flow_conserves_four_traces(*runs):
    """tr A - beta / |a|^2, tr Q - tr K and the traces of their squares stay what they were, relative to their
    largest part."""
    found = []
    for run in map(trained, runs):
        start = run.casimir.isel(time=0, drop=True)
        largest = abs(start).max("which", skipna=False)
        drift = abs(run.casimir - start) / largest
        found.append(ps.at_most(drift, CONSERVED, "drift of a Casimir"))
        grown = at_the_end(run.beta) - run.beta.isel(time=0, drop=True)
        found.append(ps.guard(ps.positive(grown, "growth of beta")))
        found.append(ps.guard(ps.positive(at_the_end(run.A_change), "change of A")))
    return ps.all_of(found)


@ps.claim(
    "Conserved quantities under descent (ours)",
    ps.on("training", ps.runs(weights, **evidence.SMALL_DESCENT)),
    id="ours-violation",
    aliases=("violation",),
    kind="upper",
    whose="ours",
    tex=r"\eta^2(W_KMM^\top W_K^\top - W_QM^\top MW_Q^\top),\quad \eta^2(|c|^2bb^\top - \|a\|^2rr^\top)",
    page="Appendix B",
)
def descent_breaks_them_exactly_so(run):
    """A step of descent changes the first conserved matrix by eta^2 (W_K M M^T W_K^T - W_Q M^T M W_Q^T), the
    second by eta^2 (|c|^2 b b^T - |a|^2 r r^T) with r = W_V c, and the third not at all: to 1e-9 of the
    changes, or to rounding."""
    violated = run.violation.isel(invariant=[0, 1])
    error = run.violation_error.isel(invariant=[0, 1])
    third = run.violation.isel(invariant=2)
    rounding = ps.chosen(1e-14, "rounding of float64")
    allowed = 1e-9 * violated + rounding
    return (
        ps.at_most(abs(error), allowed, "violation less formula")
        & ps.at_most(abs(third), rounding, "violation of the third")
        & ps.guard(ps.positive(violated, "violation"))
        & ps.guard(
            ps.at_least(violated.isel(invariant=1).max(), ps.chosen(1e-6, "seen"), "largest")
        )
        & ps.guard(ps.decreasing(run.loss, "loss"))
        & ran_to_the_end(run)
    )


@ps.claim(
    "Phase 1 of a lazy network (ours)",
    ps.on("population", evidence.many, evidence.sixty),
    id="ours-phase1-universal",
    aliases=("R4",),
    kind="approx",
    whose="ours",
    tex=r"G_1' = \tfrac12g_1 - \tfrac16g_2,\quad G_3' = \tfrac12g_1 - \tfrac13g_2 - \tfrac16g_4,\quad r_c' = "
    r"y_cg_c/n",
    page="Section 4.1",
    assumes=lazy,
)
@where_it_learns
def the_first_phase_is_universal(*runs):
    """With m = 10^6 the landmarks of phase 1 are those of five numbers with frozen uniform attention: kappa
    T_0.5 = 3.565 and kappa T_1 = 12.979 for n to infinity, 3.846 and 6.902 at n = 60, L = 5; within 0.5%."""
    near = ps.chosen(0.005, "straight lines between records that are 10% apart in time")
    found = []
    for run in runs:
        spec = spec_of(run)
        marks = first_phase(spec.samples, spec.length)
        half = turning_time(run) / marks["half"]
        end = first_phase_end(run) / marks["end"]
        found.append(
            ps.agree(half, 1.0, atol=near, what=f"kappa T_0.5 / closed form, n = {spec.samples}")
        )
        found.append(
            ps.agree(end, 1.0, atol=near, what=f"kappa T_1 / closed form, n = {spec.samples}")
        )
    return ps.all_of(found)


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
