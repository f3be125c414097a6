"""Times asked for come back as asked, and the times of a run are numbers that one can type."""

from __future__ import annotations

import numpy as np
import optax
import pytest
import toys

import phasescope as ps
from phasescope.engine.calls import record_times
from phasescope.engine.job import Job
from phasescope.errors import PlanError, RunDiverged
from phasescope.records.dataset import labels

SEVENTHS = [k / 7 for k in range(1, 8)]


def tenths(spec):
    """Descent whose steps are 0.1 of time each."""
    return toys.plan(
        spec, ps.descent(toys.loss, optax.sgd(0.1)), ps.linear_times(spec.steps), unit=0.1
    )


def sevenths(spec):
    """Descent whose steps are 1/7 of time each."""
    return toys.plan(
        spec, ps.descent(toys.loss, optax.sgd(1 / 7)), ps.linear_times(spec.steps), unit=1 / 7
    )


def smooth(spec):
    """The flow of the same descent."""
    return toys.plan(spec, ps.flow(lambda w: -w), ps.linear_times(1.0, 7))


def two_stages(spec):
    """Descent in steps of 0.7, then a flow."""
    steps = ps.Stage("steps", ps.descent(toys.loss, optax.sgd(0.1)), ps.linear_times(3), unit=0.7)
    return ps.Plan(
        toys.begin(spec),
        (steps, ps.Stage("flow", ps.flow(lambda w: -w), ps.linear_times(1.0, 10))),
        toys.measure,
        inspect=lambda w: toys.Counted(w.sum()),
    )


def doubling(spec):
    """w <- w^2 in steps of 0.1, which from 2 leaves the finite numbers at step 10."""
    return toys.plan(
        spec, ps.iterate(lambda w, t, key: w**2), ps.linear_times(spec.steps, 4), unit=0.1
    )


def run(arm, **changes):
    return ps.run(toys.study, arm, store=False, **changes)


def bits(ds):
    return ds.time.values.tobytes()


# --- asked for ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", [tenths, toys.cubic_flow, two_stages, toys.quadratic])
def test_times_asked_for_come_back_bit_for_bit(arm):
    asked = {toys.quadratic: [0.0, 3.0, 7.0]}.get(arm, [0.0, 0.7, 2.1])
    assert run(arm, at=asked).time.values.tolist() == asked


def test_a_record_is_found_under_the_time_that_was_typed():
    ds = run(tenths, at=[0.3, 0.7])
    assert 3 * 0.1 != 0.3
    np.testing.assert_allclose(ds.loss.sel(time=0.3), 0.9**6, rtol=1e-12)


def test_a_sweep_has_the_times_asked_for():
    ds = ps.sweep(
        toys.study, tenths, store=False, start=[1.0, 2.0, 3.0], width=[1, 2], at=[0.3, 0.7], block=2
    )
    assert ds.time.values.tolist() == [0.3, 0.7]


def test_times_from_the_store_are_those_asked_for(store):
    times = [ps.run(toys.study, tenths, at=[0.3, 0.7]).time.values.tolist() for _ in range(2)]
    assert times == [[0.3, 0.7]] * 2


def test_arms_asked_for_the_same_times_have_the_same_coordinates():
    assert bits(run(sevenths, steps=7, at=SEVENTHS)) == bits(run(smooth, at=SEVENTHS))


def test_an_end_of_a_stage_that_was_asked_for_is_called_as_asked():
    ds = run(two_stages, at=[0.7, 2.1, 2.4])
    assert 3 * 0.7 != 2.1
    assert ds.time.values.tolist() == [0.7, 2.1, 2.4]
    assert ds.stage_end.values.tolist() == [2.1, 3.1]


def test_what_is_asked_for_at_the_end_of_a_stage_is_recorded_once():
    first, second = two_stages(toys.Spec()).stages
    assert record_times(first, first.lay_out(), 0.0, [0.7, 2.1]).tolist() == [1, 3]
    assert record_times(second, second.lay_out(), 3 * 0.7, [2.1, 2.4]).size == 2


def test_a_run_that_ended_early_keeps_the_times_that_it_reached():
    ds = run(toys.until_small, at=[5.0, 15.0, 150.0])
    assert ds.time.values.tolist() == [5.0, 15.0]


# --- chosen by the arm ----------------------------------------------------------------------------------------------


def test_the_third_step_of_a_tenth_is_at_three_tenths():
    assert run(tenths, steps=12).time.values.tolist() == [k / 10 for k in range(13)]


def test_the_own_times_of_an_arm_may_be_asked_of_it():
    ds = run(tenths, steps=12)
    assert toys.same_bits(run(tenths, steps=12, at=ds.time.values), ds)


def test_the_time_of_divergence_is_rounded_likewise():
    ds = ps.sweep(toys.study, doubling, store=False, start=[0.5, 2.0], steps=12)
    np.testing.assert_array_equal(ds.diverged_at, [np.nan, 1.2])


def test_the_step_of_divergence_of_a_single_run_is_rounded_likewise():
    with pytest.raises(RunDiverged) as error:
        run(doubling, start=2.0, steps=12)
    assert float(error.value.dataset.diverged_at) == 1.0


def test_the_records_of_the_engine_keep_their_full_precision():
    part = toys.finish(Job(tenths, toys.Spec(steps=6)))
    assert part.time.tolist() == [0.0, *(0.1 * k for k in range(1, 7))]


def test_times_that_differ_in_the_sixteenth_digit_only_are_left_alone():
    close = np.array([1.0, 1.0 + 2e-16, 2.0])
    assert labels(close).tolist() == close.tolist()


@pytest.mark.parametrize(
    ("time", "label"), [(3 * 0.1, 0.3), (7 - 9e-16, 7.0), (1e300 / 3, 3.33333333333333e299)]
)
def test_labels_have_fifteen_digits(time, label):
    assert labels(np.array([time])).tolist() == [label]


# --- the planned end ------------------------------------------------------------------------------------------------


def test_a_dataset_knows_where_its_run_was_planned_to_end():
    ends = [run(arm).attrs["planned_end"] for arm in (tenths, smooth, two_stages)]
    np.testing.assert_allclose(ends, [4.0, 1.0, 3.1], rtol=1e-12)


def test_a_dataset_knows_how_much_time_a_step_is_where_there_are_steps():
    known = [
        run(arm).attrs.get("time_per_step") for arm in (toys.quadratic, tenths, smooth, two_stages)
    ]
    assert known == [1.0, 0.1, None, None]


def test_what_was_planned_outlives_the_store(store):
    first, again = (ps.run(toys.study, tenths).attrs for _ in range(2))
    assert (again["planned_end"], again["time_per_step"]) == (first["planned_end"], 0.1)


def test_a_run_to_its_planned_end_has_reached_it():
    assert ps.reached(run(tenths)).outcome == ps.Outcome.HOLDS


def test_a_run_that_left_its_stage_early_has_not_reached_its_planned_end():
    early = ps.reached(
        run("until_small")
    )  # 0.9^(2t) is below 0.05 from t = 14.2 on, looked at every 5 steps
    assert early.outcome == ps.Outcome.UNDECIDED
    assert early.measured == (
        "the run stops at 15 of 200 (a stage was left early, and the run ended at 15)"
    )


def test_a_run_that_left_its_stage_early_says_when_it_ended():
    assert run("until_small").attrs["ended_at"] == 15.0
    asked = run("until_small", at=[0, 200])
    assert (asked.time.values.tolist(), asked.attrs["ended_at"]) == ([0.0], 15.0)
    assert ps.reached(run("until_small"), asked.attrs["ended_at"]).outcome == ps.Outcome.HOLDS


def test_a_run_to_its_planned_end_did_not_end_early():
    assert all("ended_at" not in run(arm).attrs for arm in (tenths, smooth, two_stages))
    assert "ended_at" not in run(two_stages, at=[0.7]).attrs


def test_a_sweep_keeps_the_planned_end_that_its_runs_share():
    ds = ps.sweep(toys.study, tenths, store=False, start=[1.0, 2.0, 3.0], width=[1, 2], block=2)
    assert ds.attrs["planned_end"] == pytest.approx(4.0, rel=1e-12)
    assert ps.reached(ds).outcome == ps.Outcome.HOLDS


def test_a_sweep_whose_runs_end_at_different_times_has_no_planned_end():
    ds = ps.sweep(toys.study, tenths, store=False, steps=[10, 20])
    assert "planned_end" not in ds.attrs
    with pytest.raises(PlanError, match="no planned end in the dataset"):
        ps.reached(ds)
    assert ps.reached(ds, 2.0).outcome == ps.Outcome.HOLDS


def test_a_schedule_may_be_asked_for_and_begins_at_the_start():
    ds = run(toys.quadratic, at=ps.log_times(16, 3))
    assert ds.time.values.tolist() == [0, 1, 4, 16]


def test_a_schedule_asked_of_an_arm_gives_what_the_arm_records_by_it():
    own = run(toys.quadratic, steps=12)
    assert toys.same_bits(run(toys.quadratic, steps=12, at=ps.linear_times(12)), own)


def test_a_sweep_may_be_recorded_by_a_schedule():
    ds = ps.sweep(toys.study, tenths, store=False, start=[1.0, 2.0], at=ps.linear_times(2.0, 4))
    assert ds.time.values.tolist() == [0, 0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize("ask", [ps.runs, ps.sweeps])
def test_a_request_by_a_schedule_is_the_request_by_its_times(ask):
    asked = ask(toys.quadratic, at=ps.linear_times(4))
    assert asked == ask(toys.quadratic, at=[0, 1, 2, 3, 4])
    assert hash(asked) == hash(ask(toys.quadratic, at=range(5)))


def test_log_times_may_be_counted_by_the_decade():
    times = ps.log_times(1e8, first=0.1, per_decade=5).lay_out()
    assert times.tolist() == np.geomspace(0.1, 1e8, 46).tolist()
