"""Neither record times, nor the cutting of the work, nor a resume changes the path of a run."""

import dataclasses
import random

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
import toys
from jaxtyping import Array, Float, UInt

import phasescope as ps
from phasescope.engine import calls as schedule
from phasescope.engine import loop as engine
from phasescope.engine.calls import Pace, spans
from phasescope.engine.job import Job, Position
from phasescope.engine.loop import execute
from phasescope.engine.packing import pack, unpack
from phasescope.errors import PlanError

HALF_GOOD = toys.Spec(goal=0.4)  # the first stage of the curriculum is left early


def run(arm, at=None, seed=0, **changes):
    return ps.run(toys.study, arm, at=at, seed=seed, store=False, **changes)


@pytest.fixture
def small_pieces(monkeypatch):
    """One call of the compiled program covers at most three steps."""
    monkeypatch.setattr(engine, "pace", Pace())
    monkeypatch.setattr(schedule, "FIRST_BUDGET", 3)
    monkeypatch.setattr(schedule, "TARGET_SECONDS", 0.0)


LOOKS = []


def expensive_to_measure(spec):
    """Descent that counts how often it is looked at."""
    plan = toys.quadratic(spec)

    def measure(w):
        jax.debug.callback(lambda: LOOKS.append(1))
        return toys.measure(w)

    return dataclasses.replace(plan, measure=measure)


@pytest.mark.usefixtures("small_pieces")
def test_a_look_is_taken_at_record_times_only_however_the_work_is_cut():
    LOOKS.clear()
    toys.finish(Job(expensive_to_measure, toys.Spec(steps=40), at=(0.0, 20.0, 40.0)))
    jax.effects_barrier()
    assert len(LOOKS) == 3


# --- the path does not depend on how it is looked at ----------------------------------------------------------------


@pytest.mark.parametrize("arm", [toys.quadratic, toys.sampled, toys.walk])
def test_record_times_do_not_change_the_path(arm):
    often, seldom = run(arm, at=range(41)), run(arm, at=[0, 7, 23, 40])
    assert toys.same_bits(seldom, often.sel(time=[0, 7, 23, 40]))


@pytest.mark.parametrize("arm", [toys.sampled, toys.walk, toys.cubic_flow, toys.curriculum])
def test_cutting_the_work_does_not_change_the_path(arm, monkeypatch):
    whole = toys.finish(Job(arm, HALF_GOOD))
    monkeypatch.setattr(engine, "pace", Pace())
    monkeypatch.setattr(schedule, "FIRST_BUDGET", 2)
    monkeypatch.setattr(schedule, "TARGET_SECONDS", 0.0)
    assert toys.same_records(toys.finish(Job(arm, HALF_GOOD)), whole)


def test_the_number_of_spans_of_one_call_does_not_change_the_path(monkeypatch):
    whole = toys.finish(Job(toys.walk, toys.Spec()))
    monkeypatch.setattr(schedule, "SPANS", 3)
    assert toys.same_records(toys.finish(Job(toys.walk, toys.Spec())), whole)


def until_rarely_asked(spec):
    """With eta = 0.02 the goal is reached at step 75, yet the stage may be left at 100 or 200 only."""
    gd = ps.descent(toys.loss, optax.sgd(spec.eta))
    return toys.plan(spec, gd, np.array([100, 200]), until=lambda seen: seen.loss < spec.goal)


def test_until_is_asked_at_record_times_only(small_pieces):
    assert run(until_rarely_asked, eta=0.02).time.values.tolist() == [0.0, 100.0]


def test_records_asked_for_do_not_move_the_end_of_a_stage():
    often = run(toys.curriculum, goal=0.4, at=[0.5, 1.0, 4.5])
    assert (
        often.stage_end.values.tolist() == run(toys.curriculum, goal=0.4).stage_end.values.tolist()
    )


def test_a_run_that_was_asked_for_some_records_has_all_of_them():
    some = run(toys.curriculum, goal=0.4, at=[0.5, 1.0, 4.5])
    assert some.attrs["records"] == some.sizes["time"]


@pytest.mark.parametrize("arm", [toys.sampled, toys.walk, toys.cubic_flow, toys.curriculum])
@pytest.mark.parametrize("luck", range(3))
def test_a_resumed_run_equals_an_unbroken_one(arm, luck, small_pieces):
    job, chance = Job(arm, HALF_GOOD, seed=luck), random.Random(luck)
    unbroken, parts, start = list(execute(job)), [], None
    while start is None or start[0].stage < len(job.plan().stages):
        for chunk in execute(job, start):
            parts.append(toys.part_of(chunk))
            start = chunk.position, chunk.leaves()
            if chance.random() < 0.3:  # the process ends here
                break
    assert toys.same_records(toys.join(parts), toys.join([toys.part_of(c) for c in unbroken]))
    last = unbroken[-1]
    assert start[0] == last.position
    assert [x.tobytes() for x in start[1]] == [x.tobytes() for x in last.leaves()]


def test_a_resumed_block_of_lanes_equals_an_unbroken_one(small_pieces):
    job = Job(
        toys.curriculum, HALF_GOOD, columns={"eta": (0.05, 0.1, 0.3), "seed": (0.0, 1.0, 2.0)}
    )
    chunks = list(execute(job))
    middle = chunks[len(chunks) // 3]
    rest = toys.finish(job, (middle.position, middle.leaves()))
    begun = [toys.part_of(c) for c in chunks[: len(chunks) // 3 + 1]]
    assert toys.same_records(
        toys.join([*begun, rest]), toys.join([toys.part_of(c) for c in chunks])
    )


def test_a_checkpoint_of_another_plan_is_refused():
    *_, last = execute(Job(toys.sampled, toys.Spec()))
    with pytest.raises(PlanError, match="the checkpoint holds"):
        list(execute(Job(toys.quadratic, toys.Spec()), (Position(0, 3.0), last.leaves())))


class Keyed(ps.Observables):
    word: UInt[Array, "half"]
    normal: Float[Array, ""]


def keys_in_the_state(spec):
    """A state that holds a random key, as a sampler of its own might."""
    step = lambda w, t, key: {"key": key, "x": w["x"] + jr.normal(w["key"])}
    stage = ps.Stage("training", ps.iterate(step), ps.linear_times(spec.steps))
    look = lambda w: Keyed(jr.key_data(w["key"]), w["x"])
    return ps.Plan(lambda key: {"key": key, "x": jnp.array(0.0)}, (stage,), look)


def test_a_key_in_the_state_survives_a_resume(small_pieces):
    job = Job(keys_in_the_state, toys.Spec(steps=12))
    chunks = list(execute(job))
    rest = toys.finish(job, (chunks[1].position, chunks[1].leaves()))
    whole = toys.join([toys.part_of(c) for c in chunks])
    assert (
        rest.measured["normal"].tobytes() == whole.measured["normal"][-len(rest.time) :].tobytes()
    )


# --- random numbers -------------------------------------------------------------------------------------------------


def threefry(key: tuple[int, int], count: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32 with 20 rounds, after Salmon et al. (2011), in plain integers."""
    mask, rotations = 0xFFFFFFFF, ((13, 15, 26, 6), (17, 29, 16, 24))
    words = (*key, key[0] ^ key[1] ^ 0x1BD11BDA)
    x, y = (count[0] + key[0]) & mask, (count[1] + key[1]) & mask
    for i in range(5):
        for r in rotations[i % 2]:
            x = (x + y) & mask
            y = (((y << r) | (y >> (32 - r))) & mask) ^ x
        x, y = (x + words[(i + 1) % 3]) & mask, (y + words[(i + 2) % 3] + i + 1) & mask
    return x, y


def test_our_threefry_gives_the_known_answers_of_its_authors():
    counts = (0x243F6A88, 0x85A308D3)
    assert threefry((0x13198A2E, 0x03707344), counts) == (0xC4923A9C, 0x483DF7A0)


def test_the_first_random_number_of_seed_0_is_the_known_answer_for_zeros():
    ds = run(keys_in_the_state, steps=1)
    assert [hex(x) for x in ds.word.values[0]] == ["0x6b200159", "0x99ba4efe"]


@pytest.mark.parametrize("seed", [0, 7, 4294967295])
def test_the_key_of_a_step_is_folded_from_seed_stage_and_absolute_step(seed):
    stage = threefry((0, seed), (0, 1))  # fold in the number of the stage, from 1
    steps = threefry(stage, (0, 1))  # the second half of a split; the first is for `enter`
    expected = [threefry(steps, (0, t)) for t in range(20)]
    assert (
        list(map(tuple, run(keys_in_the_state, seed=seed, steps=20).word.values[1:].tolist()))
        == expected
    )


def test_normal_numbers_are_the_ones_they_always_were():
    ds = run(toys.walk, seed=3, noise=0.0, width=1, eta=1.0, steps=2, at=[0, 1, 2])
    drawn = np.diff(ds.weight.values[:, 0]) - np.sin([0, 1])
    # By hand: sqrt(2) erfinv(u), u from the first 52 of the 64 bits that threefry gives for the key of the step.
    np.testing.assert_allclose(drawn, [-0.09502464501084873, -1.5683982189444972], rtol=1e-12)


# --- precision ------------------------------------------------------------------------------------------------------


def test_a_run_is_in_64_bits():
    assert run(toys.quadratic).loss.dtype == np.float64


def test_the_users_session_keeps_its_32_bits():
    run(toys.quadratic)
    assert (jnp.ones(1) / 3).dtype == jnp.float32


def test_the_users_session_keeps_its_32_bits_while_a_run_is_under_way():
    chunks = execute(Job(toys.quadratic, toys.Spec()))
    next(chunks)
    assert jnp.ones(1).dtype == jnp.float32


def test_a_compiled_function_of_the_user_is_not_compiled_again():
    traced = []
    mine = jax.jit(lambda x: (traced.append(1), x * 2)[1])
    mine(jnp.ones(3))
    run(toys.quadratic)
    mine(jnp.ones(3))
    assert len(traced) == 1


def test_the_users_matmul_precision_is_left_alone():
    before = jax.config.jax_default_matmul_precision
    run(toys.quadratic)
    assert jax.config.jax_default_matmul_precision == before


def test_importing_phasescope_leaves_jax_as_it_is():
    assert not jax.config.jax_enable_x64


# --- one compilation for one shape ----------------------------------------------------------------------------------

TRACES = []


def counting(spec):
    """Descent that notes each time it is traced: then its numbers are tracers."""
    if isinstance(spec.eta, jax.core.Tracer):
        TRACES.append(spec.width)
    return toys.quadratic(spec)


def traces(**changes) -> int:
    seed, at = changes.pop("seed", 0), changes.pop("at", None)
    before = len(TRACES)
    toys.finish(Job(counting, toys.Spec().replace(**changes), seed, at=at))
    return len(TRACES) - before


@pytest.mark.parametrize(
    "changes",
    [{"eta": 0.3}, {"start": 2.0, "noise": 0.1}, {"seed": 5}, {"steps": 300}, {"at": (3.0, 9.0)}],
    ids=lambda c: ",".join(c),
)
def test_numbers_seed_and_record_times_compile_nothing_anew(changes):
    traces()
    assert traces(**changes) == 0


def test_a_changed_shape_compiles_anew():
    traces()
    assert traces(width=5) > 0


def test_a_size_that_is_a_number_to_the_arm_compiles_nothing_anew():
    seen = []

    @ps.arm(continuous=["width"])
    def noting(spec):
        """Any size, noting each time it is traced."""
        seen.append(isinstance(spec.width, jax.core.Tracer))
        return toys.any_size(spec)

    toys.finish(Job(noting, toys.Spec(width=2)))
    before = sum(seen)
    toys.finish(Job(noting, toys.Spec(width=5)))
    assert sum(seen) == before > 0


def test_a_block_of_lanes_compiles_once_for_all_its_numbers():
    block = lambda *etas: toys.finish(Job(counting, toys.Spec(), columns={"eta": etas}))
    block(0.1, 0.2)
    before = len(TRACES)
    block(0.3, 0.4)
    assert len(TRACES) == before


# --- stages ---------------------------------------------------------------------------------------------------------


def two_stages(spec):
    """Steps of size 0.5 up, then a flow down; the second stage begins where the first ended."""
    up = ps.Stage("up", ps.iterate(lambda w, t, key: w + 1.0), np.arange(1, 5), unit=0.5)
    down = ps.Stage("down", ps.flow(lambda w: -w), np.array([0.5, 1.0]))
    return ps.Plan(toys.begin(spec), (up, down), toys.measure)


def test_the_time_of_a_stage_goes_on_from_the_last():
    assert run(two_stages).time.values.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]


def test_every_record_knows_its_stage():
    assert run(two_stages).stage.values.tolist() == [0, 0, 0, 0, 0, 1, 1]


def test_a_stage_starts_from_the_state_in_which_the_last_ended():
    final = run(two_stages).weight.sel(time=3.0, coordinate=0)
    np.testing.assert_allclose(final, 5 * np.exp(-1.0), rtol=1e-9)


def test_enter_may_change_the_state():
    doubled = lambda key, state: dataclasses.replace(state, params=2 * state.params)

    def entered(spec):
        """The weight is doubled on entering."""
        plan = two_stages(spec)
        return dataclasses.replace(
            plan, stages=(plan.stages[0], dataclasses.replace(plan.stages[1], enter=doubled))
        )

    final = run(entered).weight.sel(time=3.0, coordinate=0)
    np.testing.assert_allclose(final, 10 * np.exp(-1.0), rtol=1e-9)


def test_a_stage_of_no_length_is_passed_over():
    def with_nothing(spec):
        """Nothing happens first."""
        nothing = ps.Stage("nothing", ps.iterate(lambda w, t, key: w * 0), ps.linear_times(0))
        return dataclasses.replace(two_stages(spec), stages=(nothing, *two_stages(spec).stages))

    assert run(with_nothing).weight.values.tobytes() == run(two_stages).weight.values.tobytes()


def test_a_stage_is_left_when_its_goal_is_reached():
    # (1 - 0.1)^(2t) < 0.05 first at t = 14.2, and it is looked at every 5 steps
    assert run(toys.until_small).time.values.tolist() == [0.0, 5.0, 10.0, 15.0]


def test_the_next_stage_begins_when_the_goal_of_the_last_is_reached():
    ds = run(toys.curriculum, goal=0.4)
    first = ps.in_stage(ds, "head only")
    assert (
        first.loss.values[1:-1].min() >= 0.4,
        first.loss.values[-1] < 0.4,
        len(first.time) < 21,
    ) == (True,) * 3


def test_a_stage_ends_for_each_lane_by_itself():
    lanes = ps.sweep(toys.study, toys.until_small, eta=[0.05, 0.1, 0.2], store=False)
    last = lanes.loss.isel(time=-1).values
    ends = np.array([(1 - eta) ** (2 * t) for eta, t in ((0.05, 30), (0.1, 15), (0.2, 10))])
    np.testing.assert_allclose(last, ends, rtol=1e-12)


def test_the_expensive_observables_are_recorded_at_stage_ends_only():
    ds = run(toys.curriculum, goal=0.4)
    assert (ds.total.dims, ds.sizes["stage_end"]) == (("stage_end",), 3)


# --- record times ---------------------------------------------------------------------------------------------------


def test_at_gives_exactly_these_times():
    assert run(toys.quadratic, at=[33, 0, 4.0]).time.values.tolist() == [0.0, 4.0, 33.0]


def test_at_works_between_the_own_times_of_a_flow():
    ds = run(toys.cubic_flow, at=[0.0, 1.7, 31.4])
    np.testing.assert_allclose(ds.weight.sel(coordinate=0), 1 / np.sqrt(1 + 2 * ds.time), rtol=1e-8)


def test_at_reaches_into_every_stage():
    assert run(two_stages, at=[1.0, 2.25, 3.0]).stage.values.tolist() == [0, 1, 1]


def test_at_keeps_what_is_derived():
    assert run(toys.derived, at=[3]).length.values == pytest.approx([np.sqrt(2) * 0.9**3])


def test_a_run_that_ended_early_has_no_records_of_the_later_times():
    assert run(toys.until_small, at=[5, 100]).time.values.tolist() == [5.0]


@pytest.mark.parametrize("at", [[-1], [41], [], [3, 1000]])
def test_times_off_the_run_are_refused(at):
    with pytest.raises(
        PlanError, match=r"toys\.quadratic runs from 0 to 40; it cannot be recorded at"
    ):
        run(toys.quadratic, at=at)


def test_steps_cannot_be_recorded_between_two_of_them():
    with pytest.raises(PlanError, match='stage "training" counts steps'):
        run(toys.quadratic, at=[1.5])


@pytest.mark.parametrize(
    ("schedule", "times"),
    [
        (ps.linear_times(5), [1, 2, 3, 4, 5]),
        (ps.linear_times(100, 4), [25, 50, 75, 100]),
        (ps.linear_times(1.0, 4), [0.25, 0.5, 0.75, 1.0]),
        (ps.log_times(1000, 4), [1, 10, 100, 1000]),
        (ps.log_times(4, 100), [1, 2, 3, 4]),
        (ps.log_times(10.0, 3, first=0.1), [0.1, 1.0, 10.0]),
        (ps.linear_times(0), []),
    ],
)
def test_schedules_lay_out_the_times_they_describe(schedule, times):
    np.testing.assert_allclose(schedule.lay_out(), times, rtol=1e-15)


@pytest.mark.parametrize("times", [[3, 2], [1, 1], [-1, 4], [[1, 2]]])
def test_times_that_do_not_rise_are_refused(times):
    with pytest.raises(PlanError, match='stage "odd": record times must rise'):
        ps.Stage("odd", ps.iterate(lambda w, t, key: w), np.array(times)).lay_out()


def test_steps_are_whole_numbers():
    with pytest.raises(PlanError, match="record times must be whole numbers"):
        ps.Stage("odd", ps.iterate(lambda w, t, key: w), np.array([0.5, 1.0])).lay_out()


def test_spans_cover_the_work_in_order_and_say_which_are_records():
    starts, stops, kept = spans(np.array([2, 7]), 0, True, 4)
    assert (starts[:3].tolist(), stops[:3].tolist(), kept) == ([0, 2, 4], [2, 4, 4], [0])


def test_spans_of_a_flow_end_at_record_times():
    starts, stops, kept = spans(np.array([0.5, 2.0, 3.0]), 0.5, False, 2)
    assert (starts[:2].tolist(), stops[:2].tolist(), kept) == ([0.5, 2.0], [2.0, 3.0], [0, 1])


def test_a_program_begins_its_next_run_with_calls_of_the_size_that_it_learned(monkeypatch):
    monkeypatch.setattr(engine, "pace", Pace())
    pieces = lambda: sum(
        1 for _ in execute(Job(toys.quadratic, toys.Spec(steps=3000), at=(3000.0,)))
    )
    pieces()  # compiles
    later = [pieces() for _ in range(3)]
    assert later[-1] == 2  # the start, and all of the rest


@pytest.mark.parametrize("lanes", [False, True])
def test_what_is_packed_comes_out_as_it_was(lanes):
    class Seen(ps.Observables):
        x: Float[Array, "..."]
        flag: Array
        y: Float[Array, "..."]
        absent: Array | None = None

    one = Seen(jnp.arange(6.0).reshape(3, 2), jnp.array([True, False]), jnp.array([[7.0, 8.0]]))
    packed = {kind: np.stack([x, 2 * x]) for kind, x in pack(one, lanes).items()}
    found = unpack(one, packed, lanes)
    assert list(found) == ["x", "flag", "y"]
    np.testing.assert_array_equal(found["x"], [one.x, 2 * one.x])
    np.testing.assert_array_equal(found["y"], [one.y, 2 * one.y])
    assert found["flag"].tolist() == [[True, False], [2, 0]]


# --- plans that cannot be run ---------------------------------------------------------------------------------------


def test_an_arm_that_gives_no_plan_is_named():
    def empty(spec):
        return None

    with pytest.raises(PlanError, match='arm "empty" returned NoneType, not a Plan'):
        run(empty)


def test_two_stages_of_one_name_are_refused():
    def twice(spec):
        plan = two_stages(spec)
        return dataclasses.replace(plan, stages=plan.stages[:1] * 2)

    with pytest.raises(PlanError, match="stages need different names"):
        run(twice)


def test_a_plan_without_stages_is_refused():
    with pytest.raises(PlanError, match="there must be one"):
        run(lambda spec: ps.Plan(toys.begin(spec), (), toys.measure))
