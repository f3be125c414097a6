"""A run is found in the store or executed into it; whatever stops it, the records are those of an unbroken run."""

from __future__ import annotations

import contextlib
import json
import random

import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.engine import calls as schedule
from phasescope.engine import loop as engine
from phasescope.engine.calls import Pace
from phasescope.engine.job import Job
from phasescope.errors import PlanError, RunDiverged, SpecError, StudyNotFound
from phasescope.store import Draft, Store
from phasescope.verbs import execute as checkpoints
from phasescope.verbs.context import Context
from phasescope.verbs.run import find_or_run

HALF_GOOD = toys.Spec(goal=0.4)


def run(arm, **changes):
    return ps.run(toys.study, arm, **changes)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(engine, "pace", Pace())
    monkeypatch.setattr(schedule, "FIRST_BUDGET", 3)
    monkeypatch.setattr(schedule, "TARGET_SECONDS", 0.0)


@pytest.fixture
def no_execution(monkeypatch):
    """From the moment this is called, nothing can be executed."""

    def forbid():
        monkeypatch.setattr(checkpoints, "execute", lambda *_: pytest.fail("it was executed again"))

    return forbid


# --- store ----------------------------------------------------------------------------------------------------------


def test_a_finished_run_is_read_and_not_executed_again(store, no_execution):
    fresh = run("quadratic")
    no_execution()
    assert toys.same_bits(run("quadratic"), fresh)


def test_what_is_read_is_what_was_computed(store):
    assert toys.same_bits(run("curriculum", goal=0.4), run("curriculum", goal=0.4, store=False))


@pytest.mark.parametrize(
    "change", [{"eta": 0.2}, {"seed": 1}, {"at": [1, 2]}, {"width": 3}, {"steps": 41}]
)
def test_whatever_may_change_the_digits_is_another_run(store, change):
    assert run("quadratic", **change).attrs["id"] != run("quadratic").attrs["id"]


def test_one_run_has_one_name_however_its_numbers_are_written(store):
    assert (
        run("quadratic", eta=np.float64(1), width=2.0).attrs["id"]
        == run("quadratic", eta=1).attrs["id"]
    )


def test_nothing_is_kept_if_so_wished(store):
    run("quadratic", store=False)
    assert not store.exists()


def test_a_store_may_be_named(store, tmp_path):
    run("quadratic", store=tmp_path / "other")
    assert (store.exists(), len(Store(tmp_path / "other").entries())) == (False, 1)


def test_a_dataset_says_what_it_is(store):
    attrs = run("quadratic", seed=3, eta=0.2).attrs
    known = {k: attrs[k] for k in ("study", "arm", "seed", "block", "status")}
    assert known == {
        "study": "toys",
        "arm": "quadratic",
        "seed": 3,
        "block": 1,
        "status": "finished",
    }


def test_a_dataset_holds_its_numbers(store):
    assert json.loads(run("quadratic", eta=0.2).attrs["spec"]) == toys.Spec(eta=0.2).to_json()


def test_a_manifest_names_versions_precision_and_generator(store):
    run("quadratic")
    manifest = Store(store).entries()[0].manifest
    assert (manifest["precision"], manifest["prng"], "jax" in manifest["versions"]) == (
        "float64",
        "threefry2x32",
        True,
    )


def test_derive_may_use_the_numbers_of_the_run():
    def scaled(spec):
        """Adds what the theory expects."""
        theory = lambda ds: ds.assign(theory=(1 - ds.eta) ** (2 * ds.time))
        return toys.dataclasses.replace(toys.quadratic(spec), derive=theory)

    ds = run(scaled, eta=0.2, store=False)
    np.testing.assert_allclose(ds.loss, ds.theory)


# --- interruption ---------------------------------------------------------------------------------------------------


class Interrupted:
    """A meter at whose n-th tick somebody presses Ctrl-C."""

    def __init__(self, ticks: int) -> None:
        self.left = ticks

    @contextlib.contextmanager
    def __call__(self, label, total):
        def tick(amount):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        yield tick


def resumed(job, store, chance) -> tuple:
    """The dataset of a run that is interrupted again and again, and how often it was."""
    for times in range(100):
        context = Context(
            Store(store), Interrupted(chance.randint(2, 5)), save_every=chance.choice([0.0, 1e9])
        )
        with contextlib.suppress(KeyboardInterrupt):
            return find_or_run(toys.study, job, context).dataset, times
    raise AssertionError("the run never ends")


@pytest.mark.parametrize("arm", [toys.sampled, toys.walk, toys.cubic_flow, toys.curriculum])
def test_an_interrupted_run_ends_as_an_unbroken_one(arm, store, small_pieces):
    job = Job(arm, HALF_GOOD)
    ds, times = resumed(job, store, random.Random(arm.__name__))
    assert (toys.same_bits(ds, find_or_run(toys.study, job, Context()).dataset), times > 1) == (
        True,
        True,
    )


def test_an_interrupted_run_is_listed_with_its_position(store, small_pieces):
    with pytest.raises(KeyboardInterrupt):
        find_or_run(toys.study, Job(toys.walk, toys.Spec()), Context(Store(store), Interrupted(4)))
    [left] = Store(store).unfinished()
    assert (left.identity.arm, left.position["local"] > 0) == ("walk", True)


def interrupt_on_call(monkeypatch, owner, name, number, before):
    """Press Ctrl-C right before, or right after, the n-th call of a function."""
    original, calls = getattr(owner, name), []

    def pressed(*args):
        calls.append(1)
        if before and len(calls) == number:
            raise KeyboardInterrupt
        result = original(*args)
        if len(calls) == number:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, pressed)


@pytest.mark.parametrize(
    ("owner", "name", "before"),
    [
        (checkpoints, "part_of", True),
        (checkpoints, "part_of", False),
        (Draft, "save", True),
        (Draft, "save", False),
    ],
    ids=["before the records", "after the records", "before a save", "after a save"],
)
def test_no_moment_is_too_bad_for_an_interrupt(
    owner, name, before, store, small_pieces, monkeypatch
):
    job = Job(toys.sampled, toys.Spec())
    whole = find_or_run(toys.study, job, Context()).dataset
    with monkeypatch.context() as patch:
        interrupt_on_call(patch, owner, name, 5, before)
        with pytest.raises(KeyboardInterrupt):
            find_or_run(toys.study, job, Context(Store(store), save_every=0.0))
    assert toys.same_bits(find_or_run(toys.study, job, Context(Store(store))).dataset, whole)


def test_a_finished_run_leaves_no_draft(store):
    find_or_run(toys.study, Job(toys.walk, toys.Spec()), Context(Store(store), save_every=0.0))
    assert Store(store).unfinished() == []


# --- divergence -----------------------------------------------------------------------------------------------------

# 1.5 squared eleven times is 1.5 ** 2048 = 2 ** 1198, which no float64 holds; ten times is 2 ** 599, which one does.
ELEVEN = {"start": 1.5}


def test_a_run_that_leaves_the_finite_numbers_names_the_exact_step(store):
    with pytest.raises(
        RunDiverged, match=r'toys.squaring: .* at step 11 of stage "training" \(time 11\).*eta=0.1'
    ):
        run("squaring", **ELEVEN)


def test_what_a_diverged_run_recorded_is_stored(store):
    with pytest.raises(RunDiverged):
        run("squaring", **ELEVEN)
    [entry] = Store(store).entries()
    assert (entry.status, Store(store).load(entry).time.values.tolist()) == (
        "diverged",
        [0.0, 10.0, 20.0],
    )


def test_a_diverged_run_is_not_executed_again(store, no_execution):
    with pytest.raises(RunDiverged):
        run("squaring", **ELEVEN)
    no_execution()
    with pytest.raises(RunDiverged, match="step 11"):
        run("squaring", **ELEVEN)


def test_divergence_is_an_error_without_a_store_too():
    with pytest.raises(RunDiverged, match="step 11") as caught:
        run("squaring", store=False, **ELEVEN)
    assert float(caught.value.dataset.diverged_at) == 11.0


@pytest.mark.parametrize("pieces", [1, 2, 3, 7])
def test_the_records_of_a_diverged_run_do_not_depend_on_how_it_was_cut(pieces, monkeypatch):
    whole = find_or_run(
        toys.study, Job(toys.squaring, toys.Spec(**ELEVEN)), Context(), throw=False
    ).dataset
    monkeypatch.setattr(engine, "pace", Pace())
    monkeypatch.setattr(schedule, "FIRST_BUDGET", pieces)
    monkeypatch.setattr(schedule, "TARGET_SECONDS", 0.0)
    assert toys.same_bits(
        find_or_run(
            toys.study, Job(toys.squaring, toys.Spec(**ELEVEN)), Context(), throw=False
        ).dataset,
        whole,
    )


def test_the_exact_step_is_found_after_a_resume(store, small_pieces):
    job = Job(toys.squaring, toys.Spec(**ELEVEN))
    with pytest.raises(KeyboardInterrupt):
        find_or_run(toys.study, job, Context(Store(store), Interrupted(7), save_every=0.0))
    with pytest.raises(RunDiverged, match="step 11 "):
        find_or_run(toys.study, job, Context(Store(store)))


def test_the_exact_step_is_found_in_a_later_stage_with_a_time_of_its_own():
    def late(spec):
        """Five quiet steps of 0.3, then squaring in steps of 0.7."""
        quiet = ps.Stage("quiet", ps.iterate(lambda w, t, key: w), ps.linear_times(5), unit=0.3)
        wild = ps.Stage(
            "wild", ps.iterate(lambda w, t, key: w**2), ps.linear_times(100, 1), unit=0.7
        )
        return ps.Plan(toys.begin(spec), (quiet, wild), toys.measure)

    with pytest.raises(RunDiverged, match=r'step 11 of stage "wild" \(time 9\.2\)'):
        run(late, store=False, **ELEVEN)


def test_a_flow_that_blows_up_names_the_record_by_which_it_had():
    def explosion(spec):
        """dw/dt = w^2 from 1 is 1 / (1 - t)."""
        return toys.plan(
            spec, ps.flow(lambda w: w**2, max_steps=200), np.array([0.5, 0.9, 1.5, 2.0])
        )

    with pytest.raises(RunDiverged, match=r"before time 1\.5"):
        run(explosion, store=False)


def test_a_run_that_starts_with_nan_says_so():
    def ill(spec):
        """Begins with nan."""
        return ps.Plan(lambda key: jnp.full(2, jnp.nan), toys.walk(spec).stages, toys.measure)

    with pytest.raises(RunDiverged, match="step 0"):
        run(ill, store=False)


def test_a_field_that_is_none_does_not_spoil_the_message():
    class Loose(toys.Spec):
        eta_late: float | None = None

    study = ps.Study("loose", Loose(), (toys.squaring,))
    with pytest.raises(RunDiverged, match=r"Try a smaller step than with eta=0\.1\."):
        ps.run(study, "squaring", store=False, **ELEVEN)


# --- what cannot be run ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "error", "words"),
    [
        (
            ("linear_mode", "flow", {}),
            StudyNotFound,
            'there is no study "linear_mode".*Did you mean "linear_modes"',
        ),
        (
            (toys.study, "quadratik", {}),
            StudyNotFound,
            'toys has no arm "quadratik".*Did you mean "quadratic"',
        ),
        (
            (toys.study, "walk", {"preset": "tini"}),
            StudyNotFound,
            'toys has no preset "tini".*Did you mean "tiny"',
        ),
        (
            (toys.study, "walk", {"stepz": 3}),
            SpecError,
            'toys: there is no field "stepz".*Did you mean "steps"',
        ),
        (
            (toys.study, "walk", {"steps": 2.5}),
            SpecError,
            "toys: steps must be an integer, got steps=2.5",
        ),
        (
            (toys.study, "walk", {"eta": "big"}),
            SpecError,
            "toys: eta must be a number, got eta='big'",
        ),
        ((toys.study, "walk", {"eta": -1}), SpecError, "toys: eta must be above 0, got eta=-1"),
        (
            (toys.study, "walk", {"seed": -1}),
            SpecError,
            "a seed is a whole number from 0 to 4294967295, got seed=-1",
        ),
        (
            (toys.study, "walk", {"seed": 2**32}),
            SpecError,
            "a seed is a whole number from 0 to 4294967295",
        ),
        ((toys.study, "walk", {"at": [1e9]}), PlanError, "runs from 0 to 40"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_what_does(question, error, words):
    study, arm, more = question
    with pytest.raises(error, match=words):
        ps.run(study, arm, store=False, **more)


def test_a_preset_may_be_changed_further():
    assert (
        json.loads(run("quadratic", preset="long", eta=0.3, store=False).attrs["spec"])["steps"]
        == 100
    )


# --- the digest of the sources --------------------------------------------------------------------------------------


def test_a_plan_is_built_once_per_run():
    built = []

    def noted(spec):
        if isinstance(spec.eta, float):  # the compiled programs build it too, of traced numbers
            built.append(spec)
        return toys.quadratic(spec)

    ps.run(toys.study, noted, steps=3, at=[1, 3], store=False)
    assert len(built) == 1
