"""O, Omega, Theta, limits, probability, free constants: judged by their trend over sizes."""

import numpy as np
import pytest
import xarray as xr

import phasescope as ps

SIZES = (8, 16, 32, 64, 128, 256)


def word(verdict):
    return verdict.outcome.value, verdict.trend


def over_sizes(law):
    return {N: [law(N)] for N in SIZES}


# --- O, Omega, Theta --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (lambda N: 3.0, ("holds", "")),
        (lambda N: 3.0 - 1.0 / N, ("holds", "")),
        (lambda N: 5.0 / N, ("holds", "")),  # falling faster is no failure
        (lambda N: N**0.5, ("fails", "away")),
        (lambda N: -(N**0.5), ("fails", "away")),  # the size counts, not the sign
        (lambda N: np.log(N), ("fails", "towards")),  # a logarithm flattens
    ],
)
def test_an_upper_bound_is_a_ratio_that_does_not_grow(law, expected):
    assert word(ps.big_o(over_sizes(law))) == expected


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (lambda N: 3.0, ("holds", "")),
        (lambda N: float(N), ("holds", "")),
        (lambda N: 5.0 / N, ("fails", "away")),
        (lambda N: -3.0, ("fails", "away")),
        (lambda N: 1.0 - 20.0 / N, ("fails", "towards")),
    ],
)
def test_a_lower_bound_is_a_positive_ratio_that_does_not_fall(law, expected):
    assert word(ps.big_omega(over_sizes(law))) == expected


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (lambda N: 0.25, "holds"),
        (lambda N: 0.25 * (1 - 0.3 / N), "holds"),
        (lambda N: 0.25 / N, "fails"),
        (lambda N: 0.25 * N, "fails"),
    ],
)
def test_theta_is_both(law, expected):
    assert ps.big_theta(over_sizes(law)).outcome.value == expected


def test_the_constant_is_the_largest_ratio():
    assert ps.big_o({8: [1.0, 2.0], 16: [1.5], 32: [2.5], 64: [2.5]}).value == 2.5


def test_one_size_is_undecided_and_prints_the_band():
    found = ps.big_theta({64: [0.2, 0.25]})
    assert found.outcome.value == "undecided"
    assert "0.25" in found.measured
    assert "0.2" in found.measured


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((8, 16, 32), "undecided"), ((8, 16, 32, 64), "holds"), ((1, 10, 100), "holds")],
)
def test_a_trend_needs_four_sizes_or_two_decades(sizes, expected):
    assert ps.big_o({N: [2.0] for N in sizes}).outcome.value == expected


def test_a_ratio_of_arrays_is_taken_entry_by_entry():
    N = xr.DataArray([8.0, 16.0, 32.0, 64.0], dims="N")
    a = xr.DataArray(np.outer(N, [1.0, 2.0]), {"N": N.values}, ("N", "l"))
    assert ps.big_theta(a, N.assign_coords(N=N.values), along="N").outcome.value == "holds"


def test_nothing_is_bounded_by_lost_numbers_or_zeros():
    assert ps.big_o({N: [np.nan] for N in SIZES}).outcome.value == "undecided"
    assert ps.big_o({N: [0.0] for N in SIZES}).outcome.value == "undecided"
    assert ps.big_omega({N: [0.0] for N in SIZES}).outcome.value == "fails"


def test_lanes_of_a_sweep_are_decided_one_by_one_and_all_at_once():
    from phasescope.analysis.lanes import mark_swept

    N = np.array([8.0, 16.0, 32.0, 64.0])
    power = np.array([-1.0, 0.0, 0.5])
    values = xr.DataArray(N[None] ** power[:, None], {"p": power, "N": N}, ("p", "N"))
    ds = mark_swept(xr.Dataset({"a": values}), ["p"])
    found = ps.big_o(ds.a, along="N")
    alone = [ps.big_o(values.isel(p=i), along="N").outcome.value for i in range(3)]
    assert alone == ["holds", "holds", "fails"]
    assert found.lanes is not None
    assert found.lanes.outcome.values.tolist() == [1, 1, -1]
    assert found.outcome.value == "fails"


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_limit_is_approached_with_a_power():
    found = ps.tends_to({m: [1 + 310 / m] for m in (128, 512, 2048, 8192)}, 1.0, along="m")
    assert found.outcome.value == "holds"
    assert found.value == pytest.approx(-1.0)


def test_a_limit_says_from_which_size_it_is_kept():
    sizes = (128, 1024, 4096, 8192)
    found = ps.tends_to({m: [310 / m] for m in sizes}, along="m", within=0.1)
    assert found.reach == "from m = 4096"


@pytest.mark.parametrize("law", [lambda m: 0.3, lambda m: 0.01 * m])
def test_what_stays_away_from_its_limit_fails(law):
    assert word(ps.tends_to({m: [law(m)] for m in SIZES})) == ("fails", "away")


# --- probability ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hits", "seeds", "expected"),
    [(200, 200, "holds"), (12, 12, "undecided"), (150, 200, "fails"), (0, 50, "fails")],
)
def test_high_probability_is_a_share_of_seeds_with_its_interval(hits, seeds, expected):
    assert ps.share(np.arange(seeds) < hits, 0.05).outcome.value == expected


def test_the_interval_of_a_share_is_clopper_and_pearsons():
    # 95% interval of 11 of 12, from tables of the binomial distribution: 0.615 to 0.998.
    assert "0.615 to 0.998" in ps.share(np.arange(12) < 11, 0.05).measured


def test_a_seed_that_is_not_known_is_undecided():
    assert ps.share([1.0, np.nan, 1.0], 0.5).outcome.value == "undecided"


# --- free constants ---------------------------------------------------------------------------------------------------


def above(threshold):
    return lambda c: ps.at_least([c], threshold, "c")


def test_a_scan_says_from_which_constant_a_statement_holds():
    found = ps.scan("C", [1, 10, 100, 1000], above(50.0))
    assert (found.outcome.value, found.reach) == ("holds", "from C = 100")
    assert found.sizes["C"] == (1.0, 10.0, 100.0, 1000.0)


def test_a_scan_towards_small_constants_says_up_to_which():
    found = ps.scan("c", [0.01, 0.1, 1, 10], lambda c: ps.at_most([c], 0.5), settles="small")
    assert (found.outcome.value, found.reach) == ("holds", "up to c = 0.1")


def test_a_scan_that_still_changes_at_its_end_is_not_settled():
    assert word(ps.scan("C", [1, 10, 100], above(50.0))) == ("fails", "towards")
    assert word(ps.scan("C", [1, 10, 100], above(1e9))) == ("fails", "towards")


def test_a_scan_that_gets_worse_goes_away():
    found = ps.scan("C", [1, 10, 100], lambda c: ps.at_most([c], 0.5))
    assert word(found) == ("fails", "away")


def test_a_scan_that_holds_at_its_end_only_and_is_open_before_it_is_open():
    def judge(c):
        return ps.positive([c]) if c > 50 else ps.undecided("nothing to see", "something")

    found = ps.scan("c", [1.0, 10.0, 100.0], judge)
    assert found.outcome.value == "undecided"


def test_two_values_are_no_scan():
    assert ps.scan("C", [1, 10], above(0.5)).outcome.value == "undecided"
