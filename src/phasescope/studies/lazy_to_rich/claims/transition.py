"""The transition in words (Section 1, Figure 1's caption): lazy before rich, a plateau, a sudden emergence."""

from __future__ import annotations

import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import plateau_share
from ..phases import falls_to, phase_times, ran_to_the_end
from ..spec import default
from . import evidence, tables
from .kept import as_kept
from .premises import theorem_4

LEVELS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.07, 0.05, 0.02, 0.01)


@claim(
    "Figure 1: 4-gram first",
    on("training", evidence.figure_1, expect="reproduced"),
    on("population", evidence.true, expect="reproduced"),
    on("printed equations", evidence.paper, expect="reproduced"),
    id="fig1-order",
    aliases=("C-order",),
    kind="figure",
    tex=r"t[\mathcal L_{G_4} = q\,\mathcal L_{G_4}(0)] < t[\mathcal L_{IH_2} = q\,\mathcal L_{IH_2}(0)]",
    page="Section 3.2, caption of Figure 1: learns the 4-gram component first and then starts to learn the induction head",
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_four_gram_comes_first(run):
    """The 4-gram's loss comes down to a part of its start before the induction head's comes down to the same part: for
    every part from 99 % to 1 % that is small enough to be called learned."""
    return ps.scan("part", LEVELS, lambda part: _four_gram_first(run, part), settles="small")


def _four_gram_first(run: xr.Dataset, part: float) -> ps.Verdict:
    lazy = falls_to(run, "loss_g4", part)
    rich = falls_to(run, "loss_ih", part)
    rounding = ps.derived(-1e-12, "what rounding leaves of a difference of numbers near 1")
    losses = ps.at_least(run.loss_g4, rounding, "4-gram loss")
    losses &= ps.at_least(run.loss_ih, rounding, "induction head's loss")
    order = ps.ordered(lazy, rich, what="4-gram, induction head")
    return order & ps.guard(losses) & ran_to_the_end(run)


@claim(
    "Figure 1: when both losses fall (ours)",
    on("population", evidence.true, expect="as_before"),
    id="ours-fig1-order-times",
    aliases=("C-order-times",),
    kind="regression",
    whose="ours",
    tex=r"t[\mathcal L = q\,\mathcal L(0)],\ q = 0.9, 0.5, 0.1, 0.06",
    page="Section 3.2, Figure 1",
)
def both_losses_fall_at_once(run):
    """Partial losses reach 90, 50, 10 and 6 % at 5.9, 9.4, 24 and 38 (4-gram) and at 2.1, 14.4, 59 and 123 (induction
    head): the induction head starts first, by its value h alone."""
    parts = (0.9, 0.5, 0.1, 0.06)
    lazy = [float(falls_to(run, "loss_g4", part)) for part in parts]
    rich = [float(falls_to(run, "loss_ih", part)) for part in parts]
    return (
        as_kept(lazy, "5.9 9.4 24 38", "4-gram")
        & as_kept(rich, "2.1 14.4 59 123", "induction head")
        & ran_to_the_end(run)
    )


@claim(
    "Phase II: what is left on the plateau (ours)",
    on("closed form", ps.tables(tables.against_softmax, sizes=tables.SIZES)),
    id="ours-plateau-share",
    aliases=("C-share",),
    kind="limit",
    whose="ours",
    tex=r"\mathcal L_{IH_2}(T_o)/\mathcal L_{IH_2}(0) \to 1 - \sqrt{1 - 2 w^{\star4}}",
    page="Section 3.2, Theorem 4, Phase II",
    as_=("L", "inf"),
)
def the_plateau_is_a_small_part_of_the_loss(table):
    """From a small start, the part 1 - X(0)^2 / (S(0) S(c*)) of the induction head's loss is left on the plateau, which tends
    to 1 - (1 - 2 w*^4)^(1/2) as L grows: uniform attention with the right value h explains the rest."""
    part = table.level / table.S
    near = ps.chosen(0.001, "the README says 5.9 %")
    law = plateau_share(default.w_star)
    what = "the part left"
    return ps.tends_to(part, law, along="N", within=near, what=what) & ps.agree(
        part.isel(N=-1), law, atol=near, what=what
    )


@claim(
    "Figure 1: emergence lasts longer than the plateau (ours)",
    on("training", evidence.figure_1),
    on("population", evidence.true),
    id="ours-fig1-sharpness",
    kind="order",
    whose="ours",
    tex=r"T_{II} < T_{III} - T_{II}",
    page="Section 3.2, Figure 1",
    assumes=theorem_4,
)
def emergence_is_slower_than_the_plateau_at_figure_1(run):
    """At Figure 1's sigma the emergence takes longer than the plateau before it: they compare as 7.5 and
    ln(w*^2 / sigma^2) - 5.3."""
    times = phase_times(run)
    return (
        ps.ordered(times.T_II, times.T_III - times.T_II, what="plateau, emergence")
        & ps.guard(ps.positive(run.loss_ih.isel(time=slice(0, 20)), "loss of the first 20 records"))
        & ran_to_the_end(run)
    )


claims = (
    the_four_gram_comes_first,
    both_losses_fall_at_once,
    the_plateau_is_a_small_part_of_the_loss,
    emergence_is_slower_than_the_plateau_at_figure_1,
)
