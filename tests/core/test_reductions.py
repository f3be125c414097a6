"""`reduce`: phase times and values worked out while a run goes on equal those of the host on the whole record."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.engine.fused import choice
from phasescope.errors import NameNotFound, SpecError
from phasescope.store import Store
from phasescope.verbs import execute as checkpoints
from phasescope.verbs.context import Context, Stopped
from phasescope.verbs.sweep import run_layout
from phasescope.verbs.sweep_layout import lay_out

STARTS = list(np.linspace(0.2, 3.0, 9))


def waves(spec):
    """A curve that goes up and down through its levels, more often the larger the start."""
    path = lambda t: jnp.sin(spec.start * jnp.sqrt(t) + jnp.arange(spec.width))
    return toys.plan(spec, ps.formula(path), ps.log_times(50.0, 30, first=0.1))


REDUCE = {
    "up": ps.when("weight", at_least=0.3),
    "down": ps.when("weight", at_most=0.3, log_time=True),
    "last_up": ps.when("weight", at_least=0.3, how="last", log_time=True),
    "last_down": ps.when("weight", at_most=-0.2, how="last"),
    "good": ps.when("loss", at_least=0.4, how="sustained"),
    "small": ps.when("weight", at_most=0.5, how="sustained"),
    "end": ps.final("weight"),
    "most": ps.largest("loss"),
    "least": ps.smallest("weight"),
}


def by_the_host(ds):
    """The same by the helpers for records."""
    w, loss = ds.weight, ds.loss
    return {
        "up": ps.crossing(w, 0.3),
        "down": ps.crossing(w, 0.3, "down", log_time=True),
        "last_up": ps.crossing(w, 0.3, log_time=True, last=True),
        "last_down": ps.crossing(w, -0.2, "down", last=True),
        "good": ps.sustained(loss >= 0.4),
        "small": ps.sustained(w <= 0.5),
        "end": w.isel(time=-1),
        "most": loss.max("time"),
        "least": w.min("time"),
    }


def agree(found, whole):
    """Whether every result is that of the host, with what it says of itself."""
    for name, expected in by_the_host(whole).items():
        result = found[name].transpose(*expected.dims)
        np.testing.assert_allclose(result, expected, rtol=4e-16, err_msg=name)
        for word in ("resolution", "not_found", "units"):
            assert result.attrs.get(word) == expected.attrs.get(word), (name, word)
    return True


def sweep(arm=waves, **more):
    return ps.sweep(toys.study, arm, start=STARTS, **{"store": False} | more)


@pytest.mark.parametrize("at", [None, [0.0, 0.5, 3.0, 20.0], [0.7, 49.0, 50.0]])
def test_reductions_equal_the_helpers_on_the_whole_record(at):
    found = sweep(reduce=REDUCE, at=at)
    assert set(found.dims) == {"start", "coordinate"}
    np.testing.assert_array_equal(found.start, STARTS)
    assert agree(found, sweep(at=at))


def test_some_curves_cross_and_some_do_not():
    found = sweep(reduce=REDUCE)
    for name in ("up", "down", "last_up", "last_down", "good", "small"):
        missing = np.isnan(found[name].values)
        assert missing.any() and not missing.all(), name
    assert (found.last_up != found.up).any()


@pytest.mark.parametrize(
    "arm", ["quadratic", "sampled", "until_small", "curriculum", "cubic_flow", "walk"]
)
def test_every_kind_of_dynamics_is_reduced_over_all_its_stages(arm):
    asked = {"eta": [0.05, 0.1, 0.2]}
    found = ps.sweep(toys.study, arm, store=False, reduce=REDUCE, **asked)
    assert agree(found, ps.sweep(toys.study, arm, store=False, **asked))


def test_a_single_run_is_reduced_to_numbers():
    found = ps.run(toys.study, waves, start=2.0, store=False, reduce=REDUCE)
    assert set(found.dims) == {"coordinate"}
    assert agree(found, ps.run(toys.study, waves, start=2.0, store=False))


def test_records_are_kept_beside_reductions_where_they_are_named():
    found = sweep(reduce={"end": ps.final("weight")}, keep=["loss"])
    assert set(found.data_vars) == {"end", "loss"}
    np.testing.assert_array_equal(found.loss, sweep().loss)


def test_shapes_that_differ_are_folded():
    found = ps.sweep(
        toys.study, waves, width=[1, 2], start=STARTS, store=False, reduce=REDUCE, block=4
    )
    whole = ps.sweep(toys.study, waves, width=[1, 2], start=STARTS, store=False, block=4)
    assert found.up.dims == ("width", "start", "coordinate")
    assert agree(found, whole)


def test_fused_lanes_are_reduced(monkeypatch):
    monkeypatch.setattr(choice, "on_this_device", lambda: True)
    monkeypatch.setattr(choice, "LEAST_LANES", 2)
    monkeypatch.setattr(choice, "LEAST_WORK", 1)
    asked = {"eta": [0.05, 0.1, 0.2], "store": False}
    found = ps.sweep(toys.study, "until_small", reduce=REDUCE, **asked)
    assert "fused" in found.attrs["provenance"]
    whole = ps.sweep(toys.study, "until_small", **asked)
    for name, expected in by_the_host(whole).items():
        np.testing.assert_allclose(found[name].transpose(*expected.dims), expected, rtol=1e-12)


# --- divergence -----------------------------------------------------------------------------------------------------


def test_a_lane_that_diverges_counts_up_to_there_and_leaves_its_neighbours_alone():
    reduce = {
        "end": ps.final("loss"),
        "most": ps.largest("loss"),
        "up": ps.when("loss", at_least=100.0),
        "good": ps.when("loss", at_most=0.5, how="sustained"),
    }
    starts = [0.5, 2.0, 0.9]
    asked = {"start": starts, "block": 4, "store": False, "steps": 12, "at": list(range(13))}
    found = ps.sweep(toys.study, "squaring", reduce=reduce, **asked)
    whole = ps.sweep(toys.study, "squaring", **asked)
    np.testing.assert_array_equal(found.diverged_at, [np.nan, 10, np.nan])
    sound = whole.loss.where(~(whole.time >= whole.diverged_at))
    np.testing.assert_array_equal(found.end, sound.isel(time=-1))
    assert np.isnan(found.end[1])
    np.testing.assert_array_equal(found.most, sound.max("time"))
    np.testing.assert_array_equal(found.up, ps.crossing(sound, 100.0))
    np.testing.assert_array_equal(found.good, ps.sustained(sound <= 0.5))
    alone = ps.sweep(toys.study, "squaring", reduce=reduce, **asked | {"start": [2.0]})
    for name in reduce:
        np.testing.assert_array_equal(alone[name][0], found[name][1])


def test_a_single_run_that_diverges_has_its_reductions_with_the_error(store):
    with pytest.raises(ps.RunDiverged) as error:
        ps.run(toys.study, "squaring", start=2.0, reduce={"most": ps.largest("loss")}, steps=16)
    assert np.isfinite(error.value.dataset.most)


# --- stored, stopped and found again --------------------------------------------------------------------------------


def test_reductions_are_stored_and_found_again(store, monkeypatch):
    first = sweep(store=None, reduce=REDUCE)
    monkeypatch.setattr(checkpoints, "execute", None)  # nothing runs again
    again = sweep(store=None, reduce=REDUCE)
    assert first.identical(again)
    [entry] = Store(store).entries()
    assert sum(np.prod(x["shape"]) for x in entry.content.values()) < 20 * len(STARTS) * 2


def test_what_is_stored_can_be_opened_by_its_id(store):
    found = ps.run(toys.study, waves, start=2.0, reduce=REDUCE)
    assert ps.open(found.attrs["id"]).identical(found)
    assert ps.open(sweep(store=None, reduce=REDUCE).attrs["ids"]).up.dims == ("lane", "coordinate")


def test_other_reductions_are_other_runs(store):
    sweep(store=None, reduce={"x": ps.final("loss")})
    sweep(store=None, reduce={"x": ps.largest("loss")})
    sweep(store=None, reduce={"x": ps.when("loss", at_least=1.0)})
    assert len(Store(store).entries()) == 3


@pytest.mark.parametrize("arm", ["sampled", "curriculum", "until_small"])
def test_a_run_that_is_stopped_again_and_again_has_the_reductions_of_the_unbroken_one(
    store, monkeypatch, arm
):
    monkeypatch.setattr("phasescope.engine.loop.pace.budget", lambda name: 5)
    monkeypatch.setattr("phasescope.engine.loop.pace.learn", lambda *_: 5)
    unbroken = ps.sweep(toys.study, arm, eta=[0.05, 0.1], store=False, reduce=REDUCE)
    layout = lay_out(toys.study, toys.study.arm(arm), {"eta": [0.05, 0.1]}, reduce=REDUCE)
    stops = 0
    for _ in range(200):
        context = Context(Store(store), save_every=-1.0)
        execute = checkpoints.execute

        def two_chunks(job, start=None, execute=execute, context=context):
            for number, chunk in enumerate(execute(job, start)):
                if number == 1:
                    context.stop.set()
                yield chunk

        with monkeypatch.context() as patch:
            patch.setattr(checkpoints, "execute", two_chunks)
            try:
                found = run_layout(layout, context).dataset
            except Stopped:
                stops += 1
                continue
        break
    assert stops > 2
    for name in REDUCE:
        assert found[name].values.tobytes() == unbroken[name].values.tobytes(), name


def test_a_run_that_goes_on_from_its_end_has_its_reductions(store, monkeypatch):
    asked = {"keep": ["length"], "reduce": {"half": ps.when("loss", at_most=0.5)}}
    unbroken = ps.run(toys.study, "derived", store=False, **asked)

    def fail(derive, ds):
        return ds.assign_coords(underived=True).assign_attrs(underived_because="it was told to")

    with monkeypatch.context() as patch:
        patch.setattr("phasescope.records.dataset.derived", fail)
        with pytest.raises(ps.DeriveFailed):
            ps.run(toys.study, "derived", **asked)
    assert len(Store(store).unfinished()) == 1
    found = ps.run(toys.study, "derived", **asked)
    np.testing.assert_array_equal(found.half, unbroken.half)
    np.testing.assert_array_equal(found.length, unbroken.length)


# --- what cannot be asked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reduce", "why"),
    [
        ({"x": ps.final("los")}, 'no measured observable "los".*Did you mean "loss"'),
        ({"x y": ps.final("loss")}, "cannot be the name of a variable"),
        ({"time": ps.final("loss")}, "name of an axis already"),
        ({"eta": ps.final("loss")}, "name of a field already"),
    ],
)
def test_what_cannot_be_reduced_is_said_before_it_runs(reduce, why):
    with pytest.raises((SpecError, NameNotFound), match=why):
        ps.run(toys.study, "quadratic", store=False, reduce=reduce)


def test_what_is_derived_on_the_host_cannot_be_reduced_on_the_device():
    with pytest.raises(SpecError, match=r"length is derived on the host.*what is measured: loss"):
        ps.run(toys.study, "derived", store=False, reduce={"x": ps.final("length")})


@pytest.mark.parametrize("levels", [{}, {"at_least": 1.0, "at_most": 2.0}])
def test_a_time_has_one_level(levels):
    with pytest.raises(SpecError, match="give one of at_least= and at_most"):
        ps.when("loss", **levels)


@pytest.mark.parametrize("level", [np.nan, np.inf])
def test_a_level_is_a_finite_number(level):
    with pytest.raises(SpecError, match=r'ps.when\("loss", ...\): a level is a finite number, got'):
        ps.when("loss", at_least=level)


def test_evidence_may_ask_for_reductions():
    asked = ps.sweeps(toys.quadratic, eta=[0.1, 0.2], reduce={"end": ps.final("loss")})
    assert hash(asked) == hash(
        ps.sweeps(toys.quadratic, eta=[0.1, 0.2], reduce={"end": ps.final("loss")})
    )
    assert jax.tree.leaves(asked.reduce[0][1]) == [asked.reduce[0][1]]
