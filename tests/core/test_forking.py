"""A fork goes on from the state of a run: unchanged it is the run itself, changed it is an ordinary run of its own."""

from __future__ import annotations

import inspect
import json

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
import toys
from jaxtyping import Array, Float

import phasescope as ps
from phasescope.errors import PlanError, RunDiverged, SpecError
from phasescope.store import Store
from phasescope.verbs.stored_runs import stored_runs


class Two(ps.Observables):
    loss: Float[Array, ""]
    a: Float[Array, "coordinate"]
    b: Float[Array, "coordinate"]


def see(net):
    return Two(product_loss(net, None), net["a"], net["b"])


def product_loss(net, batch):
    goal = 1.0 if batch is None else batch
    return 0.5 * jnp.sum((net["a"] * net["b"] - goal) ** 2)


def two_layers(optimiser, sampled=False):
    def arm(spec):
        """Two weights whose product is to be one."""
        sample = lambda key, memory: 1.0 + spec.noise * jr.normal(key, (spec.width,))
        more = {"sample": sample} if sampled else {}
        dynamics = ps.descent(product_loss, optimiser(spec.eta), **more)
        return ps.Plan(
            lambda key: {"a": 0.1 + jr.uniform(key, (spec.width,)), "b": jnp.full(spec.width, 0.3)},
            (ps.Stage("training", dynamics, ps.linear_times(spec.steps, 10)),),
            see,
        )

    return arm


def named(name, arm):
    arm.__name__ = name
    return arm


momentum = named("momentum", two_layers(lambda eta: optax.sgd(eta, momentum=0.9)))
adam = named("adam", two_layers(optax.adam))
batches = named("batches", two_layers(optax.adam, sampled=True))


def product_flow(spec):
    """The gradient flow of the same loss."""
    rate = lambda net: {
        "a": -(net["a"] * net["b"] - 1) * net["b"],
        "b": -(net["a"] * net["b"] - 1) * net["a"],
    }
    return ps.Plan(
        lambda key: {"a": jnp.full(spec.width, 0.2), "b": jnp.full(spec.width, 0.3)},
        (ps.Stage("training", ps.flow(rate), np.linspace(0.5, 5.0, 10)),),
        see,
    )


def longer_flow(spec):
    """The same flow, as long as one says."""
    plan = product_flow(spec)
    stage = ps.Stage("training", plan.stages[0].dynamics, ps.linear_times(spec.steps))
    return ps.Plan(plan.init, (stage,), see)


def in_units(spec):
    """Descent whose time is counted in units of eta."""
    dynamics = ps.descent(product_loss, optax.sgd(spec.eta))
    return ps.Plan(
        lambda key: {"a": jnp.full(spec.width, 0.2), "b": jnp.full(spec.width, 0.3)},
        (ps.Stage("training", dynamics, ps.linear_times(spec.steps, 10), unit=spec.eta),),
        see,
    )


def of_other_kinds(spec):
    """A coordinate in single precision that shrinks, and a whole number that counts."""
    step = lambda net, t, key: {"a": net["a"] / 2, "b": net["b"] + 1}
    start = lambda key: {"a": jnp.ones(1, jnp.float32), "b": jnp.zeros(1, int)}
    stage = ps.Stage("training", ps.iterate(step), ps.linear_times(spec.steps))
    see = lambda net: Two(net["b"][0].astype(float), net["a"].astype(float), net["b"].astype(float))
    return ps.Plan(start, (stage,), see)


study = ps.Study(
    "forks",
    toys.Spec(),
    (momentum, adam, batches, product_flow, longer_flow, in_units, of_other_kinds, *toys.ARMS),
)


def run(arm, **changes):
    return ps.run(study, arm, progress=False, **changes)


def fork(ds, at, **changes):
    return ps.fork(ds, at, study=study, progress=False, **changes)


def as_a_user(*args, **kwargs):
    """The fork without the annotations that tests enforce: users may give anything."""
    return inspect.unwrap(ps.fork)(*args, **kwargs)


def same_from(ds, forked, at):
    """Whether the fork has the records of the run from a time on, bit for bit."""
    rest = ds.sel(time=slice(at, None))
    known = [name for name, v in ds.data_vars.items() if "time" in v.dims]
    return rest.time.equals(forked.time) and all(
        rest[name].values.tobytes() == forked[name].values.tobytes() for name in known
    )


# --- nothing changed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arm", "at"),
    [("momentum", 12.0), ("adam", 12.0), ("batches", 20.0), ("walk", 10.0), ("sparse", 0.0)],
)
def test_a_fork_without_any_change_is_the_run_to_the_bit(store, arm, at):
    ds = run(arm, seed=3)
    at = float(ds.time.sel(time=at, method="nearest"))
    assert same_from(ds, fork(ds, at), at)


def test_a_fork_between_two_records_goes_on_to_the_same_bits(store):
    ds = run("batches", seed=3)
    forked = fork(ds, 13.0)
    assert forked.time[0] == 13.0
    assert same_from(ds.sel(time=slice(14, None)), forked.sel(time=slice(14, None)), 14.0)


def test_a_fork_of_a_flow_is_the_run_to_its_tolerance(store):
    ds = run("product_flow")
    between = fork(ds, 1.7)
    rest = ds.sel(time=slice(1.8, None))
    np.testing.assert_allclose(between.a.sel(time=rest.time), rest.a, rtol=1e-8)
    assert same_from(ds, fork(ds, 2.0), 2.0)


def ends(ds):
    """The times at which the stages of a run ended."""
    return [float(ds.time[ds.stage == s].max()) for s in np.unique(ds.stage)]


@pytest.mark.parametrize("place", ["in the first", "at an end", "in the second", "in the third"])
def test_a_fork_of_a_plan_with_stages_enters_the_later_ones_as_the_run_did(store, place):
    ds = run("curriculum", seed=5, steps=12)
    first, second, _ = ends(ds)
    inside = lambda s: float(ds.time[ds.stage == s][1])
    at = {
        "in the first": inside(0),
        "at an end": first,
        "in the second": inside(1),
        "in the third": float(ds.time[ds.time > second][2]),
    }[place]
    assert same_from(ds, fork(ds, at), at)


# --- clamp, reset, replace, change ----------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["momentum", "adam", "batches", "product_flow"])
def test_what_is_clamped_stays_and_the_rest_moves(store, arm):
    forked = fork(run(arm), 4.0 if arm != "product_flow" else 1.0, clamp="a")
    np.testing.assert_array_equal(forked.a, forked.a.isel(time=[0] * forked.sizes["time"]))
    assert (forked.b.isel(time=-1) != forked.b.isel(time=0)).all()


def test_what_moves_beside_a_clamped_part_follows_its_own_gradient(store):
    forked = fork(run("in_units", eta=0.1, steps=20), 1.0, clamp=("params.a",))
    a, b = forked.a.values[0, 0], forked.b.values[0, 0]
    for _ in range(10):
        b -= 0.1 * (a * b - 1) * a
    np.testing.assert_allclose(forked.b.isel(time=-1, coordinate=0), b, rtol=1e-12)


def test_what_is_reset_begins_where_the_run_began(store):
    ds = run("batches", seed=2)
    forked = fork(ds, 12.0, reset=["a"])
    np.testing.assert_array_equal(forked.a.isel(time=0), ds.a.isel(time=0))
    np.testing.assert_array_equal(forked.b.isel(time=0), ds.b.sel(time=12.0))


def test_what_is_replaced_begins_where_one_says(store):
    forked = fork(run("adam"), 12.0, replace={"b": [5.0, 6.0]})
    np.testing.assert_array_equal(forked.b.isel(time=0), [5.0, 6.0])


def test_other_numbers_hold_from_the_fork_on_and_time_goes_on(store):
    ds = run("in_units", eta=0.1)
    forked = fork(ds, 2.0, change={"eta": 0.05})
    np.testing.assert_allclose(forked.time[[0, -1]], [2.0, 2.0 + 20 * 0.05])
    a, b = ds.a.sel(time=2.0).values[0], ds.b.sel(time=2.0).values[0]
    for _ in range(4):
        error = a * b - 1
        a, b = a - 0.05 * error * b, b - 0.05 * error * a
    np.testing.assert_allclose(forked.a.isel(time=1, coordinate=0), a, rtol=1e-12)


def test_one_word_stands_for_all_that_is_below_it(store):
    ds = run("adam")
    assert json.loads(fork(ds, 8.0, clamp="params").attrs["fork"])["clamp"] == [
        "params.a",
        "params.b",
    ]


def test_a_parameter_of_torch_takes_the_place_of_one(store):
    torch = pytest.importorskip("torch")
    mine = torch.nn.Parameter(torch.tensor([5.0, 6.0]))
    expected = fork(run("adam"), 12.0, replace={"b": np.float32([5.0, 6.0])}).attrs["id"]
    for value in (mine, mine.bfloat16()):
        assert fork(run("adam"), 12.0, replace={"b": value}).attrs["id"] == expected


def test_a_number_stands_for_all_entries_of_what_is_replaced(store):
    forked = fork(run("adam"), 12.0, replace={"b": 3})
    np.testing.assert_array_equal(forked.b.isel(time=0), [3.0, 3.0])


@pytest.mark.parametrize(
    ("replace", "words"),
    [
        ({"a": 1e300}, r'"params.a" is of float32, and 1e\+300 is no such number'),
        ({"b": [0.5]}, '"params.b" is of int64, and 0.5 is no such number'),
    ],
)
def test_what_is_replaced_is_a_number_of_the_parameters_kind(store, replace, words):
    with pytest.raises(PlanError, match=words):
        fork(run("of_other_kinds"), 12.0, replace=replace)
    forked = fork(run("of_other_kinds"), 12.0, replace={"a": 0.1, "b": 7.0})
    assert forked.a.values[0, 0] == np.float32(0.1)
    assert forked.b.values[0, 0] == 7


# --- forks of forks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"clamp": "a"},
        {"reset": "a"},
        {"replace": {"b": [5.0, 6.0]}},
        {"change": {"eta": 0.05}},
        {"clamp": "b", "reset": "a", "change": {"eta": 0.2}},
    ],
)
def test_an_unchanged_fork_of_a_fork_is_the_fork_to_the_bit(store, change):
    first = fork(run("batches", seed=3), 8.0, **change)
    second = fork(first, 20.0)
    assert same_from(first, second, 20.0)
    third = fork(second.attrs["id"], 32.0)
    assert same_from(first, third, 32.0)


def test_a_fork_of_a_fork_is_found_when_python_begins_anew(store, monkeypatch):
    first = fork(run("batches"), 8.0, replace={"b": [5.0, 6.0]}, clamp="a")
    second = fork(first, 20.0, clamp="b")
    from phasescope.verbs import fork_origin

    fork_origin._state_at.cache_clear()
    assert fork(first.attrs["id"], 20.0, clamp="b").identical(second)
    both = second.isel(time=[0, -1])
    for name in ("a", "b"):  # what the first fork holds stays held
        np.testing.assert_array_equal(both[name][0], both[name][1])


def test_a_fork_of_a_fork_begins_where_the_fork_is_in_time(store):
    ds = run("in_units", eta=0.1)
    first = fork(ds, 2.0, change={"eta": 0.05})  # from step 20 of 40 on: 2.0 to 3.0
    assert "ended_at" not in first.attrs
    assert first.attrs["planned_end"] == pytest.approx(3.0)
    assert same_from(first, fork(first, 2.6), 2.6)
    with pytest.raises(PlanError, match=r"ended at 3"):
        fork(first, 3.5)
    with pytest.raises(PlanError, match="runs from 2: it cannot be forked at 1"):
        fork(first, 1.0)


def test_a_fork_of_a_fork_ends_when_the_first_one_does_whose_numbers_are_others(store):
    ds = run("in_units", eta=0.1)
    first = fork(ds, 2.0, change={"eta": 0.05})  # its plan alone, of 40 steps of 0.05, ends at 2.0
    second = fork(first, 2.4, clamp="a")
    assert second.attrs["planned_end"] == pytest.approx(3.0)
    assert same_from(second, fork(second, 2.6), 2.6)


def test_what_a_fork_of_a_fork_resets_begins_where_the_fork_began(store):
    first = fork(run("batches"), 8.0)
    second = fork(first, 20.0, reset="a")
    np.testing.assert_array_equal(second.a.isel(time=0), first.a.isel(time=0))


def test_a_fork_whose_run_is_gone_says_so(store):
    import shutil

    ds = run("adam")
    first = fork(ds, 8.0)
    shutil.rmtree(ds.attrs["folder"])
    with pytest.raises(PlanError, match=r"is a fork of .*, which is not in .* any more"):
        fork(first, 20.0)


# --- the end of a run -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["momentum", "adam", "batches"])
def test_a_run_goes_on_from_its_end_to_the_bits_of_a_longer_one(store, arm):
    short, long = run(arm, seed=3, steps=20), run(arm, seed=3, steps=40)
    forked = fork(short, 20, change={"steps": 40})
    assert forked.time.values.tolist() == [20.0, 24.0, 28.0, 32.0, 36.0, 40.0]
    assert same_from(long, forked, 20.0)
    assert same_from(long, fork(forked, 28), 28.0)


def test_the_state_at_the_end_is_read_and_not_computed(store, monkeypatch):
    ds = run("adam", steps=20)
    monkeypatch.setattr(
        "phasescope.verbs.fork_origin._state_at", None
    )  # whoever computes would fail
    fork(ds, 20, change={"steps": 30})


def test_a_flow_goes_on_from_its_end_to_its_tolerance(store):
    short, long = run("longer_flow", steps=5), run("longer_flow", steps=10)
    forked = fork(short, 5.0, change={"steps": 10})
    rest = long.sel(time=slice(6, None))
    np.testing.assert_allclose(forked.a.sel(time=rest.time), rest.a, rtol=1e-8)


def test_a_fork_goes_on_from_its_end(store):
    short = fork(run("batches", steps=20), 10, clamp="a")
    long = fork(run("batches", steps=40), 10, clamp="a")
    assert same_from(long, fork(short, 20, change={"steps": 40}), 20.0)


def test_a_run_of_times_that_were_asked_for_goes_on_at_its_own(store):
    forked = fork(run("adam", steps=20, at=[0, 10, 20]), 20, change={"steps": 40})
    assert forked.time.values.tolist() == [20.0, 24.0, 28.0, 32.0, 36.0, 40.0]


def test_after_the_last_of_several_stages_nothing_is_left(store):
    ds = run("curriculum", seed=5, steps=12)
    end = float(ds.time[-1])
    with pytest.raises(PlanError, match=f"ends at {end:g}, and nothing is left to run"):
        fork(ds, end)


@pytest.mark.parametrize("changes", [{}, {"clamp": "a"}, {"change": {"eta": 0.2}}])
def test_at_the_end_nothing_is_left_without_a_longer_plan(store, changes):
    words = r'nothing is left to run: .* makes its plan longer, such as change=\{"steps": 80\}'
    with pytest.raises(PlanError, match=words):
        fork(run("adam"), 40.0, **changes)


def test_a_run_that_ended_by_its_own_rule_has_nothing_left(store):
    ds = run("until_small")
    with pytest.raises(PlanError, match=r"was left by its own rule \(`until`\)"):
        fork(ds, ds.attrs["ended_at"])


# --- lanes of a sweep, and runs that were given arrays --------------------------------------------------------------


def sweep(**numbers):
    return ps.sweep(study, "adam", progress=False, **numbers)


def test_a_lane_of_a_sweep_is_forked_as_the_same_run_alone(store):
    sw = sweep(eta=[0.1, 0.2], steps=[20, 40], seeds=2)
    lane = sw.sel(eta=0.2, steps=40, seed=1)
    with pytest.warns(UserWarning, match=r'ps.run\("forks", "adam", seed=1, eta=0.2\)'):
        forked = fork(lane, 8.0, clamp="a")
    alone = run("adam", eta=0.2, steps=40, seed=1)
    assert forked.identical(fork(alone, 8.0, clamp="a"))
    np.testing.assert_allclose(lane.a.sel(time=8.0), forked.a.isel(time=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("axes", "at"),
    [
        ({"width": [2, 3]}, {"width": 3}),
        ({"seeds": 3, "block": 1}, {"seed": 2}),
        ({"width": [2, 3], "seeds": 2, "block": 1}, {"width": 3, "seed": 1}),
        ({"width": [3, 2], "eta": [0.1, 0.2, 0.3], "block": 2}, {"width": 2, "eta": 0.3}),
    ],
)
@pytest.mark.filterwarnings("ignore:a lane of")
def test_of_a_sweep_of_several_blocks_the_run_that_was_chosen_is_forked(store, axes, at):
    forked = fork(sweep(**axes).sel(at), 8.0)
    assert forked.identical(fork(run("adam", **at), 8.0))


def test_a_lane_is_forked_into_another_store(store, tmp_path):
    lane = sweep(eta=[0.1, 0.2]).sel(eta=0.2)
    with pytest.warns(UserWarning, match="as the same run alone"):
        forked = fork(lane, 8.0, store=tmp_path / "other")
    assert same_from(run("adam", eta=0.2), forked, 8.0)
    assert forked.attrs["folder"].startswith(str(tmp_path / "other"))


def test_of_several_blocks_the_one_that_is_meant_must_be_said(store):
    sw = sweep(width=[2, 3], eta=[0.1, 0.2])
    words = r"several runs, that differ in width: .* ps.fork\(sweep.sel\(width=2\), ...\)"
    for several in (sw.isel(eta=0), sw.sel(width=3, drop=True).isel(eta=0)):
        with pytest.raises(PlanError, match=words):
            fork(several, 8.0)
    with pytest.raises(PlanError, match="none of the 2 blocks of this sweep"):
        fork(sw.isel(eta=0, width=0).assign_coords(width=4), 8.0)


def test_a_lane_of_an_opened_block_is_forked(store):
    sw = sweep(eta=[0.1, 0.2])
    lane = ps.open(sw.attrs["ids"]).isel(lane=1)
    with pytest.warns(UserWarning, match="as the same run alone"):
        forked = fork(lane, 8.0)
    assert same_from(run("adam", eta=0.2), forked, 8.0)


def test_a_block_as_a_whole_is_refused_with_the_call_of_a_single_run(store):
    sw = sweep(eta=[0.3, 0.2], steps=20)
    words = (
        r"is a block of several runs \(2, over eta\): fork one lane, as in ps.open"
        r'.*isel\(lane=0\), \.\.\.\), or the same run alone: the first is ps.run\("forks", "adam", eta=0.3, steps=20\)'
    )
    for whole in (sw, sw.attrs["ids"]):
        with pytest.raises(PlanError, match=words.replace("ps.open", r"ps.fork\(ps.open")):
            fork(whole, 8.0)


def test_a_run_that_began_from_given_arrays_is_forked(store):
    ds = ps.run(study, ps.given(batches, params={"a": [1.0, 2.0]}), seed=1, progress=False)
    forked = fork(ds, 20.0)
    assert same_from(ds, forked, 20.0)
    assert same_from(ds, fork(forked.attrs["id"], 28.0), 28.0)


def test_a_replay_is_forked_and_goes_on_with_its_batches(store):
    fed = np.linspace(0.5, 1.5, 80).reshape(40, 2)
    ds = ps.replay(study, "batches", fed, progress=False)
    assert same_from(ds, fork(ds, 20.0), 20.0)
    with pytest.raises(PlanError, match="has 40 batches, and the run takes 50 steps"):
        fork(ds, 40.0, change={"steps": 50})


# --- an ordinary run ------------------------------------------------------------------------------------------------


def test_a_fork_is_stored_and_found_again(store, monkeypatch):
    ds = run("adam")
    first = fork(ds, 8.0, clamp="a")
    monkeypatch.setattr(
        "phasescope.verbs.fork_origin._state_at", None
    )  # whoever computes would fail
    again = fork(ds.attrs["id"], 8.0, clamp="a")
    assert again.identical(first)
    assert len(Store(store).entries()) == 2


def test_forks_that_differ_are_different_runs(store):
    ds = run("adam")
    forks = [
        fork(ds, 8.0),
        fork(ds, 12.0),
        fork(ds, 8.0, clamp="a"),
        fork(ds, 8.0, reset="a"),
        fork(ds, 8.0, replace={"a": [1.0, 2.0]}),
        fork(ds, 8.0, replace={"a": [1.0, 3.0]}),
        fork(ds, 8.0, change={"eta": 0.2}),
    ]
    assert len({f.attrs["id"] for f in [ds, *forks]}) == 8


def test_a_fork_says_what_it_was_forked_from(store):
    ds = run("adam")
    told = json.loads(fork(ds, 8.0, clamp="a", change={"eta": 0.2}).attrs["fork"])
    assert told == {
        "of": ds.attrs["id"], "at": 8.0, "clamp": ["params.a"], "reset": [], "replace": {}, "change": {"eta": 0.2},
    }  # fmt: skip


def test_the_list_of_runs_tells_a_fork_from_its_run(store):
    ds = run("adam")
    forked = fork(ds, 8.0, clamp="a")
    rows = {row["id"]: row for row in stored_runs(Store(store))}
    assert "fork" not in rows[ds.attrs["id"]]
    assert rows[forked.attrs["id"]]["fork"] == forked.attrs["fork"]


def test_a_fork_whose_first_state_is_no_number_says_so(store, monkeypatch):
    ds = run("adam")
    none = lambda base, name, array, dtype: np.full(array.shape, np.nan)
    monkeypatch.setattr("phasescope.verbs.fork_origin.Base._as_kind", none)
    with pytest.raises(RunDiverged, match='at step 12 of stage "training"'):
        fork(ds, 12.0, replace={"b": 1.0})


def test_a_fork_that_diverges_says_where(store):
    with pytest.raises(RunDiverged, match="left the finite numbers at step") as caught:
        fork(run("in_units", steps=100), 4.0, change={"eta": 100.0})
    assert float(caught.value.dataset.time[0]) == 4.0


# --- what cannot be forked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"clamp": "aa"}, 'has no parameter "aa". Known: a, b. Did you mean "a"'),
        ({"reset": ["c"]}, 'has no parameter "c"'),
        ({"replace": {"a": [1.0]}}, r"has the shape \(1,\), and this run needs \(2,\)"),
        ({"replace": {"a": [1.0, np.nan]}}, "must be finite numbers"),
        ({"replace": {"params": [1.0]}}, "is several parameters"),
        ({"change": {"width": 3}}, "its state has another shape"),
        ({"change": {"steps": 4}}, "would have ended before 8"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(store, changes, words):
    with pytest.raises(PlanError, match=words):
        fork(run("adam"), 8.0, **changes)


def test_a_field_that_does_not_exist_is_refused(store):
    with pytest.raises(SpecError, match=r'"etta".* Did you mean "eta"'):
        fork(run("adam"), 8.0, change={"etta": 0.2})


def test_a_field_that_the_arm_does_not_read_is_refused_as_in_a_run(store):
    ds = run("any_size")
    with pytest.raises(SpecError, match=r'forks.any_size does not read "noise"'):
        fork(ds, 8.0, change={"noise": 0.2})


@pytest.mark.parametrize("at", [-1.0, 40.5, 1e9, float("nan")])
def test_a_time_outside_of_the_run_is_refused(store, at):
    with pytest.raises(PlanError, match="cannot be forked at"):
        fork(run("adam"), at)


def test_a_time_between_two_steps_is_refused(store):
    with pytest.raises(PlanError, match="lies between two of them"):
        fork(run("adam"), 8.5)


def test_a_time_after_an_early_end_is_refused(store):
    with pytest.raises(PlanError, match="had ended before 150"):
        fork(run("until_small"), 150.0)


def test_a_closed_form_cannot_be_clamped(store):
    with pytest.raises(PlanError, match="not in a closed form"):
        fork(run("cubic_formula"), 10.0, clamp="params")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"at": "x"}, "at is the time of the run at which it is forked, a number, got at='x'"),
        ({"at": None}, "a number, got at=None"),
        ({"at": True}, "a number, got at=True"),
        ({"clamp": 3}, r'clamp names parameters, as in clamp="W" or .*, got clamp=3'),
        ({"reset": ["a", 2]}, r"reset names parameters, .* got reset=\['a', 2\]"),
        ({"replace": [1.0]}, r"replace has arrays by the names of parameters, got replace=\[1.0\]"),
        ({"change": "eta=1"}, "change has values by field, got change='eta=1'"),
        ({"reset": "a", "replace": {"a": [1.0, 2.0]}}, "a is to be reset and to be replaced"),
    ],
)
def test_arguments_of_another_kind_are_refused(store, changes, words):
    with pytest.raises(SpecError, match=words):
        as_a_user(run("adam"), study=study, progress=False, **{"at": 8.0, **changes})


def test_a_time_of_the_dataset_is_a_time(store):
    ds = run("adam")
    there = as_a_user(ds, ds.time[2], study=study, progress=False)
    assert there.identical(fork(ds, float(ds.time[2])))


def test_a_run_that_is_made_by_other_code_cannot_be_forked(store, monkeypatch):
    ds = run("adam")
    other = ps.Study("forks", toys.Spec(), (named("adam", two_layers(optax.adamw)),))
    with pytest.raises(PlanError, match="was made by other code than today's"):
        ps.fork(ds, 8.0, study=other, progress=False)


# --- the command line -----------------------------------------------------------------------------------------------


def ask(monkeypatch, capsys, *words):
    from phasescope.cli import app

    monkeypatch.setattr("sys.argv", ["phasescope", "fork", *words])
    code = 0
    try:
        app.main()
    except SystemExit as end:
        code = int(end.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_line_forks_a_run_by_its_id(store, monkeypatch, capsys):
    ds = ps.run("linear_modes", "descent", steps=20, progress=False)
    words = (ds.attrs["id"], "eta=0.2", "--at", "5", "--clamp", "a", "--json")
    code, out, _ = ask(monkeypatch, capsys, *words)
    expected = ps.fork(ds, 5, clamp="a", change={"eta": 0.2}, progress=False)
    assert (code, json.loads(out)["id"]) == (0, expected.attrs["id"])


def test_the_command_line_replaces_parameters_by_numbers_and_files(
    store, tmp_path, monkeypatch, capsys
):
    ds = ps.run("linear_modes", "descent", steps=20, progress=False)
    file = tmp_path / "b.npy"
    np.save(file, np.array([1.0, 2.0, 3.0]))
    words = (ds.attrs["id"], "--at", "5", "--replace", "a=0.5", "--replace", f"b={file}", "--json")
    code, out, _ = ask(monkeypatch, capsys, *words)
    replace = {"a": 0.5, "b": [1.0, 2.0, 3.0]}
    expected = ps.fork(ds, 5, replace=replace, progress=False)
    assert (code, json.loads(out)["id"]) == (0, expected.attrs["id"])


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("a", '"a" is not of the form NAME=NUMBER or NAME=FILE.npy'),
        ("a=nowhere.npy", "nowhere.npy: there is no such file"),
        ("a=bad.npy", "bad.npy: it cannot be read"),
        ("a=hello", "a=hello: it is neither a number nor a file that ends in .npy"),
    ],
)
def test_what_cannot_replace_a_parameter_is_one_line(
    store, tmp_path, monkeypatch, capsys, word, said
):
    monkeypatch.chdir(tmp_path)
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    (tmp_path / "objects.npy").rename(tmp_path / "bad.npy")
    ds = ps.run("linear_modes", "descent", steps=20, progress=False)
    code, _, err = ask(monkeypatch, capsys, ds.attrs["id"], "--at", "5", "--replace", word)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


@pytest.mark.filterwarnings("ignore:a lane of .* is forked as the same run alone")
def test_the_command_line_forks_a_lane_of_a_block(store, monkeypatch, capsys):
    sw = ps.sweep("linear_modes", "descent", steps=20, eta=[0.1, 0.2], progress=False)
    ask_for = (sw.attrs["ids"], "--at", "5", "--lane")
    code, out, _ = ask(monkeypatch, capsys, *ask_for, "1", "--json")
    alone = ps.run("linear_modes", "descent", steps=20, eta=0.2, progress=False)
    assert (code, json.loads(out)["id"]) == (0, ps.fork(alone, 5, progress=False).attrs["id"])
    code, _, said = ask(monkeypatch, capsys, *ask_for, "2")
    assert (code, said.count("\n")) == (2, 1)
    assert "has the lanes 0 to 1, got --lane 2" in said


def test_a_parameter_that_is_not_there_is_one_line(store, monkeypatch, capsys):
    ds = ps.run("linear_modes", "descent", steps=20, progress=False)
    code, _, said = ask(monkeypatch, capsys, ds.attrs["id"], "--at", "5", "--clamp", "aa")
    assert (code, said.count("\n")) == (2, 1)
    assert 'Did you mean "a"' in said


def test_a_run_of_which_some_observables_were_kept_is_forked_with_these(tmp_path):
    numbers = {"steps": 20, "eta": 0.5, "store": tmp_path, "progress": False}
    kept = ps.run("linear_modes", "descent", keep=["loss"], **numbers)
    frozen = ps.fork(kept, at=5, clamp="a", progress=False)
    assert list(frozen.data_vars) == ["loss"]
    same = ps.fork(kept, at=5, progress=False)
    assert same.loss.values.tolist() == kept.loss.sel(time=slice(5, None)).values.tolist()
