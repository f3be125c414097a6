"""Fused flows follow the flows of diffrax: the same steps to rounding, each lane at its own pace."""

import json

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.engine import calls, loop
from phasescope.engine.fused import choice, flows, kernel
from phasescope.engine.fused.pairs import pair_of
from phasescope.engine.fused.program import Unfusable
from phasescope.engine.job import Job
from phasescope.engine.precision import exact_numbers

WAYS = {"interpreted": kernel.by_interpreter, "compiled": kernel.by_xla}
KEY = jax.random.key(0)


def predator_and_prey(w):
    return jnp.stack([w[0] * (1 - w[1]), w[1] * (w[0] - 1)])


def moved(flow, starts, until=9.0, lanes=0):
    """Params and carry of runs that begin at each of `starts`, at a time; with `lanes` only of the first ones."""

    def one(start):
        state = ps.State(start, None, flow.init(start))
        for begin, end in ((0.0, until / 3), (until / 3, until)):
            state = flow.advance(state, jnp.asarray(begin), jnp.asarray(end), KEY)
        return state.params, state.carry

    return jax.jit(jax.vmap(one))(starts[:lanes] if lanes else starts)


def fused(way, flow, starts, **options):
    with flows.fused_flows(WAYS[way]) as solved:
        found = moved(flow, starts, **options)
    assert solved.count > 0
    return found


@pytest.fixture(params=["written out", "looped"])
def stages(request, monkeypatch):
    """The stages of a step written out one by one, or as a loop."""
    if request.param == "looped":
        monkeypatch.setattr(flows, "LARGEST_WRITTEN_OUT", 0)


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("interpreted", {"kappa": 1.0}),
        ("compiled", {}),
        ("compiled", {"solver": diffrax.Tsit5()}),
        ("compiled", {"solver": diffrax.Bosh3(), "rtol": 1e-6}),
    ],
    ids=["log time, interpreted", "default", "Tsit5", "Bosh3"],
)
def test_it_takes_the_steps_of_diffrax(stages, way, options):
    flow = ps.flow(predator_and_prey, **{"rtol": 1e-10, **options})
    with exact_numbers():
        starts = jnp.array([[0.5, 1.0], [1.5, 0.2], [3.0, 2.0]])
        found, size = fused(way, flow, starts)
        expected, usual = moved(flow, starts)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    # The number of steps is the same, or differs by one where an error is at the limit but for rounding.
    np.testing.assert_allclose(size, usual, rtol=0.1)


def test_a_lane_does_not_depend_on_its_neighbours(stages):
    flow = ps.flow(predator_and_prey)
    with exact_numbers():
        starts = jnp.array([[0.5, 1.0], [1.5, 0.2], [30.0, 20.0]])
        of_three, size = fused("interpreted", flow, starts)
        others = jnp.array([[0.5, 1.0], [jnp.nan, 0.2], [1.0, 1.0]])
        of_others, other_size = fused("interpreted", flow, others)
    np.testing.assert_array_equal(of_three[0], of_others[0])
    assert size[0] == other_size[0]
    np.testing.assert_array_equal(of_others[2], [1.0, 1.0])  # it rests


def test_what_does_not_reach_the_end_is_nan_as_with_diffrax(stages):
    """From 0.1, dw/dt = w^2 is 1 at t = 9; from 0.5 and 3 it is infinite before, and 2 steps reach no end at all."""
    with exact_numbers():
        starts = jnp.array([0.1, 0.5, 3.0, jnp.nan, jnp.inf])
        flow = ps.flow(lambda w: w**2, max_steps=300)
        found, _ = fused("compiled", flow, starts)
        np.testing.assert_allclose(found, moved(flow, starts)[0], rtol=1e-10)
        np.testing.assert_array_equal(np.isnan(found), [False, True, True, True, False])
        np.testing.assert_allclose(found[0], 1.0, rtol=1e-8)
        short = ps.flow(lambda w: w**2, max_steps=2)
        assert np.isnan(fused("compiled", short, starts)[0][:4]).all()


def test_a_velocity_that_is_not_finite_beyond_a_point_makes_smaller_steps(stages):
    flow = ps.flow(lambda w: -jnp.sqrt(w), rtol=1e-6, atol=1e-9)
    with exact_numbers():
        starts = jnp.array([1.0, 4.0])
        found, _ = fused("compiled", flow, starts, until=1.9)
        np.testing.assert_allclose(found, moved(flow, starts, until=1.9)[0], rtol=1e-9)
        np.testing.assert_allclose(found, (np.sqrt([1.0, 4.0]) - 0.95) ** 2, rtol=1e-3)


def test_trees_of_which_a_part_moves_and_numbers_behind_the_velocity(stages):
    def at_rate(rate, start):
        flow = ps.flow(
            lambda w: (-rate * w["x"] * w["z"], -w["y"]),
            where=lambda w: (w["x"], w["y"]),
        )
        state = ps.State(start, None, flow.init(start))
        return flow.advance(state, jnp.asarray(0.0), jnp.asarray(1.0), KEY).params

    with exact_numbers(), flows.fused_flows(kernel.by_interpreter):
        start = {"x": jnp.ones((2, 2)), "y": jnp.ones(()), "z": jnp.array(0.5)}
        rates = jnp.array([1.0, 2.0])
        found = jax.jit(jax.vmap(at_rate, (0, None)))(rates, start)
    expected = np.exp([-0.5, -1.0])[:, None, None] * np.ones((2, 2, 2))
    np.testing.assert_allclose(found["x"], expected, rtol=1e-9)
    np.testing.assert_allclose(found["y"], np.exp([-1.0, -1.0]), rtol=1e-9)
    np.testing.assert_array_equal(found["z"], [0.5, 0.5])


def test_slopes_that_serve_interpolation_alone_are_not_computed():
    assert (pair_of(diffrax.Dopri8()).stages, pair_of(diffrax.Tsit5()).stages) == (13, 7)
    with pytest.raises(Unfusable, match="Euler is no explicit Runge-Kutta pair"):
        pair_of(diffrax.Euler())


def sine_of_sines(w):
    """23 operations on each number."""
    for _ in range(23):
        w = jnp.sin(w)
    return w


class bounded(ps.flow):
    """A flow whose steps are not larger than a hundredth."""

    def controller(self):
        return diffrax.PIDController(rtol=1e-6, atol=1e-6, dtmax=0.01)


@pytest.mark.parametrize(
    ("flow", "why"),
    [
        (ps.flow(lambda w: -w, solver=diffrax.Kvaerno5()), "Kvaerno5 is no explicit"),
        (ps.flow(lambda w: -w, max_steps=2**40), "more than 2147483647"),
        (bounded(lambda w: -w), "more than the error of the last one"),
        (ps.flow(lambda w: -(np.arange(3600.0).reshape(60, 60) @ w)), "more than 1500"),
        (ps.flow(sine_of_sines), "60 numbers would take a minute"),
        (ps.flow(lambda w: jax.lax.while_loop(lambda x: x[0] > 1, lambda x: x / 2, w)), "loop"),
    ],
)
def test_what_cannot_be_a_small_kernel_is_refused_with_the_reason(flow, why):
    with exact_numbers(), pytest.raises(Unfusable, match=why):
        fused("compiled", flow, jnp.ones((2, 60)))


def test_a_flow_that_is_not_mapped_is_solved_by_diffrax():
    flow = ps.flow(lambda w: -(w**3))
    with exact_numbers():
        start = ps.State(jnp.array(2.0), None, flow.init(jnp.array(2.0)))
        times = (jnp.array(0.0), jnp.array(5.0))
        with flows.fused_flows() as solved:
            found = flow.advance(start, *times, KEY)
        expected = flow.advance(start, *times, KEY)
    assert solved.count == 0
    np.testing.assert_array_equal(found.params, expected.params)


def path_of(ds):
    """The path alone: these tests compile with hardly any optimisation, and provenance says so too."""
    return json.loads(ds.attrs["provenance"])["engine"].partition(",")[0]


@pytest.fixture
def sweep_both(monkeypatch):
    """A sweep as fused flows, and the same as ever; kernels are interpreted."""

    def both(study, arm, **asked):
        usual = ps.sweep(study, arm, store=False, **asked)
        assert path_of(usual) == "compiled loop"
        monkeypatch.setattr(choice, "LEAST_LANES", 2)
        monkeypatch.setattr(choice, "LEAST_FLOWS", 2)
        monkeypatch.setattr(choice, "on_this_device", lambda: True)
        monkeypatch.setattr(flows, "by_xla", kernel.by_interpreter)
        found = ps.sweep(study, arm, store=False, **asked)
        assert path_of(found) == "fused lanes"
        return found, usual

    return both


def leaving(spec):
    """dw/dt = -w^3, left when the loss is below `goal`."""
    stop = lambda seen: seen.loss < spec.goal
    flow = ps.flow(lambda w: -(w**3), rtol=1e-10)
    return toys.plan(spec, flow, np.linspace(0.5, 10.0, 20), until=stop)


def exploding(spec):
    """dw/dt = w^2, which is infinite at t = 1 / start."""
    flow = ps.flow(lambda w: w**2, max_steps=200)
    return toys.plan(spec, flow, np.array([0.5, 0.9, 1.5, 2.0]))


study = ps.Study("flows", toys.Spec(), (leaving, exploding, toys.curriculum))


def test_both_heads_of_mean_field_flow(sweep_both):
    found, usual = sweep_both(
        "lazy_to_rich",
        "mean_field_flow",
        alpha=[0.5, 1.0, 2.0],
        at=[1.0, 100.0, 4000.0],
        keep=["loss", "p", "g", "w_k", "w_q", "h"],
    )
    assert_same(found, usual)


def test_the_symmetric_arm_of_scan_and_snap_as_a_flow(sweep_both):
    found, usual = sweep_both(
        "scan_and_snap",
        "symmetric",
        preset="tiny",
        optimiser="flow",
        horizon=200.0,
        eta_Z=[0.5, 1.0],
        at=[1.0, 20.0, 200.0],
        keep=["loss", "c_dt", "f_dt", "f_ct"],
    )
    assert_same(found, usual)


def assert_same(found, usual):
    np.testing.assert_array_equal(found.time, usual.time)
    for name in usual.data_vars:
        np.testing.assert_allclose(found[name], usual[name], rtol=1e-10, err_msg=str(name))


def test_a_stage_is_left_at_the_same_record(sweep_both):
    found, usual = sweep_both(study, "leaving", start=[0.5, 1.0, 2.0], goal=0.19)
    assert_same(found, usual)
    ends = (found.loss.diff("time") == 0).sum("time")
    assert len(set(ends.values.tolist())) == 3  # each of them at a record of its own


def test_divergence_is_found_at_the_same_record(sweep_both):
    found, usual = sweep_both(study, "exploding", start=[0.4, 0.6, 1.0, 3.0])
    assert_same(found, usual)
    np.testing.assert_array_equal(found.diverged_at, [np.nan, 2.0, 1.5, 0.5])


def test_a_fused_flow_has_the_same_bits_where_it_is_resumed(sweep_both, monkeypatch):
    sweep_both(study, "leaving", start=[0.5, 1.0], goal=0.19)  # from here on flows are fused
    job = Job(leaving, toys.Spec(goal=0.19), columns={"start": (0.5, 1.0, 2.0)})
    assert choice.is_fused(job, 0)
    whole = toys.finish(job)
    monkeypatch.setattr(loop, "pace", calls.Pace())
    monkeypatch.setattr(calls, "FIRST_BUDGET", 1)
    monkeypatch.setattr(calls, "TARGET_SECONDS", 0.0)
    chunks = list(loop.execute(job))
    assert len(chunks) > 4
    parts = [toys.part_of(chunk) for chunk in chunks]
    assert toys.same_records(toys.join(parts), whole)
    start = chunks[2].position, chunks[2].leaves()
    assert toys.same_records(toys.join([*parts[:3], toys.finish(job, start)]), whole)


def test_the_flow_of_a_run_with_several_stages_is_fused_alone(monkeypatch):
    job = Job(toys.curriculum, toys.Spec(), columns={"start": (1.0, 2.0)})
    assert choice.engine_path(job) == "compiled loop"
    monkeypatch.setattr(choice, "LEAST_LANES", 2)
    monkeypatch.setattr(choice, "LEAST_FLOWS", 2)
    monkeypatch.setattr(choice, "on_this_device", lambda: True)
    assert choice.engine_path(job) == "fused lanes in flow; else compiled loop"


def many(arm, count):
    """So many runs of an arm side by side."""
    return Job(arm, toys.Spec(), columns={"start": tuple(np.linspace(1, 2, count))})


def test_flows_are_fused_on_a_gpu_if_they_are_many(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(flows, "by_gpu", kernel.by_xla)
    enough = choice.LEAST_FLOWS
    assert choice.is_fused(many(toys.cubic_flow, enough), 0)
    assert not choice.is_fused(many(toys.cubic_flow, enough - 1), 0)
    assert not choice.is_fused(many(toys.cubic_flow, enough).without_lanes(), 0)
    assert not choice.is_fused(many(toys.cubic_formula, enough), 0)
    monkeypatch.setenv("PHASESCOPE_FUSED", "0")
    assert not choice.is_fused(many(toys.cubic_flow, enough), 0)


def test_flows_are_not_fused_where_there_is_no_gpu():
    assert choice.engine_path(many(toys.cubic_flow, choice.LEAST_FLOWS)) == "compiled loop"


@pytest.mark.parametrize("way", [kernel.by_interpreter, kernel.by_xla])
def test_lanes_whose_memory_is_large_are_solved_in_pieces(monkeypatch, way):
    monkeypatch.setattr(flows, "LARGEST_WRITTEN_OUT", 0)
    flow = ps.flow(predator_and_prey)
    calls = []

    def counted(work):
        calls.append(work.inputs[0].shape[-1])
        return way(work)

    with exact_numbers():
        starts = jnp.stack([jnp.linspace(0.5, 3.0, 70), jnp.ones(70)], axis=1)
        expected, steps = moved(flow, starts)
        of_32_lanes = 8 * 32 * 16 * 2  # 13 slopes and what moves, in three forms, of two numbers
        monkeypatch.setattr(kernel, "LARGEST_MEMORY", of_32_lanes)
        with flows.fused_flows(counted):
            found, sizes = moved(flow, starts)
    assert set(calls) == {24}  # three pieces, of which the last is filled up
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(sizes, steps, rtol=0.1)


@pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated:DeprecationWarning")
def test_the_kernel_can_be_written_down_for_a_gpu(stages):
    flow = ps.flow(predator_and_prey)
    with exact_numbers(), flows.fused_flows(kernel.by_gpu):

        def one(start):
            state = ps.State(start, None, flow.init(start))
            return flow.advance(state, jnp.asarray(0.0), jnp.asarray(1.0), KEY).params

        traced = jax.jit(jax.vmap(one)).trace(jnp.ones((40, 2)))
        try:
            written = traced.lower(lowering_platforms=("cuda",)).as_text()
        except RuntimeError as problem:
            if "No supported GPU devices" not in str(problem):
                raise
            pytest.skip("from jax 0.11 on a kernel is written down only where there is a GPU")
    assert written.count("xla.gpu.triton") == 1
