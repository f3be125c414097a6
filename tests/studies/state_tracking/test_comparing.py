"""The words of the decoder's claims, on made-up numbers."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import phasescope as ps
from phasescope.studies.state_tracking.claims.comparing import (
    ahead,
    concentration,
    ends_of_stages,
    is_a_band,
    moves_right,
    own_answer,
    reach,
    relative_fall,
)

HOLDS = ps.Outcome.HOLDS
FAILS = ps.Outcome.FAILS
UNDECIDED = ps.Outcome.UNDECIDED


def seeds(*values):
    return xr.DataArray(list(values), {"seed": range(len(values))}, ("seed",))


def banded(along):
    """A run whose attention on the predicate is `along(place)`, with as much on the answer."""
    place = np.arange(20) / 19
    band = np.broadcast_to(along(place), (2, 1, 1, 20))
    names = ("attention_predicate", "attention_answer")
    dims = ("seed", "time", "test_length", "step")
    return xr.Dataset(
        dict.fromkeys(names, (dims, band)), {"test_length": [20], "step": np.arange(20)}
    )


@pytest.mark.parametrize(
    ("accuracy", "area"), [([1, 1, 1], 1.0), ([1, 0, 0], 0.25), ([1, 1, 0], 0.75)]
)
def test_reach_is_the_share_of_octaves_that_are_solved(accuracy, area):
    curve = xr.DataArray(np.array(accuracy, float), {"test_length": [5, 10, 20]}, ("test_length",))
    assert float(reach(curve)) == pytest.approx(area)


def test_the_95_percent_interval_of_a_difference_decides():
    a = seeds(0.8, 0.9, 0.7, 0.8)
    b = seeds(0.5, 0.6, 0.4, 0.5)
    assert ahead(a, b, "gap").outcome is HOLDS
    assert ahead(b, a, "gap").outcome is FAILS
    assert ahead(a, b, "gap", by=0.25).outcome is UNDECIDED
    assert ahead(a, b, "gap", by=0.6).outcome is FAILS


def test_the_interval_is_that_of_welch():
    a = np.array([27.5, 21.0, 19.0, 23.6, 17.0, 17.9])
    b = np.array([27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8])
    low, high = scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    words = ahead(seeds(*a), seeds(*b), "gap").measured
    found = [float(x) for x in words[words.index("[") + 1 : words.index("]")].split(",")]
    np.testing.assert_allclose(found, [low, high], atol=6e-4)


@pytest.mark.parametrize("bad", [seeds(0.9), seeds(0.9, np.nan, 0.8)])
def test_a_lost_seed_settles_nothing(bad):
    assert ahead(bad, seeds(0.1, 0.1, 0.2), "gap").outcome is UNDECIDED


def test_equal_constants_are_not_ahead_of_each_other():
    assert ahead(seeds(0.7, 0.7), seeds(0.7, 0.7), "gap").outcome is UNDECIDED


def test_the_fall_along_a_chain_is_relative_to_its_start():
    run = banded(lambda place: 0.5 * (1 - 0.3 * place))
    assert float(relative_fall(run, "predicate")) == pytest.approx(0.3)


def test_a_band_of_hardly_any_attention_is_no_band():
    assert is_a_band(banded(lambda place: 0.01 + 0 * place), "answer").outcome is UNDECIDED
    assert is_a_band(banded(lambda place: 0.4 + 0 * place), "answer").outcome is HOLDS


def test_concentration_adds_both_clauses():
    np.testing.assert_allclose(concentration(banded(lambda place: 0.4 + 0 * place), 20), 0.8)


def staged(*curves):
    """A run of two seeds whose stages, of two records each, end with these accuracies at lengths 5, 10, 20 and 40."""
    rows = np.repeat(np.array(curves, float), 2, axis=0)
    rows[::2] = 0.5
    names = " ".join(f"stage_{k}" for k in range(len(curves)))
    stage = ("time", np.repeat(np.arange(len(curves)), 2), {"flag_meanings": names})
    accuracy = (("seed", "time", "test_length"), np.stack([rows, rows]))
    return xr.Dataset(
        {"accuracy": accuracy},
        {"time": np.arange(len(rows)), "stage": stage, "test_length": [5, 10, 20, 40]},
    )


def test_a_stage_ends_with_its_last_record():
    run = staged([1, 0.8, 0.2, 0], [1, 0.9, 0.6, 0.1])
    np.testing.assert_allclose(
        [end.accuracy.isel(seed=0, test_length=2) for end in ends_of_stages(run)], [0.2, 0.6]
    )


def test_only_twice_the_length_of_a_stage_and_beyond_must_not_fall():
    assert moves_right(staged([1, 0.8, 0.2, 0], [0.7, 0.5, 0.2, 0.1])).outcome is HOLDS
    assert moves_right(staged([1, 0.8, 0.2, 0.1], [1, 0.9, 0.6, 0.07])).outcome is FAILS
    assert (
        moves_right(staged([1, 0.8, 0.2, 0], [1, 1, 0.6, 0.3], [1, 1, 0.3, 0.3])).outcome is HOLDS
    )


def test_the_own_answer_is_looked_at_over_the_steps_of_the_training_length():
    np.testing.assert_allclose(own_answer(banded(lambda place: 0.5 * (1 - place))), 0.25)
