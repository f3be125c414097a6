"""An arm begins from arrays of the caller's: weights, what is held in memory, the batches of every step."""

from __future__ import annotations

import itertools
import json
import pickle

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
import toys

import phasescope as ps
from phasescope.cli.given_file import arrays_of
from phasescope.engine.job import Job
from phasescope.engine.loop import execute
from phasescope.errors import PlanError, SpecError
from phasescope.plan.given import with_arrays
from phasescope.store import Store
from phasescope.verbs.remarks import remarks


def test_a_name_in_place_of_an_arm_is_one_clear_sentence():
    said = r"got 'text_two_layer': take it from its study, as in ps\.find"
    with pytest.raises(PlanError, match=said) as error:
        ps.given("text_two_layer", params={"net.embedding": np.zeros((3, 4))})
    assert "\n" not in str(error.value)


def weights(ds):
    return ds.weight.values


def run(arm, **asked):
    return ps.run(toys.study, arm, **{"store": False, "steps": 4, "eta": 0.5} | asked)


def targets(spec):
    """Descent towards the sum of what is in memory and a sample, from a start in two parts."""

    def start(key):
        return ps.State({"w": jnp.zeros(spec.width)}, {"mean": jnp.zeros(spec.width)})

    def draw(key, memory):
        return {"x": memory["mean"] + jr.normal(key, (spec.width,))}

    def error(net, batch):
        return toys.loss(net["w"], batch["x"])

    stage = ps.Stage(
        "training",
        ps.descent(error, optax.sgd(spec.eta), sample=draw),
        ps.linear_times(spec.steps),
    )
    return ps.Plan(start, (stage,), lambda net: toys.measure(net["w"]))


def test_a_start_of_ones_own_is_trained_from_there():
    start = np.array([2.0, -1.0])
    found = weights(run(ps.given(toys.quadratic, params=start)))
    np.testing.assert_array_equal(found, start * 0.5 ** np.arange(5)[:, None])


def test_a_parameter_of_torch_is_a_start():
    torch = pytest.importorskip("torch")
    start = torch.nn.Parameter(torch.tensor([2.0, -1.0]))
    for given in (start, start.bfloat16()):
        found = weights(run(ps.given(toys.quadratic, params=given)))
        np.testing.assert_array_equal(found[0], [2.0, -1.0])


def test_batches_of_ones_own_take_the_place_of_those_that_are_drawn():
    batches = np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 2.0], [7.0, 2.0]])
    expected = [np.zeros(2)]
    for batch in batches:
        expected.append(expected[-1] + 0.5 * (batch - expected[-1]))
    found = weights(run(ps.given(targets, batches={"x": batches})))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_the_arms_own_batches_give_the_arms_own_run():
    key = jr.split(jr.fold_in(jr.key(7), 1))[1]
    with ps.exact_numbers():
        own = np.stack([jr.normal(jr.fold_in(key, t), (2,)) for t in range(4)])
    replayed = run(ps.given(targets, batches={"x": own}), seed=7)
    np.testing.assert_array_equal(weights(replayed), weights(run(targets, seed=7)))


def test_what_is_held_in_memory_may_be_given():
    shifted = run(ps.given(targets, memory={"mean": np.array([10.0, -10.0])}), seed=1)
    gap = weights(shifted)[-1] - weights(run(targets, seed=1))[-1]
    np.testing.assert_allclose(gap, np.array([10.0, -10.0]) * (1 - 0.5**4), rtol=1e-12)


def test_a_sweep_begins_in_every_lane_from_what_is_given():
    mine = ps.given(toys.quadratic, params=[2.0, -1.0])
    sw = ps.sweep(toys.study, mine, eta=[0.5, 0.25], steps=2, store=False)
    expected = np.array([0.25, 0.5625])[:, None] * np.array([2.0, -1.0])
    np.testing.assert_allclose(sw.weight.isel(time=-1).values, expected, rtol=1e-15)


def test_runs_are_told_apart_by_the_numbers_that_were_given(tmp_path):
    first = run(ps.given(toys.quadratic, params=[1.0, 2.0]), store=tmp_path)
    again = run(ps.given(toys.quadratic, params=np.array([1.0, 2.0])), store=tmp_path)
    other = run(ps.given(toys.quadratic, params=[1.0, 3.0]), store=tmp_path)
    own = run(toys.quadratic, store=tmp_path)
    assert first.attrs["id"] == again.attrs["id"]
    assert len({ds.attrs["id"] for ds in (first, other, own)}) == 3
    assert toys.same_bits(first, again)
    assert list(json.loads(first.attrs["given"])) == ["params"]


def test_what_was_given_is_kept_with_the_run(tmp_path):
    start = np.array([1.0, 2.0])
    run(ps.given(toys.quadratic, params=start), store=tmp_path)
    store = Store(tmp_path)
    [entry] = store.entries()
    [kept] = store.snapshot(entry, "given")
    np.testing.assert_array_equal(kept, start)


def test_a_run_that_was_stopped_goes_on_to_the_same_digits():
    batches = np.random.default_rng(0).normal(size=(200, 2))
    job = Job(ps.given(targets, batches={"x": batches}), toys.Spec(steps=200))
    stopped = list(itertools.islice(execute(job), 2))[-1]
    rest = toys.finish(job, (stopped.position, stopped.leaves()))
    whole = toys.finish(job)
    assert 0 < stopped.position.local < 200
    np.testing.assert_array_equal(rest.measured["weight"][-1], whole.measured["weight"][-1])


def test_a_run_begins_at_the_end_of_another(tmp_path):
    asked = {"eta": 0.05, "at": [0, 5, 10], "store": tmp_path}
    first = ps.run("linear_modes", "descent", steps=5, **asked | {"at": [0, 5]})
    end = ps.state(first) | {"carry.moment": np.ones(7)}
    mine = ps.given(ps.find("linear_modes").arm("descent"), end)
    second = ps.run("linear_modes", mine, steps=5, **asked | {"at": [5]})
    whole = ps.run("linear_modes", "descent", steps=10, **asked)
    np.testing.assert_allclose(second.loss[-1], whole.loss[-1], rtol=1e-14)


@pytest.mark.parametrize(
    ("arm", "asked", "words"),
    [
        (targets, {"params": {"v": np.ones(2)}}, r'its params have no "v"\. Known: w'),
        (
            targets,
            {"params": {"w": np.ones(3)}},
            r'"params.w" has the shape \(3,\), and this arm needs \(2,\)',
        ),
        (
            targets,
            {"batches": {"x": np.ones((3, 2))}},
            '"batches.x" has 3 batches, and the run takes 4 steps',
        ),
        (
            targets,
            {"batches": {"x": np.ones((4, 5))}},
            r'"batches.x" has the shape \(5,\) a batch, and this arm needs \(2,\)',
        ),
        (toys.walk, {"batches": np.ones((4, 2))}, "walk cannot take batches"),
        (toys.cubic_formula, {"params": np.ones(2)}, "cubic_formula is a closed form"),
    ],
)
def test_what_does_not_fit_is_named(arm, asked, words):
    with pytest.raises(PlanError, match=words):
        run(ps.given(arm, **asked))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "nothing is given: name params, memory or batches"),
        ({"params": np.array([1.0, np.nan])}, '"params" holds numbers that are not finite'),
        ({"params": np.array(["a"])}, '"params" holds <U1, not numbers'),
        ({"weights": np.ones(2)}, '"weights" is given, but names begin with params'),
    ],
)
def test_what_cannot_be_given_is_refused_at_once(arrays, words):
    with pytest.raises(PlanError, match=words):
        with_arrays(toys.quadratic, arrays)


def test_a_given_arm_reads_what_its_arm_reads_and_survives_a_pickle():
    mine = ps.given(toys.any_size, params=[2.0])
    assert (mine.__name__, mine.reads) == ("any_size", toys.any_size.reads)
    assert pickle.loads(pickle.dumps(mine)) == mine
    assert mine != ps.given(toys.any_size, params=[3.0])
    with pytest.raises(SpecError, match='does not read "noise"'):
        run(mine, noise=0.1, eta=0.1)


def test_a_claim_may_ask_for_a_run_from_a_given_start():
    mine = ps.given(toys.quadratic, params=[2.0, -1.0])

    @ps.claim("Lemma 1", ps.runs(mine, steps=3))
    def falls(run):
        """The loss falls."""
        return ps.decreasing(run.loss)

    study = ps.Study("given", toys.Spec(), (toys.quadratic,), (falls,))
    [row] = ps.check(study, store=False)
    assert row.outcome == "holds"
    assert remarks(study) == []


def test_arrays_are_read_from_files(tmp_path):
    np.savez(tmp_path / "start.npz", **{"params.w": np.ones(2)})
    np.testing.assert_array_equal(arrays_of(tmp_path / "start.npz")["params.w"], np.ones(2))
    (tmp_path / "start.pt").write_text("")
    with pytest.raises(SpecError, match=r"a file of arrays is a \.npz or a \.safetensors"):
        arrays_of(tmp_path / "start.pt")
    with pytest.raises(SpecError, match="there is no such file"):
        arrays_of(tmp_path / "other.npz")
