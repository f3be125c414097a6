"""Section 6 and Appendix D: the figures as numbers, and Algorithm 1. Numbers come from an independent implementation."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import Outcome, beyond, claim, published

from ..phases import becomes_right, learned, learned_by_length, onset, ran_to_the_end
from . import evidence


def _printed(found: xr.DataArray, texts: str, what: str) -> ps.Verdict:
    """Every number agrees with its text, to half a unit of the text's last digit."""
    values = found.values.ravel()
    pairs = zip(values, texts.split(), strict=True)
    half = lambda text: 0.5 * 10.0 ** -len(text.partition(".")[2])
    return ps.all_of(ps.agree(value, float(text), atol=1.001 * half(text), what=what) for value, text in pairs)


def _losses(run: xr.Dataset, losses: dict[int, str]) -> ps.Verdict:
    return _printed(run.loss.sel(time=list(losses)), " ".join(losses.values()), "loss")


def _shapes(run: xr.Dataset, length: int, pivot: int, start: int) -> ps.Verdict:
    """Token score 1 rises and 2, 3 fall; the pivot gains attention in one class and loses it in the other."""
    moving = run.sel(time=slice(start, None))
    scores = moving.token_score
    gap = (run.attention_match - run.attention_differ).sel(length=length, position=pivot)
    return (
        ps.increasing(scores.sel(position=1), "v_1")
        & ps.negative(
            scores.sel(position=[2, 3]).isel(time=[-1]) - scores.sel(position=[2, 3]).isel(time=0, drop=True),
            "change of v_2, v_3",
        )
        & ps.positive(gap.isel(time=[-1]), "final attention gap between the classes")
    )


def _learned(run: xr.Dataset, step: int) -> ps.Verdict:
    return ps.agree(learned(run), float(step), what="all strings correct for good from t")


@claim("Figure 2", published(evidence.figure_2), id="fig2")
def figure_2_is_reproduced(run):
    """Even pairs at lam = 2: loss, token scores and attention scores at t = 100 and 600, and when each length is learned."""
    then = run.sel(time=[100, 600])
    return (
        _losses(run, {0: "4.1589", 100: "3.6507", 600: "1.1023", 1000: "0.34297", 2000: "0.09410"})
        & _printed(
            then.token_score.sel(position=[1, 2, 3]), "1.3343 -0.4073 -0.1829 5.3275 -3.7583 -1.7654", "v_1, v_2, v_3"
        )
        & _printed(then.score_match.sel(length=3), "0.2239 2.1202", "p_3")
        & _printed(then.score_differ.sel(length=3), "-0.2679 -2.0019", "q_3")
        & ps.agree(
            learned_by_length(run).values, np.array([231.0, 207, 192, 187, 188]), what="learned from t, by length"
        )
        & _shapes(run, 3, 1, 1)
    )


@claim("Figure 3", published(evidence.figure_3), id="fig3")
def figure_3_is_reproduced(run):
    """Parity at lam = 2, L_0 = 4: loss and token scores; accuracy is reached, lost again, and permanent from t = 629."""
    scores = run.token_score.sel(time=600, position=[1, 2, 3, 4])
    return (
        _losses(run, {100: "3.6698", 600: "1.7253", 1000: "0.9441", 2000: "0.1752"})
        & _printed(scores, "4.751 -3.677 -1.360 -0.319", "v at 600")
        & ps.agree(
            learned_by_length(run).values, np.array([229.0, 207, 195, 240, 629]), what="learned from t, by length"
        )
        & ps.within(run.accuracy.sel(time=slice(283, 326)), 1.0, 1.0, "accuracy from 283 to 326")
        & ps.at_most(run.accuracy.sel(time=327), 0.999, "accuracy at 327")
    )


@claim("Figure 4", published(evidence.figure_4), id="fig4")
def figure_4_is_reproduced(run):
    """Even pairs at lam = 10: the shapes of Figure 2, five times slower."""
    return (
        _losses(run, {600: "3.4092", 1000: "3.2030", 10_000: "0.0736"}) & _learned(run, 958)
        & ps.agree(learned_by_length(run).values, np.array([926.0, 515, 359, 835, 958]), what="learned from t, by length")
        & ps.agree(onset(run), 3171.0, what="t_2") & _shapes(run, 3, 1, 1)
    )  # fmt: skip


@claim("Figure 5", published(evidence.figure_5), id="fig5")
def figure_5_is_reproduced(run):
    """Even pairs at lam = 18 = N^2/2: slower still."""
    return (
        _losses(run, {600: "3.4966", 10_000: "0.3247"}) & _learned(run, 1513)
        & ps.agree(learned_by_length(run).values, np.array([1513.0, 664, 1155, 1334, 1412]), what="learned from t, by length")
        & ps.agree(onset(run), 5994.0, what="t_2") & _shapes(run, 3, 1, 1)
    )  # fmt: skip


@claim("Figure 6", published(evidence.figure_6), id="fig6")
def figure_6_is_reproduced(run):
    """Even pairs by plain gradient descent: nearly Figure 2, all strings correct from t = 256 instead of 231."""
    return _losses(run, {100: "3.7047", 600: "1.2222", 1000: "0.3647"}) & _learned(run, 256) & _shapes(run, 3, 1, 1)


@claim("Algorithm 1", published(evidence.figure_2), id="Alg1")
def even_pairs_model_computes_parity(run):
    """Truncated chain of thought with an even-pairs model computes the parity of L tokens once, and whenever, even pairs
    is solved at length L; for all L from 2 to N from t = 400 on."""
    lengths = np.arange(2, run.sizes["length"] + 1)
    solved = (run.accuracy_by_length.sel(length=lengths) == 1).rename(length="input_length")
    accuracy = run.cot_accuracy.sel(input_length=lengths)
    parity = accuracy == 1
    return (
        ps.throughout(solved == parity, what="parity solved exactly where even pairs is")
        & ps.within(accuracy.sel(time=slice(400, None)), 1.0, 1.0, "parity accuracy from 400 on")
        & becomes_right(accuracy, "parity accuracy") & ran_to_the_end(run)
    )  # fmt: skip


@claim(
    "Algorithm 1 on longer inputs",
    beyond(
        evidence.figure_2,
        expect=Outcome.FAILS,
        because="an unseen length has uniform attention, hence one answer for all strings: exactly 1/2",
    ),
    id="Alg1-length",
)
def parity_extends_to_longer_inputs(run):
    """Truncated chain of thought with an even-pairs model computes the parity of inputs longer than any of its training."""
    longer = run.cot_accuracy.sel(input_length=slice(run.sizes["length"] + 1, None))
    return becomes_right(longer, "parity accuracy beyond N")
