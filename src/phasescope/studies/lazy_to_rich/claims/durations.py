"""Theorem 4, Phases II and III: how long the plateau and the emergence last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import plateau_rate
from ..event_times import value_at
from ..phases import (
    Observation,
    by_proportion,
    emergence,
    inverse_start,
    log_start,
    observation_time,
    phase_times,
)
from . import evidence
from .growth import half_time
from .premises import SMALL, small_target, theorem_4

Times = Callable[[xr.Dataset], xr.DataArray]
DURATION = r"\Theta\big((\alpha^\star+1)^2 L \log(1/\sigma_{init})/w^{\star2}\big)"


def unit(runs: xr.Dataset) -> Any:
    r"""$(1+\alpha)^2 L \ln(1/\sigma) / w^{\star2}$."""
    logarithm = np.log(1 / ps.number(runs, "sigma"))
    return _scale(runs) * logarithm


def _scale(runs: xr.Dataset) -> Any:
    proportion = (1 + ps.number(runs, "alpha")) ** 2
    return proportion * ps.number(runs, "length") / ps.number(runs, "w_star") ** 2


def is_of_the_order(when: Times, alphas, sigmas, lengths) -> ps.Verdict:
    """The time over the theorem's unit, as L, 1 + alpha and 1 / sigma grow."""
    small = sigmas.sel(sigma=sigmas.sigma <= SMALL * 1.001)
    what = "the time over its unit"
    return (
        ps.big_theta(when(lengths) / unit(lengths), along="length", what=what)
        & ps.big_theta(by_proportion(when(alphas) / unit(alphas)), along="1 + alpha", what=what)
        & ps.big_theta(inverse_start(when(small) / unit(small)), along="1/sigma", what=what)
    )


def observed(fraction: float, observation: Observation) -> Times:
    """When the loss is at a fraction of what it was at the observation time."""

    def when(runs: xr.Dataset) -> xr.DataArray:
        return emergence(runs, fraction, observation_time(runs, observation))

    return when


def has_exponents(when: Times, alphas, sigmas, targets, lengths) -> ps.Verdict:
    r"""The exponents one field at a time; over w* the logarithm is that of w* / sigma."""
    small = sigmas.sel(sigma=sigmas.sigma <= SMALL * 1.001)
    growth = np.exp(plateau_rate(sigmas) * when(small))
    per_logarithm = when(targets) / np.log(targets.w_star / ps.number(targets, "sigma"))
    length = lengths.length.astype(float)
    one = ps.stated(1.0, "Theorem 4")
    two = ps.stated(2.0, "Theorem 4")
    inverse = ps.stated(-2.0, "Theorem 4")
    few = ps.chosen(0.03, "a term of order N, and 1 / N corrections")
    wide = ps.chosen(0.05, "a term of order N beside T, at most 1 %, and four or five points")
    return (
        ps.scales_like(when(lengths), length, one, few, "in L")
        & ps.scales_like(when(alphas), 1 + alphas.alpha, two, wide, "in 1 + alpha")
        & ps.scales_like(growth, 1 / small.sigma, one, few, "exp(gamma T) in 1/sigma")
        & ps.scales_like(per_logarithm, targets.w_star, inverse, wide, "in w*", span=2.9)
    )


@claim(
    "Theorem 4, T_II",
    on("population", evidence.true_alphas, evidence.true_sigmas, evidence.true_lengths),
    on("printed equations", evidence.paper_alphas, evidence.paper_sigmas, evidence.paper_lengths),
    id="thm4-TII",
    kind="theta",
    tex=r"T_{II} = " + DURATION,
    page="Section 3.2, Theorem 4, Phase II",
    as_=("1/sigma", "inf"),
    hides=("w_star",),
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_plateau_lasts_as_stated(alphas, sigmas, lengths):
    """The plateau ends at T_II of the order L (1 + alpha)^2 ln(1/sigma) / w*^2, if the observation begins when h has
    settled: T_o = N (3.5 + ln(1/w*^2)), which is of the order L."""
    return is_of_the_order(observed(0.99, "robust"), alphas, sigmas, lengths)


@claim(
    "Theorem 4, T_III",
    on("population", evidence.true_alphas, evidence.true_sigmas, evidence.true_lengths),
    on("printed equations", evidence.paper_alphas, evidence.paper_sigmas, evidence.paper_lengths),
    id="thm4-TIII",
    kind="theta",
    tex=r"T_{III} = " + DURATION,
    page="Section 3.2, Theorem 4, Phase III",
    as_=("1/sigma", "inf"),
    hides=("w_star",),
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_emergence_ends_as_stated(alphas, sigmas, lengths):
    """The emergence ends at T_III of the order L (1 + alpha)^2 ln(1/sigma) / w*^2."""
    return is_of_the_order(observed(0.01, "robust"), alphas, sigmas, lengths)


@claim(
    "Theorem 4, T_II: the exponents (ours)",
    on("population", *evidence.TRUE),
    on("printed equations", *evidence.PAPER),
    id="ours-TII-exponents",
    aliases=("C-T4b-robust",),
    kind="rate",
    whose="ours",
    tex=r"T_{II} \propto L\,(1+\alpha^\star)^2 \ln(w^\star/\sigma)/w^{\star2}",
    page="Section 3.2, Theorem 4, Phase II",
    assumes=theorem_4,
)
def the_plateau_has_the_exponents_of_the_theorem(alphas, sigmas, targets, lengths):
    """T_II grows like L, (1 + alpha)^2 and 1/w*^2, and as ln(1/sigma) / gamma; for alpha >= 3 and sigma <= 0.0001. As w*
    falls the logarithm is that of w*/sigma."""
    return has_exponents(observed(0.99, "robust"), alphas, sigmas, targets, lengths)


@claim(
    "Theorem 4, T_III: the exponents (ours)",
    on("population", *evidence.TRUE),
    on("printed equations", *evidence.PAPER),
    id="ours-TIII-exponents",
    aliases=("C-T4c",),
    kind="rate",
    whose="ours",
    tex=r"T_{III} \propto L\,(1+\alpha^\star)^2 \ln(w^\star/\sigma)/w^{\star2}",
    page="Section 3.2, Theorem 4, Phase III",
    assumes=theorem_4,
)
def the_emergence_has_the_exponents_of_the_theorem(alphas, sigmas, targets, lengths):
    """T_III grows like L, (1 + alpha)^2 and 1/w*^2, and as ln(1/sigma) / gamma; for alpha >= 3 and sigma <= 0.0001. As w*
    falls the logarithm is that of w*/sigma."""
    return has_exponents(observed(0.01, "robust"), alphas, sigmas, targets, lengths)


@claim(
    "Appendix C.4, T_II from T_o = T_1^h",
    on(
        "printed equations",
        evidence.paper_alphas_mild,
        evidence.paper_sigmas_mild,
        evidence.paper_lengths_mild,
    ),
    on(
        "printed equations",
        evidence.paper_alphas,
        evidence.paper_sigmas,
        evidence.paper_lengths,
        expect="outside",
        because="at T_1^h the value h is still on its way to its plateau, and at the w* of Figure 1 that alone costs more "
        "than a hundredth of the loss: T_II is read off before w has moved, and depends neither on alpha nor on sigma",
    ),
    id="secC.4-TII",
    aliases=("C-T4b",),
    kind="theta",
    tex=r"T_o := T_1^h,\quad T_{II} = " + DURATION,
    page="Appendix C.4, proof of Phase II",
    as_=("1/sigma", "inf"),
    hides=("w_star",),
    assumes=small_target,
)
def the_plateau_lasts_as_stated_from_the_proofs_observation_time(alphas, sigmas, lengths):
    """With T_o = T_1^h, the plateau ends at T_II of the order L (1 + alpha)^2 ln(1/sigma) / w*^2."""
    return is_of_the_order(observed(0.99, "paper"), alphas, sigmas, lengths)


@claim(
    "after (17): T_1/2^w",
    on(
        "printed equations",
        evidence.paper_alphas_mild,
        evidence.paper_sigmas_mild,
        evidence.paper_lengths_mild,
    ),
    on("population", evidence.true_alphas, evidence.true_sigmas, evidence.true_lengths),
    id="eq17-half-time",
    kind="theta",
    tex=r"T^w_{1/2} = " + DURATION,
    page="Appendix C.3.2, after (17)",
    as_=("1/sigma", "inf"),
    hides=("w_star",),
    assumes=small_target,
)
def half_of_the_dot_product_takes_as_long_as_stated(alphas, sigmas, lengths):
    """w is half its target at a time of the order L (1 + alpha)^2 ln(1/sigma) / w*^2."""
    return is_of_the_order(half_time, alphas, sigmas, lengths)


@claim(
    "Theorem 4: learned suddenly",
    on("population", evidence.true_sigmas),
    on("printed equations", evidence.paper_sigmas),
    id="thm4-sudden",
    kind="limit",
    tex=r"(T_{III} - T_{II})/T_{II} \to 0,\quad \log(1/\sigma_{init}) \to \infty",
    page="Section 3.2, Theorem 4, Phases II and III: first gets stuck in a plateau, then is learned suddenly",
    as_=("log(1/sigma)", "inf"),
    aliases=("C-sharp",),
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def emergence_is_sudden_for_small_starts(runs):
    """As sigma falls, the emergence, from 99 % to 1 % of the plateau's loss, becomes short against the plateau before it."""
    shorter = ps.chosen(1.0, "the emergence is shorter than the plateau")
    begins = observation_time(runs)
    waiting = (runs.time >= begins) & (runs.time <= emergence(runs, 0.99))
    level = runs.loss_ih.where(waiting).max("time") / value_at(runs.loss_ih, begins)
    flat = ps.chosen(1.05, "a plateau does not rise")
    return ps.guard(ps.at_most(level, flat, "highest loss on the plateau")) & ps.tends_to(
        log_start(phase_times(runs).sharpness),
        0.0,
        along="log(1/sigma)",
        within=shorter,
        what="(T_III - T_II) / T_II",
    )


claims = (
    the_plateau_lasts_as_stated,
    the_emergence_ends_as_stated,
    the_plateau_has_the_exponents_of_the_theorem,
    the_emergence_has_the_exponents_of_the_theorem,
    the_plateau_lasts_as_stated_from_the_proofs_observation_time,
    half_of_the_dot_product_takes_as_long_as_stated,
    emergence_is_sudden_for_small_starts,
)
