"""Phase times are events of the flow, not records: checked against an integrator with root finding of its own."""

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

from phasescope.analysis.verdict import Outcome
from phasescope.studies.lazy_to_rich.event_times import ROUGH, first_time, value_at
from phasescope.studies.lazy_to_rich.phases import phase_times, ran_to_the_end

N, TARGET, SIGMA, HALF = 38, 0.49**2, 0.01, 0.5  # Figure 1: g* = h* = 1/2
EXPONENTIAL = (
    lambda a, b: (1 - (a + b) ** 2) ** -0.5,
    lambda a, b: (a + b) * (1 - (a + b) ** 2) ** -1.5,
)
MANY_KEYS = (lambda a, b: (1 - 2 * a * b) ** -0.5, lambda a, b: b * (1 - 2 * a * b) ** -1.5)
FLOWS = {"paper_flow": (EXPONENTIAL, 2.0), "mean_field_flow": (MANY_KEYS, 1.0)}


class Reference:
    """Stage II of Figure 1 by scipy, from the equations on paper."""

    def __init__(self, arm, end=6000.0):
        (self.kernel, self.slope), self.kappa = FLOWS[arm]
        self.path = solve_ivp(
            self.field, (0, end), [SIGMA] * 4, "LSODA", rtol=1e-11, atol=1e-14, dense_output=True
        ).sol

    def field(self, t, state):
        p, g, w, h = state
        k, c = np.arange(N), w * w
        M, M2 = np.exp(-p * k).sum(), np.exp(-2 * p * k).sum()
        m, m2 = (k * np.exp(-p * k)).sum(), (k * np.exp(-2 * p * k)).sum()
        pull = h * HALF * self.slope(c, TARGET) - h * h * self.slope(c, c)
        return [
            m * g / M**2 * (HALF - g * M2 / M + g * m2 / m), (HALF - g * M2 / M) / M, self.kappa * w * pull / N,
            (HALF * self.kernel(c, TARGET) - h * self.kernel(c, c)) / N,
        ]  # fmt: skip

    def loss_g4(self, t):
        p, g = self.path(t)[:2]
        weights = np.exp(-p * np.arange(N))
        weights /= weights.sum()
        return 0.5 * ((HALF - g * weights[0]) ** 2 + g * g * (weights[1:] @ weights[1:]))

    def loss_ih(self, t):
        w, h = self.path(t)[2:]
        F, c = self.kernel, w * w
        return (
            0.5 * HALF**2 * F(TARGET, TARGET) + 0.5 * h * h * F(c, c) - h * HALF * F(c, TARGET)
        ) / N

    def times(self, observed):
        root = lambda f, a, b: brentq(f, a, b, xtol=1e-10, rtol=1e-12)
        value = lambda i, level: lambda t: self.path(t)[i] - level
        plateau = self.loss_ih(observed)
        left = lambda q: root(lambda t: self.loss_ih(t) - q * plateau, observed + 1e-6, 5900)
        top = minimize_scalar(
            lambda t: -self.path(t)[3],
            bounds=(300, 4000),
            method="bounded",
            options={"xatol": 1e-6},
        ).x
        return {
            "T_I": root(lambda t: self.loss_g4(t) - 0.01 * self.loss_g4(0), 50, 500),
            "T_half_g": root(value(1, HALF / 2), 1, 20),
            "T_1_g": root(value(1, HALF), 1, 12),
            "T_1_h": root(value(3, HALF), 50, 600),
            "T_half_w": root(value(2, 0.49 / 2), 500, 4000),
            "T_II": left(0.99), "T_50": left(0.5), "T_III": left(0.01),
        }, top  # fmt: skip


@pytest.fixture(scope="module", params=FLOWS)
def both(request):
    from phasescope.claims.requests import Runs
    from phasescope.studies.lazy_to_rich import study
    from phasescope.studies.lazy_to_rich.claims import evidence
    from phasescope.verbs.context import default_context
    from phasescope.verbs.evidence import Evidence

    asked: Runs = {"paper_flow": evidence.paper, "mean_field_flow": evidence.limit}[request.param]
    return Evidence(study, default_context(False, progress=False)).get(asked)[0], Reference(
        request.param
    )


@pytest.mark.parametrize("observation", ["robust", "paper"])
def test_phase_times_are_those_of_an_independent_integrator(both, observation):
    run, reference = both
    found = phase_times(run, observation)
    expected, _ = reference.times(float(found.T_o))
    np.testing.assert_allclose(
        [float(found[k]) for k in expected], list(expected.values()), rtol=1e-6
    )


def test_the_maximum_of_the_value_is_found_to_what_a_maximum_allows(both):
    run, reference = both
    found = phase_times(run)
    assert float(found.T_2_h) == pytest.approx(reference.times(float(found.T_o))[1], rel=1e-5)


def test_the_robust_observation_time_is_that_of_figure_1(both):
    assert float(phase_times(both[0]).T_o) == pytest.approx(187.2146, abs=1e-3)


def test_a_horizon_before_the_phase_gives_no_number(both):
    short = both[0].sel(time=slice(0, 800))
    found = phase_times(short)
    assert np.isfinite(found.T_I)
    assert all(np.isnan(found[name]) for name in ("T_50", "T_III", "sharpness"))


def test_a_run_that_broke_off_is_undecided(both):
    assert ran_to_the_end(both[0]).outcome is Outcome.HOLDS
    assert ran_to_the_end(both[0].isel(time=slice(-1))).outcome is Outcome.UNDECIDED


def logistic(times, rate):
    """One curve a lane: 1 / (1 + e^(10 - rate t))."""
    lanes = xr.DataArray(rate, {"rate": rate}, "rate")
    return 1 / (1 + np.exp(10 - lanes * xr.DataArray(times, {"time": times}, "time")))


def test_each_lane_has_its_own_time():
    rates = np.array([0.5, 1.0, 2.0])
    found = first_time(logistic(np.geomspace(0.1, 100, 400), rates), 0.5, "up")
    np.testing.assert_allclose(found, 10 / rates, rtol=1e-8)


def test_a_level_passed_before_the_observation_began_is_not_passed_again():
    curve = logistic(np.geomspace(0.1, 100, 400), np.array([1.0]))
    assert np.isnan(first_time(curve, 0.5, "up", after=20.0)).all()


def test_an_observation_may_begin_between_two_records():
    curve = logistic(np.geomspace(0.1, 100, 400), np.array([1.0])).isel(rate=0)
    level = value_at(curve, 9.0)
    assert float(level) == pytest.approx(1 / (1 + np.e), rel=1e-9)
    assert float(first_time(curve / level, np.e * 0.7, "up", after=9.0)) == pytest.approx(
        10 - np.log((1 + np.e) / (0.7 * np.e) - 1), rel=1e-8
    )


def test_records_of_descent_are_joined_by_straight_lines():
    curve = xr.DataArray([0.0, 1.0, 0.5, 3.0], {"time": [0.0, 10.0, 20.0, 30.0]}, "time")
    assert float(first_time(curve, 0.25, "up", points=ROUGH)) == pytest.approx(2.5)
    assert float(first_time(curve, 2.0, "up", points=ROUGH)) == pytest.approx(26.0)
    assert float(value_at(curve, 15.0, ROUGH)) == pytest.approx(0.75)


def test_nothing_is_read_outside_the_records():
    curve = logistic(np.geomspace(0.1, 100, 400), np.array([1.0])).isel(rate=0)
    assert np.isnan(value_at(curve, 101.0))
    assert np.isnan(first_time(curve, 2.0, "up"))


def test_lost_records_are_left_out():
    curve = logistic(np.geomspace(0.1, 100, 400), np.array([1.0])).isel(rate=0)
    holes = curve.where(np.arange(400) % 7 != 0)
    assert float(first_time(holes, 0.5, "up")) == pytest.approx(10.0, rel=1e-6)
