"""Checks broadcast: what is found over the lanes of a sweep is what each lane gives alone."""

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.analysis.lanes import mark_swept

CODES = {"holds": 1, "undecided": 0, "fails": -1}
LANES = 12
TIME = np.arange(1.0, 9.0)


def table(seed=0):
    rng = np.random.default_rng(seed)
    rates = np.linspace(-1.0, 2.0, LANES)
    law = TIME[None] ** rates[:, None] * (1 + 0.02 * rng.standard_normal((LANES, TIME.size)))
    signed = rng.standard_normal((LANES, TIME.size)) + 1.5
    signed[2, 3] = np.nan
    data = {"law": (("rate", "time"), law), "signed": (("rate", "time"), signed)}
    return mark_swept(xr.Dataset(data, {"rate": rates, "time": TIME}), ["rate"])


CHECKS = {
    "agree": lambda ds: ps.agree(ds.signed, 1.5, atol=2.0),
    "constant": lambda ds: ps.constant(ds.law, rtol=0.5, along="time"),
    "within": lambda ds: ps.within(ds.signed, 0.0, 3.5),
    "at_most": lambda ds: ps.at_most(ds.signed, 2.5),
    "at_least": lambda ds: ps.at_least(ds.signed, 0.1),
    "positive": lambda ds: ps.positive(ds.signed),
    "negative": lambda ds: ps.negative(ds.signed - 4),
    "positive where asked": lambda ds: ps.positive(ds.signed, where=ds.time > 4),
    "increasing": lambda ds: ps.increasing(ds.law, along="time"),
    "decreasing": lambda ds: ps.decreasing(ds.law, along="time"),
    "ordered": lambda ds: ps.ordered(ds.law.isel(time=0), ds.law.isel(time=-1)),
    "scales_like": lambda ds: ps.scales_like(ds.law, ds.time, 1.0, 0.2, along="time"),
    "throughout": lambda ds: ps.throughout(ds.law > 0.5),
    "eventually": lambda ds: ps.eventually(ds.law > 1.2, enough=3),
    "joined": lambda ds: ps.positive(ds.signed) & ps.increasing(ds.law, along="time"),
    "guarded": lambda ds: ps.at_most(ds.law, 20.0) & ps.guard(ps.positive(ds.signed)),
    "guarded by what fails too": lambda ds: (
        ps.at_least(ds.signed, 0.1) & ps.guard(ps.positive(ds.signed))
    ),
    "guarded, and more": lambda ds: (
        ps.guard(ps.positive(ds.signed)) & ps.positive(ds.law) & ps.increasing(ds.law, along="time")
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_every_lane_is_decided_as_it_is_alone(name):
    ds = table()
    check = CHECKS[name]
    together = check(ds)
    assert together.lanes is not None
    assert together.lanes.outcome.dims == ("rate",)
    alone = [check(ds.isel(rate=i, drop=True)) for i in range(LANES)]
    assert together.lanes.outcome.values.tolist() == [CODES[v.outcome.value] for v in alone]
    margins = [np.nan if v.margin is None else v.margin for v in alone]
    if name != "ordered":  # of several lanes it is a fraction of the range, of one a logarithm
        np.testing.assert_allclose(together.lanes.margin.values, margins, rtol=1e-12)


@pytest.mark.parametrize("name", CHECKS)
def test_the_verdict_is_the_worst_of_its_lanes(name):
    found = CHECKS[name](table())
    assert found.lanes is not None
    assert CODES[found.outcome.value] == found.lanes.outcome.values.min()


def test_marks_survive_arithmetic_selection_and_phase_times():
    ds = table()
    half = ps.crossing(ds.law / ds.law.isel(time=0), 2.0)
    for array in (ds.law * 2 + ds.signed, np.log(ds.law), half):
        assert ps.positive(array).lanes is not None


def test_a_sweep_marks_its_axes_and_not_its_seeds(store):
    import linear_modes

    ds = ps.sweep(linear_modes.study, "logistic", epsilon=[1e-2, 1e-3], at=[0.5, 1.0])
    found = ps.positive(ds.progress)
    assert found.lanes is not None
    assert found.lanes.outcome.dims == ("epsilon",)


def test_a_hundred_thousand_cells_are_one_call():
    rates = np.linspace(-1.0, 2.0, 100_000)
    law = xr.DataArray(
        TIME[None] ** rates[:, None], {"rate": rates, "time": TIME}, ("rate", "time")
    )
    ds = mark_swept(xr.Dataset({"law": law}), ["rate"])
    found = ps.increasing(ds.law, along="time") & ps.scales_like(
        ds.law, ds.time, 1.0, 0.25, along="time"
    )
    assert found.lanes is not None
    assert found.lanes.outcome.size == 100_000
    inside = (rates >= 0.75) & (rates <= 1.25)
    assert np.array_equal(found.lanes.outcome.values == 1, inside)


def test_two_sweeps_over_other_values_have_no_common_lanes():
    ds = table()
    other = ds.assign_coords(rate=ds.rate + 1)
    other = mark_swept(other, ["rate"])
    assert (ps.positive(ds.law) & ps.positive(other.law)).lanes is None


@pytest.mark.parametrize(("flat", "outcome"), [(0, "fails"), (slice(None), "undecided")])
def test_of_an_axis_at_other_values_the_worst_counts(flat, outcome):
    """A fall from one rate to the next in both classes, one or both of which did not move at some rate."""
    moved = xr.DataArray(np.ones((2, 3)), {"class": [1, 2], "rate": [1.0, 2.0, 3.0]})
    falling = mark_swept((moved * [3.0, 2.0, 1.0]).to_dataset(name="x"), ["class", "rate"])
    moved[flat, 1] = 0.0
    marked = mark_swept(moved.to_dataset(name="moved"), ["class", "rate"])
    found = ps.increasing(falling.x, along="rate") & ps.guard(ps.positive(marked.moved))
    assert found.outcome.value == outcome
    assert found.lanes is not None
    assert found.lanes.outcome.dims == ("class",)
    assert found.lanes.outcome.values.tolist() == [0, -1 if flat == 0 else 0]


@pytest.mark.parametrize(
    ("values", "outcome", "margin"),
    [
        ([1.0, 1.0, np.inf, 1.0], "fails", -1000.0),
        ([1.0, np.nan, np.inf, 1.0], "undecided", None),
    ],
)
def test_a_bound_is_decided_once_for_the_row_and_for_its_lane(values, outcome, margin):
    sizes = [8.0, 16.0, 32.0, 64.0]
    ratio = xr.DataArray([values], {"eta": [0.1], "N": sizes}, ("eta", "N"))
    swept = mark_swept(ratio.to_dataset(name="ratio"), ["eta"]).ratio
    found = ps.big_o(swept, along="N")
    assert (found.outcome.value, found.margin) == (outcome, margin)
    assert found.lanes is not None
    assert int(found.lanes.outcome[0]) == CODES[outcome]
    assert np.array_equal(found.lanes.margin, [np.nan if margin is None else margin], True)
