"""Stage II (Section 3.2, Lemma 3): what it conserves, where it stands still, where it starts."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from ..phases import (
    g_star,
    h_star,
    once_learned,
    ran_to_the_end,
    spec_of,
)
from ..spec import default
from . import evidence, tables


@claim("Lemma 3", published(evidence.figure_1), theory(evidence.true_unbalanced), id="C-L3")
def the_two_weights_stay_balanced(run):
    """w_Q^2 - w_K^2 is conserved: equal weights stay equal, unequal ones keep their difference."""
    return once_learned(run, _stays_balanced, left=0.01)


def _stays_balanced(run: xr.Dataset) -> ps.Verdict:
    spec = spec_of(run)
    start = spec.sigma**2 * (spec.imbalance**2 - 1)
    return (
        ps.agree(run.balance, start, atol=1e-10, what="w_Q^2 - w_K^2")
        & ps.agree(run.w_q**2 - run.w_k**2, start, atol=1e-10, what="w_Q^2 - w_K^2")
        & ps.at_least(run.w_kq.isel(time=-1) / run.w_kq.isel(time=0), 10.0, "growth of w")
        & ran_to_the_end(run)
    )


@claim("Lemma 3 for descent", beyond(evidence.unbalanced_steps), id="C-L3-gd")
def descent_shrinks_the_imbalance_by_its_square(run):
    """A step of descent multiplies w_Q^2 - w_K^2 by 1 - eta^2 G^2, G being the slope of the loss in w_K w_Q: conserved but
    for the square of the step."""
    eta = spec_of(run).eta
    slope = -run.w_k.diff("time").values / (eta * run.w_q.values[:-1])
    other = -run.w_q.diff("time").values / (eta * run.w_k.values[:-1])
    kept = np.log(np.abs(run.balance.values[1:] / run.balance.values[0]))
    law = np.cumsum(np.log1p(-np.minimum((eta * slope) ** 2, 0.5)))
    return (
        ps.agree(slope, other, rtol=1e-6, atol=1e-12, what="G from w_K and from w_Q")
        & ps.agree(
            kept[10:], law[10:], rtol=1e-3, atol=1e-12, what="ln of the imbalance over its start"
        )
        & ps.at_most(law[-1], -1e-8, "ln of the imbalance at the end")
        & ran_to_the_end(run)
    )


@claim(
    "Section 3.2: a unique fixed point",
    published(
        ps.tables(tables.fixed_points, side="all"),
        expect=Outcome.FAILS,
        because="w = 0 with h = h* X(0)/S(0) is fixed too: a saddle, and the plateau itself; so is w = -w*, and with two weights "
        "the whole hyperbola w_K w_Q = c*",
    ),
    theory(ps.tables(tables.fixed_points, side="positive")),
    id="C-fix",
)
def the_fixed_point_is_unique(table):
    """The flow of Stage II stands still in one point only, (w*, h*), which is stable."""
    return (
        ps.within(table["count"], 1.0, 1.0, "number of fixed points")
        & ps.agree(np.abs(table.w), np.sqrt(default.c_star), atol=1e-9, what="w")
        & ps.negative(table.growth, "largest eigenvalue")
    )


@claim(
    "the plateau is a saddle", theory(ps.tables(tables.fixed_points, side="all")), id="C-fix-saddle"
)
def the_plateau_is_a_saddle(table):
    """Over all w there are three fixed points: two minima at ±w*, and between them a saddle at w = 0, left at the rate
    0.001524: the plateau of Figure 1."""
    order = table.sortby("w")
    return (
        ps.agree(
            order.w.values,
            np.array([-1.0, 0.0, 1.0]) * np.sqrt(default.c_star),
            atol=1e-9,
            what="w",
        )
        & ps.negative(order.growth.isel(zero=[0, 2]), "largest eigenvalue at the minima")
        & ps.agree(
            order.growth.isel(zero=1), 0.001524, atol=1e-6, what="largest eigenvalue at w = 0"
        )
    )


@claim(
    "Section 3.2, losses at the start",
    published(evidence.true),
    theory(*evidence.true_lengths),
    beyond(evidence.paper),
    id="C-L0",
)
def the_losses_start_as_stated(*runs):
    """At the start the 4-gram loss is about g*^2 / 2 and the induction head's about h*^2 / (2 L), within a factor 1.3."""
    return ps.all_of(
        ps.within(
            run.loss_g4.isel(time=0) / (0.5 * g_star(run) ** 2),
            1 / 1.3,
            1.3,
            "4-gram loss over g*^2 / 2",
        )
        & ps.within(
            run.loss_ih.isel(time=0) * 2 * spec_of(run).length / h_star(run) ** 2,
            1 / 1.3,
            1.3,
            "L_IH over h*^2 / (2 L)",
        )
        & ran_to_the_end(run)
        for run in runs
    )


claims = (
    the_two_weights_stay_balanced,
    descent_shrinks_the_imbalance_by_its_square,
    the_fixed_point_is_unique,
    the_plateau_is_a_saddle,
    the_losses_start_as_stated,
)
