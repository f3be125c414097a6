"""A Spec keeps numbers of the declared type and range, and survives text and JSON."""

from __future__ import annotations

import json
import math
import string

import jax
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import phasescope as ps
from phasescope.cli.arguments import parse, parse_value
from phasescope.errors import SpecError
from phasescope.spec import field_types, float_fields


class Numbers(ps.Spec):
    length: int = ps.field(8, at_least=2, doc="an even pair needs two letters")
    eta: float = ps.field(0.1, above=0, at_most=10)
    depth: int | None = None
    rate: float | None = 0.5
    end: float = ps.field(1.0, infinite=True)
    bias: bool = False
    task: str = ps.field("parity", choices=("parity", "even_pairs"))
    label: str = ""
    steps: int = ps.field(100, traced=True)


FIELDS = {"length", "eta", "depth", "rate", "end", "bias", "task", "label", "steps"}
LIGHT = settings(max_examples=50, deadline=None)
numbers = st.fixed_dictionaries(
    {
        "length": st.integers(2, 10**12),
        "eta": st.floats(0, 10, exclude_min=True),
        "depth": st.none() | st.integers(-(10**18), 10**18),
        "rate": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "end": st.floats(allow_nan=False),
        "bias": st.booleans(),
        "task": st.sampled_from(["parity", "even_pairs"]),
        "label": st.text(string.ascii_letters + string.digits + " =,:_-", max_size=12).map(
            str.strip
        ),
        "steps": st.integers(0, 10**9),
    }
)
names = st.text(string.ascii_lowercase + "_", min_size=1).filter(lambda name: name not in FIELDS)


@LIGHT
@given(numbers)
def test_a_spec_survives_json(values):
    spec = Numbers(**values)
    text = json.dumps(spec.to_json(), allow_nan=False)
    assert Numbers.from_json(json.loads(text)) == spec
    assert Numbers.of(xr.Dataset(attrs={"spec": text})) == spec


@LIGHT
@given(numbers)
def test_values_survive_being_written_as_words(values):
    assert parse(Numbers(), [f"{name}={value}" for name, value in values.items()]) == values


@LIGHT
@given(numbers)
def test_text_to_value_to_json_to_value_is_the_same_value(values):
    spec = Numbers().replace(
        **parse(Numbers(), [f"{name}={value}" for name, value in values.items()])
    )
    assert Numbers.from_json(json.loads(json.dumps(spec.to_json()))) == Numbers(**values)


@LIGHT
@given(names)
def test_an_unknown_field_is_refused_by_replace(name):
    with pytest.raises(SpecError, match="there is no field"):
        Numbers().replace(**{name: 1})


@LIGHT
@given(names, st.text(max_size=5))
def test_an_unknown_field_is_refused_by_parse(name, text):
    with pytest.raises(SpecError, match="there is no field"):
        parse(Numbers(), [f"{name}={text}"])


@LIGHT
@given(st.integers(max_value=1))
def test_an_integer_below_its_bound_is_refused(length):
    with pytest.raises(
        SpecError,
        match=r"length must be at least 2 \(an even pair needs two letters\), got length=",
    ):
        Numbers(length=length)


@LIGHT
@given(
    st.floats(max_value=0, allow_infinity=False)
    | st.floats(10, exclude_min=True, allow_infinity=False)
)
def test_a_float_outside_its_range_is_refused(eta):
    with pytest.raises(SpecError, match=r"eta must be (above 0|at most 10), got eta="):
        Numbers(eta=eta)


@LIGHT
@given(st.floats(0, 1e300, exclude_min=True))
def test_the_bounds_alone_decide_what_is_taken(eta):
    try:
        taken = Numbers(eta=eta).eta == eta
    except SpecError:
        taken = False
    assert taken is (eta <= 10)


@LIGHT
@given(st.text(max_size=8))
def test_any_text_is_a_value_or_a_spec_error(text):
    try:
        value = parse_value(Numbers(), "length", text)
    except SpecError:
        value = 0
    assert isinstance(value, int)


def test_the_error_for_an_unknown_field_suggests_the_nearest():
    with pytest.raises(SpecError, match='Did you mean "length"'):
        Numbers().replace(lenght=3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"length": 2.5}, "length must be an integer, got length=2.5"),
        ({"length": "8"}, "length must be an integer, got length='8'"),
        ({"length": True}, "length must be an integer, got length=True"),
        ({"eta": "0.1"}, "eta must be a number, got eta='0.1'"),
        ({"eta": None}, "eta must be a number, got eta=None"),
        ({"eta": [0.1]}, r"eta must be a number, got eta=\[0.1\]"),
        ({"bias": 1}, "bias must be true or false, got bias=1"),
        ({"depth": "none"}, "depth must be an integer or none, got depth='none'"),
        ({"task": 3}, "task must be a word, got task=3"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(changes, words):
    with pytest.raises(SpecError, match=words):
        Numbers(**changes)


@pytest.mark.parametrize("eta", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused(eta):
    with pytest.raises(SpecError, match="eta must be a finite number"):
        Numbers(eta=eta)


def test_infinity_is_a_number_where_the_field_says_so():
    assert Numbers(end=math.inf).to_json()["end"] == "inf"


def test_a_word_outside_its_choices_is_refused_with_the_nearest():
    with pytest.raises(
        SpecError, match=r'task="party" is not one of its values\. .*Did you mean "parity"'
    ):
        Numbers(task="party")


def test_an_int_becomes_the_float_that_a_field_declares():
    assert type(Numbers(eta=1).eta) is float


def test_a_whole_float_becomes_the_int_that_a_field_declares():
    assert type(Numbers(length=4.0).length) is int


@pytest.mark.parametrize("value", [np.int64(4), np.float32(4), np.float64(4)])
def test_numpy_numbers_become_plain_ones(value):
    assert type(Numbers(length=value).length) is int


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("length=1e4", 10_000),
        ("length=1234567890123456789", 1234567890123456789),
        ("eta=1e-3", 0.001),
        ("bias=yes", True),
        ("bias=0", False),
        ("depth=none", None),
        ("depth=7", 7),
        ("rate=auto", None),
        ("label=a=b", "a=b"),
        ("end=inf", math.inf),
    ],
)
def test_a_word_is_read_as_the_value_it_says(word, value):
    assert parse(Numbers(), [word]) == {word.partition("=")[0]: value}


@pytest.mark.parametrize("word", ["length=2.5", "length=many", "eta=", "bias=maybe", "depth=1.5"])
def test_a_word_of_the_wrong_type_is_refused(word):
    with pytest.raises(SpecError, match=f"{word.partition('=')[0]} must be"):
        parse(Numbers(), [word])


def test_a_word_without_an_equals_sign_is_refused():
    with pytest.raises(SpecError, match='"eta" is not of the form field=value'):
        parse(Numbers(), ["eta"])


def test_a_word_out_of_range_is_refused_where_it_is_read():
    with pytest.raises(SpecError, match="length must be at least 2"):
        parse(Numbers(), ["length=1"])


def test_a_spec_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        Numbers().eta = 1.0


def test_only_floats_may_be_swept_inside_a_program():
    assert float_fields(Numbers) == ["eta", "rate", "end"]


def test_a_field_of_any_other_type_is_refused():
    class Wrong(ps.Spec):
        sizes: tuple = ()

    with pytest.raises(SpecError, match=r"Wrong\.sizes: a field is a bool, int, float or str"):
        Wrong()


def test_floats_and_traced_integers_become_arrays_and_nothing_else_does():
    spec = Numbers().traced()
    arrays = {name for name in field_types(Numbers) if isinstance(getattr(spec, name), jax.Array)}
    assert arrays == {"eta", "rate", "end", "steps"}


def dataset_of(spec: ps.Spec, **coords) -> xr.Dataset:
    return xr.Dataset(coords=coords, attrs={"spec": json.dumps(spec.to_json())})


def test_a_number_that_was_not_swept_is_that_of_the_spec():
    ds = dataset_of(Numbers(eta=0.25))
    assert ps.number(ds, "eta") == 0.25


def test_a_number_that_was_swept_is_its_axis():
    ds = dataset_of(Numbers(eta=0.25), eta=[0.1, 0.2])
    assert ps.number(ds, "eta").values.tolist() == [0.1, 0.2]


def test_a_number_of_a_chosen_lane_is_that_of_the_lane():
    ds = dataset_of(Numbers(eta=0.25), eta=[0.1, 0.2]).sel(eta=0.2)
    assert float(ps.number(ds, "eta")) == 0.2


def test_an_infinite_number_comes_back_as_a_number():
    assert ps.number(dataset_of(Numbers(end=math.inf)), "end") == math.inf


def test_a_number_that_does_not_exist_is_an_error_that_suggests_the_nearest():
    with pytest.raises(SpecError, match=r'no field "etta".*"eta"'):
        ps.number(dataset_of(Numbers()), "etta")


def test_a_number_that_runs_do_not_share_is_an_error_that_says_so():
    with pytest.raises(SpecError, match='does not say what "eta" was'):
        ps.number(xr.Dataset(coords={"length": [3, 4]}), "eta")


class Bounded(ps.Spec):
    share: float = ps.field(0.5, above=0, below=1, doc="of the weights that move")


def test_below_leaves_the_bound_itself_out():
    assert Bounded(share=0.999).share == 0.999
    with pytest.raises(
        SpecError, match=r"share must be below 1 \(of the weights that move\), got share=1.0"
    ):
        Bounded(share=1)
