"""Fused lanes give the numbers of the arm, for every arm that fits; NaN and infinity pass through them as they do elsewhere."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.engine import calls, loop
from phasescope.engine.fused import choice, kernel, runs
from phasescope.engine.fused.lanes import LaneArguments, on_lanes
from phasescope.engine.fused.operations import maximum, minimum
from phasescope.engine.fused.program import Unfusable
from phasescope.engine.fused.scalarise import scalarise
from phasescope.engine.job import Job
from phasescope.engine.precision import exact_numbers
from phasescope.engine.programs import Program, advance_one, begin_run, enter_stage
from phasescope.plan.plan import lane_fields
from phasescope.verbs import sweep_layout

STEPS = (jnp.array(0), jnp.array(3))
# Arms whose steps count and draw no random numbers, small enough for a kernel at the preset `tiny`.
FITTING = [
    ("linear_modes", "descent"),
    ("regular_language", "symmetric"),
    ("regular_language", "frozen"),
    ("scan_and_snap", "symmetric"),
    ("scan_and_snap", "population"),
]


@pytest.fixture
def fused(monkeypatch):
    """Every block that can be fused is, compiled for the CPU."""
    monkeypatch.setattr(choice, "on_this_device", lambda: True)
    monkeypatch.setattr(choice, "LEAST_LANES", 2)
    monkeypatch.setattr(choice, "LEAST_WORK", 1)


def on_two_lanes(function, numbers, carrier=kernel.without_kernel):
    """A function of an array, for two runs side by side, as fused lanes; and the same by vmap."""
    lanes = jnp.stack([numbers, 2 * numbers], axis=-1)
    arguments = LaneArguments(lanes, (), STEPS)

    def one(x, shared, steps):
        return function(x)

    program = scalarise(one, *arguments.of_one_run())
    return on_lanes(program, arguments, carrier), jax.vmap(function, -1, -1)(lanes)


def same(found, expected):
    """Whether two arrays agree to rounding, NaN where NaN is."""
    return np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


def shapes_in_first_stage(program, inputs):
    """The shapes of the state at the beginning of the first stage."""
    start = eqx.filter_eval_shape(lambda given: begin_run(program, given)[0], inputs)
    return eqx.filter_eval_shape(enter_stage, program, inputs, start)


@pytest.mark.parametrize(("name", "arm"), FITTING, ids=lambda x: str(x))
def test_the_scalar_program_of_an_arm_takes_the_arms_own_steps(name, arm):
    study = ps.find(name)
    preset = "tiny" if "tiny" in study.presets else None
    job = Job(study.arm(arm), study.specify(preset, arm))
    program = Program(job.arm)
    rng = np.random.default_rng(0)

    def any_numbers(shape):
        if shape.dtype.kind != "f":
            return np.ones((*shape.shape, 2), shape.dtype)
        return rng.uniform(0.1, 0.5, (*shape.shape, 2))

    with exact_numbers():
        inputs = job.inputs()
        # Lanes that differ in a number of the spec and in their state.
        field = lane_fields(job.arm, job.spec)[0]
        values = getattr(job.spec, field) * np.array([1.0, 0.9])
        lanes = jax.tree.map(any_numbers, shapes_in_first_stage(program, inputs))
        one = advance_one(program)

        @jax.jit
        def both(values, lanes):
            def of_lane(value, state):
                return one(inputs.spec.replace(**{field: value}), inputs.key, state, *STEPS)

            spec = inputs.spec.replace(**{field: values})
            found = runs.each_lane(one, spec, inputs.key, lanes, STEPS)
            return found, jax.vmap(of_lane, (0, -1), -1)(values, lanes)

        found, expected = both(values, lanes)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
        assert a.dtype == b.dtype


@pytest.mark.parametrize(
    ("arm", "changes", "why"),
    [
        (toys.walk, {}, "it depends on an argument of key<fry>"),
        (toys.quadratic, {"width": 500}, "scalar operations, more than 1500"),
        (toys.quadratic, {"width": 40_000}, "more than 20000 scalar operations"),
    ],
)
def test_what_is_random_or_large_is_refused_with_the_reason(arm, changes, why):
    job = Job(arm, toys.Spec(**changes))
    assert not choice.makes_small_kernel(job, 0)
    program = Program(arm)
    with exact_numbers():
        inputs = job.inputs()
        state = shapes_in_first_stage(program, inputs)

        def build():
            one = advance_one(program)
            return runs.of_single_run(one, inputs.spec, inputs.key, state, STEPS)

        with pytest.raises(Unfusable, match=why):
            runs.check_size(build())


FUNCTIONS = {
    "moving": lambda x: jnp.concatenate([x[::-1], x[2:4]]).reshape(2, -1).T,
    "gather beyond the end": lambda x: x.at[jnp.array([1, 99])].get(mode="fill"),
    "gather beyond the end, of what was asked for": lambda x: (
        jnp.take(x, jnp.arange(4) + 1, mode="fill", fill_value=0),
        (x > 0).at[jnp.array([1, 99])].get(mode="fill"),
    ),
    "setting": lambda x: x.at[1:3].set(x[:2] * x[2:4]),
    "adding by index": lambda x: jnp.zeros(3).at[jnp.array([0, 2, 0, 1])].add(x),
    "matrix product": lambda x: jnp.outer(x, x) @ jnp.arange(12.0).reshape(4, 3),
    "softmax": jax.nn.softmax,
    "running sums": lambda x: (jnp.cumsum(x), jnp.cumsum(x[::-1])),
    "powers": lambda x: (x**2, x**-3, x**5, jnp.abs(x) ** 0.3),
    "logistic": lambda x: (jax.nn.sigmoid(x), jnp.sign(x), jnp.clip(x, -1.0, 1.0)),
    "truth": lambda x: (jnp.isfinite(x), (x > 0).sum(), jnp.where(x > 0, x, -x), x.any()),
    "branches": lambda x: jax.lax.cond(x[0] > 0, lambda y: 2 * y, lambda y: y - 1, x),
    "scan": lambda x: jax.lax.scan(lambda c, y: (c * y + 1, c), 1.0, x),
    "largest": lambda x: (x.max(), x.min(), jnp.maximum(x, 0.5), jax.nn.logsumexp(x)),
    "size of either zero": lambda x: 1 / jnp.abs(jnp.stack([x, -x])),
    "product of truth values": lambda x: (
        jnp.dot(x > 0, x > 1),
        (jnp.outer(x, x) > 1) @ (x < 1),
    ),
    "product of whole numbers as floats": lambda x: jax.lax.dot(
        (x > 0).astype(int), jnp.arange(4), preferred_element_type=jnp.float64
    ),
}


@pytest.mark.parametrize("word", FUNCTIONS)
def test_a_function_on_small_arrays_is_the_same_on_lanes(word):
    with exact_numbers():
        numbers = jnp.array([0.5, -1.25, 2.0, -0.0])
        found, expected = on_two_lanes(FUNCTIONS[word], numbers)
        jax.tree.map(same, found, expected)
        kinds = [x.dtype for x in jax.tree.leaves(found)]
        assert kinds == [x.dtype for x in jax.tree.leaves(expected)]


@pytest.mark.parametrize(
    "function", [lambda x: x[:0].sum() + x, lambda x: jnp.zeros((3, 0)) @ x[:0] + x[0]]
)
def test_a_sum_over_nothing_is_left_to_the_ordinary_path(function):
    with exact_numbers(), pytest.raises(Unfusable, match="it sums over nothing"):
        on_two_lanes(function, jnp.array([0.5, -1.25]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nothing_is_folded_that_hides_a_number_which_is_not_finite(bad):
    def function(x):
        zero = jnp.array([0.0, 1.0, 0.0])
        return x * zero, x @ zero, jnp.maximum(x, 1.0), x.max(), x - x, x + jnp.inf, 0.0 / x

    with exact_numbers():
        found, expected = on_two_lanes(function, jnp.array([bad, 1.0, 2.0]))
        jax.tree.map(same, found, expected)
        assert np.isnan(found[0][0]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_a_truth_value_masks_is_0_as_xla_has_it(bad):
    """And a mask of plain numbers hides nothing, there as here."""

    @jax.jit
    def function(x):
        kept = jnp.abs(x) < 1.5
        return (
            kept * x,
            x * kept,
            kept.astype(float) @ x,
            (2.0 * kept) * x,
            jnp.where(kept, 1.0, 0.0) * x,
        )

    with exact_numbers():
        found, expected = on_two_lanes(function, jnp.array([bad, 1.0, 2.0]))
        jax.tree.map(same, found, expected)
        assert np.isnan(found[-1][0]).all()
        np.testing.assert_array_equal(found[0][0], [0.0, 0.0])


MASKED = {
    "by one for all": lambda kept, x: kept[0] * x,
    "by rows": lambda kept, x: kept[:, None] * jnp.stack([x, x], 1),
    "a part": lambda kept, x: kept.astype(float)[1:] * x[1:],
    "a part of the truth": lambda kept, x: kept[1:] * x[1:],
    "backwards": lambda kept, x: kept.astype(float)[::-1] * x,
    "in another shape": lambda kept, x: kept.astype(float).reshape(1, 3, 1).T.squeeze() * x,
    "beside others": lambda kept, x: jnp.concatenate([kept.astype(float), x]) * jnp.tile(x, 2),
    "stacked": lambda kept, x: jnp.stack([kept.astype(float), x]) * x,
    "matrix times mask": lambda kept, x: jnp.outer(x, x) @ kept,
    "mask of a matrix": lambda kept, x: (kept[:, None] & kept) @ x,
    "behind a barrier": lambda kept, x: jax.lax.optimization_barrier(kept.astype(float)) * x,
    "in a scan": lambda kept, x: jax.lax.scan(
        lambda _, row: (0.0, row[0] * row[1]), 0.0, (kept.astype(float), x)
    ),
    "in a branch": lambda kept, x: jax.lax.cond(
        x[1] > 0, lambda mask: mask * x, lambda mask: x, kept.astype(float)
    ),
}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("word", MASKED)
def test_a_mask_that_was_moved_about_masks_as_much_as_in_the_ordinary_path(word, bad):
    function = jax.jit(lambda x: MASKED[word](jnp.abs(x) < 1.5, x))
    with exact_numbers():
        for place in range(3):
            numbers = jnp.array([0.5, 1.0, 2.0]).at[place].set(bad)
            found, expected = on_two_lanes(function, numbers)
            jax.tree.map(same, found, expected)


def test_the_larger_and_the_smaller_one_of_a_kernel_keep_nan():
    x = jnp.array([1.0, jnp.nan, 2.0, jnp.nan, -jnp.inf])
    y = jnp.array([2.0, 1.0, jnp.nan, jnp.nan, jnp.inf])
    np.testing.assert_array_equal(maximum(x, y), [2.0, np.nan, np.nan, np.nan, np.inf])
    np.testing.assert_array_equal(minimum(x, y), [1.0, np.nan, np.nan, np.nan, -np.inf])


def counting(x, shared, steps):
    """A loop in which one number moves, one counts, one rests and one is not needed."""
    moving, resting = x

    def step(t, carried):
        moving, count, unused = carried
        return moving * resting + jnp.where(t > 1, shared, 0.0), count + 1, unused * 2

    first = (moving, jnp.array(0, jnp.int32), moving)
    moving, count, _ = jax.lax.fori_loop(*steps, step, first)
    return {"moving": moving, "resting": resting, "count": count, "above": moving > 0.8}


def counted(lanes):
    return LaneArguments((jnp.linspace(0, 1, lanes), jnp.full(lanes, 0.9)), jnp.array(0.1), STEPS)


def test_the_kernel_gives_what_the_program_gives_when_it_is_interpreted():
    with exact_numbers():
        arguments = counted(130)  # one block of threads, and two lanes of another
        program = scalarise(counting, *arguments.of_one_run())
        assert len(program.program.loop.carried) == 2
        found = on_lanes(program, arguments, kernel.interpreted)
        expected = on_lanes(program, arguments, kernel.without_kernel)
        for name, x in expected.items():
            np.testing.assert_array_equal(found[name], x)
            assert found[name].dtype == x.dtype
        np.testing.assert_allclose(found["moving"], np.linspace(0, 1, 130) * 0.9**3 + 0.1)


def test_a_lane_of_the_kernel_does_not_depend_on_its_neighbours():
    with exact_numbers():
        arguments = counted(130)
        program = scalarise(counting, *arguments.of_one_run())
        moving, resting = arguments.per_lane
        spoilt = moving.at[jnp.array([3, 128])].set(jnp.array([jnp.nan, jnp.inf]))
        other = LaneArguments((spoilt, resting), arguments.shared, arguments.steps)
        found, usual = (
            on_lanes(program, x, kernel.interpreted)["moving"] for x in (other, arguments)
        )
        assert not np.isfinite(found[jnp.array([3, 128])]).any()
        rest = np.delete(np.arange(130), [3, 128])
        np.testing.assert_array_equal(found[rest], usual[rest])


def test_a_loop_over_other_numbers_than_the_steps_is_left_to_the_ordinary_path():
    """Two numbers of the state say from where to where: a kernel that took the steps for them would be wrong."""

    def between(state, shared, steps):
        return jax.lax.fori_loop(state["from"], state["to"], lambda _, x: 2 * x, state["x"])

    with exact_numbers():
        state = {"from": jnp.array([0, 1]), "to": jnp.array([3, 5]), "x": jnp.ones(2)}
        with pytest.raises(Unfusable, match="not run over the steps"):
            scalarise(between, *LaneArguments(state, (), STEPS).of_one_run())


@pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated:DeprecationWarning")
def test_the_kernel_can_be_written_down_for_a_gpu():
    with exact_numbers():
        arguments = counted(128)
        program = scalarise(counting, *arguments.of_one_run())

        def called(per_lane, shared, steps):
            return on_lanes(program, LaneArguments(per_lane, shared, steps), kernel.on_gpu)

        given = (arguments.per_lane, arguments.shared, arguments.steps)
        traced = jax.jit(called).trace(*given)
        try:
            written = traced.lower(lowering_platforms=("cuda",)).as_text()
        except RuntimeError as problem:
            if "No supported GPU devices" not in str(problem):
                raise
            pytest.skip("from jax 0.11 on a kernel is written down only where there is a GPU")
    assert "triton" in written


def swept(arm, **fields):
    return ps.sweep(toys.study, arm, store=False, **fields)


def engine_of(ds):
    """The path alone: these tests compile with hardly any optimisation, and provenance says so too."""
    return json.loads(ds.attrs["provenance"])["engine"].partition(",")[0]


def test_a_fused_sweep_says_so_and_has_the_numbers_of_the_ordinary_one(fused, monkeypatch):
    etas = [0.1, 0.2, 0.3]
    found = swept("until_small", eta=etas)
    assert engine_of(found) == "fused lanes"
    monkeypatch.setattr(choice, "on_this_device", lambda: False)
    expected = swept("until_small", eta=etas)
    assert engine_of(expected) == "compiled loop"
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-13)
    np.testing.assert_array_equal(found.stage, expected.stage)


def test_a_fused_block_has_the_same_bits_wherever_it_is_cut_or_resumed(fused, monkeypatch):
    job = Job(toys.until_small, toys.Spec(), columns={"eta": (0.05, 0.1, 0.3)})
    assert choice.is_fused(job, 0)
    whole = toys.finish(job)
    monkeypatch.setattr(loop, "pace", calls.Pace())
    monkeypatch.setattr(calls, "FIRST_BUDGET", 7)
    monkeypatch.setattr(calls, "TARGET_SECONDS", 0.0)
    chunks = list(loop.execute(job))
    assert len(chunks) > 5
    parts = [toys.part_of(chunk) for chunk in chunks]
    assert toys.same_records(toys.join(parts), whole)
    for cut in (1, 3):
        start = chunks[cut].position, chunks[cut].leaves()
        resumed = [*parts[: cut + 1], toys.finish(job, start)]
        assert toys.same_records(toys.join(resumed), whole)


def test_times_of_records_do_not_move_a_fused_block(fused):
    etas = [0.1, 0.3]
    often = swept("quadratic", eta=etas, steps=40)
    seldom = swept("quadratic", eta=etas, steps=40, at=[13, 40])
    assert engine_of(often) == engine_of(seldom) == "fused lanes"
    np.testing.assert_array_equal(often.weight.sel(time=[13, 40]), seldom.weight.sel(time=[13, 40]))


def test_divergence_is_found_at_the_same_record(fused, monkeypatch):
    """2^(2^t) leaves the finite numbers at step 10, 1.5^(2^t) at step 11, and 0.5 does not."""
    starts = [2.0, 1.5, 0.5]
    times = list(range(9, 13))
    found = swept("squaring", start=starts, at=times, steps=12)
    assert engine_of(found) == "fused lanes"
    np.testing.assert_array_equal(found.diverged_at, [10, 11, np.nan])
    monkeypatch.setattr(choice, "on_this_device", lambda: False)
    expected = swept("squaring", start=starts, at=times, steps=12)
    np.testing.assert_array_equal(found.weight, expected.weight)


def test_a_lane_does_not_depend_on_its_neighbours(fused):
    one = swept("squaring", start=[0.9, 0.7], steps=8)
    other = swept("squaring", start=[0.9, 1e200], steps=8)
    assert engine_of(one) == "fused lanes"
    np.testing.assert_array_equal(one.weight[0], other.weight[0])


def test_a_random_walk_takes_the_ordinary_path(fused):
    assert engine_of(swept("walk", eta=[0.1, 0.2], steps=3)) == "compiled loop"


def test_the_path_depends_on_what_was_asked_and_on_the_device(monkeypatch):
    etas = tuple(np.linspace(0.1, 0.2, 2048))
    job = Job(toys.quadratic, toys.Spec(steps=40_000), columns={"eta": etas})
    assert not choice.is_fused(job, 0)  # no GPU
    monkeypatch.setattr(choice, "on_this_device", lambda: True)
    assert choice.is_fused(job, 0)
    assert choice.is_fused(job.recorded_at([40_000.0]), 0)
    assert not choice.is_fused(job.without_lanes(), 0)
    short = Job(toys.quadratic, toys.Spec(steps=100), columns={"eta": etas})
    assert not choice.is_fused(short, 0)


def width_on_a_gpu(monkeypatch, lanes, keep=None, **changes):
    """The width of the blocks of a sweep of so many runs of `quadratic`, if there were a GPU."""
    monkeypatch.setattr(choice, "on_this_device", lambda: True)
    monkeypatch.setattr(choice, "LEAST_WORK", 1)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    etas = np.linspace(0.1, 0.2, lanes).tolist()
    layout = sweep_layout.lay_out(toys.study, "quadratic", {"eta": etas} | changes, keep=keep)
    return layout.tasks[0].width


def test_blocks_of_fused_lanes_are_as_wide_as_their_records_leave_room_for(monkeypatch):
    assert width_on_a_gpu(monkeypatch, 2**18, keep=["loss"], steps=500) == 2**17
    assert width_on_a_gpu(monkeypatch, 2**15, keep=["loss"], steps=5000) == 2**13  # 40 kB a run
    assert width_on_a_gpu(monkeypatch, 2**15, keep=["loss"], steps=3000) == 2**14
    assert width_on_a_gpu(monkeypatch, 2**15, steps=3000) == 2**13
    assert width_on_a_gpu(monkeypatch, 2**15, keep=["loss"], width=2000) == 2**13  # not fused
    assert width_on_a_gpu(monkeypatch, 100) == 2**7


def test_fused_lanes_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert choice.on_this_device()
    monkeypatch.setenv("PHASESCOPE_FUSED", "0")
    assert not choice.on_this_device()
