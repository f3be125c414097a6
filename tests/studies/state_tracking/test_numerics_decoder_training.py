"""The arms of the decoder: their chains, their updates, lanes, stages and snapshots."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import phasescope as ps
from phasescope.engine.job import Job, Position
from phasescope.engine.loop import execute
from phasescope.errors import SpecError
from phasescope.studies.state_tracking import study
from phasescope.studies.state_tracking.decoder import network, rollout
from phasescope.studies.state_tracking.decoder.observables import chains_to_test, lengths_of, order
from phasescope.studies.state_tracking.decoder.sampling import training_chains
from phasescope.studies.state_tracking.training import control, decoder, self_training

SMALL = study.specify("tiny", "decoder", eta=0.01, samples=6, steps=4, stage_steps=3, records=2)


draw = jax.jit(training_chains, static_argnums=(0, 1, 2))


def drawn(spec, seed, count=50, length=3, source=7):
    return draw(spec, length, count, jr.key(seed), jr.key(source))


def rows(chains):
    return list(
        map(tuple, np.concatenate([chains.names, chains.actions, chains.values], axis=1).tolist())
    )


@pytest.fixture(scope="module")
def ran():
    """What each arm yields, chunk by chunk."""
    return {arm.__name__: list(execute(Job(arm, SMALL))) for arm in (self_training, control)}


@pytest.mark.parametrize("dataset", [0, 40])
def test_training_chains_name_each_variable_once_and_follow_the_action(dataset):
    spec = study.specify(arm="decoder", group="S4", variables=8, dataset=dataset)
    chains = drawn(spec, 0)
    assert all(len(set(names)) == 4 for names in np.asarray(chains.names).tolist())
    assert chains.names.max() < 8
    for n in range(3):
        table = spec.action.table[chains.actions[:, n], chains.values[:, n]]
        np.testing.assert_array_equal(table, chains.values[:, n + 1])


def test_names_starts_and_moves_are_uniform():
    chains = drawn(study.specify(arm="decoder", group="S3", variables=6), 1, count=20_000)
    for found, size in ((chains.names, 6), (chains.values, 3), (chains.actions, 6)):
        for place in range(found.shape[1]):
            counts = np.bincount(np.asarray(found[:, place]), minlength=size)
            assert abs(counts - 20_000 / size).max() < 5 * np.sqrt(20_000 / size)


def test_fresh_chains_are_new_at_every_update():
    spec = study.specify(arm="decoder", group="S4", variables=8)
    assert not set(rows(drawn(spec, 0))) & set(rows(drawn(spec, 1)))


def test_a_fixed_set_has_so_many_members_and_belongs_to_the_run():
    spec = study.specify(arm="decoder", group="S4", variables=8, dataset=20)
    seen = set(rows(drawn(spec, 0, count=400)))
    assert len(seen) == 20
    assert set(rows(drawn(spec, 1, count=400))) == seen
    assert not seen & set(rows(drawn(spec, 0, count=400, source=8)))


def test_updates_are_those_of_adam_on_the_chains_of_the_step():
    plan = decoder(SMALL)
    key = jr.key(5)
    state = plan.init(jr.key(1))
    state = ps.State(state.params, state.memory, plan.stages[0].dynamics.init(state.params))
    after = jax.jit(plan.stages[0].dynamics.advance)(state, 0, 2, key).params.net
    x, m, v = state.params.net, *(jax.tree.map(np.zeros_like, state.params.net) for _ in range(2))
    slope_of = jax.jit(jax.grad(network.loss))
    draw = jax.jit(
        lambda key: training_chains(SMALL, SMALL.length, SMALL.batch, key, state.memory.data)
    )
    for t in range(2):
        g = slope_of(x, draw(jr.fold_in(key, t)))
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, g)
        step = lambda x, m, v, t=t: (
            x - 0.01 * (m / (1 - 0.9 ** (t + 1))) / (np.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)
        )
        x = jax.tree.map(step, x, m, v)
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def test_seeds_as_lanes_are_single_runs():
    lanes = ps.sweep(
        study, decoder, preset="tiny", eta=0.01, steps=4, seeds=[3, 4], block=2, store=False
    )
    for seed in (3, 4):
        alone = ps.run(study, decoder, preset="tiny", eta=0.01, steps=4, seed=seed, store=False)
        for name in alone.data_vars:
            np.testing.assert_allclose(
                lanes[name].sel(seed=seed), alone[name], rtol=1e-9, atol=1e-12
            )


def test_32_bit_decoders_stay_32_bit_under_a_64_bit_step_size():
    spec = dataclasses.replace(SMALL, precision="float32").traced()
    plan = decoder(spec)

    def train(key):
        state = plan.init(key)
        dynamics = plan.stages[0].dynamics
        state = ps.State(state.params, state.memory, dynamics.init(state.params))
        return dynamics.advance(state, jnp.array(0), jnp.array(3), key)

    after = jax.eval_shape(train, jr.key(0))
    assert {x.dtype for x in jax.tree.leaves(after.params.net)} == {jnp.dtype("float32")}


def test_self_training_and_its_control_share_the_first_stage(ran):
    first = [[c.records["loss"] for c in chunks if c.stage == 0] for chunks in ran.values()]
    for a, b in zip(*first, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_self_training_and_control_take_equally_many_updates(ran):
    times = [np.concatenate([c.time for c in chunks]) for chunks in ran.values()]
    np.testing.assert_array_equal(times[0], times[1])
    assert times[0][-1] == 4 + 3 * SMALL.stages


def test_the_teacher_is_the_decoder_at_the_end_of_the_stage_before(ran):
    before, after = ([c for c in ran["self_training"] if c.stage == k][-1].state for k in (0, 1))
    for a, b in zip(
        jax.tree.leaves(before.params.net), jax.tree.leaves(after.memory.teacher), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert after.memory.teacher.shape == after.params.net.shape
    sample = jax.jit(self_training(SMALL).stages[1].dynamics.sample)
    labelled = sample(jr.key(0), after.memory)
    assert labelled.length == 2 * SMALL.length
    again = (
        rollout.rollout(after.memory.teacher, labelled).values
        - after.params.net.shape.tokens.first_value
    )
    np.testing.assert_array_equal(labelled.values[:, 1:], again)


@pytest.mark.parametrize("arm", [self_training, control])
def test_a_run_goes_on_from_the_snapshot_at_the_end_of_a_stage(arm, ran):
    chunks = ran[arm.__name__]
    end = [c for c in chunks if c.stage == 0][-1]
    rest = list(execute(Job(arm, SMALL), (Position(1, 0.0, 4.0), end.leaves())))
    expected = [c for c in chunks if c.stage == 1]
    np.testing.assert_array_equal(rest[-1].time, expected[-1].time)
    for name, value in expected[-1].records.items():
        np.testing.assert_array_equal(rest[-1].records[name], value)


def test_test_chains_follow_the_action_and_no_seed_changes_them():
    chains = chains_to_test("S3", 9, 8, 30)
    table = study.specify(arm="decoder", group="S3").action.table
    assert all(len(set(names)) == 9 for names in chains.names.tolist())
    for n in range(8):
        np.testing.assert_array_equal(
            table[chains.actions[:, n], chains.values[:, n]], chains.values[:, n + 1]
        )


def test_lengths_double_as_far_as_the_variables_go():
    assert lengths_of(study.specify(arm="decoder", variables=200)) == (5, 10, 20, 40, 80, 160)
    assert lengths_of(study.specify(arm="decoder", variables=60)) == (5, 10, 20, 40, 59)


def test_no_predicate_stays_where_it_was():
    found = order(5)
    assert sorted(found) == list(range(5))
    assert (found != np.arange(5)).all()


def test_a_width_that_the_heads_do_not_divide_is_an_error():
    with pytest.raises(SpecError, match=r"width=9 cannot be cut into heads=2"):
        ps.run(study, decoder, preset="tiny", width=9, store=False)


@pytest.mark.parametrize("arm", [decoder, control], ids=lambda arm: arm.__name__)
def test_chains_that_cannot_be_named_are_an_error(arm):
    with pytest.raises(SpecError, match=r"a chain of length 60 needs 61 different variables"):
        ps.run(study, arm, length=60, store=False)


def test_self_training_on_chains_that_cannot_be_named_is_an_error():
    with pytest.raises(SpecError, match=r"a chain of length 8 needs 9 different variables"):
        ps.run(study, self_training, preset="tiny", stages=2, store=False)


@pytest.mark.full  # two lengths are two programs: 12 s; the core sweeps whole numbers in every round of tests
def test_the_length_of_the_training_chains_may_be_swept():
    few = {"samples": 4, "steps": 2, "records": 1}
    ds = ps.sweep("state_tracking", "decoder", preset="tiny", length=[2, 3], store=False, **few)
    assert ds.length.values.tolist() == [2, 3]
    tested = ds.accuracy.isel(time=-1).notnull()
    assert ds.test_length[tested.sel(length=2).values].values.tolist() == [2, 4, 5]
    assert ds.test_length[tested.sel(length=3).values].values.tolist() == [3, 5]
