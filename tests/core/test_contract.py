"""check_study finds what a study breaks, and says it in one sentence."""

import dataclasses
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import toys
import xarray as xr
from jaxtyping import Array, Float

import phasescope as ps
from phasescope import testing
from phasescope.testing import check_study, constant_like, noise_like
from phasescope.testing.structureless import structureless

quick = ps.runs(toys.quadratic, preset="tiny")


@ps.claim("Lemma 1", quick)
def falls(run):
    """The loss falls."""
    return ps.decreasing(run.loss)


@ps.figure("Figure 1", quick)
def curve(run, axes):
    """The loss."""
    axes.plot(run.time, run.loss)


good = ps.Study(
    "good", toys.Spec(), (toys.quadratic,), (falls,), (curve,), presets={"tiny": toys.Spec(steps=6)}
)


def breach(evidence=True, **changes) -> str:
    """What check_study says of the good study with changes."""
    with pytest.raises(AssertionError) as caught:
        check_study(dataclasses.replace(good, **changes), evidence=evidence)
    return str(caught.value)


def test_a_good_study_passes():
    check_study(good)


def test_the_example_of_a_stranger_passes():
    from linear_modes import study

    check_study(study)


# --- the record -----------------------------------------------------------------------------------------------------


def test_its_name_is_a_python_name():
    assert '"my study" is not a Python name' in breach(name="my study")


def test_it_has_an_arm():
    assert "it has no arm" in breach(arms=(), claims=(), figures=())


def test_arms_have_different_names():
    assert 'two arms are called "quadratic"' in breach(arms=(toys.quadratic, toys.quadratic))


def test_claims_have_different_ids():
    assert 'two claims are called "falls"' in breach(claims=(falls, falls))


def test_all_breaches_are_named_at_once():
    said = breach(claims=(falls, falls, claimed(undocumented)), arms=(toys.quadratic, silent))
    assert said.count("\n  - ") == 3


# --- arms -----------------------------------------------------------------------------------------------------------


def branching(spec):
    """Goes another way when eta is large."""
    return toys.quadratic(spec) if spec.eta < 0.5 else toys.sparse(spec)


def concrete(spec):
    """Wants eta as a number of numpy."""
    return toys.plan(
        spec, ps.iterate(lambda w, t, key: w * np.sqrt(np.asarray(spec.eta))), ps.linear_times(3)
    )


def counted(spec):
    """Wants a traced integer as a shape."""
    return ps.Plan(lambda key: jnp.zeros(spec.steps), toys.quadratic(spec).stages, toys.measure)


def stumbling(spec):
    """Has a mistake in it."""
    return {}["gone"]


def silent(spec):
    return toys.quadratic(spec)


silent.__doc__ = None


class Shapeless(ps.Observables):
    loss: float


def undeclared(spec):
    """Its observable has no declared axes."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Shapeless(w[0]))


def flattened(spec):
    """Measures a number where an axis is declared."""
    return dataclasses.replace(
        toys.quadratic(spec), measure=lambda w: toys.Seen(toys.loss(w, None), w[0])
    )


def gossiping(spec):
    """Its lanes know of each other."""
    step = lambda w, t, key: w - spec.eta * w.mean(axis=-1, keepdims=w.ndim > 1)
    return toys.plan(spec, ps.iterate(step, lanes_last=True), ps.linear_times(3))


def exploding(spec):
    """Leaves the finite numbers."""
    return toys.plan(spec, ps.iterate(lambda w, t, key: w / 0.0), ps.linear_times(3))


class Crowded(ps.Observables):
    noise: Float[Array, ""]


def crowded(spec):
    """Its observable is called like a field."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Crowded(w[0]))


class Wide(ps.Observables):
    loss: Float[Array, "width"]


def axis_called_width(spec):
    """Its axis is called like a field."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Wide(w))


def forgetful(spec):
    """Derives from single runs only."""
    return dataclasses.replace(
        toys.quadratic(spec), derive=lambda ds: ds.assign(first=float(ds.loss[0]))
    )


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        (crowded, "arm crowded: noise names a field and also an axis or an observable"),
        (
            axis_called_width,
            "arm axis_called_width: width names a field and also an axis or an observable",
        ),
        (forgetful, "arm forgetful: its derive fails for a block of lanes: TypeError"),
        (branching, 'branching: the field "eta" decides a branch at '),
        (concrete, 'concrete: the field "eta" is used as a plain number at '),
        (counted, 'counted: the field "steps" is used as a plain number at '),
        (stumbling, "stumbling: its plan cannot be made: KeyError: 'gone' at "),
        (silent, "arm silent has no docstring"),
        (undeclared, "arm undeclared does not run at the tiny spec: Shapeless.loss has no shape"),
        (
            flattened,
            'arm flattened does not run at the tiny spec: observable "weight" is declared with axes',
        ),
        (gossiping, "arm gossiping: a lane of a sweep differs from the single run in"),
        (
            exploding,
            "arm exploding does not run at the tiny spec: good.exploding: the run left the finite numbers",
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_an_arm_that_breaks_the_contract_is_named(arm, sentence):
    assert sentence in breach(arms=(arm,), evidence=False)


class Otherwise(ps.Observables):
    loss: Float[Array, "sample"]


def other_axes(spec):
    """Reports the loss sample by sample."""
    return dataclasses.replace(toys.quadratic(spec), measure=lambda w: Otherwise(w**2))


class OfAnotherTask(ps.Observables):
    loss: Float[Array, ""] = ps.field(symbol="L", doc="loss of another task", unit="nat")


def another_task(spec):
    """Reports a loss that is another quantity."""
    return dataclasses.replace(
        toys.quadratic(spec), measure=lambda w: OfAnotherTask(loss=jnp.sum(w**4))
    )


def relabelled(ds):
    return ds.assign(weight=ds.weight.assign_attrs(long_name="something else"))


def another_derived(spec):
    """Derives under the name of an observable what is another quantity."""
    return dataclasses.replace(toys.quadratic(spec), derive=relabelled)


def test_arms_agree_on_what_an_observable_is():
    said = breach(arms=(toys.quadratic, another_task), evidence=False)
    assert 'arms quadratic and another_task describe "loss" differently' in said
    assert "half the squared length" in said and "loss of another task" in said


def test_arms_agree_on_what_a_derived_quantity_is():
    said = breach(arms=(toys.quadratic, another_derived), evidence=False)
    assert 'arms quadratic and another_derived describe "weight" differently' in said


def test_arms_agree_on_the_axes_of_what_they_share():
    said = breach(arms=(toys.quadratic, other_axes), evidence=False)
    assert (
        "arms quadratic and other_axes disagree on the axes of \"loss\": () and ('sample',)" in said
    )


# --- claims and figures ---------------------------------------------------------------------------------------------


def claimed(check, *evidence, cites="Lemma", **more):
    return ps.claim(cites, *(evidence or (quick,)), **more)(check)


def undocumented(run):
    return ps.decreasing(run.loss)


def crowded(one, two):
    """Wants two datasets."""
    return ps.decreasing(one.loss)


def several(*runs):
    """Wants one dataset or more."""
    return ps.all_of(ps.decreasing(run.loss) for run in runs)


def failing(run):
    """The loss rises."""
    return ps.increasing(run.loss)


def broken(run):
    """Cannot be checked."""
    raise ZeroDivisionError("by zero")


def wordless(run):
    """Gives a number."""
    return 1.0


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (claimed(undocumented), "claim undocumented has no docstring, which is its statement"),
        (claimed(failing, cites=""), "claim failing cites nothing"),
        (
            claimed(crowded),
            "claim crowded, published: the check takes 2 datasets, the evidence gives 1",
        ),
        (
            claimed(several, ps.published()),
            "claim several, published: the check takes 1 or more datasets, the evidence gives 0",
        ),
        (claimed(failing), "claim failing, published: fails where holds is expected"),
        (claimed(broken), "claim broken, published cannot be checked: ZeroDivisionError: by zero"),
        (
            claimed(wordless),
            'claim wordless, published cannot be checked: PlanError: claim "wordless" returned float',
        ),
    ],
    ids=lambda x: getattr(x, "id", ""),
)
def test_a_claim_that_breaks_the_contract_is_named(claim, sentence):
    assert sentence in breach(claims=(claim,))


def test_a_claim_about_any_number_of_runs_may_be_given_several():
    check_study(dataclasses.replace(good, claims=(claimed(several, quick, quick),)))


def bare(run, axes):
    axes.plot(run.time, run.loss)


def lonely(axes):
    """Takes no dataset."""


def smudged(run, axes):
    """Cannot be drawn."""
    raise ValueError("no ink")


@pytest.mark.parametrize(
    ("drawing", "sentence"),
    [
        (bare, "figure bare has no docstring, which is its caption"),
        (lonely, "figure lonely: the drawing takes one dataset for each request, then the axes"),
        (smudged, "figure smudged cannot be drawn: ValueError: no ink"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_figure_that_breaks_the_contract_is_named(drawing, sentence):
    assert sentence in breach(figures=(ps.figure("Figure", quick)(drawing),))


def test_without_evidence_claims_are_read_but_not_carried_out():
    check_study(dataclasses.replace(good, claims=(claimed(broken),)), evidence=False)


def test_without_arms_nothing_is_run_and_the_rest_is_read():
    check_study(dataclasses.replace(good, arms=(toys.quadratic, silent)), arms=False)
    with pytest.raises(AssertionError, match='two claims are called "falls"'):
        check_study(dataclasses.replace(good, claims=(falls, falls)), arms=False)


# --- made-up evidence -----------------------------------------------------------------------------------------------

sample = xr.Dataset(
    {"loss": ("time", [1.0, 2.0]), "count": ("time", [1, 2])},
    {"time": [0.0, 1.0]},
    {"study": "toys"},
)


def test_noise_has_the_shape_of_the_evidence_and_none_of_its_numbers():
    noise = noise_like(sample)
    assert (noise.loss.dims, noise.attrs, bool((noise.loss == sample.loss).any())) == (
        ("time",),
        sample.attrs,
        False,
    )


def test_noise_leaves_integers_alone():
    assert noise_like(sample)["count"].values.tolist() == [1, 2]


def test_a_constant_has_the_shape_of_the_evidence():
    assert constant_like(sample, 3.0).loss.values.tolist() == [3.0, 3.0]


def test_structureless_evidence_is_noise_constants_and_lost_numbers():
    names = [name for name, _ in structureless([sample])]
    assert names == [
        *(f"noise of seed {seed}" for seed in range(20)),
        "the constant 0",
        "the constant 1",
        "the constant 0.7",
        "numbers that were lost",
    ]


# --- classes of tests -----------------------------------------------------------------------------------------------


def test_contracts_of_claims_say_that_they_need_pytest(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(
        ps.MissingExtra,
        match=r"`phasescope.testing.ClaimContract` needs pytest: pip install pytest",
    ):
        _ = testing.ClaimContract


def test_a_word_that_testing_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="ClaimContrakt"):
        _ = testing.ClaimContrakt


@pytest.mark.parametrize("arm", ["descent", "logistic"])
def test_a_stand_in_says_of_itself_what_the_run_would(arm):
    study = ps.find("linear_modes")
    request = ps.runs(study.arm(arm), epsilon=1e-2)
    run = ps.run("linear_modes", arm, epsilon=1e-2, store=False)
    as_long = xr.Dataset(coords={"time": run.time.values})
    made_up = testing.labelled_like(as_long, study, request)
    assert made_up.attrs.items() <= run.attrs.items()
    assert {"study", "arm", "spec", "planned_end"} <= made_up.attrs.keys()
