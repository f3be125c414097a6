"""An arm may have a Spec of its own: a study with two models has two, and one name is one field in both."""

from __future__ import annotations

import dataclasses
import json
import re

import optax
import pytest
import toys
import xarray as xr
from typer.testing import CliRunner

import phasescope as ps
from phasescope.cli import catalogue, listing
from phasescope.cli.app import app
from phasescope.errors import SpecError, StudyNotFound
from phasescope.identity import fingerprint
from phasescope.testing import check_study
from phasescope.verbs.context import Context
from phasescope.verbs.regimes import covered, standing, standing_of_datasets
from phasescope.verbs.run import run_identity
from phasescope.verbs.validate import requested_job


class Shared(ps.Spec):
    """What both models have."""

    width: int = ps.field(2, at_least=1, doc="coordinates")
    steps: int = ps.field(40, at_least=1, traced=True)


class Slow(Shared):
    """The model that goes down slowly."""

    eta: float = ps.field(0.1, above=0, symbol=r"\eta")


class Fast(Shared):
    """The model that goes down fast, from afar."""

    speed: float = ps.field(0.5, above=0, doc="of its descent")
    start: float = ps.field(3.0, doc="where it begins")


def descent(spec, start, eta):
    numbers = toys.Spec(width=spec.width).replace(start=start)
    return toys.plan(numbers, ps.descent(toys.loss, optax.sgd(eta)), ps.linear_times(spec.steps))


@ps.arm(spec=Slow, reads=("width", "steps", "eta"))
def slow(spec):
    """Descent from 1."""
    return descent(spec, 1.0, spec.eta)


@ps.arm(spec=Fast, reads=("width", "steps", "speed", "start"))
def fast(spec):
    """Descent from where it is told to begin."""
    return descent(spec, spec.start, spec.speed)


@ps.arm(reads=("width", "steps"))
def plain(spec):
    """Descent with nothing of its own."""
    return descent(spec, 1.0, 0.2)


PRESETS = {
    "tiny": (Shared(steps=6), Slow(steps=6), Fast(steps=6, speed=0.25)),
    "far": Fast(start=10.0),
}
study = ps.Study("two_models", Shared(), (slow, fast, plain), presets=PRESETS)


def run(arm, **changes):
    return ps.run(study, arm, store=False, **changes)


# --- numbers --------------------------------------------------------------------------------------------------------


def test_an_arm_has_the_default_numbers_of_its_own_spec_or_else_of_the_study():
    assert study.default_for("slow") == Slow()
    assert study.default_for(fast) == Fast()
    assert study.default_for("plain") == Shared()


def test_numbers_are_specified_for_an_arm():
    assert study.specify(arm="fast", speed=0.4) == Fast(speed=0.4)
    assert study.specify("tiny", "slow", eta=0.2) == Slow(steps=6, eta=0.2)
    assert study.specify("tiny") == Shared(steps=6)


def test_an_arm_runs_with_its_own_fields():
    ds = run("fast", preset="tiny", start=2.0)
    assert ds.weight.values[:, 0] == pytest.approx([2.0 * 0.75**n for n in range(7)])
    assert json.loads(ds.attrs["spec"]) == {"width": 2, "steps": 6, "speed": 0.25, "start": 2.0}


def test_an_arm_sweeps_its_own_fields():
    ds = ps.sweep(study, "fast", preset="tiny", store=False, speed=[0.25, 0.5], width=[1, 2])
    assert dict(ds.sizes)["speed"] == 2
    last = ds.loss.sel(speed=0.5, width=2).isel(time=-1)
    assert float(last) == pytest.approx((3.0 * 0.5**6) ** 2)


def test_a_preset_without_numbers_for_an_arm_is_refused_with_those_that_have_some():
    message = 'two_models: the preset "far" has no numbers for the arm slow. Presets that do: tiny.'
    with pytest.raises(SpecError, match=re.escape(message)):
        run("slow", preset="far")


def test_a_preset_that_does_not_exist_is_named_with_all_that_do():
    with pytest.raises(StudyNotFound, match=r'two_models has no preset "near"\. Known: far, tiny'):
        run("slow", preset="near")


# --- fields that are not read ---------------------------------------------------------------------------------------


def test_a_field_of_another_arms_spec_is_refused_with_the_arms_that_read_it():
    message = (
        'two_models.slow does not read "speed": it would change nothing. '
        "Arms that do: fast. Leave it out."
    )
    with pytest.raises(SpecError, match=re.escape(message)):
        run("slow", speed=0.4)
    with pytest.raises(SpecError, match=re.escape(message)):
        ps.sweep(study, "slow", store=False, speed=[0.4, 0.5])


def test_a_field_of_no_spec_is_refused_with_the_fields_of_the_arm():
    message = 'two_models: there is no field "sped". Known: speed, start, steps, width. Did you mean "speed"?'
    with pytest.raises(SpecError, match=re.escape(message)):
        run("fast", sped=0.4)


def test_requests_of_claims_are_held_to_the_fields_of_their_arm():
    asks_in_vain = ps.claim("Lemma 1", ps.runs(slow, preset="tiny", speed=0.4))(_falls)
    with pytest.raises(AssertionError, match=r'two_models\.slow does not read "speed"'):
        check_study(dataclasses.replace(study, claims=(asks_in_vain,)), evidence=False)


def _falls(run):
    """The loss falls."""
    return ps.decreasing(run.loss)


def test_a_study_of_two_models_keeps_the_contract():
    fall = [
        ps.claim("Lemma 1", ps.runs(arm, preset="tiny"), id=arm.__name__) for arm in (slow, fast)
    ]
    check_study(dataclasses.replace(study, claims=tuple(claim(_falls) for claim in fall)))


def test_assumptions_of_a_claim_are_about_the_numbers_of_its_arm():
    gentle = ps.assume(
        lane={"gentle": lambda spec: 0.6 / spec.speed},
        record={"late": lambda spec, t: t / spec.start},
    )
    asked = ps.theory(ps.runs(fast, preset="tiny", start=2.0))
    claim = ps.claim("Lemma 1", asked, assumes=gentle)(_falls)
    of_request = standing(study, claim, claim.regimes[0]).assumptions[0]
    ds = run("fast", preset="tiny", start=2.0)
    of_dataset = standing_of_datasets(study, claim, [ds]).assumptions[0]
    assert of_request.low == of_dataset.low == pytest.approx(0.6 / 0.25)
    assert covered(study, claim, [ds]).evidence[0].time.values.tolist() == [2, 3, 4, 5, 6]


# --- one field, one definition --------------------------------------------------------------------------------------


class OtherEta(Shared):
    eta: float = ps.field(0.1, above=0, symbol=r"\eta", doc="of another kind")


class OtherSteps(Shared):
    steps: int = ps.field(10, at_least=1, traced=True)


class Taken(Shared):
    seed: int = 1


class Kept(Shared):
    keep: int = 1


class Reduced(Shared):
    reduce: int = 1


@pytest.mark.parametrize(("spec", "field"), [(OtherEta, "eta"), (OtherSteps, "steps")])
def test_a_field_with_two_definitions_in_one_study_is_refused(spec, field):
    other = ps.arm(spec=spec)(_other)
    message = f'twice: "{field}" is one field in (Slow|Shared) and another in {spec.__name__}: define it once'
    with pytest.raises(SpecError, match=message):
        ps.Study("twice", Shared(), (slow, other))


def _other(spec):
    """Another model."""
    return descent(spec, 1.0, 0.1)


@pytest.mark.parametrize(("spec", "word"), [(Taken, "seed"), (Kept, "keep"), (Reduced, "reduce")])
def test_a_field_of_an_arm_cannot_have_a_name_that_the_verbs_use(spec, word):
    with pytest.raises(SpecError, match=f"a field cannot be called {word}"):
        ps.Study("taken", Shared(), (ps.arm(spec=spec)(_other),))


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        (toys.Spec(), "is of Spec, which no arm takes: arms take Shared, Slow, Fast"),
        ((Slow(), Slow()), "has two Specs of one class"),
        ((Slow(steps=3), Fast(steps=4)), "has steps=3 for some arms and steps=4 for others"),
    ],
)
def test_a_preset_that_no_arm_can_take_is_refused(preset, message):
    with pytest.raises(SpecError, match=message):
        dataclasses.replace(study, presets={"odd": preset})


# --- identity, datasets ---------------------------------------------------------------------------------------------


def identity(arm, **changes):
    return run_identity(study, requested_job(study, arm, changes=changes), Context())


def test_the_identity_of_a_run_has_the_fields_that_its_arm_reads():
    assert identity("slow").spec == {"width": 2, "steps": 40, "eta": 0.1}
    assert identity("fast").spec == {"width": 2, "steps": 40, "speed": 0.5, "start": 3.0}


class Documented(Shared):
    eta: float = ps.field(0.3, above=0, symbol=r"\eta", doc="another default and another doc")


class Behaving(Shared):
    eta: float = ps.field(0.1, above=0, symbol=r"\eta")

    @property
    def twice(self):
        return 2 * self.eta


def test_of_an_arms_spec_the_methods_are_code_and_the_numbers_are_not():
    def digest(spec):
        return fingerprint(ps.arm(spec=spec, reads=("eta",))(_other), spec).digest

    assert digest(Documented) == digest(Slow)
    assert digest(Behaving) != digest(Slow)


def test_the_spec_in_the_decorator_of_an_arm_is_not_code():
    text = fingerprint(slow, Slow).parts
    assert not [name for name in text if "Slow" in name and name.startswith("own:")]


def test_numbers_are_read_off_a_dataset_that_has_more_of_them():
    older = xr.Dataset(attrs={"spec": json.dumps({"width": 3, "eta": 0.2, "colour": "red"})})
    assert Slow.of(older) == Slow(width=3, eta=0.2)


# --- listing and the command line -----------------------------------------------------------------------------------


def test_a_catalogue_lists_the_fields_of_all_specs_and_who_reads_them():
    fields = catalogue.describe(study)["fields"]
    assert list(fields) == ["width", "steps", "eta", "speed", "start"]
    assert "arms" not in fields["width"]
    assert fields["speed"]["arms"] == ["fast"]
    assert fields["start"]["default"] == 3.0


def test_a_catalogue_lists_what_a_preset_changes_for_any_arm():
    assert catalogue.describe(study)["presets"] == {
        "tiny": {"steps": 6, "speed": 0.25},
        "far": {"start": 10.0},
    }


def test_a_listing_says_which_arms_read_a_field(capsys):
    listing.show_catalogues({"two_models": catalogue.describe(study)}, parts=("fields",))
    shown = " ".join(capsys.readouterr().out.split())
    assert "of its descent [> 0] (fast)" in shown


def test_the_command_line_takes_the_fields_of_the_arm():
    found = CliRunner().invoke(app, ["run", __file__, "fast", "speed=0.25", "steps=2", "--json"])
    assert json.loads(found.output)["final"]["loss"] == pytest.approx((3.0 * 0.75**2) ** 2)


def test_the_command_line_refuses_the_fields_of_another_arm():
    found = CliRunner().invoke(app, ["run", __file__, "slow", "speed=0.25"])
    assert found.exit_code != 0
    assert 'slow does not read "speed"' in str(found.exception) + found.output
