"""An arm declares the fields that it reads: no other can be given, and no other tells two runs apart."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle

import jax.numpy as jnp
import optax
import pytest
import toys

import phasescope as ps
from phasescope.engine.job import Job
from phasescope.errors import PlanError, SpecError
from phasescope.plan.plan import canonical_spec, fields_read
from phasescope.testing import check_study, fields_read_by
from phasescope.verbs import execute as checkpoints
from phasescope.verbs.context import Context
from phasescope.verbs.run import find_or_run, run_identity

DESCENT = ("width", "start", "eta", "steps")


@ps.arm(reads=DESCENT)
def honest(spec):
    """Descent that says what it reads."""
    return toys.quadratic(spec)


@ps.arm(reads=(*DESCENT, "noise"))
def boastful(spec):
    """Descent that says more than it reads."""
    return toys.quadratic(spec)


@ps.arm(reads=("width", "eta", "steps"))
def secretive(spec):
    """Descent that does not say where it starts."""
    return toys.quadratic(spec)


@ps.arm(reads=(*DESCENT, "colour"))
def confused(spec):
    """Descent that reads what is not there."""
    return toys.quadratic(spec)


PRESETS = {
    "tiny": toys.Spec(steps=6),
    "loud": toys.Spec(steps=6, noise=2.0),
    "far": toys.Spec(steps=6, start=3.0),
}
study = ps.Study("declared", toys.Spec(), (honest, toys.sampled), presets=PRESETS)


# --- what an arm is -------------------------------------------------------------------------------------------------


def test_an_arm_has_the_name_the_docstring_and_the_source_of_its_function():
    assert (honest.__name__, inspect.getdoc(honest)) == (
        "honest",
        "Descent that says what it reads.",
    )
    assert inspect.getsourcefile(inspect.unwrap(honest)) == __file__


def test_an_arm_gives_the_plan_of_its_function():
    assert [stage.name for stage in honest(toys.Spec()).stages] == ["training"]


def test_two_arms_of_one_function_are_equal():
    again = ps.arm(reads=("eta",))(inspect.unwrap(honest))
    assert (again == honest, hash(again) == hash(honest), again == secretive) == (True, True, False)


def test_an_arm_survives_pickling():
    assert pickle.loads(pickle.dumps(toys.any_size)) is toys.any_size


def test_a_plain_function_reads_all_fields():
    assert fields_read(toys.quadratic, toys.Spec()) == [
        "width",
        "start",
        "eta",
        "noise",
        "goal",
        "steps",
    ]


def test_a_field_that_is_not_there_cannot_be_read():
    with pytest.raises(
        PlanError, match=r'"confused" says that it reads "colour", which is no field. Known: eta'
    ):
        ps.run(dataclasses.replace(study, arms=(confused,)), "confused", store=False)


def test_what_is_a_mere_number_to_an_arm_is_read_by_it():
    with pytest.raises(PlanError, match='an arm calls "width" continuous but does not read it'):
        ps.arm(reads=("eta",), continuous=("width",))


# --- what may be given ----------------------------------------------------------------------------------------------

VAIN = 'declared.honest does not read "noise": it would change nothing. Arms that do: sampled. Leave it out.'


def test_a_field_that_the_arm_does_not_read_is_refused_by_run():
    with pytest.raises(SpecError) as caught:
        ps.run(study, "honest", noise=0.1, store=False)
    assert str(caught.value) == VAIN


@pytest.mark.parametrize("noise", [0.1, [0.1, 0.2]])
def test_a_field_that_the_arm_does_not_read_is_refused_by_sweep(noise):
    with pytest.raises(SpecError) as caught:
        ps.sweep(study, "honest", eta=[0.1, 0.2], noise=noise, store=False)
    assert str(caught.value) == VAIN


@pytest.mark.parametrize(
    "request_", [ps.runs(honest, noise=0.1), ps.sweeps(honest, noise=[0.1, 0.2])]
)
def test_a_field_that_the_arm_does_not_read_is_refused_in_a_request(request_):
    from phasescope.verbs.evidence import Evidence

    with pytest.raises(SpecError) as caught:
        Evidence(study, Context()).get(request_)
    assert str(caught.value) == VAIN


def test_a_field_that_no_arm_reads_is_refused_in_those_words():
    alone = dataclasses.replace(study, arms=(honest,))
    with pytest.raises(
        SpecError, match=r'does not read "noise": it would change nothing. No arm does.'
    ):
        ps.run(alone, "honest", noise=0.1, store=False)


def test_an_unknown_field_is_still_called_unknown():
    with pytest.raises(SpecError, match='there is no field "colour"'):
        ps.run(study, "honest", colour=1, store=False)


def test_a_preset_may_hold_fields_for_other_arms():
    assert ps.run(study, "honest", preset="loud", store=False).sizes["time"] == 7


# --- what runs, and what it is known by -----------------------------------------------------------------------------


def test_presets_that_differ_in_unread_fields_are_one_run(store, monkeypatch):
    first = ps.run(study, "honest", preset="tiny")
    monkeypatch.setattr(checkpoints, "execute", lambda *_: pytest.fail("it was executed again"))
    second = ps.run(study, "honest", preset="loud")
    assert first.attrs["id"] == second.attrs["id"]
    assert toys.same_bits(first, second)


def test_a_run_that_is_found_has_the_numbers_of_its_own_request(store):
    asked = [
        toys.Spec.of(ps.run(study, "honest", preset=name)).noise
        for name in ("tiny", "loud", "tiny")
    ]
    assert asked == [0.5, 2.0, 0.5]


def test_a_sweep_that_is_found_has_the_numbers_of_its_own_request(store):
    asked = lambda name: toys.Spec.of(ps.sweep(study, "honest", preset=name, eta=[0.1, 0.2])).noise
    assert [asked("tiny"), asked("loud")] == [0.5, 2.0]


def test_presets_that_differ_in_fields_read_are_two_runs(store):
    ids = [ps.run(study, "honest", preset=name).attrs["id"] for name in ("tiny", "far")]
    assert ids[0] != ids[1]


def test_identity_holds_the_fields_read_and_no_other():
    known = run_identity(study, Job(honest, toys.Spec(noise=7.0)), Context()).spec
    assert known == {"width": 2, "start": 1.0, "eta": 0.1, "steps": 40}


def test_a_field_that_is_read_without_being_declared_changes_no_digit():
    liar = dataclasses.replace(study, arms=(secretive,))
    near, far = (ps.run(liar, "secretive", preset=name, store=False) for name in ("tiny", "far"))
    assert toys.same_bits(near, far)


def test_lanes_are_run_with_the_canonical_numbers_too():
    lanes = lambda spec: (
        find_or_run(study, Job(secretive, spec, columns={"eta": (0.1, 0.2)}), Context(), 2).dataset
    )
    assert toys.same_bits(lanes(PRESETS["tiny"]), lanes(PRESETS["far"]))


class Tied(ps.Spec):
    low: float = 1.0
    high: float = 2.0
    other: float = 0.0

    def __check_init__(self):
        if isinstance(self.low, float) and isinstance(self.high, float) and self.low > self.high:
            raise SpecError("low is above high.")


def test_a_default_that_does_not_go_with_what_was_given_is_not_taken():
    tied = ps.arm(reads=("low",))(lambda spec: None)
    assert canonical_spec(tied, Tied(low=5.0, high=6.0, other=7.0)) == Tied(
        low=5.0, high=6.0, other=0.0
    )


# --- what is read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arm", "read"),
    [
        (honest, {"width", "start", "eta", "steps"}),
        (secretive, {"width", "start", "eta", "steps"}),
        (toys.any_size, {"width", "start", "eta", "steps"}),
        (toys.sampled, {"width", "noise", "eta", "steps"}),
        (toys.cubic_flow, {"width", "start"}),
        (toys.until_small, {"width", "start", "eta", "goal"}),
        (toys.curriculum, {"width", "start", "eta", "noise", "goal", "steps"}),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_an_arm_reads_is_found(arm, read):
    assert fields_read_by(arm, toys.Spec()) == read


class Clever(toys.Spec):
    @property
    def half(self):
        return self.eta / 2


def test_a_property_counts_by_the_fields_that_it_reads():
    def halved(spec):
        return toys.plan(spec, ps.descent(toys.loss, optax.sgd(spec.half)), ps.linear_times(3))

    assert fields_read_by(halved, Clever()) == {"width", "start", "eta"}


def test_a_field_that_the_arm_replaces_is_not_read():
    def fixed(spec):
        return toys.quadratic(spec.replace(start=2.0))

    assert fields_read_by(fixed, toys.Spec()) == {"width", "eta", "steps"}


def test_what_derive_takes_from_its_lane_is_read():
    def scaled(spec):
        derive = lambda ds: ds.assign(scaled=ds.loss * ds.noise)
        return dataclasses.replace(toys.quadratic(spec), derive=derive)

    assert fields_read_by(scaled, toys.Spec()) == {"width", "start", "eta", "noise", "steps"}


def test_what_derive_takes_from_the_spec_is_read():
    def scaled(spec):
        derive = lambda ds: ds.assign(scaled=ds.loss * spec.goal)
        return dataclasses.replace(toys.quadratic(spec), derive=derive)

    assert fields_read_by(scaled, toys.Spec()) == {"width", "start", "eta", "goal", "steps"}


def test_what_is_inspected_is_read():
    def inspected(spec):
        look = lambda w: toys.Counted(spec.noise * jnp.sum(w))
        return dataclasses.replace(toys.quadratic(spec), inspect=look)

    assert fields_read_by(inspected, toys.Spec()) == {"width", "start", "eta", "noise", "steps"}


# --- the contract ---------------------------------------------------------------------------------------------------


class Choosy(toys.Spec):
    kind: str = ps.field("plain", choices=("plain", "noisy"))


@ps.arm(reads=(*DESCENT, "kind"))
def choosy(spec):
    """Reads the noise only if it is asked to be noisy."""
    start = spec.noise if spec.kind == "noisy" else spec.start
    return toys.quadratic(spec.replace(start=start))


def breach(**changes) -> str:
    with pytest.raises(AssertionError) as caught:
        check_study(dataclasses.replace(study, **changes), evidence=False)
    return str(caught.value)


def test_a_study_whose_arms_declare_what_they_read_keeps_the_contract():
    check_study(study, evidence=False)


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        (secretive, 'arm secretive reads "start" without declaring it: add it to `reads`'),
        (
            boastful,
            'arm boastful declares that it reads "noise", but under no preset, choice or request does it',
        ),
        (confused, 'arm confused: arm "confused" says that it reads "colour", which is no field'),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_false_declaration_breaks_the_contract(arm, sentence):
    assert sentence in breach(arms=(arm,))


def test_every_choice_is_tried():
    said = breach(spec=Choosy(), arms=(choosy,), presets={"tiny": Choosy(steps=6)})
    assert 'arm choosy reads "noise" without declaring it' in said


def test_a_claim_that_gives_a_field_in_vain_breaks_the_contract():
    @ps.claim("Lemma 1", ps.runs(honest, noise=0.1))
    def falls(run):
        """The loss falls."""
        return ps.decreasing(run.loss)

    assert f"a claim or figure asks in vain: {VAIN}" in breach(claims=(falls,))


def test_the_whole_spec_is_kept_with_the_run():
    kept = json.loads(ps.run(study, "honest", preset="loud", store=False).attrs["spec"])
    assert kept["noise"] == 2.0
