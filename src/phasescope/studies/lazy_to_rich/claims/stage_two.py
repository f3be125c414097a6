"""Stage II (Section 3.2, Lemma 3): what it conserves, where it stands still, where it starts."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import leaving_rate
from ..phases import by_proportion, once_learned, ran_to_the_end, spec_of
from ..spec import default
from . import evidence, tables
from .premises import theorem_4

ROUNDING = ps.chosen(1e-10, "rounding, over the whole run")


@claim(
    "Lemma 3 (Lemma 5)",
    on("training", evidence.figure_1),
    on("population", evidence.true_unbalanced),
    id="lem3",
    aliases=("C-L3",),
    kind="identity",
    tex=r"w_Q^2(t) - w_K^2(t) \equiv w_Q^2(0) - w_K^2(0)",
    page="Section 3.2, Lemma 3; Appendix C.3, Lemma 5",
    assumes=theorem_4,
)
def the_two_weights_stay_balanced(run):
    """w_Q^2 - w_K^2 is conserved: equal weights stay equal, unequal ones keep their difference."""
    return once_learned(run, _stays_balanced, left=0.01)


def _stays_balanced(run: xr.Dataset) -> ps.Verdict:
    spec = spec_of(run)
    start = spec.sigma**2 * (spec.imbalance**2 - 1)
    grown = run.w_kq.isel(time=-1) / run.w_kq.isel(time=0)
    return (
        ps.agree(run.balance, start, atol=ROUNDING, what="w_Q^2 - w_K^2")
        & ps.agree(run.w_q**2 - run.w_k**2, start, atol=ROUNDING, what="w_Q^2 - w_K^2")
        & ps.guard(ps.at_least(grown, ps.chosen(10.0, "the weights moved"), "growth of w"))
        & ran_to_the_end(run)
    )


@claim(
    "Lemma 3 for descent (ours)",
    on("training", evidence.unbalanced_steps),
    id="ours-lem3-descent",
    aliases=("C-L3-gd",),
    kind="identity",
    whose="ours",
    tex=r"w_Q^2 - w_K^2 \mapsto (1 - \eta^2 (\partial_c\mathcal L)^2)(w_Q^2 - w_K^2)",
    page="Section 3.2, Lemma 3",
)
def descent_shrinks_the_imbalance_by_its_square(run):
    """A step of descent multiplies w_Q^2 - w_K^2 by 1 - eta^2 G^2, G being the slope of the loss in w_K w_Q: conserved but
    for the square of the step."""
    eta = spec_of(run).eta
    slope = -run.w_k.diff("time").values / (eta * run.w_q.values[:-1])
    other = -run.w_q.diff("time").values / (eta * run.w_k.values[:-1])
    kept = np.log(np.abs(run.balance.values[1:] / run.balance.values[0]))
    law = np.cumsum(np.log1p(-np.minimum((eta * slope) ** 2, 0.5)))
    same = ps.chosen(1e-6, "rounding of differences of records")
    sums = ps.chosen(1e-3, "rounding of the sums over the steps")
    tiny = ps.chosen(1e-12, "rounding")
    return (
        ps.agree(slope, other, rtol=same, atol=tiny, what="G from w_K and from w_Q")
        & ps.agree(
            kept[10:], law[10:], rtol=sums, atol=tiny, what="ln of the imbalance over its start"
        )
        & ps.guard(
            ps.at_most(law[-1], ps.chosen(-1e-8, "it shrank"), "ln of the imbalance at the end")
        )
        & ran_to_the_end(run)
    )


@claim(
    "Section 3.2: a unique fixed point",
    on("closed form", ps.tables(tables.fixed_points, side="positive")),
    id="sec3.2-fixed-point",
    aliases=("C-fix",),
    kind="identity",
    tex=r"w_{V_1} = g^\star,\ w_{V_2} = h^\star,\ p = +\infty,\ w_{KQ} = w^\star",
    page="Section 3.2",
)
def the_fixed_point_is_unique(table):
    """For w_KQ > 0, where (4) starts it, the flow of Stage II stands still in one point only, (w*, h*), which is stable."""
    return (
        ps.agree(table["count"], 1.0, what="number of fixed points")
        & ps.agree(
            table.w, np.sqrt(default.c_star), atol=ps.chosen(1e-9, "of the root finder"), what="w"
        )
        & ps.negative(table.growth, "largest eigenvalue")
    )


@claim(
    "the plateau is a saddle (ours)",
    on("closed form", ps.tables(tables.fixed_points, side="all")),
    id="ours-saddle",
    aliases=("C-fix-saddle",),
    kind="identity",
    whose="ours",
    tex=r"(w, h) \in \{(\pm w^\star, h^\star),\ (0, h^\star X(0)/S(0))\}",
    page="Section 3.2",
)
def the_plateau_is_a_saddle(table):
    """Over all w there are three fixed points: two minima at ±w*, and between them a saddle at w = 0, which is left at the
    rate kappa h*^2 X'(0) X(0) / S(0): the plateau of Figure 1."""
    order = table.sortby("w")
    roots = ps.chosen(1e-9, "of the root finder")
    expected = np.array([-1.0, 0.0, 1.0]) * np.sqrt(default.c_star)
    rate = leaving_rate("exact_flow", default)
    steps = ps.chosen(1e-4, "of the differences that give second derivatives")
    return (
        ps.agree(order.w.values, expected, atol=roots, what="w")
        & ps.negative(order.growth.isel(zero=[0, 2]), "largest eigenvalue at the minima")
        & ps.agree(order.growth.isel(zero=1), rate, rtol=steps, what="largest eigenvalue at w = 0")
    )


@claim(
    "Section 3.2, losses at the start",
    on(
        "closed form",
        ps.tables(tables.first_losses, kernel="exact", sizes=tables.SIZES, sigma=1e-6),
        ps.tables(tables.first_losses, kernel="exponential", sizes=tables.SIZES, sigma=1e-6),
    ),
    id="sec3.2-start",
    aliases=("C-L0",),
    kind="theta",
    tex=r"\mathcal L_{G_4}(0) \sim \alpha^{\star2}/(1+\alpha^\star)^2,\ \mathcal L_{IH_2}(0) \sim 1/[(1+\alpha^\star)^2 L]",
    page="Section 3.2, speed difference",
    as_=("L", "inf"),
)
def the_losses_start_as_stated(*kernels):
    """At the start the 4-gram's loss is of the order alpha^2 / (1 + alpha)^2, the induction head's of the order
    1 / ((1 + alpha)^2 L): of the softmax, and by (10), as L and alpha grow."""
    found = []
    for table in kernels:
        lazy = table.loss_g4 * ((1 + table.alpha) / table.alpha) ** 2
        rich = table.loss_ih * (1 + table.alpha) ** 2 * table.length
        for x, what in (
            (lazy, "L_G4(0) (1 + alpha)^2 / alpha^2"),
            (rich, "L_IH(0) (1 + alpha)^2 L"),
        ):
            found.append(ps.big_theta(x, along="length", what=what))
            found.append(ps.big_theta(by_proportion(x), along="1 + alpha", what=what))
    return ps.all_of(found)


claims = (
    the_two_weights_stay_balanced,
    descent_shrinks_the_imbalance_by_its_square,
    the_fixed_point_is_unique,
    the_plateau_is_a_saddle,
    the_losses_start_as_stated,
)
