"""Theorem 4: Phase I, the growth of w, and Phase IV. How long Phases II and III last is in durations.py."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..closed_forms import convergence_rate, plateau_rate, plateau_share
from ..event_times import value_at
from ..phases import (
    ROUNDING,
    by_proportion,
    c_star,
    emergence,
    falls_to,
    h_star,
    inverse_start,
    keys,
    logarithm,
    points,
    ran_to_the_end,
    robust_observation,
)
from . import evidence
from .growth import exponent
from .premises import SMALL, four_gram, theorem_4

PHASE_I = ps.stated(0.99, "Theorem 4, Phase I")


def left_at_T_I(runs: xr.Dataset) -> xr.DataArray:
    """What is left of the induction head's loss when the 4-gram's is at 1 %."""
    at = falls_to(runs, "loss_g4", 0.01)
    return value_at(runs.loss_ih, at, points(runs)) / runs.loss_ih.isel(time=0, drop=True)


@claim(
    "Theorem 4, Phase I",
    on("population", evidence.true_long),
    on("printed equations", evidence.paper_long),
    on(
        "training",
        evidence.figure_1,
        expect="outside",
        because="the value h is learned in a time N, and T_I is several N: of the induction head's loss {value:.2g} is "
        "left by then",
        breaks="L >> 1",
    ),
    id="thm4-phase1",
    aliases=("C-T4a",),
    kind="lower",
    tex=r"\mathcal L_{G_4}(T_I) \le 0.01\,\mathcal L_{G_4}(0),\ \mathcal L_{IH_2}(T_I) \ge 0.99\,\mathcal L_{IH_2}(0)",
    page="Section 3.2, Theorem 4, Phase I",
    as_=("L", "inf"),
    hides=("alpha", "sigma"),
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_four_gram_is_learned_before_anything_else(runs):
    """When the 4-gram's loss is at 1 % of its start, the induction head's is still at 99 % of its own, for L long enough."""
    if "length" not in runs.dims:
        return _phase_one(runs)
    return ps.scan(
        "long_input",
        runs.length.values.astype(float).tolist(),
        lambda length: _phase_one(runs.sel(length=length)),
    )


def _phase_one(runs: xr.Dataset) -> ps.Verdict:
    left = left_at_T_I(runs)
    falls = ps.at_most(
        left, ps.derived(1.0, "gradient flow lowers the loss"), "L_IH(T_I) / L_IH(0)"
    )
    return (
        ps.at_least(left, PHASE_I, "L_IH(T_I) / L_IH(0)") & ps.guard(falls) & ran_to_the_end(runs)
    )


@claim(
    "Theorem 4, Phase I: how long is long (ours)",
    on("population", evidence.true_long),
    id="ours-phase1-size",
    aliases=("C-T4a-size",),
    kind="approx",
    whose="ours",
    tex=r"N_\star \simeq 200 \sqrt{1 - 2 w^{\star4}}\, T_I",
    page="Section 3.2, Theorem 4, Phase I",
    assumes=theorem_4,
)
def phase_one_needs_tens_of_thousands_of_tokens(runs):
    """Phase I as stated begins at N = 200 (1 - 2 w*^4)^(1/2) T_I within 5 %, which is 38,000 for alpha = 1: by T_I the value
    is h = h* T_I / N, which costs 2 (1 - 2 w*^4)^(1/2) T_I / N of the loss, and 1 % is allowed."""
    lost = 1 - left_at_T_I(runs)
    sizes = np.asarray(keys(runs), float)

    def size_at_one_per_cent(lane: np.ndarray) -> float:
        if not np.all(np.diff(lane) < 0):
            return np.nan
        return np.exp(np.interp(np.log(0.01), np.log(lane[::-1]), np.log(sizes[::-1])))

    at = xr.apply_ufunc(size_at_one_per_cent, lost, input_core_dims=[["length"]], vectorize=True)
    last = falls_to(runs.isel(length=-1), "loss_g4", 0.01)
    law = 200 * (1 - plateau_share(ps.number(runs, "w_star")))
    near = ps.chosen(0.05, "h(0) = sigma is not 0, and T_I / N enters squared")
    return ps.agree(at / last, law, rtol=near, what="N over T_I") & ran_to_the_end(runs)


@claim(
    "Theorem 4, Phase I: T_I = O(1)",
    on("population", evidence.paper_long),
    id="thm4-TI",
    aliases=("C-TI",),
    kind="upper",
    tex=r"T_I = \mathcal O(1)",
    page="Section 3.2, Theorem 4, Phase I",
    as_=("L", "inf"),
    hides=("alpha", "sigma"),
    assumes=ps.assume(model={"population": ("paper_flow",)}),
    varies=("alpha", "sigma", "length"),
)
def learning_the_four_gram_takes_a_constant_time(runs):
    """T_I, when the 4-gram's loss is at 1 % of its start, stays bounded as the sequence gets longer, sigma being fixed;
    it stops growing at L = 1 / sigma."""
    times = falls_to(runs, "loss_g4", 0.01)
    return ps.big_o(times, along="length", what="T_I") & ran_to_the_end(runs)


@claim(
    "Theorem 4: w grows exponentially",
    on("population", evidence.true_sigmas, evidence.true_alphas, evidence.true_lengths),
    on("printed equations", evidence.paper_sigmas, evidence.paper_alphas, evidence.paper_lengths),
    id="thm4-growth",
    kind="theta",
    tex=r"w_{KQ}(t) = \sigma_{init}\exp\big(\Theta(w^{\star2} t / ((1+\alpha^\star)^2 L))\big)",
    page="Section 3.2, Theorem 4, Phases II and III",
    as_=("1/sigma", "inf"),
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_dot_product_grows_exponentially(sigmas, alphas, lengths):
    """From T_o to T_III, ln(w / sigma) is of the order w*^2 t / ((1 + alpha)^2 L), as sigma falls and as alpha and L grow."""
    small = sigmas.sel(sigma=sigmas.sigma <= SMALL * 1.001)
    both = [
        (inverse_start, small, "1/sigma"),
        (by_proportion, alphas, "1 + alpha"),
        (lambda x: x, lengths, "length"),
    ]
    found = []
    for name_axis, runs, along in both:
        inside = (runs.time >= robust_observation(runs)) & (runs.time < emergence(runs, 0.01))
        here = exponent(runs).where(inside)
        what = "exponent of w in the theorem's unit"
        found.append(ps.big_o(name_axis(here.max("time")), along=along, what=what))
        found.append(ps.big_omega(name_axis(here.min("time")), along=along, what=what))
    end = emergence(small, 0.01)
    unit = c_star(small) * h_star(small) ** 2 / keys(small)
    reached = np.log(value_at(small.w_kq, end) / small.sigma) / (unit * end)
    theta = ps.big_theta(inverse_start(reached), along="1/sigma", what="exponent of w at T_III")
    return ps.all_of(found) & theta


@claim(
    "Theorem 4: the rate of growth on the plateau (ours)",
    on("population", evidence.true),
    on("printed equations", evidence.paper),
    id="ours-plateau-rate",
    aliases=("C-exp",),
    kind="rate",
    whose="ours",
    tex=r"\dot w / w = \kappa h^{\star2} X'(0) X(0) / S(0)",
    page="Section 3.2, Theorem 4, Phase II",
    assumes=theorem_4,
)
def the_dot_product_grows_at_the_plateau_rate(run):
    """From T_o to T_II, w grows as exp(gamma t) with gamma = kappa h*^2 X'(0) X(0) / S(0), within 1 %."""
    inside = (run.time >= robust_observation(run)) & (run.time <= emergence(run, 0.99))
    here = run.isel(time=np.flatnonzero(inside))
    expected = np.exp(plateau_rate(run) * here.time)
    tolerance = ps.chosen(0.01, "w is at 5 % of its target at T_II, which slows it by 0.3 %")
    law = ps.derived(1.0, "closed_forms.plateau_rate")
    return ps.scales_like(
        here.w_kq, expected, law, tolerance, "w in exp(gamma t)", span=2.0
    ) & ran_to_the_end(run)


@claim(
    "Theorem 4, Phase IV, 4-gram",
    on("population", evidence.four_gram_long_alphas),
    id="thm4-phase4-g4",
    aliases=("C-T4d1",),
    kind="upper",
    tex=r"\mathcal L_{G_4}(\theta(t)) = \mathcal O(1/t)",
    page="Section 3.2, Theorem 4, Phase IV",
    as_=("t", "inf"),
    assumes=four_gram,
    varies=("alpha", "sigma", "length"),
)
def the_four_gram_loss_falls_at_least_like_one_over_t(runs):
    """t times the 4-gram's loss stays bounded."""
    late = runs.sel(time=slice(100, None))
    later = ps.chosen(4000.0, "Phase IV: beyond T_III of Figure 1")
    return (
        ps.big_o(late.loss_g4 * late.time, along="time", what="t L_G4")
        & ps.guard(ps.at_least(runs.time[-1], later, "end of the run"))
        & ran_to_the_end(runs)
    )


@claim(
    "Theorem 4, Phase IV, 4-gram: the constant (ours)",
    on("population", evidence.four_gram_long_alphas),
    on("printed equations", evidence.four_gram_alphas),
    id="ours-G4-quarter",
    kind="limit",
    whose="ours",
    tex=r"4 t\,\mathcal L_{G_4} \to 1",
    page="Section 3.2, Theorem 4, Phase IV",
    as_=("t", "inf"),
)
def the_four_gram_loss_is_a_quarter_of_one_over_t(runs):
    """4 t L_G4 tends to 1, whatever alpha."""
    late = runs.sel(time=slice(100, None))
    near = ps.chosen(0.005, "the README says 1/(4t)")
    return ps.tends_to(
        4 * late.time * late.loss_g4, 1.0, along="time", within=near, what="4 t L_G4"
    ) & ran_to_the_end(runs)


@claim(
    "Theorem 4, Phase IV, induction head",
    on("population", evidence.true_lengths, evidence.true_alphas),
    on("printed equations", evidence.paper_lengths, evidence.paper_alphas),
    id="thm4-phase4-ih",
    aliases=("C-T4d2",),
    kind="lower",
    tex=r"\mathcal L_{IH_2}(\theta(t)) = \mathcal O\big(\exp(-\Omega(w^{\star2}t/((1+\alpha^\star)^2L)))\big)",
    page="Section 3.2, Theorem 4, Phase IV",
    as_=("L", "inf"),
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def the_induction_head_converges_exponentially(lengths, alphas):
    """After T_III the induction head's loss decays exponentially, at a rate of the order of w*^2 / ((1 + alpha)^2 L) or
    faster, as L and alpha grow."""
    what = "rate of decay in units of c* h*^2 / N"
    return ps.big_omega(slowest_decay(lengths), along="length", what=what) & ps.big_omega(
        by_proportion(slowest_decay(alphas)), along="1 + alpha", what=what
    )


def slowest_decay(runs: xr.Dataset) -> xr.DataArray:
    """The smallest mean rate from T_III to any later record above rounding, in units of c* h*^2 / N."""
    begins = emergence(runs, 0.01)
    first = value_at(runs.loss_ih, begins, points(runs))
    unit = c_star(runs) * h_star(runs) ** 2 / keys(runs)
    above = runs.loss_ih > ROUNDING * runs.loss_ih.isel(time=0, drop=True)
    later = (runs.time > 1.05 * begins) & above
    fallen = -logarithm(runs.loss_ih.where(later) / first)
    return (fallen / (unit * (runs.time - begins))).min("time")


@claim(
    "Theorem 4, Phase IV, induction head: the rate (ours)",
    on("population", evidence.true),
    on("printed equations", evidence.paper),
    id="ours-convergence-rate",
    kind="rate",
    whose="ours",
    tex=r"\mathcal L_{IH_2} \sim e^{-2\lambda_{\min} t}",
    page="Section 3.2, Theorem 4, Phase IV",
    assumes=theorem_4,
)
def the_rate_of_convergence_is_the_smallest_eigenvalue(run):
    """The induction head's loss decays at twice the smallest eigenvalue of the flow at the fixed point, within 2 %."""
    left = run.loss_ih / run.loss_ih.isel(time=0)
    here = run.isel(time=np.flatnonzero((left < 1e-5) & (left > 1e-9)))
    expected = np.exp(-2 * convergence_rate(run) * here.time)
    tolerance = ps.chosen(0.02, "the next order at a loss of 1e-5 of the start")
    law = ps.derived(1.0, "closed_forms.convergence_rate")
    return ps.scales_like(here.loss_ih, expected, law, tolerance, "loss") & ran_to_the_end(run)


claims = (
    the_four_gram_is_learned_before_anything_else,
    phase_one_needs_tens_of_thousands_of_tokens,
    learning_the_four_gram_takes_a_constant_time,
    the_dot_product_grows_exponentially,
    the_dot_product_grows_at_the_plateau_rate,
    the_four_gram_loss_falls_at_least_like_one_over_t,
    the_four_gram_loss_is_a_quarter_of_one_over_t,
    the_induction_head_converges_exponentially,
    the_rate_of_convergence_is_the_smallest_eigenvalue,
)
