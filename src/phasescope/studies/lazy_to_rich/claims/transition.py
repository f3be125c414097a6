"""The transition in words (Section 1, Phase II): lazy before rich, and a sudden emergence."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from ..event_times import value_at
from ..phases import (
    falls_to,
    once_learned,
    phase_times,
    points,
    ran_to_the_end,
    robust_observation,
)
from . import evidence


@claim(
    "Section 1: 4-gram first",
    published(evidence.true),
    beyond(evidence.paper),
    id="C-order",
)
def the_four_gram_comes_first(run):
    """The 4-gram's loss is at 50, 10 and 7.5 % of its start before the induction head's is, in Figure 1's
    setting."""
    pairs = [
        (falls_to(run, "loss_g4", part), falls_to(run, "loss_ih", part))
        for part in (0.5, 0.1, 0.075)
    ]
    orders = [ps.ordered(first, second, what="4-gram, induction head") for first, second in pairs]
    return ps.all_of(orders) & ran_to_the_end(run)


@claim("Section 1: 4-gram first, the times", published(evidence.true), id="C-order-times")
def both_losses_fall_at_once(run):
    """Partial losses reach 90, 50, 10 and 6 % at 5.9, 9.4, 24 and 38 (4-gram) and at 2.1, 14.4, 59 and 123 (induction
    head): the induction head starts first, since h alone removes 94 % of its loss."""
    parts = (0.9, 0.5, 0.1, 0.06)
    lazy, rich = (
        np.array([float(falls_to(run, name, x)) for x in parts]) for name in ("loss_g4", "loss_ih")
    )
    return (
        ps.agree(lazy, np.array([5.9, 9.4, 24.0, 38.0]), rtol=0.02, what="4-gram")
        & ps.agree(rich, np.array([2.1, 14.4, 59.0, 123.0]), rtol=0.02, what="induction head")
        & ran_to_the_end(run)
    )


@claim(
    "Phase II: the induction head is unlearned on the plateau",
    published(
        evidence.true,
        expect=Outcome.FAILS,
        because="uniform attention with the right value h already explains 94 % of the target: plateau and emergence are "
        "about the last 5.9 % (7.2 % by (10))",
    ),
    id="C-share",
)
def the_plateau_holds_most_of_the_loss(run):
    """On the plateau, at least half of the induction head's loss is left."""
    return once_learned(run, _holds_half_of_the_loss, left=0.01)


def _holds_half_of_the_loss(run: xr.Dataset) -> ps.Verdict:
    plateau = value_at(run.loss_ih, robust_observation(run), points(run)) / run.loss_ih.isel(time=0)
    return ps.at_least(plateau, 0.5, "L_IH(T_o) / L_IH(0)") & ran_to_the_end(run)


@claim(
    "Phase II: emergence is sudden",
    published(
        evidence.true,
        expect=Outcome.FAILS,
        because="the plateau lasts 891, the emergence 2290: they compare as ln(w*^2/sigma^2) - 5.3 and 7.5, and "
        "sigma = 0.01 is not small enough",
    ),
    theory(evidence.small_starts),
    id="C-sharp",
)
def emergence_is_faster_than_the_plateau(runs):
    """The emergence, from 99 % to 1 % of the plateau's loss, takes less time than the plateau before it."""
    times = phase_times(runs)
    return ps.at_most(times.sharpness, 1.0, "(T_III - T_II) / T_II") & ps.at_least(
        times.T_II, 100.0, "T_II"
    )


claims = (
    the_four_gram_comes_first,
    both_losses_fall_at_once,
    the_plateau_holds_most_of_the_loss,
    emergence_is_faster_than_the_plateau,
)
