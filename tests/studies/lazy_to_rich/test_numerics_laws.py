"""Closed forms that claims are held against, from outside: by direct integration, by hand, by the specification's numbers."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

from phasescope.studies.lazy_to_rich import closed_forms, spec
from phasescope.studies.lazy_to_rich.claims import tables

N = 38
W_STAR = 0.49
C_STAR = W_STAR**2


def printed_flow(t, state, h_star=0.5):
    """The equations of Appendix C.3.2 for (w, h), as printed."""
    w, h = state
    both = w * w + C_STAR
    dw = h * h_star / N * (1 - both**2) ** -1.5 * both * 2 * w
    dw -= h * h / N * (1 - 4 * w**4) ** -1.5 * 4 * w**3
    dh = h_star / N * (1 - both**2) ** -0.5 - h / N * (1 - 4 * w**4) ** -0.5
    return [dw, dh]


def head_1(t, state, g_star=0.5, keys=1_000_000):
    """The flow of p and g from its sums in closed form."""
    p, g = state
    M = np.expm1(-keys * p) / np.expm1(-p)
    M2 = np.expm1(-2 * keys * p) / np.expm1(-2 * p)
    m = M / np.expm1(p)
    m2 = M2 / np.expm1(2 * p)
    error = g_star - g * M2 / M
    return [g / M**2 * (m * error + g * m2), error / M]


def numbers(**fields):
    """A dataset that says what it was run with."""
    run = spec.default.replace(**fields)
    return xr.Dataset(attrs={"spec": json.dumps(run.to_json())})


def test_the_value_settles_in_the_printed_equations_as_the_law_says():
    found = solve_ivp(printed_flow, (0, 200), [1e-6, 1e-6], rtol=1e-10, atol=1e-14, max_step=0.5)
    crossing = np.interp(0.5, found.y[1], found.t) / N
    assert crossing == pytest.approx(closed_forms.settling_time(W_STAR), rel=1e-3)
    assert crossing == pytest.approx(3.532, abs=2e-3)


def test_the_law_of_settling_is_above_the_printed_bound_for_every_target():
    w_star = np.linspace(0.01, 0.5**0.5, 500)
    assert (closed_forms.settling_time(w_star) > 2 * (1 - w_star**4 / 2)).all()


@pytest.mark.parametrize("sigma", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_value_of_head_1_does_not_arrive_before_its_bound(sigma, share):
    found = solve_ivp(head_1, (0, 60), [sigma, sigma], rtol=1e-9, atol=1e-12, max_step=0.05)
    arrival = found.t[np.argmax(found.y[1] >= share * 0.5)]
    bound = closed_forms.earliest_value_time(sigma, 1.0, share)
    assert bound < arrival < bound + 8


def test_the_first_growth_of_w_is_the_slope_of_the_printed_equation():
    rate = printed_flow(0, [1e-4, 1e-4])[0] / 1e-4
    unit = C_STAR * 0.5**2 / N
    found = closed_forms.first_growth(numbers(sigma=1e-4))
    assert found == pytest.approx(rate / unit, rel=1e-6)


def test_the_unnamed_constant_of_the_proof():
    """The largest w* for which the maximum of r(w), found on a grid, is below 1 + 0.04 w*."""
    targets = np.linspace(0.35, 0.42, 141)
    w = np.linspace(0, 0.42, 4001)
    r = np.sqrt((1 - 4 * w**4) / (1 - (w**2 + targets[:, None] ** 2) ** 2))
    R = np.where(w < targets[:, None], r, 0).max(1)
    below = targets[1 + 0.04 * targets > R]
    assert closed_forms.largest_target() == pytest.approx(below.max(), abs=1e-3)


def test_the_bound_on_the_overshoot_at_figure_1():
    found = closed_forms.overshoot_bound(xr.DataArray(W_STAR))
    w = np.linspace(0, W_STAR, 200_001)
    r = np.sqrt((1 - 4 * w**4) / (1 - (w**2 + C_STAR) ** 2))
    assert float(found) == pytest.approx(r.max(), rel=1e-9)
    assert float(found) == pytest.approx(1.0417, abs=1e-3)


def test_what_is_left_on_the_plateau():
    assert closed_forms.plateau_share(W_STAR) == pytest.approx(0.0594, abs=1e-4)


def test_the_rate_of_leaving_the_plateau():
    found = closed_forms.leaving_rate("paper_flow", spec.default)
    psi = (1 - C_STAR**2) ** -0.5
    assert found == pytest.approx(2 * 0.25 * C_STAR / N * psi**4, rel=1e-12)
    assert found == pytest.approx(0.003558, abs=1e-6)


def test_the_losses_at_the_start_of_figure_1():
    exact = tables.first_losses("exact", (N,), 0.01).sel(alpha=1.0).isel(length=0)
    printed = tables.first_losses("exponential", (N,), 0.01).sel(alpha=1.0).isel(length=0)
    assert float(exact.loss_ih) == pytest.approx(3.3556e-3, rel=1e-4)
    assert float(printed.loss_ih / exact.loss_ih) == pytest.approx(1.078, abs=1e-3)
    assert float(exact.loss_g4) == pytest.approx(0.9988 * 0.125, rel=1e-4)


def test_lemma_8_counts_from_two():
    right = tables.softmax_norms((5, 40), first=2)
    wrong = tables.softmax_norms((5, 40), first=1)
    np.testing.assert_allclose(right.norm, right.printed, rtol=1e-14)
    np.testing.assert_allclose(wrong.norm.sel(p=0.0), [1 / 4, 1 / 39], rtol=1e-14)


def test_the_softmax_is_lipschitz_with_the_constant_one():
    ratio = tables.softmax_pairs((2, 5, 40)).ratio
    assert 0.9 < float(ratio.max()) <= 1.0


def test_the_simplification_is_exact_to_the_fourth_power_of_the_target():
    table = tables.simplification((0.1, 0.2))
    for name in ("S", "level", "rate"):
        gap = (table[f"printed_{name}"] / table[f"limit_{name}"] - 1).values
        assert np.log2(gap[1] / gap[0]) == pytest.approx(4.0, abs=0.05)
