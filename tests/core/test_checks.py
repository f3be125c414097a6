"""Every word of a theorem holds where it is true, and on its counter-examples it does not."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from phasescope.analysis.checks import (
    agree,
    at_least,
    at_most,
    constant,
    decreasing,
    increasing,
    negative,
    ordered,
    positive,
    within,
)
from phasescope.analysis.fits import exponent, slope
from phasescope.analysis.over_time import eventually, reached, throughout
from phasescope.analysis.phases import crossing
from phasescope.analysis.scaling import scales_like
from phasescope.analysis.verdict import Outcome, Verdict

HOLDS, FAILS, UNDECIDED = Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED
TIMES = np.linspace(0.1, 15.0, 150)
STRENGTHS = np.array([3.0, 2.0, 1.0])
X = np.geomspace(1.0, 100.0, 20)


def logistic(epsilon: float = 1e-3, strengths: np.ndarray = STRENGTHS) -> xr.DataArray:
    curve = 1 / (1 + (strengths / epsilon - 1) * np.exp(-2 * strengths * TIMES[:, None]))
    coords = {"time": TIMES, "mode": np.arange(strengths.size)}
    return xr.DataArray(curve, coords, ("time", "mode"), name="progress")


def series(values: list | np.ndarray, **coords: np.ndarray) -> xr.DataArray:
    values = np.asarray(values)
    return xr.DataArray(values, {"time": np.arange(len(values)), **coords}, ("time",), name="loss")


def staged(values: list) -> xr.DataArray:
    flags = ("time", [0, 0, 1, 1], {"flag_values": [0, 1], "flag_meanings": "warm_up training"})
    return series(values).assign_coords(stage=flags)


# --- agree


def test_equal_arrays_agree():
    assert agree(logistic(), logistic()).outcome == HOLDS


def test_a_difference_is_measured_against_the_tolerance_and_placed():
    off = logistic().copy()
    off[7, 1] += 3e-6
    verdict = agree(off, logistic(), atol=1e-6)
    assert (verdict.outcome, verdict.where) == (FAILS, "time=0.8, mode=1")
    assert verdict.at == {"time": pytest.approx(0.8), "mode": 1.0}
    assert "3e-06" in verdict.measured
    assert "1e-06" in verdict.required


@pytest.mark.parametrize(
    "wrong", [lambda x: -x, lambda x: 2 * x, lambda x: x.isel(mode=[2, 1, 0]).drop_vars("mode")]
)
def test_a_wrong_sign_a_dropped_factor_and_swapped_modes_do_not_agree(wrong):
    assert agree(wrong(logistic()), logistic(), atol=1e-6, rtol=1e-3).outcome == FAILS


def test_relative_tolerance_is_of_the_second():
    assert agree(9.0, 10.0, rtol=0.1).outcome == HOLDS
    assert agree(10.0, 9.0, rtol=0.1).outcome == FAILS


@pytest.mark.parametrize("shift", [0.05, 100.0])
def test_arrays_at_other_times_are_not_compared(shift):
    verdict = agree(logistic(), logistic().assign_coords(time=TIMES + shift), atol=1e9)
    assert verdict.outcome == UNDECIDED
    assert "time do not coincide" in verdict.measured


def test_a_common_part_of_the_times_is_not_enough():
    assert agree(logistic(), logistic().isel(time=slice(10, None)), atol=1e9).outcome == UNDECIDED


def test_times_that_differ_by_rounding_are_the_same():
    assert agree(logistic(), logistic().assign_coords(time=TIMES * (1 + 1e-14))).outcome == HOLDS


def test_entries_are_matched_by_coordinates_not_by_position():
    assert (
        agree(logistic(), logistic().isel(mode=[2, 0, 1], time=slice(None, None, -1))).outcome
        == HOLDS
    )


def test_an_array_broadcasts_by_the_names_of_its_axes():
    flat = xr.ones_like(logistic())
    assert agree(flat, flat.isel(time=0, drop=True)).outcome == HOLDS


def test_plain_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="shape"):
        agree(logistic(), np.zeros(4))


# --- what is no evidence

CHECKS = {
    "agree": lambda x: agree(x, x),
    "within": lambda x: within(x, -1e9, 1e9),
    "at_most": lambda x: at_most(x, 1e9),
    "at_least": lambda x: at_least(x, -1e9),
    "positive": lambda x: positive(x),
    "increasing": lambda x: increasing(x),
    "constant": lambda x: constant(x, atol=1e9),
    "ordered": lambda x: ordered(x, x + 1),
    "scales_like": lambda x: scales_like(x, np.arange(1.0, x.size + 1), 1, 1e9),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize(
    ("values", "outcome"),
    [([1.0, 2, 3, 4, 5], HOLDS), ([], UNDECIDED), ([np.nan] * 5, UNDECIDED), ([1, 2, 3, 4, np.nan], UNDECIDED),
     ([np.nan, 2, 3, 4, 5], UNDECIDED), ([1, 2, 3, 4, np.inf], FAILS), ([1, 2, np.nan, 4, np.inf], FAILS)],
    ids=["numbers", "empty", "all NaN", "NaN at the end", "NaN at the start", "infinite", "infinite and NaN"],
)  # fmt: skip
def test_nan_or_nothing_is_no_success_and_infinity_fails(check, values, outcome):
    assert check(series(values)).outcome == outcome


def test_a_broken_entry_fails_whatever_is_unknown_beside_it():
    assert at_most([np.nan, 3.0], 2.0).outcome == FAILS
    assert agree([np.nan, 3.0], [1.0, 2.0]).outcome == FAILS
    assert within(3.0, np.nan, 2.0).outcome == FAILS


def test_unknown_entries_are_counted_and_placed():
    verdict = at_most(series([1.0, np.nan, np.nan]), 2.0)
    assert "2 of 3" in verdict.measured
    assert verdict.where == "time=1"


def test_an_infinite_bound_asks_nothing():
    assert at_most([1.0, 2.0], np.inf).outcome == UNDECIDED


def test_only_marked_entries_are_looked_at_and_they_keep_their_place():
    x = logistic().where(logistic() > 0.5)
    verdict = at_least(x, 0.9, "progress", where=x.time > 4)
    assert (verdict.outcome, verdict.where) == (FAILS, "time=4.1, mode=2")
    assert at_least(x, 0.5, where=x.time > 4).outcome == HOLDS
    assert at_least(x, 0.5, where=x.time > 99).outcome == UNDECIDED


# --- bounds and signs


def test_the_smallest_slack_to_a_moving_bound_is_reported():
    verdict = at_most(series([1.0, 2.0, 3.0]), series([2.0, 2.5, 9.0]), "norm")
    assert (verdict.outcome, verdict.where, verdict.value) == (HOLDS, "time=1", 2.0)
    assert "slack 0.5" in verdict.measured


def test_bounds_at_other_times_are_no_bounds():
    assert (
        at_most(series([1.0, 2.0]), series([2.0, 3.0]).assign_coords(time=[5, 6])).outcome
        == UNDECIDED
    )


@pytest.mark.parametrize(
    ("x", "outcome"), [(0.48, HOLDS), (0.52, HOLDS), (0.53, FAILS), (-0.5, FAILS), (1.0, FAILS)]
)
def test_within_takes_its_limits_in(x, outcome):
    assert within(x, 0.48, 0.52, "slope").outcome == outcome


@pytest.mark.parametrize(
    ("end", "outcome"), [(2.0, HOLDS), (2.0 + 1e-12, HOLDS), (2.1, UNDECIDED), (np.nan, UNDECIDED)]
)
def test_a_run_that_stops_early_decides_nothing(end, outcome):
    assert reached(series([5.0, 6.0, 7.0]).to_dataset(name="x"), end).outcome == outcome


def test_measured_and_required_are_sentences_with_numbers():
    verdict = within(0.123456, 0.2, 0.3, "slope")
    assert (verdict.measured, verdict.required) == ("slope = 0.1235", "0.2 to 0.3")


def test_zero_has_no_sign():
    assert positive([1.0, 0.0]).outcome == FAILS
    assert negative([-1.0, 0.0]).outcome == FAILS


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=9))
def test_a_flipped_sign_flips_the_verdict(values):
    x = np.array(values)
    assert (positive(x).outcome, negative(x).outcome) == (HOLDS, FAILS)
    assert (positive(-x).outcome, negative(-x).outcome) == (FAILS, HOLDS)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.floats(-1e6, 1e6))
def test_at_most_is_what_max_says(values, bound):
    assert (at_most(np.array(values), bound).outcome == HOLDS) == (max(values) <= bound)


# --- order


def test_stronger_modes_have_smaller_half_times():
    assert increasing(crossing(logistic(), 0.5), "half-times").outcome == HOLDS
    assert (
        increasing(crossing(logistic(strengths=STRENGTHS[::-1]), 0.5), "half-times").outcome
        == FAILS
    )


def test_a_mode_that_is_never_half_learnt_leaves_the_order_undecided():
    assert (
        increasing(crossing(logistic().isel(time=slice(25)), 0.5), "half-times").outcome
        == UNDECIDED
    )


def test_a_step_back_across_an_unknown_entry_is_seen():
    verdict = increasing(series([3.0, np.nan, 1.0]), "times")
    assert (verdict.outcome, verdict.value, verdict.where) == (FAILS, -2.0, "time=2")


def test_a_constant_is_increasing_only_in_the_weak_sense():
    assert increasing([1.0, 1.0, 2.0]).outcome == FAILS
    assert increasing([1.0, 1.0, 2.0], strictly=False).outcome == HOLDS
    assert decreasing([2.0, 1.0, 1.0], strictly=False).outcome == HOLDS


def test_increasing_means_with_the_coordinate_in_whatever_order_the_sweep_was_written():
    x = xr.DataArray([3.0, 2.0, 1.0], {"epsilon": [1e-2, 1e-3, 1e-4]}, ("epsilon",))
    assert increasing(x).outcome == HOLDS
    assert decreasing(x).outcome == FAILS


def test_one_entry_has_no_order():
    assert increasing([1.0]).outcome == UNDECIDED


def test_every_lane_must_rise_and_the_worst_is_named():
    x = xr.DataArray([[1.0, 2.0], [5.0, 4.0]], {"seed": [7, 8], "mode": [0, 1]}, ("seed", "mode"))
    verdict = increasing(x, "half-times", along="mode")
    assert (verdict.outcome, verdict.where) == (FAILS, "mode=1, seed=8")
    with pytest.raises(ValueError, match="along"):
        increasing(x)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=9))
def test_monotone_is_what_neighbours_say(values):
    x = np.array(values)
    assert (increasing(x).outcome == HOLDS) == bool(np.all(np.diff(x) > 0))
    assert (decreasing(x, strictly=False).outcome == HOLDS) == bool(np.all(np.diff(x) <= 0))


def test_white_noise_is_not_increasing():
    rng = np.random.default_rng(0)
    assert all(increasing(rng.normal(size=8)).outcome == FAILS for _ in range(100))


@pytest.mark.parametrize(
    ("times", "outcome"),
    [
        ((1, 2, 3), HOLDS),
        ((1, 3, 2), FAILS),
        ((1, 1, 2), FAILS),
        ((1, np.nan, 3), UNDECIDED),
        ((3, np.nan, 1), FAILS),
    ],
)
def test_phases_follow_each_other(times, outcome):
    assert ordered(*times, what="phases").outcome == outcome


def test_phases_follow_each_other_in_every_lane():
    t1, t2 = crossing(logistic(), 0.1), crossing(logistic(), 0.9)
    assert ordered(t1, t2).outcome == HOLDS
    verdict = ordered(t1, t2.where(t2.mode != 1, 0.0))
    assert (verdict.outcome, verdict.where) == (FAILS, "t=2, mode=1")


# --- exponents


def test_slope_of_a_sweep_is_the_coefficient_of_the_law():
    t = xr.concat([crossing(logistic(e), 0.5) for e in (1e-2, 1e-3, 1e-4, 1e-5)], "epsilon").sel(
        mode=0
    )
    t = t.assign_coords(epsilon=[1e-2, 1e-3, 1e-4, 1e-5])
    assert within(slope(np.log(1 / t.epsilon), 3 * t), 0.48, 0.52, "slope").outcome == HOLDS
    assert within(slope(np.log(1 / t.epsilon), 6 * t), 0.48, 0.52, "slope").outcome == FAILS


def test_a_slope_with_an_unknown_point_is_unknown():
    assert within(slope([1.0, 2.0, 3.0], [1.0, np.nan, 3.0]), 0, 2, "slope").outcome == UNDECIDED
    assert np.isnan(slope([1.0, 1.0], [1.0, 2.0]))


def test_the_interval_is_students():
    # y by hand: ln y = 2 ln x + (1, -1, -1, 1) / 10 at ln x = -3, -1, 1, 3; s^2 = 0.04 / 2, se = sqrt(0.02 / 20).
    s, misfit = np.array([-3.0, -1, 1, 3]), np.array([0.1, -0.1, -0.1, 0.1])
    fit = exponent(np.exp(s), np.exp(2 * s + misfit))
    assert fit.value == pytest.approx(2)
    assert fit.high - fit.value == pytest.approx(4.302653 * np.sqrt(0.001), rel=1e-6)
    assert (fit.points, fit.residual) == (4, pytest.approx(0.1))


def test_the_interval_covers_the_truth_in_95_of_100_cases():
    rng = np.random.default_rng(1)
    fits = [exponent(X, X**1.5 * np.exp(0.2 * rng.normal(size=X.size))) for _ in range(400)]
    assert np.mean([f.low <= 1.5 <= f.high for f in fits]) >= 0.93


@given(st.floats(-3, 3), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_an_exponent_does_not_depend_on_units(a, unit_x, unit_y):
    noise = np.exp(0.01 * np.sin(37.0 * np.arange(X.size)))
    one, other = exponent(X, noise * X**a), exponent(unit_x * X, unit_y * noise * X**a)
    assert (one.value, one.low, one.high) == pytest.approx(
        (other.value, other.low, other.high), abs=1e-8
    )
    assert scales_like(unit_y * noise * X**a, unit_x * X, a, 0.05).outcome == HOLDS


@pytest.mark.parametrize(
    ("y", "outcome"),
    [
        (X**2, HOLDS),
        (7 * X**2, HOLDS),
        (X**-2, FAILS),
        (X, FAILS),
        (-(X**2), FAILS),
        (np.ones(20), FAILS),
    ],
    ids=[
        "the law",
        "with a factor",
        "wrong sign of the exponent",
        "half of it",
        "wrong sign",
        "constant",
    ],
)
def test_a_power_law_is_told_from_others(y, outcome):
    assert scales_like(y, X, 2, 0.1, "norm").outcome == outcome


def test_white_noise_is_no_power_law():
    rng = np.random.default_rng(2)
    assert all(
        scales_like(np.exp(rng.normal(size=20)), X, 1, 0.1).outcome != HOLDS for _ in range(200)
    )


def test_an_interval_across_the_limit_is_undecided():
    noisy = X**2 * np.exp(0.5 * np.random.default_rng(3).normal(size=20))
    verdict = scales_like(noisy, X, 2, 0.1, "norm")
    assert verdict.outcome == UNDECIDED
    assert "95% interval" in verdict.measured


@pytest.mark.parametrize("value", [1.92, 2.08])
def test_a_middle_within_the_limits_is_not_enough(value):
    s, misfit = (
        np.array([-3.0, -1, 1, 3]),
        0.05 * np.array([1, -1, -1, 1]),
    )  # value ± 0.068, by hand
    assert scales_like(np.exp(value * s + misfit), np.exp(s), 2, 0.1).outcome == UNDECIDED


def test_three_points_or_a_narrow_range_are_no_fit():
    three = np.tile([1.0, 10.0, 100.0], 5)
    assert scales_like(three[:3] ** 2, three[:3], 2, 0.1).outcome == UNDECIDED
    assert scales_like(three**2, three, 2, 0.1).outcome == UNDECIDED
    near = np.linspace(1.0, 3.9, 20)
    assert scales_like(near**2, near, 2, 0.1).outcome == UNDECIDED
    assert scales_like(near**2, near, 2, 0.1, span=3).outcome == HOLDS


def test_a_thousand_records_of_a_bent_curve_prove_no_power_law():
    x = np.geomspace(0.1, 10.0, 1000)
    fit = exponent(x, x + x**2)
    assert scales_like(x + x**2, x, round(fit.value, 2), 0.1).outcome == UNDECIDED


def test_a_record_at_time_zero_has_no_place_on_log_axes():
    assert scales_like(np.r_[1.0, X], np.r_[0.0, X], 1, 0.1).outcome == UNDECIDED


def test_every_lane_has_its_own_exponent():
    y = xr.DataArray(
        X[:, None] ** np.array([2.0, 2.3]), {"time": X, "position": [2, 3]}, ("time", "position")
    )
    verdict = scales_like(y, y.time, 2, 0.05, along="time")
    assert (verdict.outcome, verdict.where) == (FAILS, "position=3")
    assert scales_like(y.isel(position=[0]), y.time, 2, 0.05, along="time").outcome == HOLDS


# --- conditions and conserved quantities


def test_throughout_names_the_first_false_record():
    verdict = throughout(series([1.0, 2.0, 0.0, 0.0]) > 0, what="a positive loss")
    assert (verdict.outcome, verdict.where) == (FAILS, "time=2")
    assert throughout(series([1.0, 2.0]) > 0).outcome == HOLDS
    assert throughout(series([]) > 0).outcome == UNDECIDED


def test_throughout_a_stage_looks_at_no_other():
    run = staged([-1.0, -1.0, 1.0, 1.0])
    assert throughout(run > 0, stage="training").outcome == HOLDS
    assert throughout(run > 0, stage="warm up").outcome == FAILS
    assert throughout(run > 0, stage=1).outcome == HOLDS
    with pytest.raises(ValueError, match="warm_up, training"):
        throughout(run > 0, stage="second")
    with pytest.raises(ValueError, match="no stages"):
        throughout(series([1.0]) > 0, stage="training")


def test_a_lost_run_does_not_pass_throughout():
    assert throughout(series([1.0, np.nan]) > 0).outcome == FAILS


def test_a_number_is_no_condition():
    with pytest.raises(TypeError, match="true or false"):
        throughout(series([0.3, 0.4]))


def test_eventually_says_from_when():
    verdict = eventually(series([0, 1, 0, 1, 1, 1, 1, 1]) > 0, "learnt")
    assert (verdict.outcome, verdict.where, verdict.value) == (HOLDS, "from time=3", 3.0)


def test_eventually_asks_every_lane():
    verdict = eventually(logistic() > 0.5)
    assert (verdict.outcome, verdict.where) == (HOLDS, "mode=2, from time=3.5")
    assert verdict.at == {"mode": 2.0, "time": pytest.approx(3.5)}
    assert eventually(logistic(1e-9) > 0.5).where == "mode=2, from time=10.4"
    assert eventually(logistic(1e-14) > 0.5).outcome == FAILS


def test_a_condition_that_ends_false_fails_and_a_short_end_is_undecided():
    assert eventually(series([1, 1, 1, 1, 1, 1, 0]) > 0).outcome == FAILS
    assert eventually(series([0, 0, 0, 0, 0, 0, 1]) > 0).outcome == UNDECIDED
    assert eventually(series([]) > 0).outcome == UNDECIDED


def test_white_noise_is_eventually_positive_in_5_of_100_cases_at_most():
    rng = np.random.default_rng(4)
    held = [eventually(series(rng.normal(size=50)) > 0).outcome == HOLDS for _ in range(300)]
    assert np.mean(held) <= 0.05


def test_a_conserved_quantity_stays_where_it_started():
    assert constant(series([2.0, 2.0 + 1e-12, 2.0]), atol=1e-10).outcome == HOLDS
    verdict = constant(series([2.0, 2.1, 2.0]), rtol=0.01, what="w_Q^2 - w_K^2")
    assert (verdict.outcome, verdict.where) == (FAILS, "time=1")
    assert constant(series([2.0])).outcome == UNDECIDED
    assert constant(logistic(), atol=1e-3).outcome == FAILS


def test_coordinates_in_words_stay_words_and_are_no_numbers_of_the_verdict():
    scores = xr.DataArray([1.0, -1.0], {"head": ["early", "late"]}, "head")
    verdict = positive(scores)
    assert (verdict.where, verdict.at) == ("head=late", {})


def test_an_axis_without_coordinates_is_named_by_position():
    assert positive(np.array([1.0, 2.0, -1.0])).at == {"index": 2.0}


def test_every_lane_of_a_power_law_is_named_by_its_own_coordinates():
    x = xr.DataArray(np.geomspace(1, 100, 8), {"n": np.arange(8)}, "n")
    powers = xr.DataArray([2.0, 3.0], {"mode": [5, 6]}, "mode")
    verdict = scales_like(x**powers, x, 2.0, 0.1, along="n")
    assert (verdict.outcome, verdict.where, verdict.at) == (FAILS, "mode=6", {"mode": 6.0})


def test_joined_verdicts_have_the_coordinates_of_the_one_that_decides():
    holds = Verdict(HOLDS, "", "", at={"time": 1.0})
    fails = Verdict(FAILS, "", "", at={"time": 2.0})
    assert (holds & fails).at == (fails & holds).at == {"time": 2.0}


def test_a_vacuous_part_makes_the_whole_vacuous():
    assert (Verdict(HOLDS, "", "", empty="vacuous") & Verdict(HOLDS, "", "")).vacuous


def test_a_verdict_can_be_kept_in_a_set():
    assert (
        len({Verdict(HOLDS, "", "", at={"time": 1.0}), Verdict(HOLDS, "", "", at={"time": 1.0})})
        == 1
    )
