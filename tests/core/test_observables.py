"""The annotation of an observable is the schema of the dataset."""

import numpy as np
import pytest
from jaxtyping import Array, Float

import phasescope as ps
from phasescope.errors import PlanError
from phasescope.plan.observables import axes, stage_names, to_dataset


class Seen(ps.Observables):
    loss: Float[Array, ""] = ps.field(symbol="L", doc="population loss", unit="nat")
    attention: Float[Array, "query key"]
    margin: Float[Array, "sample"] | None = None


class Shapeless(ps.Observables):
    loss: float


def dataset(coords=(), stage=(0, 0, 1), **records):
    records = {"loss": np.arange(3.0), "attention": np.zeros((3, 2, 4))} | records
    return to_dataset(Seen, records, np.array([0.0, 1.0, 2.5]), np.array(stage), ["warm up", "rest"], dict(coords))


def test_axes_are_read_off_the_annotations():
    assert axes(Seen) == {"loss": (), "attention": ("query", "key"), "margin": ("sample",)}


def test_a_field_without_a_shape_is_named():
    with pytest.raises(PlanError, match=r"Shapeless\.loss has no shape"):
        axes(Shapeless)


def test_records_have_time_first_and_then_their_own_axes():
    assert dataset().attention.dims == ("time", "query", "key")


def test_every_dim_has_an_integer_coordinate():
    assert dataset().key.values.tolist() == [0, 1, 2, 3]


def test_given_coordinates_replace_the_integers():
    assert dataset({"query": [5, 7]}).coords["query"].values.tolist() == [5, 7]


def test_a_coordinate_of_an_absent_dim_is_ignored():
    assert "sample" not in dataset({"sample": [1, 2, 3]}).coords


def test_symbol_meaning_and_unit_are_attributes_that_xarray_knows():
    assert dataset().loss.attrs == {"symbol": "L", "long_name": "population loss", "units": "nat"}


def test_lanes_come_before_time():
    ds = to_dataset(Seen, {"loss": np.zeros((5, 3))}, np.arange(3.0), np.zeros(3), ["only"], {}, ("lane",))
    assert ds.loss.dims == ("lane", "time")


def test_records_that_do_not_fit_the_annotation_are_named():
    with pytest.raises(PlanError, match=r'observable "attention" is declared with axes .*query.*key.* with 1'):
        dataset(attention=np.zeros((3, 2)))


def test_stages_are_integers_with_cf_flags():
    flags = dataset().stage.attrs
    assert (flags["flag_values"], flags["flag_meanings"]) == ([0, 1], "warm_up rest")


def test_stage_names_are_read_back():
    assert stage_names(dataset()) == ["warm_up", "rest"]


def test_the_records_of_one_stage_are_found_by_its_own_name():
    assert ps.in_stage(dataset(), "warm up").time.values.tolist() == [0.0, 1.0]


def test_where_runs_change_stage_at_different_times_each_keeps_its_own_records():
    sweep = dataset().expand_dims(eta=[0.1, 0.2])
    stage = sweep.stage.copy().expand_dims(eta=sweep.eta).copy(data=[[0, 0, 1], [0, 1, 1]])
    kept = ps.in_stage(sweep.assign_coords(stage=stage), "rest").loss
    assert kept.notnull().values.tolist() == [[False, True], [True, True]]
