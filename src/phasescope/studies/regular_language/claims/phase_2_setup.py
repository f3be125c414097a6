"""Appendix B.2, parameter setup: how far u and W can get, and the last time T."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from .. import closed_forms
from ..phases import margin_norm, ran_to_the_end, spec_of
from . import evidence
from .assumptions import theorem_4_4
from .parts import moves

FIGURES = (evidence.figure_2, evidence.figure_4, evidence.figure_5)


@ps.claim(
    "Appendix B.2, parameter setup: the norm of u",
    ps.on("training", *evidence.theorem_family),
    ps.on("training", *FIGURES),
    id="secB.2-u-norm",
    kind="upper",
    tex=r"\|u_t\| \le \eta L_{\max} t",
    page="Appendix B.2, parameter setup",
    assumes=theorem_4_4,
)
def read_out_is_at_most_linear(*runs):
    """|u_t| <= eta N t at every record."""

    def judge(run):
        spec = spec_of(run)
        later = run.sel(time=slice(1, None))
        ratio = later.u_norm / (spec.eta * spec.size * later.time)
        bound = ps.stated(1.0, "Appendix B.2, parameter setup")
        return ps.at_most(ratio, bound, f"|u_t| / (eta N t), N = {spec.size}") & moves(run)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Appendix B.2, parameter setup: T",
    ps.on(
        "training",
        *evidence.theorem_family,
        expect="false",
        because=(
            "u* is so large at the end of phase 1 that the other entry is the smaller one, by a power {value:.2g} of "
            "ten; with it, T comes before phase 1 ends"
        ),
    ),
    id="secB.2-T",
    kind="order",
    tex=(
        r"\min\left\{\tfrac{\lambda}{\sqrt{3\|u^*_{EP}\|}\,\eta L_{\max}}, "
        r"\tfrac{\lambda^{2/3}}{2^{2/3} \eta L_{\max}}\right\} = \tfrac{\lambda^{2/3}}{2^{2/3} \eta L_{\max}}"
    ),
    page="Appendix B.2, parameter setup",
    assumes=theorem_4_4,
)
def the_second_entry_is_the_smaller_one(*runs):
    """Of the two times whose minimum is T the second is the smaller: lam^2/3 2^4/3 >= 3 |u*|.

    By early_margin_norm |u*| is at least 128 lam N^4 / c_0^2, and then no lam >= 1 satisfies it unless c_0 > 12 N^2.
    """

    def judge(run):
        ratio = closed_forms.horizon_ratio(spec_of(run).lam, margin_norm(run))
        what = f"log10(first entry / second), N = {spec_of(run).size}"
        return ps.positive(np.log10(ratio), what) & moves(run)

    found = ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)
    return ps.refuted(found, by="closed_forms.early_margin_norm and closed_forms.horizon_ratio")


@ps.claim(
    "Appendix B.2, parameter setup: T, corrected",
    ps.on("training", *evidence.theorem_family),
    id="secB.2-T-corrected",
    kind="order",
    whose="corrected",
    erratum="E19",
    tex=r"T = \tfrac{\lambda}{\sqrt{3\|u^*_{EP}\|}\,\eta L_{\max}} < t_0",
    page="Appendix B.2, parameter setup",
    assumes=theorem_4_4,
)
def the_first_entry_comes_before_phase_1_ends(*runs):
    """The smaller of the two times, which is T, comes before t_0: phase 2 has no time that the proof speaks about."""

    def judge(run):
        spec = spec_of(run)
        ratio = closed_forms.horizon_ratio(spec.lam, margin_norm(run))
        first = ratio * closed_forms.horizon(spec.lam, spec.eta, spec.size)
        return ps.ordered(first, float(spec.switch), what=f"T, t_0, N = {spec.size}") & moves(run)

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


claims = (
    read_out_is_at_most_linear,
    the_second_entry_is_the_smaller_one,
    the_first_entry_comes_before_phase_1_ends,
)
