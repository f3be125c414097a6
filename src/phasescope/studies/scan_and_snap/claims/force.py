"""Section 6, (13): how the force on the common token falls with its weight, by the theory and in training."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from .. import closed_forms
from ..phases import drop
from ..phases import on as at_times
from ..spec import Spec
from . import evidence
from .bounds import kept
from .premises import weak_correlation


def force_exponent(sweep: xr.Dataset, exponent: float) -> ps.Verdict:
    """xi against the common token's weight f_CT, which moves like exp(z_CT), over a factor 3 of
    it."""
    xi = sweep.xi_eff.isel({"class": 0})
    weight = sweep.f_ct.isel({"class": 0, "common_token": 0})
    tenth = ps.chosen(0.1, "overlaps are not infinitely small")
    return ps.scales_like(
        xi, weight, exponent, tol=tenth, what="xi against f_CT", along="p_common", span=3.0
    )


@claim(
    "Section 6, (13)",
    on("printed equations", evidence.force_inside_theory),
    on(
        "population",
        evidence.force_inside,
        expect="false",
        because="the true discriminative force does not fall with the overlap, beta being iota / M: {measured}",
    ),
    id="eq13-exponent",
    aliases=("C22-exponent",),
    kind="rate",
    tex=r"\xi_n \simeq K\rho_0^{-4}\gamma e^{4z_l}",
    page="Section 6, (13): beta_nn' is about E'_nn', about exp(2 z_l) / rho_0^2",
    assumes=weak_correlation,
)
def the_force_falls_with_the_fourth_power(sweep):
    """In weak correlation xi is proportional to exp(4 z_CT): the exponent in f_CT is 4, within
    0.1, at any time (K = 10, M = 10^10, overlaps from 0.0001 to 0.001)."""
    found = force_exponent(sweep, 4.0)
    if found.outcome == ps.Outcome.FAILS:
        return ps.refuted(found, by="closed_forms.early_force_ratio: xi = (K - 1) f_CT^2 iota / M")
    return found


@claim(
    "Section 6, (13): the exponent (ours)",
    on("population", evidence.force),
    id="ours-exponent-two",
    aliases=("C22-two",),
    kind="rate",
    whose="ours",
    tex=r"\xi_n \simeq \gamma(K-1)f_{CT}^2/M",
    page="Section 6, (13)",
)
def the_true_force_falls_with_the_second_power(sweep):
    """With the true gradient xi is gamma (K-1) f_CT^2 / M in weak correlation: exponent 2 within
    0.1, factor within 3% (K = 10, M = 1000, overlaps from 0.0001 to 0.001)."""
    spec = Spec.of(sweep)
    speed = at_times(sweep.time, closed_forms.gamma, spec.K, spec.M, spec.eta_Y)
    forecast = speed * (spec.K - 1) / spec.M * sweep.f_ct.isel({"class": 0, "common_token": 0}) ** 2
    ratio = sweep.xi_eff.isel({"class": 0}) / forecast
    low = ps.chosen(0.99, "1%: K / M")
    high = ps.chosen(1.03, "kappa grows with time")
    return force_exponent(sweep, 2.0) & ps.within(ratio, low, high, "xi M / (gamma (K-1) f_CT^2)")


@claim(
    "Theorem 4 for training (ours)",
    on("population", evidence.one),
    id="ours-true-drop",
    aliases=("C22-true",),
    kind="approx",
    whose="ours",
    tex=r"-z_{CT} \simeq \tfrac12\ln(1 + \tfrac{2(K-1)}{MK}f_{CT}^2(0)\Gamma)",
    page="Section 6, Theorem 4",
)
def the_true_drop_has_its_own_closed_form(run):
    """In training -z_CT is ln(1 + 2 (K-1) f_CT(0)^2 Gamma / (M K)) / 2 up to 0.3 units of time,
    within 2% at eta_Z = eta_Y and 6% below that (K = 10, M = 1000, rho_0 = 0.01)."""
    found, closed = _drop_and_closed_form(run)
    early = (found.time > 0) & (found.time <= 0.3 * evidence.UNITS[10.0])
    equal = early & (found.eta_Z == 1.0)
    slow = early & (found.eta_Z < 1.0)
    two = ps.chosen(0.02, "kappa has grown a little, and memory takes some of it back")
    six = ps.chosen(0.06, "kappa has grown a little")
    return (
        ps.agree(drop(found), closed, rtol=two, what="-z_CT at equal rates", where=equal)
        & ps.agree(drop(found), closed, rtol=six, what="-z_CT at slow attention", where=slow)
        & ps.reached(run)
    )


@claim(
    "Theorem 4 for training, late (ours)",
    on("population", evidence.one),
    id="ours-late-drop",
    kind="regression",
    whose="ours",
    tex=r"1.109, 0.778",
    page="Section 6, Theorem 4",
)
def the_drop_in_the_end(run):
    """At 1000 units of time -z_CT is 1.109 times its closed form at eta_Z / eta_Y = 0.1, where kappa
    has grown, and 0.778 times at equal rates, by memory (K = 10, M = 1000, rho_0 = 0.01)."""
    found, closed = _drop_and_closed_form(run)
    later = (drop(found) / closed).sel(time=1e3 * evidence.UNITS[10.0], method="nearest")
    before = np.array([1.109, 0.778])
    return ps.agree(
        later.sel(eta_Z=[0.1, 1.0]), before, atol=kept(1e-3), what="-z_CT / closed form, late"
    ) & ps.reached(run)


def _drop_and_closed_form(run: xr.Dataset) -> tuple[xr.Dataset, xr.DataArray]:
    found = evidence.at_rho(run)
    K = float(found.classes)
    M = Spec.of(run).M
    strength = at_times(found.time, closed_forms.Gamma, K, M, 1.0, 1.0) * found.eta_Z
    return found, np.log1p(2 * (K - 1) / (M * K) * 0.01 * strength) / 2


claims = (
    the_force_falls_with_the_fourth_power,
    the_true_force_falls_with_the_second_power,
    the_true_drop_has_its_own_closed_form,
    the_drop_in_the_end,
)
