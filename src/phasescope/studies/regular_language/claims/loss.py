"""Theorems 4.5 and 5.3, the remark after 4.5, and what they leave at T."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..phases import margin_norm, phase_2, ran_to_the_end, spec_of
from . import evidence
from .assumptions import theorem_4_4, theorem_5_2

FIGURES = (evidence.figure_2, evidence.figure_4, evidence.figure_5, evidence.figure_6)
LEAST_NORM = ps.derived(2.0, "|u*| for attention that sees the pivot alone")


def loss_is_below(*runs):
    """The printed bound on the loss, where it is below what the loss starts from; trivial if that is nowhere."""

    def judge(run):
        spec = spec_of(run)
        after = phase_2(run).isel(time=slice(1, None))
        if after.sizes["time"] == 0:
            return ps.undecided("no record after phase 1", "a phase 2")
        norm = margin_norm(run)
        values = closed_forms.loss_bound(after.time.values, spec.eta, spec.size, norm)
        bound = after.loss.copy(data=values)
        start = float(run.loss.isel(time=0))
        falls = ps.guard(ps.decreasing(run.loss, "loss"))
        real = ps.guard(ps.at_least(norm, LEAST_NORM, "|u*|"))
        if (bound < start).any():
            printed = ps.stated(1.0, "Theorem 4.5, with the proof's 14")
            ratio = after.loss / bound
            return ps.at_most(ratio, printed, "loss / bound", where=bound < start) & falls & real
        what = f"loss at the start / smallest bound, N = {spec.size}, lam = {spec.lam:g}"
        printed = ps.stated(1.0, "Theorem 4.5, with the proof's 14")
        weak = ps.at_most(start / np.float64(bound.min()), printed, what)
        return ps.trivial(weak & falls & real, "the bound stays above the loss at the start")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


TRIVIAL = "|u*| makes the bound larger than the loss ever is: {measured}"


@ps.claim(
    "Theorem 4.5",
    ps.on("training", *evidence.theorem_family, expect="trivial", because=TRIVIAL),
    ps.on("training", *FIGURES, expect="trivial", because=TRIVIAL),
    id="thm4.5",
    aliases=("4.5",),
    kind="upper",
    tex=r"\mathcal{L}_t = O\left(\tfrac{L_{\max}\|u^*_{EP}\|^2}{\eta\sqrt t}\right), \quad t \le T",
    page="Section 4.2, Theorem 4.5; Appendix B.2, Theorem B.7",
    assumes=theorem_4_4,
)
def loss_falls_below_the_printed_bound(*runs):
    """L_t <= C N |u*|^2 / (eta sqrt t), with the C = 14 of the proof."""
    return loss_is_below(*runs)


@ps.claim(
    "Theorem 4.5, remark",
    ps.on(
        "training",
        *evidence.larger_lam,
        expect="false",
        because=(
            "the remark drops the norm of u*, which grows like lam; by the paper's own gradient bounds the loss at T stays "
            "above a constant for every lam ({measured})"
        ),
    ),
    id="thm4.5-remark",
    aliases=("4.x-theorem",),
    kind="limit",
    tex=(
        r"\mathcal{L}_T = O\left(\tfrac{\eta^{1/2}}{\lambda^{1/3}}\right): \quad "
        r"\lambda = \Omega(\eta^{2/3}/\epsilon^3) \Rightarrow \mathcal{L}_T \le \epsilon"
    ),
    page="Section 4.2, after Theorem 4.5",
    as_=("lam", "inf"),
    assumes=theorem_4_4,
)
def the_loss_becomes_arbitrarily_small(*runs):
    """As lam grows the loss at T becomes arbitrarily small.

    closed_forms.loss_floor_at_T: at T some class of strings has a margin of at most c_T c_0^2 / (203 lam^(1/3) N^4) at
    the attention of t_0, and c_T^3 / 4 more by what moves later, so the loss is above a constant for all lam, eta and N.
    """

    def loss_at_T(run):
        return float(run.loss.isel(time=-1))

    def judge(run):
        spec = spec_of(run)
        floor = closed_forms.loss_floor_at_T(spec.size, spec.lam)
        what = f"loss at T / floor, lam = {spec.lam:g}"
        least = ps.derived(1.0, "closed_forms.loss_floor_at_T")
        return ps.guard(ps.at_least(loss_at_T(run) / floor, least, what))

    losses = {spec_of(run).lam: loss_at_T(run) for run in runs}
    found = ps.tends_to(losses, 0.0, along="lam", what="loss at T")
    falls = ps.all_of(ps.guard(ps.decreasing(run.loss, "loss")) for run in runs)
    floors = [judge(run) for run in runs]
    derived = all(verdict.outcome is ps.Outcome.HOLDS for verdict in floors)
    if derived:
        found = ps.refuted(found, by="closed_forms.loss_floor_at_T, for all lam, eta and N")
    return found & falls & ran_to_the_end(*runs)


def chance(run, what):
    """Accuracy is 1/2 + 1/2N and the loss above (N - 1) log 2, at the last record."""
    end = run.isel(time=-1)
    N = run.sizes["length"]
    least = (N - 1) * np.log(2)
    rounding = ps.chosen(1e-12, "rounding of a mean over lengths")
    return (
        ps.agree(end.accuracy, 0.5 + 0.5 / N, atol=rounding, what=f"accuracy, {what}")
        & ps.guard(ps.at_least(end.loss / least, 1.0, f"loss / (N-1) log 2, {what}"))
        & ps.guard(ps.at_least(end.loss_floor / least, 1.0, f"floor / (N-1) log 2, {what}"))
        & ps.guard(ps.decreasing(run.loss, "loss"))
    )


@ps.claim(
    "Theorems 4.1 to 4.5 at unit constants (ours)",
    ps.on("training", evidence.theorem_6, *evidence.theorem_family, *evidence.larger_lam[1:]),
    ps.on("population", evidence.theorem_1024),
    id="ours-nothing-is-learned",
    aliases=("4.x-nothing",),
    kind="identity",
    whose="ours",
    tex=r"\mathrm{accuracy}_T = \tfrac12 + \tfrac1{2N}",
    page="Section 4.2, Theorem 4.4",
    assumes=theorem_4_4,
)
def nothing_is_learned_by_T(*runs):
    """At T, with unit constants, only length 1 and one class are right: accuracy is 1/2 + 1/2N exactly, and the loss is
    above (N - 1) log 2. So is its floor, whatever the common level of the two classes' outputs, for they hardly differ."""
    found = ps.all_of(
        chance(run, f"N = {run.sizes['length']}, lam = {spec_of(run).lam:g}") for run in runs
    )
    return found & ran_to_the_end(*runs)


@ps.claim(
    "Theorem 5.3",
    ps.on("training", *evidence.theorem_parity, expect="trivial", because=TRIVIAL),
    ps.on("training", evidence.figure_3, expect="trivial", because=TRIVIAL),
    id="thm5.3",
    aliases=("5.3",),
    kind="upper",
    tex=r"\mathcal{L}_{Parity,t} = O\left(\tfrac{L_{\max}\|u^*_{CoT}\|^2}{\eta\sqrt t}\right), \quad t \le T",
    page="Section 5.3, Theorem 5.3",
    assumes=theorem_5_2,
)
def parity_loss_falls_below_the_printed_bound(*runs):
    """L_t <= C N |u*|^2 / (eta sqrt t), with the C = 14 of the proof of Theorem B.7."""
    return loss_is_below(*runs)


@ps.claim(
    "Theorem 5.3 at unit constants (ours)",
    ps.on("training", *evidence.theorem_parity),
    id="ours-nothing-is-learned-parity",
    kind="identity",
    whose="ours",
    tex=r"\mathrm{accuracy}_T = \tfrac12 + \tfrac1{2N}",
    page="Section 5.3, Theorem 5.3",
    assumes=theorem_5_2,
)
def nothing_of_parity_is_learned_by_T(*runs):
    """For parity too, at T and unit constants only length 1 and one class are right."""
    found = ps.all_of(chance(run, f"N = {run.sizes['length']}") for run in runs)
    return found & ran_to_the_end(*runs)


claims = (
    loss_falls_below_the_printed_bound,
    the_loss_becomes_arbitrarily_small,
    nothing_is_learned_by_T,
    parity_loss_falls_below_the_printed_bound,
    nothing_of_parity_is_learned_by_T,
)
