"""`keep`: only what is asked for is computed, brought back, stored and returned, with the digits of the whole record."""

from __future__ import annotations

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.engine.calls import Call
from phasescope.engine.fused import choice
from phasescope.engine.precision import exact_numbers
from phasescope.engine.programs import advance_stage, begin_run, enter_stage
from phasescope.errors import NameNotFound, SpecError
from phasescope.store import Store
from phasescope.verbs import execute as checkpoints
from phasescope.verbs.validate import requested_job

ETAS = [0.05, 0.1, 0.3]


def swept(arm="quadratic", **more):
    return ps.sweep(toys.study, arm, eta=ETAS, **more)


@pytest.fixture
def executed(monkeypatch):
    """What was wanted of all jobs that are really carried out."""
    done, execute = [], checkpoints.execute

    def noted(job, start=None):
        done.append(job.wanted.keep)
        return execute(job, start)

    monkeypatch.setattr(checkpoints, "execute", noted)
    return done


# --- what is computed -----------------------------------------------------------------------------------------------


def costly(spec):
    """Descent with an observable whose sine is in no other part of the program."""
    plan = toys.quadratic(spec)
    seen = lambda w: toys.Seen(toys.loss(w, None), jnp.sin(w))
    return dataclasses.replace(plan, measure=seen)


def program_text(keep):
    """The compiled program that advances a run of `costly`, of which these observables are kept."""
    job = requested_job(toys.study, toys.quadratic, keep=keep, changes={})
    job = dataclasses.replace(job, arm=costly)
    with exact_numbers():
        inputs = job.inputs()
        state = eqx.filter_eval_shape(lambda x: begin_run(job.program, x)[0], inputs)
        state = eqx.filter_eval_shape(enter_stage, job.program, inputs, state)
        steps = np.arange(2)
        call = Call(steps, steps + 1, np.ones(2, bool), np.zeros(2, bool))
        advance = lambda x, s: advance_stage(job.program, x, s, job.nobody_done(), call)[1:]
        return jax.jit(advance).lower(inputs, state).compile().as_text()


def test_the_compiled_program_does_not_contain_what_is_not_kept():
    assert "sine" in program_text(["weight"])
    assert "sine" not in program_text(["loss"])


@pytest.mark.parametrize("arm", ["quadratic", "sampled", "walk", "cubic_flow", "until_small"])
def test_what_is_kept_equals_the_whole_record_bit_for_bit(arm):
    some = swept(arm, keep=["loss"], store=False)
    assert list(some.data_vars) == ["loss"]
    assert "coordinate" not in some.coords
    every = swept(arm, store=False)
    for name in ("loss", "time", "stage", "diverged_at", "eta"):
        assert some[name].values.tobytes() == every[name].values.tobytes()


def test_a_study_keeps_two_of_its_observables_with_the_same_digits():
    asked = {"lam": [2.0, 5.0, 9.0], "steps": 60, "switch": 20, "eta": 0.5, "store": False}
    some = ps.sweep("regular_language", "symmetric", keep=["loss", "accuracy"], **asked)
    every = ps.sweep("regular_language", "symmetric", **asked)
    assert set(some.data_vars) == {"loss", "accuracy"}
    for name in some.data_vars:
        np.testing.assert_allclose(some[name], every[name], rtol=1e-12)


def test_what_is_inspected_can_be_kept_alone():
    some = ps.run(toys.study, "curriculum", keep=["total"], store=False)
    every = ps.run(toys.study, "curriculum", store=False)
    assert list(some.data_vars) == ["total"]
    np.testing.assert_array_equal(some.total, every.total)


def test_what_is_not_inspected_is_never_computed(monkeypatch):
    def refuse(*_):
        raise AssertionError("nobody asked for what is inspected")

    monkeypatch.setattr("phasescope.engine.loop.inspect_state_jit", refuse)
    assert set(ps.run(toys.study, "curriculum", keep=["loss"], store=False).data_vars) == {"loss"}


def test_what_is_derived_can_be_kept_without_what_it_is_derived_from():
    some = ps.run(toys.study, "derived", keep=["length"], store=False)
    every = ps.run(toys.study, "derived", store=False)
    assert list(some.data_vars) == ["length"]
    np.testing.assert_array_equal(some.length, every.length)


def test_nothing_is_derived_that_is_not_kept():
    def broken(spec):
        """Descent whose derive fails."""

        def fail(ds):
            raise ValueError("this cannot be derived")

        return dataclasses.replace(toys.quadratic(spec), derive=fail)

    ds = ps.run(toys.study, broken, keep=["loss"], store=False)
    np.testing.assert_array_equal(ds.loss, ps.run(toys.study, "quadratic", store=False).loss)
    with pytest.raises(SpecError, match=r"not known before it runs .*this cannot be derived"):
        ps.run(toys.study, broken, keep=["length"], store=False)


def test_fused_lanes_compute_what_is_kept(monkeypatch):
    monkeypatch.setattr(choice, "on_this_device", lambda: True)
    monkeypatch.setattr(choice, "LEAST_LANES", 2)
    monkeypatch.setattr(choice, "LEAST_WORK", 1)
    some = swept("until_small", keep=["loss"], store=False)
    assert json.loads(some.attrs["provenance"])["engine"] == "fused lanes"
    every = swept("until_small", store=False)
    np.testing.assert_allclose(some.loss, every.loss, rtol=1e-13)
    np.testing.assert_array_equal(some.stage, every.stage)
    ends = ps.sweep(toys.study, "curriculum", eta=ETAS, keep=["total"], store=False)
    assert list(ends.data_vars) == ["total"]


# --- names ----------------------------------------------------------------------------------------------------------


def test_a_misspelt_name_is_named_with_what_was_meant():
    with pytest.raises(
        NameNotFound, match=r'toys.derived has no observable "lenght".*mean "length"'
    ):
        ps.run(toys.study, "derived", keep=["lenght"], store=False)
    with pytest.raises(NameNotFound, match=r'toys.quadratic has no observable "los".*mean "loss"'):
        swept(keep=["los"], store=False)


@pytest.mark.parametrize("keep", ["loss", []])
def test_keep_is_a_list_of_names(keep):
    with pytest.raises(SpecError, match="keep is"):
        ps.run(toys.study, "quadratic", keep=keep, store=False)


# --- the store ------------------------------------------------------------------------------------------------------


def test_a_run_with_all_observables_answers_for_fewer(store, executed):
    every = swept()
    some = swept(keep=["loss"])
    assert executed == [None]
    assert toys.same_bits(some, every[["loss"]])
    assert some.attrs["ids"] == every.attrs["ids"]


def test_a_run_with_fewer_is_another_entry(store, executed):
    some = swept(keep=["loss"])
    assert list(some.data_vars) == ["loss"]
    again = swept(keep=("loss", "loss"))
    every = swept()
    assert executed == [("loss",), None]
    assert some.identical(again)
    assert len(Store(store).entries()) == 2
    assert set(every.data_vars) == {"loss", "weight"}
    assert {entry.identity.keep for entry in Store(store).entries()} == {None, ("loss",)}


def test_what_is_stored_holds_what_is_kept(store):
    ds = ps.run(toys.study, "quadratic", keep=["loss"])
    assert list(ps.open(ds.attrs["id"]).data_vars) == ["loss"]
    [entry] = Store(store).entries()
    assert "weight" not in entry.content


def test_an_older_version_is_told_that_it_cannot_read_it(store):
    ps.run(toys.study, "quadratic", keep=["loss"])
    ps.run(toys.study, "quadratic")
    formats = [
        json.loads((e.folder / "run.json").read_text())["format"] for e in Store(store).entries()
    ]
    assert sorted(formats) == [1, 2]


# --- requests and the command line ----------------------------------------------------------------------------------


def test_evidence_may_ask_for_some_observables():
    @ps.claim("Lemma 2", ps.sweeps(toys.quadratic, eta=ETAS, keep=["loss"]))
    def only_the_loss(sweep):
        """The loss falls, and nothing else is there."""
        assert list(sweep.data_vars) == ["loss"]
        return ps.decreasing(sweep.loss)

    study = dataclasses.replace(toys.study, claims=(only_the_loss,))
    [row] = ps.check(study, store=False).rows
    assert row.verdict.outcome is ps.Outcome.HOLDS
    asked = ps.runs(toys.quadratic, keep=["weight", "loss"])
    assert asked == ps.runs(toys.quadratic, keep=["loss", "weight"])
    assert asked != ps.runs(toys.quadratic)


def test_lanes_of_which_some_observables_are_kept_keep_no_states(store):
    ds = swept(keep=["loss"])
    [entry] = Store(store).entries()
    assert not list(entry.folder.glob("snapshots/*"))
    with pytest.raises(ps.StoreError, match="states are not among them"):
        ps.state(ds.attrs["ids"])
    assert ds.attrs["precision"] == "float64"
    alone = ps.run(toys.study, "quadratic", keep=["loss"])
    assert set(ps.state(alone)) == set(ps.state(ps.run(toys.study, "quadratic")))


def test_a_sweep_found_whole_equals_one_of_which_little_was_kept_where_the_block_is_wide(store):
    etas = np.linspace(0.01, 0.5, 1500).tolist()
    some = ps.sweep(toys.study, "quadratic", eta=etas, keep=["loss"], steps=2, block=2048)
    [entry] = Store(store).entries()
    assert entry.lanes["eta"].count == 2048
    assert (entry.folder / "run.json").stat().st_size < 8000
    again = ps.sweep(toys.study, "quadratic", eta=etas, keep=["loss"], steps=2, block=2048)
    assert some.identical(again)
    np.testing.assert_array_equal(again.eta, etas)
    table = ps.stored("toys")
    assert table.lanes.tolist() == [1500]
    other = [*etas[:-1], 0.6]
    ps.sweep(toys.study, "quadratic", eta=other, keep=["loss"], steps=2, block=2048)
    assert len(Store(store).entries()) == 2
