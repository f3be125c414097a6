"""A fork goes on from the state of a run: unchanged it is the run itself, changed it is an ordinary run of its own."""

from __future__ import annotations

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


def in_units(spec):
    """Descent whose time is counted in units of eta."""
    dynamics = ps.descent(product_loss, optax.sgd(spec.eta))
    return ps.Plan(
        lambda key: {"a": jnp.full(spec.width, 0.2), "b": jnp.full(spec.width, 0.3)},
        (ps.Stage("training", dynamics, ps.linear_times(spec.steps, 10), unit=spec.eta),),
        see,
    )


study = ps.Study(
    "forks", toys.Spec(), (momentum, adam, batches, product_flow, in_units, *toys.ARMS)
)


def run(arm, **changes):
    return ps.run(study, arm, progress=False, **changes)


def fork(ds, at, **changes):
    return ps.fork(ds, at, study=study, progress=False, **changes)


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


# --- an ordinary run ------------------------------------------------------------------------------------------------


def test_a_fork_is_stored_and_found_again(store, monkeypatch):
    ds = run("adam")
    first = fork(ds, 8.0, clamp="a")
    monkeypatch.setattr("phasescope.verbs.fork._chunk_at", None)  # whoever computes would fail
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


@pytest.mark.parametrize("at", [-1.0, 40.0, 1e9, float("nan")])
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


def test_a_block_of_runs_cannot_be_forked(store):
    ds = ps.sweep(study, "adam", eta=[0.1, 0.2], progress=False)
    with pytest.raises(PlanError, match="is a block of several runs"):
        fork(ds.attrs["ids"], 8.0)


def test_a_run_that_is_made_by_other_code_cannot_be_forked(store):
    ds = ps.run(study, ps.given(adam, params={"a": [1.0, 2.0]}), progress=False)
    with pytest.raises(PlanError, match="can be made again"):
        fork(ds, 8.0)


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
