"""Section 6: when the attention freezes, how sparse it is then, and why (Theorem 4)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import Outcome, beyond, claim, published, theory

from .. import closed_forms
from ..phases import classes_of, late, linear_end, moving, on, outputs_of, ran_to_the_end, snap_time, spec_of, top_logit
from . import requests as ask
from .decoupling import at_rho


def drop(run):
    """-z of the first common token."""
    return -run.z_ct.isel(last=0, common_token=0, drop=True)


@claim("Theorem 4 against its equation", theory(ask.theorem_4), id="C22")
def the_closed_form_solves_the_theory(run):
    """For one common token in weak correlation (rho_0 = 0.01, K = 10, M = 1000) -z_CT of L2 is B_n = ln(1 + 4 (K-1)
    rho_0^2 Gamma) / 4 within 2%, both 1.5% apart at t = 1000: 0.2797 against 0.2756, where the q_0 part makes the
    difference."""
    spec, K, M = spec_of(run), classes_of(run), outputs_of(run)
    start = linear_end(run)
    strength = on(run.time, closed_forms.Gamma, K, M, spec.eta_Y, spec.eta_Z)
    closed = np.log1p(4 * (K - 1) * float(run.rho[0]) ** 2 * strength) / 4
    at = {"time": 1000.0}
    return (
        ps.agree(drop(run), closed, rtol=0.12, what="-z_CT", where=run.time > start / 10)
        & ps.agree(drop(run), closed, rtol=0.02, what="-z_CT from t_0' on", where=run.time > start)
        & ps.agree(drop(run).sel(at), 0.2797, atol=6e-5, what="-z_CT at 1000")
        & ps.agree(closed.sel(at), 0.2756, atol=6e-5, what="B_n at 1000")
        & ran_to_the_end(run)
    )


@claim("Theorem 4, Eq 14", theory(ask.speed), id="C22-branches")
def the_two_branches_are_close_to_the_closed_form(run):
    """B_n with h replaced by eta_Y t / (K M) up to t_0', and by ln(M eta_Y t / K) / M after t_0, is within 3% and
    1.5% (K = 10, M = 1000, rates 0.5, from t = 20 on); within 0.1% from 14 t_0 on."""
    spec, K, M = spec_of(run), classes_of(run), outputs_of(run)
    branch = lambda x: np.log1p(4 * K * spec.eta_Z / spec.eta_Y * K * ((M - 1) / M * x) ** 2 / 2) / 4
    clock = spec.eta_Y * run.time / K
    early, after = run.time <= linear_end(run), run.time >= snap_time(run)
    return (
        ps.agree(branch(clock), run.B_n, rtol=0.03, what="first branch", where=early & (run.time >= 20))
        & ps.agree(branch(np.log(M * clock.where(run.time > 0, 1.0))), run.B_n, rtol=0.015, what="second", where=after)
        & ps.agree(
            branch(np.log(M * clock.where(run.time > 0, 1.0))), run.B_n, rtol=1e-3, what="second, late",
            where=run.time >= 14 * snap_time(run),
        )
        & ps.increasing(run.B_n, "B_n")
        & ran_to_the_end(run)
    )  # fmt: skip


def force_exponent(sweep, exponent: float) -> ps.Verdict:
    """xi against the common token's weight f_CT, which moves like exp(z_CT), over a factor 3 of it."""
    xi, weight = sweep.xi_eff.isel({"class": 0}), sweep.f_ct.isel({"class": 0, "common_token": 0})
    return ps.scales_like(xi, weight, exponent, 0.1, "xi against f_CT", along="p_common", span=3.0)


@claim(
    "Eq 13",
    theory(ask.force_theory),
    beyond(
        ask.force, expect=Outcome.FAILS,
        because="the true discriminative force does not fall with the overlap: beta is iota / M, so xi ~ f_CT^2",
    ),
    id="C22-exponent",
)  # fmt: skip
def the_force_falls_with_the_fourth_power(sweep):
    """In weak correlation xi is proportional to exp(4 z_CT): the exponent in f_CT is 4, within 0.1."""
    return force_exponent(sweep, 4.0)


@claim("Eq 13 (ours): the exponent", beyond(ask.force), id="C22-two")
def the_true_force_falls_with_the_second_power(sweep):
    """With the true gradient xi is gamma (K-1) f_CT^2 / M in weak correlation: exponent 2 within 0.1, factor within
    3%."""
    spec = spec_of(sweep)
    speed = on(sweep.time, closed_forms.gamma, spec.K, spec.M, spec.eta_Y)
    forecast = speed * (spec.K - 1) / spec.M * sweep.f_ct.isel({"class": 0, "common_token": 0}) ** 2
    ratio = sweep.xi_eff.isel({"class": 0}) / forecast
    return force_exponent(sweep, 2.0) & ps.within(ratio, 0.99, 1.03, "xi M / (gamma (K-1) f_CT^2)")


@claim("Theorem 4 (ours): for training", beyond(ask.one), id="C22-true")
def the_true_drop_has_its_own_closed_form(run):
    """In training -z_CT is ln(1 + 2 (K-1) f_CT(0)^2 Gamma / (M K)) / 2 up to one unit of time, within 5% at eta_Z =
    eta_Y and 8% below that (K = 10, M = 1000, rho_0 = 0.01). At 1000 units it is 0.78 of that at equal rates, by
    memory, and 1.11 times that at a tenth, where kappa has grown."""
    found = at_rho(run)
    K, M, rho = float(found.classes), spec_of(run).M, 0.01
    strength = on(found.time, closed_forms.Gamma, K, M, 1.0, 1.0) * found.eta_Z
    closed = np.log1p(2 * (K - 1) / (M * K) * rho * strength) / 2
    early = (found.time > 0) & (found.time <= ask.UNITS[10.0] * (1 + 1e-9))
    later = (drop(found) / closed).sel(time=1e3 * ask.UNITS[10.0], method="nearest")
    return (
        ps.agree(drop(found), closed, rtol=0.05, what="-z_CT at equal rates", where=early & (found.eta_Z == 1.0))
        & ps.agree(drop(found), closed, rtol=0.08, what="-z_CT at slow attention", where=early & (found.eta_Z < 1.0))
        & ps.agree(later.sel(eta_Z=[0.1, 1.0]), np.array([1.109, 0.778]), atol=1e-3, what="-z_CT / closed form, late")
        & ran_to_the_end(run)
    )


@claim("Section 6 (a)", theory(ask.speeds), published(ask.rescaled), id="C23")
def the_transition_comes_at_one_over_the_decoders_rate(sweep):
    """The speed of the attention peaks at a time proportional to 1 / eta_Y: gamma in closed form (K = 10, M = 1000),
    and the velocity of the common tokens' logits in Syn-Small training at eta_Z = eta_Y. Exponent -1 within 0.05."""
    if "gamma" in sweep:
        return ps.scales_like(sweep.gamma.idxmax("time"), sweep.eta_Y, -1.0, 0.05, "time of the largest gamma")
    curve = -sweep.z_ct.isel(last=0, common_token=0)
    return ps.scales_like(ps.knee(curve, refine=True), sweep.eta_Z, -1.0, 0.05, "time of the steepest fall")


@claim("Section 6.4 (ours)", theory(ask.rescaled), id="6.4")
def only_the_ratio_and_the_product_matter(sweep):
    """In flow (eta_Y, eta_Z, t) -> (2 eta_Y, 2 eta_Z, t / 2) is exact: logits and loss at equal eta t agree within
    1e-6."""
    slow, found = sweep.sel(eta_Z=0.25), []
    for eta in (0.5, 1.0, 2.0):
        fast = sweep.sel(eta_Z=eta)
        fast = fast.assign_coords(time=fast.time * (eta / 0.25))
        common = slow.time[(slow.time >= fast.time[0]) & (slow.time <= fast.time[-1])].values
        a, b = slow.sel(time=common), fast.sel(time=common)
        found += [ps.agree(a[name], b[name], atol=1e-6, what=name) for name in ("z_dt", "z_ct", "loss")]
    return ps.all_of(found) & ps.decreasing(slow.loss, "loss") & ran_to_the_end(sweep)


@claim("Section 6, snapping", theory(ask.speed), id="C26")
def growth_is_logarithmic_and_then_doubly_so(run):
    """B_n grows like ln t / 2 before the transition (slope 0.48 to 0.5 in 20 <= t <= 80), and like ln ln t / 2 after
    it: slope against ln ln(M eta_Y t / K) 0.5070 at eta_Y t = 10^4, falling, and 0.5001 at 10^6 (K = 10, M = 1000,
    equal rates)."""
    spec, K, M = spec_of(run), classes_of(run), outputs_of(run)
    B = run.B_n.isel(time=slice(1, None))
    slope = lambda clock: B.copy(data=np.gradient(B.values, clock.values)).isel(time=slice(1, -1))
    before = slope(np.log(B.time)).sel(time=slice(20, 80))
    after = slope(np.log(np.log(M * spec.eta_Y * B.time / K))).sel(time=slice(3e3, None))
    at = lambda clock: after.sel(time=clock / spec.eta_Y, method="nearest")
    return (
        ps.within(before, 0.48, 0.5, "d B / d ln t before")
        & ps.decreasing(after, "d B / d ln ln t, late")
        & ps.agree(at(1e4), 0.5070, atol=6e-5, what="d B / d ln ln t at 10^4")
        & ps.agree(at(1e6), 0.5001, atol=6e-5, what="d B / d ln ln t at 10^6")
        & ran_to_the_end(run)
    )


@claim("Section 6, snapping (ours): training", published(ask.small), id="C26-true")
def training_grows_slower_than_the_theory(run):
    """In Syn-Small training z_l0 grows from 1 to 1000 units of time by a factor 4.50 at eta_Z = eta_Y and 1.83 at ten
    times that; in the last factor 10 of time by 7.4% and less."""
    z = top_logit(run).sel(eta_Z=[1.0, 10.0])
    found = late(run).z_dt.isel({"class": 0, "distinct_token": -1}) / late(run, 1.0).z_dt.isel(
        {"class": 0, "distinct_token": -1}
    )
    last = z.isel(time=-1) / z.sel(time=100 * ask.UNIT_SMALL, method="nearest")
    return (
        ps.agree(found.sel(eta_Z=[1.0, 10.0]), np.array([4.504, 1.827]), rtol=1e-3, what="growth")
        & ps.within(last, 0.98, 1.075, "z_l0 at the end over a tenth of the time")
        & ran_to_the_end(run)
    )


_MEMORY = (
    "the decoder remembers old attention: the ratio is 0.83, 0.19, 0.02 at eta_Z / eta_Y = 0.1, 1, 10 in Syn-Small"
)


@claim(
    "Section 6, cause of the snap",
    theory(ask.one),
    published(ask.small, expect=Outcome.FAILS, because=_MEMORY),
    id="6.5",
)
def the_decay_of_gamma_alone_freezes_attention(run):
    """At 1000 units of time the logits of common tokens move as the current attention F alone would make them: the
    ratio of the two velocities is within 10% of 1 (theory: eta_Z / eta_Y up to 0.1, weak correlation; published: up
    to 10)."""
    if "p_common" in run.dims:
        found = late(at_rho(run)).lag.sel(eta_Z=[1e-3, 0.1])
    else:
        found = late(moving(run)).lag
    moved = drop(at_rho(run) if "p_common" in run.dims else run).isel(time=-1).sel(eta_Z=0.1)
    return ps.within(found, 0.9, 1.1, "velocity / that of the current F") & ps.positive(moved, "-z_CT at the end")


@claim("Section 6, cause of the snap (ours)", theory(ask.one), published(ask.small), id="6.5-lag")
def memory_freezes_attention(run):
    """The ratio of the two velocities falls with eta_Z / eta_Y: 0.992, 0.830, 0.186, 0.021 at 0.01, 0.1, 1, 10 in
    Syn-Small, 0.92, 0.48, 0.05 at 0.1, 1, 10 for K = 10, M = 1000, rho_0 = 0.01."""
    if "p_common" in run.dims:
        found = late(at_rho(run)).lag.sel(eta_Z=[0.1, 1.0, 10.0])
        return ps.agree(found, np.array([0.92, 0.48, 0.05]), atol=0.006, what="velocity / that of the current F")
    found = late(moving(run)).lag
    return ps.agree(
        found, np.array([0.9925, 0.8298, 0.1860, 0.0212]), atol=1e-4, what="velocity / that of the current F"
    )


@claim("Section 6, control (ours)", published(ask.small, ask.small_memoryless, ask.small_theory), id="6.5-control")
def without_memory_attention_grows_as_the_theory_says(true, forgetful, closed):
    """A decoder that forgets old attention brings back the theory's growth: in Syn-Small at 1000 units of time z_l0
    is 0.0945, 0.541, 1.728, 2.790 without memory, within 60% of the theory's, and 0.0962, 0.493, 0.655, 0.611 in
    training."""
    found = [late(moving(run)).z_dt.isel({"class": 0, "distinct_token": -1}) for run in (true, forgetful, closed)]
    fast = {"eta_Z": [1.0, 10.0]}
    return (
        ps.agree(found[1], np.array([0.0945, 0.5413, 1.7283, 2.7896]), atol=6e-5, what="z_l0, without memory")
        & ps.agree(found[0], np.array([0.0962, 0.4933, 0.6550, 0.6111]), atol=6e-5, what="z_l0, training")
        & ps.agree(found[1].sel(fast), found[2].sel(fast), rtol=0.12, what="z_l0 without memory and by the theory")
        & ps.at_most(found[0].sel(fast) / found[2].sel(fast), 0.35, "training / theory")
    )
