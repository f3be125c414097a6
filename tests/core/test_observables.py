"""The annotation of an observable is the schema of the dataset."""

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
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


class Loss(ps.Observables):
    loss: Float[Array, ""] = ps.field(symbol="L")


class Reordered(Loss):
    norm: Float[Array, ""] = ps.field(0.5)
    attention: Float[Array, "query key"]
    kind: ClassVar[str] = "toy"
    margin: "Float[Array, 'sample']" = ps.field()


class Shapeless(ps.Observables):
    loss: float


def dataset(coords=(), stage=(0, 0, 1), **records):
    records = {"loss": np.arange(3.0), "attention": np.zeros((3, 2, 4))} | records
    return to_dataset(
        Seen, records, np.array([0.0, 1.0, 2.5]), np.array(stage), ["warm up", "rest"], dict(coords)
    )


def test_axes_are_read_off_the_annotations():
    assert axes(Seen) == {"loss": (), "attention": ("query", "key"), "margin": ("sample",)}


def test_what_an_arm_does_not_know_is_left_out_of_the_call():
    seen = Reordered(attention=jnp.ones((2, 3)))
    assert (seen.loss, seen.norm, seen.margin) == (None, 0.5, None)


def test_fields_without_a_default_may_follow_those_that_have_one():
    assert [f.name for f in dataclasses.fields(Reordered)] == [
        "loss",
        "norm",
        "attention",
        "margin",
    ]


def test_a_default_of_none_hides_no_axes():
    assert axes(Reordered) == {
        "loss": (),
        "norm": (),
        "attention": ("query", "key"),
        "margin": ("sample",),
    }


def test_a_class_variable_of_observables_is_no_observable():
    assert Reordered.kind == "toy"


def test_a_field_of_a_spec_without_a_default_must_be_given():
    class Needy(ps.Spec):
        length: int = ps.field(at_least=1)

    with pytest.raises(TypeError, match="length"):
        Needy()


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
    ds = to_dataset(
        Seen, {"loss": np.zeros((5, 3))}, np.arange(3.0), np.zeros(3), ["only"], {}, ("lane",)
    )
    assert ds.loss.dims == ("lane", "time")


def test_records_that_do_not_fit_the_annotation_are_named():
    with pytest.raises(
        PlanError, match=r'observable "attention" is declared with axes .*query.*key.* with 1'
    ):
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
