"""A sweep is the same run many times: lane by lane, block by block, wherever it is carried out."""

from __future__ import annotations

import concurrent.futures as futures
import multiprocessing
import pickle

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import toys

import phasescope as ps
from phasescope.errors import PlanError, SpecError
from phasescope.store import Store
from phasescope.verbs import execute as checkpoints
from phasescope.verbs.context import Context, Stopped
from phasescope.verbs.sweep import layout_cost, run_layout
from phasescope.verbs.sweep_layout import lay_out


def sweep(arm, **fields):
    return ps.sweep(toys.study, arm, store=False, **fields)


def run(arm, **changes):
    return ps.run(toys.study, arm, store=False, **changes)


def values(ds):
    return {name: v.values.tobytes() for name, v in ds.data_vars.items()}


# --- a lane is a run ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", [toys.quadratic, toys.sampled, toys.walk, toys.cubic_flow])
def test_a_swept_lane_equals_the_single_run(arm):
    lane = sweep(arm, eta=[0.05, 0.1, 0.2]).sel(eta=0.1)
    np.testing.assert_allclose(lane.weight, run(arm, eta=0.1).weight, rtol=1e-12, atol=1e-14)


def test_a_swept_seed_equals_the_run_with_that_seed():
    lane = sweep(toys.sampled, seeds=[4, 7, 9]).sel(seed=7)
    np.testing.assert_allclose(lane.weight, run(toys.sampled, seed=7).weight, rtol=1e-12)


def test_a_lane_of_a_staged_run_ends_where_the_single_run_ends():
    lane = sweep(toys.curriculum, goal=[0.2, 0.4, 0.6]).sel(goal=0.4).isel(time=-1)
    np.testing.assert_allclose(lane.weight, run(toys.curriculum, goal=0.4).weight[-1], rtol=1e-9)


@pytest.mark.parametrize("arm", [toys.sampled, toys.walk, toys.cubic_flow])
def test_at_one_width_a_lane_does_not_know_its_neighbours(arm):
    etas, starts = [0.02, 0.3, 0.1, 0.05], [0.5, 2.0, 1.0, 3.0]
    field = {"start": starts} if arm is toys.cubic_flow else {"eta": etas}
    [(name, numbers)] = field.items()
    alone = sweep(arm, **{name: numbers[2:3]}, block=4).sel({name: numbers[2]})
    many = sweep(arm, **{name: numbers}, block=4).sel({name: numbers[2]})
    permuted = sweep(arm, **{name: numbers[::-1]}, block=4).sel({name: numbers[2]})
    assert values(alone) == values(many) == values(permuted)


def test_a_lane_alone_has_the_bits_that_it_has_among_a_thousand():
    etas = np.linspace(0.001, 0.4, 1000)
    many = sweep(toys.walk, eta=etas, block=1000)
    permuted = sweep(toys.walk, eta=np.random.default_rng(0).permutation(etas), block=1000)
    for eta in etas[[0, 137, 999]]:
        alone = sweep(toys.walk, eta=[eta], block=1000).sel(eta=eta)
        assert values(alone) == values(many.sel(eta=eta)) == values(permuted.sel(eta=eta))


def test_lanes_share_their_random_numbers_when_only_floats_are_swept():
    ds = sweep(toys.walk, eta=[0.1, 0.2, 0.4], start=0.0)
    np.testing.assert_allclose(
        ds.weight / ds.eta, (ds.weight / ds.eta).sel(eta=[0.1] * 3), rtol=1e-12
    )


def test_lanes_of_different_seeds_differ():
    final = sweep(toys.walk, seeds=4).weight.isel(time=-1, coordinate=0)
    assert len(set(final.values.tolist())) == 4


def test_a_block_wide_operation_gives_what_lane_by_lane_gives():
    def blocked(spec):
        """The walk without its noise, written for a whole block."""
        step = lambda w, t, key: w * (1 - spec.eta) + t
        return toys.plan(spec, ps.iterate(step, lanes_last=True), ps.linear_times(9))

    def mapped(spec):
        """The same, written for one run."""
        return toys.plan(
            spec, ps.iterate(lambda w, t, key: w * (1 - spec.eta) + t), ps.linear_times(9)
        )

    np.testing.assert_allclose(
        sweep(blocked, eta=[0.1, 0.2]).weight, sweep(mapped, eta=[0.1, 0.2]).weight, rtol=1e-14
    )


# --- divergence is data ---------------------------------------------------------------------------------------------


def test_nan_in_one_lane_leaves_the_neighbours_untouched():
    ill = sweep(toys.squaring, start=[0.5, 2.0, 0.9], block=4).sel(start=[0.5, 0.9])
    well = sweep(toys.squaring, start=[0.5, 0.7, 0.9], block=4).sel(start=[0.5, 0.9])
    assert values(ill) == values(well)


def test_the_lane_that_left_the_finite_numbers_is_marked():
    marked = sweep(toys.squaring, start=[0.5, 2.0, 0.9]).diverged_at
    np.testing.assert_array_equal(marked, [np.nan, 10.0, np.nan])


def test_a_block_that_diverges_as_a_whole_does_not_hide_the_others():
    ds = sweep(toys.squaring, start=[0.5, 0.9, 2.0, 4.0], block=2)
    assert np.isfinite(ds.loss.isel(time=-1)).values.tolist() == [True, True, False, False]


def test_a_task_that_diverges_is_data_too(store):
    ds = ps.sweep(toys.study, toys.squaring, start=2.0, steps=[4, 40])
    np.testing.assert_array_equal(ds.diverged_at, [np.nan, 10.0])


def test_marks_are_kept_along_every_axis():
    ds = sweep(toys.squaring, start=[0.5, 2.0], steps=[4, 40])
    np.testing.assert_array_equal(ds.diverged_at, [[np.nan, np.nan], [np.nan, 10.0]])


def test_a_diverged_lane_does_not_change_the_times_asked_for():
    assert sweep(toys.squaring, start=[0.5, 2.0], at=[1, 3]).time.values.tolist() == [1.0, 3.0]


# --- axes -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def product():
    return sweep(
        toys.quadratic, width=[1, 3], eta=[0.1, 0.2], start=[1.0, 2.0, 3.0], seeds=2, steps=5
    )


def test_every_swept_field_is_a_dim(product):
    assert dict(product.loss.sizes) == {"width": 2, "seed": 2, "eta": 2, "start": 3, "time": 6}


@pytest.mark.parametrize(
    ("axis", "numbers"),
    [("width", [1, 3]), ("seed", [0, 1]), ("eta", [0.1, 0.2]), ("start", [1.0, 2.0, 3.0])],
)
def test_every_axis_has_its_values_as_coordinate(product, axis, numbers):
    assert product[axis].values.tolist() == numbers


def test_every_entry_is_the_run_of_its_coordinates(product):
    expected = 0.5 * product.width * product.start**2 * (1 - product.eta) ** (2 * product.time)
    np.testing.assert_allclose(
        product.loss, expected.broadcast_like(product.loss).transpose(*product.loss.dims)
    )


def test_a_smaller_shape_has_nan_beyond_its_size(product):
    filled = product.weight.isel(time=-1, seed=0, eta=0, start=0).notnull()
    assert filled.values.tolist() == [[True, False, False], [True, True, True]]


def test_lanes_that_do_not_fill_a_block_are_padded_and_cut():
    ds = sweep(toys.quadratic, eta=[0.1, 0.2, 0.3, 0.4, 0.5], block=2)
    np.testing.assert_allclose(ds.loss.isel(time=1), (1 - ds.eta) ** 2)


def test_numpy_arrays_are_axes_too():
    assert sweep(toys.quadratic, eta=np.array([0.1, 0.2])).sizes["eta"] == 2


def test_a_sweep_over_nothing_is_the_single_run():
    assert toys.same_bits(sweep(toys.quadratic), run(toys.quadratic))


def test_seeds_without_other_axes_are_lanes_of_the_block_that_is_asked_for():
    layout = lay_out(toys.study, "walk", {}, seeds=2, block=2)
    assert [task.width for task in layout.tasks] == [2]
    assert layout.tasks[0].columns == (("seed", (0.0, 1.0)),)
    single = lay_out(toys.study, "walk", {}, seeds=2, block=1)
    assert [task.width for task in single.tasks] == [1, 1]


def test_seeds_get_blocks_of_their_own_where_floats_fill_one():
    ds = sweep(toys.walk, eta=[0.1, 0.2, 0.3, 0.4], seeds=2, block=4)
    assert (ds.loss.dims[:2], values(ds.sel(seed=1))) == (
        ("seed", "eta"),
        values(sweep(toys.walk, eta=[0.1, 0.2, 0.3, 0.4], seeds=[1], block=4)),
    )


# --- runs that left a stage early ---------------------------------------------------------------------------------

ETAS = [0.05, 0.1, 0.2, 0.3]
ENDS = [30, 15, 10, 5]  # of until_small: the first multiple of 5 at which (1 - eta)^(2t) < 0.05


@pytest.mark.parametrize("block", [1, 2, 3, 4])
def test_a_run_that_ended_early_stays_where_it_stopped_however_the_sweep_is_cut(block):
    ds = sweep(toys.until_small, eta=ETAS, block=block)
    t = np.minimum(ds.time.values, np.array(ENDS)[:, None])
    expected = (1 - np.array(ETAS)[:, None]) ** (2 * t)
    assert ds.time.values.tolist() == [0, 5, 10, 15, 20, 25, 30]
    np.testing.assert_allclose(ds.loss.transpose("eta", "time"), expected, rtol=1e-12)
    assert ds.stage.values.tolist() == [0] * 7
    assert ds.attrs["ended_at"] == 30.0


def test_reductions_of_blocks_that_end_early_are_those_of_the_whole_record():
    asked = {"eta": ETAS, "block": 2}
    reduce = {
        "end": ps.final("loss"),
        "small": ps.when("loss", at_most=0.2, how="sustained"),
    }
    found = sweep(toys.until_small, reduce=reduce, **asked)
    whole = sweep(toys.until_small, **asked)
    np.testing.assert_array_equal(found.end, whole.loss.isel(time=-1))
    np.testing.assert_array_equal(found.small, ps.sustained(whole.loss <= 0.2))
    assert found.small.notnull().all()


def left_early_or_late(spec):
    """A stage that is left when the loss is small, then one of two steps; the sum is inspected at their ends."""
    gd = ps.descent(toys.loss, optax.sgd(spec.eta))
    small = lambda seen: seen.loss < spec.goal
    stages = (
        ps.Stage("until small", gd, np.arange(5, 205, 5), until=small),
        ps.Stage("two steps", gd, ps.linear_times(2)),
    )
    return ps.Plan(
        toys.begin(spec), stages, toys.measure, inspect=lambda w: toys.Counted(jnp.sum(w))
    )


def test_blocks_that_leave_a_stage_at_different_times_share_its_end():
    wide = sweep(left_early_or_late, eta=ETAS)
    cut = sweep(left_early_or_late, eta=ETAS, block=2)
    assert cut.stage_end.values.tolist() == wide.stage_end.values.tolist() == [30, 32]
    np.testing.assert_allclose(cut.total, wide.total, rtol=1e-12)
    np.testing.assert_allclose(cut.loss.isel(time=-1), wide.loss.isel(time=-1), rtol=1e-12)


def test_tasks_that_leave_a_stage_early_stay_where_they_stopped():
    # The loss is a sum over the weight: the wider, the later it is small.
    ds = sweep(toys.until_small, width=[1, 4], eta=[0.1, 0.2])
    ends = ds.loss.isel(time=-1)
    assert ends.notnull().all() and (ends < toys.Spec().goal).all()


def test_a_block_that_left_the_finite_numbers_does_not_stay_where_it_was():
    ds = sweep(toys.squaring, start=[0.5, 2.0], steps=16, block=1)
    assert "ended_at" not in ds.attrs
    assert np.isnan(ds.loss.sel(start=2.0).isel(time=-1))
    assert np.isfinite(ds.loss.sel(start=0.5)).all()


def test_a_time_asked_for_that_a_block_did_not_reach_is_nan_in_it():
    ds = sweep(toys.until_small, eta=ETAS, block=2, at=[0, 25])
    assert ds.loss.notnull().sum("time").values.tolist() == [2, 2, 1, 1]


def test_a_sweep_in_which_some_went_to_the_planned_end_has_no_early_end():
    ds = sweep(toys.until_small, eta=[0.001, 0.3], block=1)
    assert "ended_at" not in ds.attrs
    assert ds.loss.isel(time=-1).notnull().all()


# --- stages and times ---------------------------------------------------------------------------------------------


def test_the_stage_stays_an_integer_where_runs_have_different_times():
    stage = sweep(toys.quadratic, steps=[2, 4]).stage
    assert (stage.dtype, stage.values.tolist()) == (np.int32, [0, 0, 0, 0, 0])


def handed_over(spec):
    """The first stage is as long as the weight is wide."""
    gd = ps.descent(toys.loss, optax.sgd(spec.eta))
    stages = (
        ps.Stage("early", gd, ps.linear_times(spec.width)),
        ps.Stage("late", gd, ps.linear_times(2)),
    )
    return ps.Plan(toys.begin(spec), stages, toys.measure)


def test_stages_that_change_along_an_axis_are_kept_along_it():
    stage = sweep(handed_over, width=[1, 2]).stage
    assert stage.transpose("width", "time").values.tolist() == [[0, 0, 1, 1, -1], [0, 0, 0, 1, 1]]


def test_the_times_asked_for_are_those_of_every_lane():
    assert sweep(toys.sampled, eta=[0.1, 0.2], at=[5, 9]).time.values.tolist() == [5.0, 9.0]


# --- what cannot be swept -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"eta": []}, "the axis eta needs values"),
        ({"eta": [0.1, 0.1]}, "the axis eta needs values that differ"),
        ({"eat": [0.1, 0.2]}, 'there is no field "eat".* Did you mean "eta"'),
        ({"eta": [0.1, -0.2]}, "eta must be above 0, got eta=-0.2"),
        ({"width": [2, 0]}, "width must be at least 1"),
        ({"width": [2, 2.5]}, "width must be an integer"),
        ({"seeds": 0}, "seeds are one or more different numbers"),
        ({"seeds": [1, 1]}, "seeds are one or more different numbers"),
        ({"seeds": [-1]}, "seeds are one or more different numbers from 0"),
        ({"seeds": [2**32]}, "seeds are one or more different numbers from 0 to 4294967295"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(fields, words):
    with pytest.raises(SpecError, match=words):
        sweep(toys.quadratic, **fields)


def test_a_float_that_moves_the_record_times_cannot_be_a_lane():
    def moving(spec):
        """Its time is measured in units of eta."""
        return toys.plan(
            spec, ps.descent(toys.loss, optax.sgd(spec.eta)), ps.linear_times(3), unit=spec.eta
        )

    with pytest.raises(
        PlanError, match="moving: record times depend on `eta`, which is being swept"
    ):
        sweep(moving, eta=[0.1, 0.2])


# --- store, resume, executors ---------------------------------------------------------------------------------------


@pytest.fixture
def executed(monkeypatch):
    """The widths of all jobs that are really carried out."""
    done, execute = [], checkpoints.execute

    def noted(job, start=None):
        done.append(job.spec.width)
        return execute(job, start)

    monkeypatch.setattr(checkpoints, "execute", noted)
    return done


def test_a_stopped_sweep_goes_on_with_the_tasks_that_are_missing(store, executed):
    ps.sweep(toys.study, toys.quadratic, width=[1, 2], eta=[0.1, 0.2])
    executed.clear()
    ps.sweep(toys.study, toys.quadratic, width=[1, 2, 3], eta=[0.1, 0.2])
    assert executed == [3]


def test_a_sweep_put_together_from_the_store_equals_a_fresh_one(store):
    ps.sweep(toys.study, toys.quadratic, width=[1, 2], eta=[0.1, 0.2])
    again = ps.sweep(toys.study, toys.quadratic, width=[1, 2, 3], eta=[0.1, 0.2])
    assert toys.same_bits(again, sweep(toys.quadratic, width=[1, 2, 3], eta=[0.1, 0.2]))


def test_the_cost_counts_runs_programs_and_what_is_missing(store):
    ps.sweep(toys.study, toys.quadratic, width=1, eta=[0.1, 0.2, 0.3])
    layout = lay_out(toys.study, toys.quadratic, {"width": [1, 2], "eta": [0.1, 0.2, 0.3]})
    assert layout_cost(layout, Context(Store(store))) == {
        "axes": {"width": 2, "eta": 3}, "runs": 6, "programs": 2, "blocks": 2, "block": 4, "stored": 1, "missing": 1,
        "tied": {},
    }  # fmt: skip


def test_the_dataset_of_a_sweep_names_its_blocks(store):
    ds = ps.sweep(toys.study, toys.quadratic, width=[1, 2], eta=[0.1, 0.2])
    assert sorted(ds.attrs["ids"].split()) == sorted(entry.id for entry in Store(store).entries())


def test_tasks_are_plain_values_that_can_travel():
    layout = lay_out(
        toys.study,
        toys.walk,
        {"width": [1, 2], "eta": [0.1, 0.2]},
        preset="tiny",
        seeds=3,
        at=[1, 2],
    )
    assert pickle.loads(pickle.dumps(layout.tasks)) == layout.tasks


def test_a_stopped_context_saves_and_stops(store):
    context = Context(Store(store))
    context.stop.set()
    layout = lay_out(toys.study, toys.walk, {"eta": [0.1, 0.2]})
    with pytest.raises(KeyboardInterrupt) as stop:
        run_layout(layout, context)
    assert stop.type is Stopped
    assert [u.position["stage"] for u in Store(store).unfinished()] == [0]


def test_a_failure_in_one_task_is_the_failure_of_the_sweep():
    def picky(spec):
        """Does not like three."""
        if spec.width == 3:
            raise PlanError("three is too many")
        return toys.quadratic(spec)

    with pytest.raises(PlanError, match="three is too many"):
        sweep(picky, width=[1, 2, 3])


def test_threads_of_ones_own_may_carry_the_tasks(store):
    with futures.ThreadPoolExecutor(1) as pool:
        threaded = ps.sweep(toys.study, toys.quadratic, width=[1, 2], executor=pool)
    assert toys.same_bits(threaded, sweep(toys.quadratic, width=[1, 2]))


def test_other_processes_give_what_threads_give(tmp_path):
    question = {"modes": [1, 2], "epsilon": [1e-2, 1e-3], "seeds": 1}
    spawn = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        elsewhere = ps.sweep(
            "linear_modes", "logistic", executor=pool, store=tmp_path / "elsewhere", **question
        )
    here = ps.sweep("linear_modes", "logistic", store=tmp_path / "here", **question)
    assert toys.same_bits(elsewhere, here)


def test_other_processes_need_a_study_that_they_can_find(store):
    spawn = multiprocessing.get_context("spawn")
    with (
        futures.ProcessPoolExecutor(1, mp_context=spawn) as pool,
        pytest.raises(PlanError, match="toys is not an installed study"),
    ):
        ps.sweep(toys.study, toys.quadratic, width=[1, 2], executor=pool)


def test_sizes_that_are_numbers_to_an_arm_are_lanes_of_one_block():
    sizes = [1, 3, 7]
    ds = ps.sweep(toys.study, "any_size", width=sizes, steps=4, store=False, progress=False)
    alone = [
        ps.run(toys.study, "quadratic", width=n, steps=4, store=False, progress=False).loss
        for n in sizes
    ]
    np.testing.assert_allclose(ds.loss.transpose("width", "time"), np.stack(alone), rtol=1e-14)
    assert ds.width.values.tolist() == sizes
    layout = lay_out(toys.study, toys.any_size, {"width": sizes})
    assert len(layout.tasks) == 1
