"""Numbers of earlier runs of ours, from an independent implementation: equal today, and never counted as results."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import learned, learned_by_length, onset, ran_to_the_end, spec_of
from ..training import handover
from . import evidence, tables

DIGITS = "half a unit of the last digit that was kept"
SAME_STEP = "the step of an earlier run"


def as_kept(found: xr.DataArray, texts: str, what: str) -> ps.Verdict:
    """Every number agrees with its text, to half a unit of the text's last digit."""
    pairs = zip(found.values.ravel(), texts.split(), strict=True)
    return ps.all_of(
        ps.agree(value, float(text), atol=last_digit(text), what=what) for value, text in pairs
    )


def last_digit(text: str) -> float:
    """Half a unit of the last digit of a kept number: 0.005 for "1.25"."""
    decimals = len(text.partition(".")[2])
    return ps.derived(1.001 * 0.5 * 10.0**-decimals, DIGITS)


def losses_are(run: xr.Dataset, losses: dict[int, str]) -> ps.Verdict:
    """The loss at some steps, as kept."""
    return as_kept(run.loss.sel(time=list(losses)), " ".join(losses.values()), "loss")


def learned_at(run: xr.Dataset, step: int) -> ps.Verdict:
    """The step from which all strings are right."""
    step_then = ps.chosen(float(step), SAME_STEP)
    return ps.agree(learned(run), step_then, what="all strings correct for good from t")


def lengths_learned_at(run: xr.Dataset, *steps: float) -> ps.Verdict:
    """The steps from which all strings of lengths 2, 3, ... are right."""
    found = learned_by_length(run).values
    return ps.agree(found, np.array(steps), what="learned from t, by length")


@ps.claim(
    "Figure 2: numbers (ours)",
    ps.on("training", evidence.figure_2, expect="as_before"),
    id="fig2-numbers",
    kind="regression",
    whose="ours",
    page="Section 6, Figure 2",
)
def numbers_of_figure_2(run):
    """Even pairs at lam = 2: loss, token scores and attention scores at t = 100 and 600, and when each length is learned."""
    then = run.sel(time=[100, 600])
    first_three = then.token_score.sel(position=[1, 2, 3])
    return (
        losses_are(
            run, {0: "4.1589", 100: "3.6507", 600: "1.1023", 1000: "0.34297", 2000: "0.09410"}
        )
        & as_kept(first_three, "1.3343 -0.4073 -0.1829 5.3275 -3.7583 -1.7654", "v_1, v_2, v_3")
        & as_kept(then.score_match.sel(length=3), "0.2239 2.1202", "p_3")
        & as_kept(then.score_differ.sel(length=3), "-0.2679 -2.0019", "q_3")
        & lengths_learned_at(run, 231.0, 207.0, 192.0, 187.0, 188.0)
        & ran_to_the_end(run)
    )


@ps.claim(
    "Figure 3: numbers (ours)",
    ps.on("training", evidence.figure_3, expect="as_before"),
    id="fig3-numbers",
    aliases=("par-free",),
    kind="regression",
    whose="ours",
    page="Section 6, Figure 3",
)
def numbers_of_figure_3(run):
    """Parity at lam = 2, L_0 = 4: loss and token scores; accuracy is reached, lost again, and permanent from t = 629, from
    when the model run freely computes the parity of L_0 tokens."""
    scores = run.token_score.sel(time=600, position=[1, 2, 3, 4])
    free = run.cot_accuracy.sel(input_length=spec_of(run).base_length)
    since = ps.chosen(629.0, SAME_STEP)
    return (
        losses_are(run, {100: "3.6698", 600: "1.7253", 1000: "0.9441", 2000: "0.1752"})
        & as_kept(scores, "4.751 -3.677 -1.360 -0.319", "v at 600")
        & lengths_learned_at(run, 229.0, 207.0, 195.0, 240.0, 629.0)
        & ps.agree(run.accuracy.sel(time=slice(283, 326)), 1.0, what="accuracy from 283 to 326")
        & ps.negative(run.accuracy.sel(time=327) - 1, "accuracy at 327, less 1")
        & ps.agree(ps.sustained(free == 1), since, what="parity of L_0 tokens right from t")
        & ran_to_the_end(run)
    )


@ps.claim(
    "Figure 4: numbers (ours)",
    ps.on("training", evidence.figure_4, expect="as_before"),
    id="fig4-numbers",
    kind="regression",
    whose="ours",
    page="Appendix D, Figure 4",
)
def numbers_of_figure_4(run):
    """Even pairs at lam = 10: the shapes of Figure 2, five times slower."""
    return (
        losses_are(run, {600: "3.4092", 1000: "3.2030", 10_000: "0.0736"})
        & learned_at(run, 958)
        & lengths_learned_at(run, 926.0, 515.0, 359.0, 835.0, 958.0)
        & ps.agree(onset(run), ps.chosen(3171.0, SAME_STEP), what="t_2")
    )


@ps.claim(
    "Figure 5: numbers (ours)",
    ps.on("training", evidence.figure_5, expect="as_before"),
    id="fig5-numbers",
    kind="regression",
    whose="ours",
    page="Appendix D, Figure 5",
)
def numbers_of_figure_5(run):
    """Even pairs at lam = 18 = N^2/2: slower still."""
    return (
        losses_are(run, {600: "3.4966", 10_000: "0.3247"})
        & learned_at(run, 1513)
        & lengths_learned_at(run, 1513.0, 664.0, 1155.0, 1334.0, 1412.0)
        & ps.agree(onset(run), ps.chosen(5994.0, SAME_STEP), what="t_2")
    )


@ps.claim(
    "Figure 6: numbers (ours)",
    ps.on("training", evidence.figure_6, expect="as_before"),
    id="fig6-numbers",
    kind="regression",
    whose="ours",
    page="Appendix D, Figure 6",
)
def numbers_of_figure_6(run):
    """Even pairs by plain gradient descent: nearly Figure 2, all strings correct from t = 256 instead of 231."""
    return losses_are(run, {100: "3.7047", 600: "1.2222", 1000: "0.3647"}) & learned_at(run, 256)


@ps.claim(
    "Section 5.2: numbers (ours)",
    ps.on(
        "training",
        ps.runs(handover, steps=4000, at=[0, 1000, 2000, 3000, 4000]),
        ps.tables(tables.saddle, base_length=4, lam=2.0),
        expect="as_before",
    ),
    id="sec5.2-numbers",
    kind="regression",
    whose="ours",
    page="Section 5.2",
)
def numbers_of_section_5_2(run, table):
    """After even pairs and 3000 updates on the chain of thought the loss is 0.0469; without even pairs zero is left at a rate
    of 0.0207314549 per unit of tau (L_0 = 4, lam = 2)."""
    rate = ps.chosen(5e-11, DIGITS)
    return as_kept(run.loss.sel(time=[4000]), "0.0469", "loss") & (
        ps.agree(table.growth, 0.0207314549, atol=rate, what="growth rate") & ran_to_the_end(run)
    )


claims = (
    numbers_of_figure_2,
    numbers_of_figure_3,
    numbers_of_figure_4,
    numbers_of_figure_5,
    numbers_of_figure_6,
    numbers_of_section_5_2,
)
