"""Coordinates and times say what they are, so that plots need no words of their own; no number depends on it."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import toys
import xarray as xr

import phasescope as ps
from phasescope.store import Store
from phasescope.verbs.labels import label, time_label

STEP_SIZE = r"\eta"


@pytest.fixture
def plotted():
    yield
    plt.close("all")


def test_a_swept_field_has_its_symbol_and_meaning(store):
    sw = ps.sweep(toys.study, "quadratic", start=[1.0, 2.0], eta=[0.1, 0.2])
    assert sw.eta.attrs["symbol"] == STEP_SIZE
    assert sw.start.attrs["long_name"] == "every coordinate at the start"
    assert sw.time.attrs["long_name"] == "time"


def test_an_axis_of_observables_says_what_the_study_says_it_counts():
    study = ps.Study(
        "short", toys.study.spec, (toys.quadratic,), axes={"mode": "mode, by its size"}
    )
    ds = label(xr.Dataset(coords={"mode": [0, 1], "other": [0, 1]}), study)
    assert ds["mode"].attrs == {"long_name": "mode, by its size"}
    assert ds.other.attrs == {}


def test_the_time_of_steps_is_counted_in_steps_and_other_time_says_what_a_step_is():
    run = xr.Dataset(coords={"time": [0.0]})
    assert time_label(run)["long_name"] == "time"
    assert time_label(run.assign_attrs(time_per_step=1.0))["units"] == "steps"
    assert time_label(run.assign_attrs(time_per_step=0.1))["long_name"] == "time, 0.1 a step"


def test_a_step_that_may_differ_from_lane_to_lane_is_not_named():
    sw = xr.Dataset(coords={"time": [0.0], "eta": [1.0, 0.5]}, attrs={"time_per_step": 1.0})
    assert "units" not in time_label(sw)


def test_a_long_explanation_is_cut_in_the_label_and_kept_beside_it():
    class Spec(ps.Spec):
        length: int = ps.field(6, doc="longest string; by default 6")

    study = ps.Study("short", Spec(), (toys.quadratic,))
    ds = label(xr.Dataset(coords={"length": [1, 2]}), study)
    assert ds.length.attrs == {
        "long_name": "longest string",
        "comment": "longest string; by default 6",
    }


def test_a_plot_of_a_run_has_no_title_and_a_label_for_its_time(store, plotted):
    ps.run(toys.study, "quadratic").loss.plot()
    assert plt.gca().get_title() == ""
    assert plt.gca().get_xlabel() == "time [steps]"


def test_labels_change_neither_the_identity_nor_the_content_of_a_run(store, monkeypatch):
    monkeypatch.setattr("phasescope.verbs.run.labelled", lambda ds, study: ds)
    bare = ps.run(toys.study, "quadratic")
    [before] = Store(store).entries()
    monkeypatch.undo()
    monkeypatch.setenv("PHASESCOPE_STORE", str(store.parent / "labelled"))
    ps.run(toys.study, "quadratic")
    [after] = Store(store.parent / "labelled").entries()
    assert (after.id, after.content) == (before.id, before.content)
    assert "long_name" not in bare.time.attrs


def test_a_run_that_was_stored_without_labels_is_found_and_labelled(store, monkeypatch):
    monkeypatch.setattr("phasescope.verbs.run.labelled", lambda ds, study: ds)
    ps.run(toys.study, "quadratic")
    monkeypatch.undo()
    monkeypatch.setenv("PHASESCOPE_STORE", str(store))
    found = ps.run(toys.study, "quadratic")
    assert len(Store(store).entries()) == 1
    assert found.time.attrs["units"] == "steps"


# --- times of phases ------------------------------------------------------------------------------------------------


def curve(values, **attrs):
    times = np.arange(len(values), dtype=float)
    return xr.DataArray(np.array(values), {"time": ("time", times, attrs)}, "time", name="loss")


def test_a_crossing_says_what_crosses_in_which_unit_and_between_which_records():
    found = ps.crossing(curve([1.0, 0.6, 0.2], units="steps"), 0.5, "down")
    assert found.attrs == {
        "long_name": "time at which loss goes down through 0.5",
        "units": "steps",
        "resolution": "interpolated, between the records at 1 and 2",
    }


def test_a_condition_is_known_to_the_record():
    found = ps.sustained(curve([0.4, 0.6, 0.2, 0.1]) < 0.5)
    assert found.attrs["long_name"] == "time from which the condition on loss holds to the end"
    assert found.attrs["resolution"] == "to the record, between the records at 1 and 2"


def test_of_many_lanes_the_widest_gap_between_records_is_said():
    lanes = xr.DataArray(
        [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]], {"time": [0.0, 1.0, 10.0]}, ("lane", "time")
    )
    found = ps.crossing(lanes, 0.5)
    assert found.attrs["resolution"] == "interpolated, between records at most 9 apart (1 and 10)"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (ps.knee(curve([4.0, 3.0, 2.0, 1.0])), "of what falls, take ps.knee(-x)"),
        (ps.knee(curve([1.0, 1.0, 1.0, 1.0])), "steepest at an end of the records, or nowhere"),
        (ps.escape(curve([1.0, 1.1, 1.2])), "stays within a factor 2 of its start"),
        (ps.crossing(curve([1.0, 0.9]), 0.5, "down"), "never goes down through 0.5"),
        (ps.sustained(curve([1.0, 0.9]) < 0.5), "not true at the last record"),
    ],
)
def test_what_finds_nothing_says_why(found, why):
    assert np.isnan(found)
    assert why in found.attrs["not_found"]


def test_how_many_lanes_never_came_is_said():
    lanes = xr.DataArray([[0.0, 1.0], [0.0, 0.1]], {"time": [0.0, 1.0]}, ("lane", "time"))
    assert ps.crossing(lanes, 0.5).attrs["not_found"].endswith("(1 of 2 lanes)")
