"""Section 6 and Appendix D: what the text says of its figures. Numbers of earlier runs are in `regressions`."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import onset, ran_to_the_end, spec_of
from . import evidence

SMALL = ps.chosen(0.1, "a tenth of the loss at the start: decayed, to the eye")
AROUND = 'the text has "t_2 = 600 or so", from a plot'
FROM = ps.chosen(500.0, AROUND)
TO = ps.chosen(700.0, AROUND)


def loss_decays(run: xr.Dataset) -> ps.Verdict:
    """The loss falls at every record, to a small part of what it was."""
    left = run.loss.isel(time=-1) / run.loss.isel(time=0)
    return ps.decreasing(run.loss, "loss") & ps.at_most(
        left, SMALL, "loss at the end / at the start"
    )


def first_rises_others_fall(run: xr.Dataset, monotone: bool) -> ps.Verdict:
    """Token score 1 grows; 2 and 3 decrease, at every record or (not `monotone`) from the start to the end."""
    moving = run.token_score.sel(time=slice(1, None))
    later = moving.sel(position=[2, 3])
    rises = ps.increasing(moving.sel(position=1), "v_1")
    if monotone:
        return rises & ps.decreasing(later, "v_2, v_3", along="time")
    change = later.isel(time=[-1]) - later.isel(time=0, drop=True)
    return rises & ps.negative(change, "change of v_2, v_3")


def first_token_gains_in_one_class(run: xr.Dataset, length: int) -> ps.Verdict:
    """Position 1 receives more attention in positive samples than at the start, and less in negative ones."""
    place = {"length": length, "position": 1}
    positive = run.attention_match.sel(place)
    negative = run.attention_differ.sel(place)
    later = slice(2, None)
    start = 1 / length
    return ps.positive(positive.sel(time=later) - start, "phi_1 - 1/L, positive samples") & (
        ps.negative(negative.sel(time=later) - start, "phi_1 - 1/L, negative samples")
    )


def features(run: xr.Dataset, length: int, monotone: bool = True) -> ps.Verdict:
    """The three plots of a figure."""
    return (
        loss_decays(run)
        & first_rises_others_fall(run, monotone)
        & first_token_gains_in_one_class(run, length)
        & ran_to_the_end(run)
    )


@ps.claim(
    "Figure 2",
    ps.on("training", evidence.figure_2, expect="reproduced"),
    id="fig2",
    kind="figure",
    tex=r"\mathcal{L} \downarrow, \quad v_1 \uparrow,\ v_2, v_3 \downarrow, \quad \varphi_1^+ > \tfrac13 > \varphi_1^-",
    page="Section 6, Figure 2",
)
def figure_2_shows_what_the_text_says(run):
    """Even pairs: the loss decays, the first token score grows and the second and third decrease, and in strings of length
    3 the first token receives more attention in positive samples and less in negative ones."""
    return features(run, length=3)


@ps.claim(
    "Figure 3",
    ps.on("training", evidence.figure_3, expect="reproduced"),
    id="fig3",
    kind="figure",
    tex=r"\mathcal{L} \downarrow, \quad v_1 \uparrow,\ v_2, v_3 \downarrow, \quad \varphi_1^+ > \tfrac15 > \varphi_1^-",
    page="Section 6, Figure 3",
)
def figure_3_shows_what_the_text_says(run):
    """Parity: the same, in strings of length 5."""
    return features(run, length=5)


@ps.claim(
    "Figures 4 and 5",
    ps.on("training", evidence.figure_4, evidence.figure_5, expect="reproduced"),
    id="fig4-fig5",
    aliases=("fig4", "fig5"),
    kind="figure",
    tex=r"\mathcal{L} \downarrow, \quad v_1 \uparrow,\ v_2, v_3 \downarrow, \quad \varphi_1^+ > \tfrac13 > \varphi_1^-",
    page="Appendix D, Figures 4 and 5",
)
def other_scales_show_the_same(*runs):
    """Even pairs at larger lam: "the training dynamics remain consistent with those reported in the main paper". (v_2 and v_3
    end lower; at the largest lam v_3 rises for a while in between.)"""
    return ps.all_of(features(run, length=3, monotone=False) for run in runs)


@ps.claim(
    "Figure 6",
    ps.on("training", evidence.figure_6, expect="reproduced"),
    id="fig6",
    kind="figure",
    tex=r"\mathcal{L} \downarrow, \quad v_1 \uparrow,\ v_2, v_3 \downarrow, \quad \varphi_1^+ > \tfrac13 > \varphi_1^-",
    page="Appendix D, Figure 6",
)
def a_fixed_step_shows_two_phases(run):
    """Even pairs by plain gradient descent: the two phases emerge with a fixed step size too, and |u_t| bends where it does
    in Figure 2, between 500 and 700."""
    return features(run, length=3) & ps.within(onset(run), FROM, TO, "t_2")


@ps.claim(
    "Section 6, t_2",
    ps.on("training", evidence.figure_2, evidence.figure_3, expect="reproduced"),
    id="sec6-t2",
    aliases=("t2",),
    kind="figure",
    tex=r"t_2 \approx 600",
    page="Section 6",
)
def read_out_bends_near_600(*runs):
    """|u_t| starts to grow logarithmically near t_2 = 600 in Figures 2 and 3: d|u| / d log t is largest between 500 and
    700."""

    def judge(run):
        spec = spec_of(run)
        return ps.within(onset(run), FROM, TO, f"t_2 ({spec.task})")

    return ps.all_of(map(judge, runs)) & ran_to_the_end(*runs)


@ps.claim(
    "Algorithm 1",
    ps.on("training", evidence.figure_2),
    id="alg1",
    aliases=("Alg1",),
    kind="identity",
    tex=r"y_{L-1} = \text{parity of } X, \quad X \in \{a, b\}^L,\ L \le L_{\max}",
    page="Section 5.1, Algorithm 1",
)
def even_pairs_model_computes_parity(run):
    """Truncated chain of thought with an even-pairs model computes the parity of L tokens whenever even pairs is solved at
    length L, and at the end of training for all L from 2 to N; not before even pairs is solved."""
    lengths = np.arange(2, run.sizes["length"] + 1)
    solved = (run.accuracy_by_length.sel(length=lengths) == 1).rename(length="input_length")
    accuracy = run.cot_accuracy.sel(input_length=lengths)
    return (
        ps.agree(accuracy, 1.0, what="parity accuracy", where=solved)
        & ps.agree(accuracy.isel(time=-1), 1.0, what="parity accuracy at the end")
        & ps.guard(ps.throughout((accuracy == 1) == solved, what="solved together"))
        & ps.guard(ps.at_most(accuracy.isel(time=0), 0.5, "parity accuracy at the start"))
        & ran_to_the_end(run)
    )


@ps.claim(
    "Algorithm 1 on longer inputs (ours)",
    ps.on("training", evidence.figure_2),
    id="ours-alg1-longer",
    aliases=("Alg1-length",),
    kind="identity",
    whose="ours",
    tex=r"\mathrm{accuracy} = \tfrac12, \quad L > L_{\max}",
    page="Section 5.1, Algorithm 1",
)
def parity_does_not_extend_to_longer_inputs(run):
    """On inputs longer than any of its training truncated chain of thought is right for exactly half of the strings at every
    record: unseen lengths have uniform attention. At the lengths of training it ends right."""
    N = run.sizes["length"]
    longer = run.cot_accuracy.sel(input_length=slice(N + 1, None))
    known = run.cot_accuracy.sel(input_length=slice(None, N)).isel(time=-1)
    return (
        ps.agree(longer, 0.5, what="parity accuracy beyond N")
        & ps.guard(ps.at_least(known, 1.0, "parity accuracy up to N at the end"))
        & ran_to_the_end(run)
    )


claims = (
    figure_2_shows_what_the_text_says,
    figure_3_shows_what_the_text_says,
    other_scales_show_the_same,
    a_fixed_step_shows_two_phases,
    read_out_bends_near_600,
    even_pairs_model_computes_parity,
    parity_does_not_extend_to_longer_inputs,
)
