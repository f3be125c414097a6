"""A verdict keeps what was compared: along one line through the worst case, and thin."""

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.analysis.trace import POINTS


def over_time(count=10_000, **more):
    t = np.arange(1.0, count + 1)
    return xr.DataArray(
        np.outer(1 / t, [1.0, 2.0]), {"time": t, "length": [3, 4], **more}, ("time", "length")
    )


def test_a_bound_is_kept_with_the_line_on_which_the_worst_case_lies():
    loss = over_time(50)
    trace = ps.at_most(loss, 0.7 - 0 * loss, "loss").trace
    assert (trace.name, trace.along, trace.where) == ("loss", "time", "length=4")
    assert trace.measured == pytest.approx(loss.sel(length=4).values)
    assert trace.upper == pytest.approx(np.full(50, 0.7))
    assert trace.lower is None
    assert trace.x[trace.worst] == 1.0


def test_agreement_keeps_both_sides_and_what_is_allowed():
    trace = ps.agree([1.0, 2.0], [1.0, 2.5], rtol=0.1, what="rate").trace
    assert trace.measured.tolist() == [1.0, 2.0]
    assert trace.reference.tolist() == [1.0, 2.5]
    assert trace.lower == pytest.approx([0.9, 2.25])
    assert trace.upper == pytest.approx([1.1, 2.75])
    assert trace.worst == 1


def test_one_number_is_kept_without_an_axis():
    trace = ps.within(0.4, 0.0, 1.0, "slope").trace
    assert (trace.along, trace.measured.tolist()) == ("", [0.4])
    assert (trace.lower.tolist(), trace.upper.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("count", [300, 10_000])
def test_a_long_line_is_thinned_and_keeps_its_ends_its_worst_point_and_its_peaks(count):
    t = np.arange(1.0, count + 1)
    values = np.where(t == 217, 9.0, np.where(t == 101, -9.0, 0.0))
    trace = ps.at_most(xr.DataArray(values, {"time": t}, ("time",)), 1.0).trace
    assert trace.x.size <= POINTS
    assert trace.points == count
    assert {1.0, 101.0, 217.0, float(count)} <= set(trace.x)
    assert (trace.x[trace.worst], trace.measured[trace.worst]) == (217.0, 9.0)
    assert (np.diff(trace.x) > 0).all()


def test_entries_that_the_statement_is_not_about_are_not_kept():
    loss = over_time(20).sel(length=4)
    trace = ps.at_most(loss, 0.1, where=loss.time > 15).trace
    assert trace.x.tolist() == [16.0, 17.0, 18.0, 19.0, 20.0]
    assert trace.worst == 0


def test_a_monotone_statement_keeps_the_peak_that_each_entry_must_pass():
    trace = ps.increasing([1.0, 3.0, 2.0]).trace
    assert trace.lower[1:].tolist() == [1.0, 3.0]
    assert trace.worst == 2


def test_coordinates_that_are_words_are_kept_as_words():
    x = xr.DataArray([1.0, 2.0], {"group": ["C6", "S5"]}, ("group",))
    assert ps.positive(x).trace.words == ("C6", "S5")


def test_a_power_law_keeps_the_fit_and_the_law_that_was_asked_for():
    x = np.geomspace(1.0, 100.0, 20)
    trace = ps.scales_like(3 * x**2, x, exponent=1.0, tol=0.05).trace
    assert trace.is_power_law
    assert trace.fitted == pytest.approx(3 * x**2)
    assert np.diff(np.log(trace.reference)) == pytest.approx(np.diff(np.log(x)))


def test_the_axis_of_a_power_law_is_named_only_where_the_name_is_right():
    x = xr.DataArray(np.geomspace(1.0, 100.0, 20), dims="sigma", name="sigma")
    x = x.assign_coords(sigma=x.values)
    assert ps.scales_like(x**2, x.sigma, exponent=2.0, tol=0.05).trace.along == "sigma"
    assert ps.scales_like(x**2, 1 / x.sigma, exponent=-2.0, tol=0.05).trace.along == "x"


def test_the_lane_that_decides_a_power_law_is_named():
    x = xr.DataArray(np.geomspace(1.0, 100.0, 20), dims="n")
    y = xr.concat([x**2, x**3], xr.DataArray([1, 2], dims="lam", name="lam"))
    trace = ps.scales_like(y, x, exponent=2.0, tol=0.05, along="n").trace
    assert trace.where == "lam=2"
    assert trace.fitted == pytest.approx(x.values**3)


def test_an_order_of_growth_keeps_the_ratio_at_each_size():
    trace = ps.big_o({8: [2.0, 1.0], 16: [2.1], 32: [2.0], 64: [2.05]}, what="T / N").trace
    assert (trace.name, trace.along) == ("sup of T / N", "N")
    assert trace.measured.tolist() == [2.0, 2.1, 2.0, 2.05]
    assert trace.x[trace.worst] == 16.0


def test_a_limit_keeps_the_distance_and_how_near_was_asked_for():
    found = ps.tends_to({m: 310 / m for m in (128, 256, 512, 4096)}, along="m", within=0.1)
    assert found.trace.measured == pytest.approx([310 / m for m in (128, 256, 512, 4096)])
    assert found.trace.upper.tolist() == [0.1] * 4


def test_a_scan_keeps_the_margin_at_every_value_also_when_it_is_joined():
    found = ps.scan("c", [1.0, 10.0, 100.0, 1000.0], lambda c: ps.at_least([c], 50.0))
    joined = found & ps.guard(ps.positive([1.0]))
    assert (joined.trace.name, joined.trace.along) == ("margin", "c")
    assert joined.trace.x.tolist() == [1.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize(
    "verdict",
    [
        ps.undecided("the phase never began"),
        ps.at_most([np.nan], 1.0),
        ps.positive([1.0]) & ps.positive([2.0]),
        ps.throughout(np.array([True, True])),
    ],
)
def test_where_nothing_was_compared_nothing_is_kept(verdict):
    assert verdict.trace is None


def test_a_guard_and_an_empty_statement_keep_what_they_rest_on():
    assert ps.guard(ps.positive([1.0], "movement")).trace.name == "movement"
    assert ps.trivial(ps.at_least([30.0], 4.2, "bound"), "weak").trace.name == "bound"


def test_what_is_kept_changes_neither_equality_nor_the_text_of_a_verdict():
    one = ps.at_most([0.1], 0.5)
    assert "trace" not in repr(one)
    assert one == ps.at_most([0.1], 0.5)
