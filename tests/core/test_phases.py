"""Times of phases: found where they were planted, in every lane, and nowhere in data without phases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from phasescope.analysis import change_points as changes
from phasescope.analysis.phases import (
    change_points,
    crossing,
    escape,
    knee,
    local_slope,
    plateau,
    sustained,
)

STEPS = np.arange(1, 1001)
S = np.linspace(-10, 10, 200)


def series(values, times=None, name="loss") -> xr.DataArray:
    values = np.asarray(values)
    times = np.arange(1, values.size + 1) if times is None else times
    return xr.DataArray(values, {"time": times}, ("time",), name=name)


def lanes(*runs: xr.DataArray) -> xr.DataArray:
    return xr.concat(runs, "seed").assign_coords(seed=np.arange(len(runs)))


# --- crossing


def test_a_line_is_crossed_exactly():
    assert float(crossing(series([0.0, 1.0, 3.0]), 2.0)) == 2.5
    assert float(crossing(series([3.0, 1.0, 0.0]), 2.0, "down")) == 1.5


def test_a_logarithm_is_crossed_exactly_in_log_time():
    times = np.geomspace(1, 1e4, 9)
    assert float(crossing(series(np.log10(times), times), 2.2, log_time=True)) == pytest.approx(
        10**2.2
    )


def test_the_first_of_several_crossings_counts():
    assert float(crossing(series([0, 1, 0, 1.0]), 0.5)) == 1.5


def test_a_level_met_at_a_record_is_crossed_there():
    times = np.array([0.1, 0.3, 0.7])
    assert float(crossing(series([0.0, 0.5, 1.0], times), 0.5)) == 0.3


@pytest.mark.parametrize(
    "values", [[0, 0.1, 0.2], [1, 0.8, 0.6], [np.nan] * 3, [], [0.3], [0.1, 0.2, np.inf]]
)
def test_what_never_crosses_has_no_time(values):
    assert np.isnan(crossing(series(np.array(values, float)), 0.5))


def test_records_that_are_not_finite_are_left_out():
    assert float(crossing(series([0.0, np.nan, 2.0]), 1.0)) == 2.0


@given(st.floats(-4.9, 4.9), st.integers(3, 60), st.booleans())
def test_a_monotone_curve_is_crossed_within_a_record_interval(where, count, log_time):
    times = np.geomspace(np.exp(-5), np.exp(5), count)
    rising = series(np.tanh(np.log(times)), times)
    found = float(crossing(rising, np.tanh(where), log_time=log_time))
    i = np.searchsorted(np.tanh(np.log(times)), np.tanh(where))
    assert times[i - 1] * (1 - 1e-12) <= found <= times[i] * (1 + 1e-12)


def test_every_lane_has_its_own_crossing_and_may_have_its_own_level():
    both = lanes(series([0.0, 1.0, 2.0]), series([0.0, 4.0, 8.0]))
    assert crossing(both, 1.5).values.tolist() == [2.5, 1.375]
    level = xr.DataArray([0.5, 6.0], {"seed": [0, 1]}, ("seed",))
    found = crossing(both, level)
    assert found.values.tolist() == [1.5, 2.5]
    assert found.dims == ("seed",)


def test_a_lane_equals_its_single_run():
    rng = np.random.default_rng(0)
    runs = [series(np.cumsum(rng.normal(0.3, 1, 60))) for _ in range(5)]
    for find in (
        lambda x: crossing(x, 2.0),
        knee,
        lambda x: sustained(x > 1),
        lambda x: escape(x, factor=3),
    ):
        np.testing.assert_array_equal(find(lanes(*runs)).values, [find(r).item() for r in runs])


def test_an_array_without_time_is_refused():
    with pytest.raises(ValueError, match="'time'"):
        crossing(xr.DataArray([1.0, 2.0], dims=("mode",)), 0.5)
    with pytest.raises(ValueError, match='"up" or "down"'):
        crossing(series([1.0, 2.0]), 0.5, "sideways")  # type: ignore[arg-type]


# --- sustained, escape


@pytest.mark.parametrize(
    ("condition", "time"),
    [
        ([0, 1, 0, 1, 1], 4),
        ([1, 1, 1], 1),
        ([0, 0, 1], 3),
        ([1, 1, 0], np.nan),
        ([], np.nan),
        ([0, 0], np.nan),
    ],
)
def test_sustained_is_the_start_of_the_last_true_stretch(condition, time):
    np.testing.assert_equal(float(sustained(series(np.array(condition, bool)))), time)


def test_growth_leaves_its_start_by_a_factor_ten():
    times = np.linspace(0, 5, 5001)
    assert float(escape(series(np.exp(times), times), factor=10)) == pytest.approx(
        np.log(10), abs=1e-6
    )
    assert float(escape(series(-np.exp(-times), times), factor=10)) == pytest.approx(
        np.log(10), abs=1e-6
    )
    assert float(escape(series(np.exp(times), times), 2.0, 10)) == pytest.approx(
        np.log(20), abs=1e-6
    )


def test_a_constant_and_a_start_at_zero_are_never_left_by_a_factor():
    assert np.isnan(escape(series(np.ones(9))))
    assert np.isnan(escape(series(np.arange(9.0))))


# --- knee, local slope, plateau


def test_the_knee_of_a_logistic_in_log_time_is_exactly_its_middle_step():
    assert float(knee(series(1 / (1 + np.exp(-4 * np.log(STEPS / 576.0))), STEPS))) == 576


def test_the_knee_between_coarse_records_is_refined():
    times = np.geomspace(1, 1e5, 60)
    curve = series(1 / (1 + np.exp(-2 * np.log(times / 576.0))), times)
    assert float(knee(curve)) in times
    assert float(knee(curve, refine=True)) == pytest.approx(576, rel=0.01)


@pytest.mark.parametrize(
    "curve", [np.ones(1000), 3 * np.log(STEPS), STEPS**2.0, 1.0 / STEPS, [1.0, 2.0]]
)
def test_what_has_no_steepest_moment_has_no_knee(curve):
    assert np.isnan(knee(series(curve)))


@given(st.floats(-4, 4), st.floats(1e-3, 1e3))
def test_the_local_slope_of_a_power_law_is_its_exponent(a, factor):
    np.testing.assert_allclose(local_slope(series(factor * STEPS[:50] ** a)), a, atol=1e-9)


def test_the_local_slope_is_unknown_where_logarithms_are():
    found = local_slope(series([5.0, 1.0, -1.0, 4.0, 8.0], times=[0, 1, 2, 4, 8]))
    assert np.isnan(found.values).tolist() == [True, False, True, False, False]
    assert found.dims == ("time",)


def test_a_planted_plateau_is_found():
    times = np.geomspace(1, 1e6, 300)
    loss = np.where(times < 100, 1 / times, np.where(times < 1e4, 0.01, 100 / times))
    found = plateau(series(loss, times), flatness=0.02)
    assert float(found.start) == pytest.approx(100, rel=0.1)
    assert float(found.end) == pytest.approx(1e4, rel=0.1)
    assert float(found.level) == pytest.approx(0.01, rel=0.02)


def test_a_power_law_and_white_noise_have_no_plateau_and_a_constant_is_one():
    assert np.isnan(plateau(series(1.0 / STEPS)).start)
    assert np.isnan(plateau(series(np.random.default_rng(0).normal(size=1000))).start)
    assert float(plateau(series(np.full(1000, 0.5))).end) == 1000


# --- change points


def test_white_noise_has_change_points_in_5_of_100_cases_at_most():
    rng = np.random.default_rng(0)
    for count in (25, 60):
        found = [change_points(series(rng.normal(size=count))).times for _ in range(200)]
        assert np.mean([bool(t) for t in found]) <= 0.05


def test_a_noisy_line_in_log_time_has_change_points_in_5_of_100_cases_at_most():
    rng, times = np.random.default_rng(1), np.geomspace(1, 1e5, 60)
    noisy = [series(np.log(times) + rng.normal(size=60), times) for _ in range(100)]
    assert np.mean([bool(change_points(x, log_time=True).times) for x in noisy]) <= 0.05


@pytest.mark.parametrize(
    "curve",
    [np.zeros(100), np.full(100, 0.1), 3 * STEPS, 1e6 - STEPS, STEPS**2.0, np.exp(STEPS / 300), np.exp(-0.01 * STEPS)],
    ids=["zero", "constant", "line", "line far from zero", "parabola", "growth", "decay"],
)  # fmt: skip
def test_curves_that_do_not_break_have_no_change_points(curve):
    assert change_points(series(curve)).times == ()


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_planted_boundaries_are_found(noise):
    steps = np.arange(150.0)
    signal = np.where(
        steps < 50, 0.0, np.where(steps < 90, 0.5 * (steps - 50), 20 - 0.1 * (steps - 90))
    )
    found = change_points(series(signal + noise * np.random.default_rng(2).normal(size=150), steps))
    np.testing.assert_allclose(found.times, (50, 90), atol=4)


def test_phases_of_a_smooth_curve_are_found_in_log_time():
    curve = np.tanh(2 * (S + 4)) + np.tanh(2 * (S - 4))
    found = change_points(series(curve, np.exp(S)), log_time=True)
    np.testing.assert_allclose(np.log(found.times), (-4.5, -3.5, 3.5, 4.5), atol=0.3)


def test_change_points_do_not_depend_on_units():
    curve = series(np.abs(STEPS - 400.0) + np.random.default_rng(3).normal(0, 5, 1000), STEPS)
    assert change_points(1e-7 * curve + 3).times == change_points(curve).times


def test_any_penalty_in_the_range_gives_the_same_number_and_none_outside():
    rng, steps = np.random.default_rng(4), np.arange(80.0)
    x = np.abs(steps - 30) + 3 * (steps > 60) + rng.normal(size=80)
    found = change_points(series(x))
    search = changes._searcher(
        changes._misfits((steps - steps.mean()) / steps.std(), (x - x.mean()) / x.std())
    )
    assert {len(search(p)) for p in np.geomspace(1.001 * found.low, 0.999 * found.high, 9)} == {
        len(found.times)
    }
    assert len(search(0.99 * found.low)) > len(found.times) > len(search(1.01 * found.high))


def test_the_search_is_as_good_as_trying_all_places():
    x = np.random.default_rng(5).normal(size=24) + np.repeat([0.0, 3.0, -1.0], 8)
    misfit = changes._misfits(np.arange(24.0), x)
    cost = lambda cuts: sum(misfit[i, j] for i, j in itertools.pairwise((0, *cuts, 24)))
    short = lambda cuts: min(np.diff((0, *cuts, 24))) < changes.SHORTEST
    best = min((c for k in range(5) for c in itertools.combinations(range(24), k) if not short(c)),
               key=lambda c: cost(c) + 4.0 * len(c))  # fmt: skip
    assert changes._searcher(misfit)(4.0) == best


def test_misfits_are_those_of_least_squares():
    s, x = np.random.default_rng(6).normal(size=(2, 12)).cumsum(axis=1)
    expected = np.sum((x[3:9] - np.polyval(np.polyfit(s[3:9], x[3:9], 1), s[3:9])) ** 2)
    assert changes._misfits(s, x)[3, 9] == pytest.approx(expected)


def test_too_few_records_say_so():
    found = change_points(series([0.0, 0.0, 1.0, 1.0]))
    assert (found.times, found.why) == ((), "4 records, 20 are needed")


def test_change_points_are_those_of_one_run():
    with pytest.raises(ValueError, match="select a lane"):
        change_points(lanes(series(STEPS), series(STEPS)))
