"""A field is never called like an axis or a quantity of the dataset that it would have to share."""

import dataclasses

import pytest
import toys
from jaxtyping import Array, Float

import phasescope as ps
from phasescope.errors import PlanError, SpecError
from phasescope.verbs import execute as checkpoints


class Crowded(ps.Observables):
    noise: Float[Array, ""]


class Wide(ps.Observables):
    loss: Float[Array, "width"]


class Shapeless(ps.Observables):
    loss: float


def crowded(spec):
    """Its observable is called like a float field."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Crowded(w[0]))


def wide(spec):
    """Its axis is called like an integer field."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Wide(w))


def labelled(spec):
    """A coordinate is called like a float field."""
    return dataclasses.replace(toys.quadratic(spec), coords={"start": [1, 2]})


def inspected(spec):
    """What is seen at the end of a stage has an axis that is called like an integer field."""
    return dataclasses.replace(toys.quadratic(spec), inspect=lambda w: Wide(w))


def shapeless(spec):
    """An observable without a shape."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Shapeless(w[0]))


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    monkeypatch.setattr(checkpoints, "execute", lambda *_: pytest.fail("something was executed"))


@pytest.mark.parametrize(
    ("arm", "fields", "words"),
    [
        (wide, {"width": [2, 3]}, "toys.wide: the field width is also the name of an axis"),
        (
            inspected,
            {"width": [2, 3]},
            "toys.inspected: the field width is also the name of an axis",
        ),
        (
            crowded,
            {"noise": [0.1, 0.2]},
            "toys.crowded: the field noise is also the name of an observable",
        ),
        (
            labelled,
            {"start": [0.1, 0.2]},
            "toys.labelled: the field start is also the name of an axis",
        ),
    ],
)
def test_a_sweep_over_a_name_that_the_dataset_uses_is_refused_before_anything_runs(
    arm, fields, words
):
    with pytest.raises(SpecError, match=words):
        ps.sweep(toys.study, arm, store=False, **fields)


def test_a_run_whose_number_would_hide_an_observable_is_refused():
    with pytest.raises(SpecError, match="the field noise is also the name of an observable"):
        ps.run(toys.study, crowded, store=False)


@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_an_observable_without_a_shape_is_named_before_anything_runs(verb):
    fields = {"eta": [0.1, 0.2]} if verb == "sweep" else {}
    with pytest.raises(PlanError, match=r"Shapeless\.loss has no shape"):
        getattr(ps, verb)(toys.study, shapeless, store=False, **fields)
