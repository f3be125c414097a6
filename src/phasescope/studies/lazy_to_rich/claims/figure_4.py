"""Figure 4: gradient descent and Adam in D dimensions.

The paper's experiment is D = 100 with batches of 1000, which is a job for a GPU and has not been run:
its rows are undecided. What the closed form of infinitely many keys does at D = 20 is ours.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..event_times import ROUGH, value_at
from ..phases import falls_to, keys, logarithm, once_learned, ran_to_the_end, spec_of
from . import evidence

PAGE = "Appendix B, Figure 4 and its caption"
NOT_RUN = "D = 100 with batches of 1000 was not run: {measured}"
LEARNED = ps.chosen(1e-3, "a thousandth of its start")


def as_in_the_paper(run: xr.Dataset) -> ps.Verdict:
    """Undecided unless the run is the paper's experiment."""
    spec = spec_of(run)
    if spec.dim == 100 and spec.batch == 1000 and spec.sampled and spec.steps == 100_000:
        return ran_to_the_end(run)
    way = f"batches of {spec.batch}" if spec.sampled else "closed form of infinitely many keys"
    return ps.undecided(
        f"the evidence is D = {spec.dim}, {way}, {spec.steps} updates",
        "D = 100, batches of 1000, 100,000 updates",
    )


@claim(
    "Figure 4 (1), gradient descent",
    on("training", evidence.matrix_gd, expect="undecided", because=NOT_RUN),
    id="fig4-gd",
    kind="figure",
    tex=r"\mathcal L_{G_4} \to 0,\ \mathcal L_{IH_2} \text{ stuck}",
    page=PAGE
    + ": GD learns the 4-gram component first but becomes stuck in a plateau (D = 100, batches of 1000)",
)
def gradient_descent_is_stuck_in_a_hundred_dimensions(run):
    """At D = 100, gradient descent learns the 4-gram and stays on a plateau of the induction head."""
    return _stuck(run) & as_in_the_paper(run)


@claim(
    "Figure 4 (2), Adam: 4-gram first",
    on("training", evidence.matrix_adam, expect="undecided", because=NOT_RUN),
    id="fig4-adam-order",
    kind="figure",
    tex=r"t[\mathcal L_{G_4} = \tfrac1{10}\mathcal L_{G_4}(0)] < t[\mathcal L_{IH_2} = \tfrac1{1000}\mathcal L_{IH_2}(0)]",
    page=PAGE
    + ": in both scenarios the learning process begins with the 4-gram pattern (D = 100, batches of 1000)",
)
def adam_learns_the_four_gram_first(run):
    """Under Adam at D = 100, too, the 4-gram's loss is at a tenth of its start before the induction head's is at a
    thousandth."""
    experiment = as_in_the_paper(run)
    if experiment.outcome != ps.Outcome.HOLDS:
        return experiment
    return ps.ordered(*_passages(run), what="4-gram, induction head")


@claim(
    "Figure 4 (2), Adam: multiple plateaus",
    on("training", evidence.matrix_adam, expect="undecided", because=NOT_RUN),
    id="fig4-adam-plateaus",
    kind="figure",
    tex=r"\#\text{plateaus of } \mathcal L_{IH_2} \ge 2",
    page=PAGE + ": multiple plateaus during learning induction heads (D = 100, batches of 1000)",
)
def adam_passes_several_plateaus(run):
    """Under Adam at D = 100 the induction head's loss waits on two plateaus or more before it is learned."""
    experiment = as_in_the_paper(run)
    if experiment.outcome != ps.Outcome.HOLDS:
        return experiment
    several = ps.stated(2.0, "multiple plateaus")
    return ps.at_least(float(plateaus(run)), several, "plateaus")


@claim(
    "Figure 4, gradient descent at D = 20 (ours)",
    on("population", evidence.matrix_gd),
    id="ours-fig4-gd",
    aliases=("C-F4-gd",),
    kind="approx",
    whose="ours",
    tex=r"\mathcal L_{IH_2}(t) \simeq \mathcal L_{IH_2}(10N),\quad t > 10N",
    page=PAGE,
)
def gradient_descent_is_stuck_in_many_dimensions(run):
    """At D = 20 gradient descent learns the 4-gram and the value h, then stays on the plateau: the loss of the induction head
    at the end is within 1 % of that at t = 10 N, and the bilinear form has not been learned at all."""
    return _stuck(run)


def _stuck(run: xr.Dataset) -> ps.Verdict:
    then = value_at(run.loss_ih, 10.0 * keys(run), ROUGH)
    left = run.isel(time=-1) / run.isel(time=0)
    one = ps.chosen(0.01, "1 %")
    return (
        ps.agree(run.loss_ih.isel(time=-1), then, rtol=one, what="loss at the end against t = 10 N")
        & ps.agree(
            run.score_error.isel(time=-1), 1.0, atol=one, what="relative error of the bilinear form"
        )
        & ps.guard(ps.at_most(left.loss_g4, one, "4-gram's loss left"))
        & ps.guard(
            ps.at_most(left.loss_ih, ps.chosen(0.05, "h was learned"), "induction loss left")
        )
        & ran_to_the_end(run)
    )


@claim(
    "Figure 4, Adam at D = 20 (ours)",
    on("population", evidence.matrix_adam),
    id="ours-fig4-adam",
    aliases=("C-F4-adam",),
    kind="order",
    whose="ours",
    tex=r"t[\mathcal L_{IH_2} = \tfrac1{1000}\mathcal L_{IH_2}(0)] < t_{end}",
    page=PAGE,
)
def adam_learns_the_induction_head(run):
    """At D = 20 Adam learns the induction head before the end: its loss falls below a thousandth of its start, and the
    bilinear form is known to 1 %."""
    known = run.score_error.isel(time=-1)
    return (
        ps.ordered(falls_to(run, "loss_ih", float(LEARNED)), run.time[-1], what="learned, end")
        & ps.guard(ps.at_most(known, ps.chosen(0.01, "1 %"), "relative error of the bilinear form"))
        & ps.guard(ps.positive(run.loss_ih, "induction head's loss"))
        & ran_to_the_end(run)
    )


def _passages(run: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """When the 4-gram's loss is at a tenth, and the induction head's at a thousandth of its start."""
    return falls_to(run, "loss_g4", 0.1), falls_to(run, "loss_ih", float(LEARNED))


@claim(
    "Figure 4, Adam at D = 20: rich before lazy (ours)",
    on("population", evidence.matrix_adam),
    id="ours-fig4-adam-order",
    aliases=("C-F4-order",),
    kind="order",
    whose="ours",
    tex=r"t[\mathcal L_{IH_2} = \tfrac1{1000}\mathcal L_{IH_2}(0)] < t[\mathcal L_{G_4} = \tfrac1{10}\mathcal L_{G_4}(0)]",
    page=PAGE,
)
def adam_learns_the_induction_head_first(run):
    """At D = 20, in the closed form of infinitely many keys, Adam brings the induction head's loss to a thousandth of its start
    before the 4-gram's is at a tenth: it moves every weight at the same speed, so that quadratic weights are no slower."""
    lazy, rich = _passages(run)
    return ps.ordered(rich, lazy, what="induction head, 4-gram") & ran_to_the_end(run)


def plateaus(run: xr.Dataset) -> int:
    """Slow stretches of the induction head's loss between two fast ones, until it is at a millionth of its start.

    A stretch is slow where ln L_IH falls at less than a third of the fastest rates before and after it.
    """
    loss = logarithm(run.loss_ih)
    rate = -loss.differentiate("time").where(loss - loss[0] > np.log(1e-6)).dropna("time").values
    before = np.maximum.accumulate(rate)
    after = np.maximum.accumulate(rate[::-1])[::-1]
    slow = rate < np.minimum(before, after) / 3
    return int((np.diff(slow.astype(int), prepend=0) == 1).sum())


@claim(
    "Figure 4, Adam at D = 20: no plateau (ours)",
    on("population", evidence.matrix_adam),
    id="ours-fig4-adam-plateaus",
    aliases=("C-F4-plateaus",),
    kind="monotone",
    whose="ours",
    tex=r"\#\text{plateaus of } \mathcal L_{IH_2} = 0",
    page=PAGE,
)
def adam_passes_no_plateau(run):
    """At D = 20, in the closed form of infinitely many keys, the induction head's loss falls under Adam without a plateau."""
    return once_learned(run, _passes_no_plateau)


def _passes_no_plateau(run: xr.Dataset) -> ps.Verdict:
    first = run.loss_ih.sel(time=slice(0, float(falls_to(run, "loss_ih", 1e-5))))
    return (
        ps.agree(float(plateaus(run)), 0.0, what="number of plateaus")
        & ps.decreasing(first, "induction loss", strictly=False)
        & ran_to_the_end(run)
    )


claims = (
    gradient_descent_is_stuck_in_a_hundred_dimensions,
    adam_learns_the_four_gram_first,
    adam_passes_several_plateaus,
    gradient_descent_is_stuck_in_many_dimensions,
    adam_learns_the_induction_head,
    adam_learns_the_induction_head_first,
    adam_passes_no_plateau,
)
