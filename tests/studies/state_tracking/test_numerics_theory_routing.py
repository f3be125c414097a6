"""Stage 2: four scalars against full blocks of Q, sums of cases, running sums, and the algorithms as arms."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phasescope as ps
from phasescope.errors import SpecError
from phasescope.studies.state_tracking import data
from phasescope.studies.state_tracking.actions import named
from phasescope.studies.state_tracking.spec import TheorySpec
from phasescope.studies.state_tracking.theory_model import (
    dense,
    feature_model,
    limits,
    routing_model,
    running_sums,
)
from phasescope.studies.state_tracking.theory_model.full import listed


def spread_out(group: str, clip: float = 5.0, **changes):
    """A task, features that are neither limit nor noise, and its constants."""
    spec = TheorySpec(group=group, power=4, clip=clip, **changes)
    numbers = feature_model.constants(spec, float(spec.tokens.size))
    V = limits.ideal_features(spec.action, 0.4 * numbers.clip)
    noise = feature_model.Features(
        *(0.3 * jr.normal(jr.key(i), v.shape) for i, v in enumerate((V.g, V.y)))
    )
    return spec, jax.tree.map(jnp.add, V, noise), numbers


@pytest.fixture
def some():
    """Four scalars, all different."""
    return routing_model.Routing(*(jnp.asarray(x) for x in (0.7, 0.1, 0.4, -0.2)))


def blocks(routing, N):
    eye = jnp.eye(N)
    return tuple(
        (q - o) * eye + o for q, o in ((routing.q43, routing.o43), (routing.q44, routing.o44))
    )


@pytest.mark.parametrize(("group", "N"), [("C3", 5), ("S3", 4)])
@pytest.mark.parametrize("step", [1, 2])
def test_four_scalars_carry_the_gradient_of_the_full_blocks(group, N, step, some):
    """Every ordered tuple of names is listed: the identity is exact, diagonals and off-diagonals are each constant."""
    spec, V, numbers = spread_out(group, variables=N)
    chain = data.every_chain(spec.action, N, 2)
    Q43, Q44 = blocks(some, N)
    model = dense.Dense(dense.with_features(V, spec).W, Q43, Q44)
    full_loss = lambda model: dense.answer_loss(model, 0, 4, chain, spec.tokens, numbers, step)
    loss, slope = jax.jit(jax.value_and_grad(full_loss))(model)
    cases = routing_model.every_case(spec.action, step)
    reduced_loss = lambda routing: routing_model.step_loss(routing, V, numbers, step, cases)
    reduced, found = jax.jit(jax.value_and_grad(reduced_loss))(some)
    assert float(loss) == pytest.approx(float(reduced), abs=2e-15)
    on = np.eye(N, dtype=bool)
    for block, q, o in ((slope.Q43, found.q43, found.o43), (slope.Q44, found.q44, found.o44)):
        assert np.abs(block[on] - q / N).max() < 1e-15
        assert np.abs(block[~on] - o / (N * (N - 1))).max() < 1e-15


@pytest.mark.parametrize("group", ["C6", "S3", "A4", "D4", "regS3"])
@pytest.mark.parametrize("step", [1, 2])
def test_orbits_stand_for_all_cases_with_limit_features(group, step, some):
    spec = TheorySpec(group=group, vocabulary=1e4, power=4)
    numbers = feature_model.constants(spec)
    V = limits.ideal_features(spec.action, numbers.clip)
    loss = lambda cases: lambda routing: routing_model.step_loss(routing, V, numbers, step, cases)
    full, short = (
        jax.jit(jax.value_and_grad(loss(cases(spec.action, step))))(some)
        for cases in (routing_model.every_case, routing_model.orbit_cases)
    )
    for a, b in zip(jax.tree.leaves(full), jax.tree.leaves(short), strict=True):
        assert float(a) == pytest.approx(float(b), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("group", ["C3", "S3"])
def test_running_sums_are_the_full_model_on_a_long_chain(group, some):
    spec, V, numbers = spread_out(group, variables=12)
    chain = data.chains(jr.key(5), spec.action, 12, 9, 20)
    model = dense.Dense(dense.with_features(V, spec).W, *blocks(some, 12))
    logits = jax.vmap(
        lambda moves, values: running_sums.chain_logits(V, some, numbers, moves, values)
    )
    found = jax.jit(logits)(chain.actions, chain.values)
    for step in (1, 4, 9):
        u = jax.jit(lambda m, step=step: dense.attended(m, chain, spec.tokens, step))(model)
        full = jax.jit(lambda m, u: numbers.logits(dense.raw_logits(m.W[0], u, numbers)))(model, u)
        values = slice(spec.tokens.first_value, spec.tokens.blank)
        assert np.abs(full[:, values] - found[:, step - 1]).max() < 1e-13


def test_a_greedy_rollout_by_running_sums_is_that_of_the_full_model():
    spec, V, numbers = spread_out("S3", variables=9)
    chain = data.chains(jr.key(6), spec.action, 9, 8, 60)
    weak = routing_model.Routing(*(jnp.asarray(x) for x in (1.2, 0.0, 1.2, 0.0)))
    model = dense.Dense(dense.with_features(V, spec).W, *blocks(weak, 9))
    values = jax.jit(lambda m: dense.greedy_values(m, 0, chain, spec.tokens, numbers, 8))(model)
    own = jax.vmap(
        lambda moves, values: running_sums.chain_logits(V, weak, numbers, moves, values, own=True)
    )
    found = jnp.argmax(jax.jit(own)(chain.actions, chain.values), axis=-1)
    assert (values[:, 1:] != chain.values[:, 1:]).any()
    assert (found == values[:, 1:]).all()


def test_padding_to_the_longest_chain_changes_nothing(some):
    spec, V, numbers = spread_out("C3")
    moves = jr.randint(jr.key(1), (7,), 0, 3)
    start = jnp.asarray(1)
    values = data.follow(spec.action, start, moves)
    short = running_sums.chain_logits(V, some, numbers, moves[:4], values[:5])
    padded = running_sums.chain_logits(V, some, numbers, moves, values, length=4)
    assert np.abs(short - padded[:4]).max() < 1e-14


def test_the_flow_path_is_that_of_another_integrator():
    """Heun's path at stride 0.001 against scipy's RK45 on the same field, compared at equal q_43."""
    numbers = {
        "group": "C4",
        "vocabulary": 1e4,
        "power": 4,
        "pace": "path",
        "distance": 400,
        "stride": 0.001,
    }
    ds = ps.run("state_tracking", "routing", **numbers, store=False, progress=False)
    spec = TheorySpec(**numbers)
    constants = feature_model.constants(spec)
    V = limits.ideal_features(spec.action, constants.clip)
    cases = [(s, routing_model.every_case(spec.action, s)) for s in (1, 2)]

    @jax.jit
    def field(x):
        loss = lambda r: sum(routing_model.step_loss(r, V, constants, s, c) for s, c in cases)
        slope = jax.grad(loss)(routing_model.Routing(*x))
        down = jnp.stack(jax.tree.leaves(routing_model.downhill(slope, 1e4)))
        return down / jnp.abs(down).max()

    found = solve_ivp(
        lambda t, x: np.asarray(field(jnp.asarray(x))),
        (0, 0.38),
        np.zeros(4),
        rtol=1e-8,
        atol=1e-10,
        dense_output=True,
    )
    q43, o43, q44, o44 = found.sol(np.linspace(0.05, 0.38, 20))
    for name, x in (("q44", q44), ("o43", o43), ("o44", o44)):
        assert np.abs(np.interp(q43, ds.q43.values, ds[name].values) - x).max() < 1e-4


def test_exchange_of_the_two_clauses_is_a_symmetry_of_cyclic_tasks():
    ds = ps.run(
        "state_tracking",
        "routing",
        group="C4",
        vocabulary=1e4,
        power=4,
        clip=10.0,
        pace="path",
        algorithm=2,
        threshold=3.0,
        distance=300,
        store=False,
        progress=False,
    )
    assert float(ds.q43[-1]) > 0.8
    assert float(abs(ds.q43 - ds.q44).max()) < 1e-12


@pytest.mark.parametrize("algorithm", [1, 2])
def test_the_oracle_follows_the_reduced_attention(algorithm):
    """Full W and Q by their own algorithm; frozen variable noise breaks the symmetry of Q by a little only."""
    full = ps.run(
        "state_tracking",
        "theory_model",
        group="C3",
        variables=5,
        slot=5,
        neurons=6,
        power=6,
        clip=2.5,
        init_scale=0.01,
        bias=0.1,
        knee=0.3,
        eta=4.0,
        feature_steps=1000,
        steps=40,
        attention_eta=0.1,
        algorithm=algorithm,
        threshold=1.4,
        store=False,
        progress=False,
    )
    assert float(full.slot_loss.isel(time=-1).max()) < 0.3
    assert float(full.diagonal.isel(time=-1).min()) > 0.1
    assert float(full.spread.max()) < 0.01 * float(abs(full.diagonal).max())


def test_stage_two_of_self_training_sees_the_true_loss_as_long_as_the_teacher_is_right():
    """Labels of answers 1 and 2 from a right teacher are the true ones, so that the losses coincide."""
    spec = TheorySpec(group="C3", variables=5, slot=5, neurons=3, power=4, clip=3.0)
    numbers = feature_model.constants(spec, float(spec.tokens.size))
    model = dense.with_features(limits.ideal_features(spec.action, numbers.clip), spec)
    strong = dense.Dense(model.W, *blocks(routing_model.begin(3.0, 3.0), 5))
    chain = data.every_chain(spec.action, 5, 2)
    greedy = jax.jit(lambda m: dense.greedy_values(m, 0, chain, spec.tokens, numbers, 2))
    own = greedy(strong)
    uniform = greedy(model)
    assert (own == chain.values).all()
    assert (uniform != chain.values).any()


def test_too_many_chains_for_the_oracle_are_counted_in_the_error():
    with pytest.raises(SpecError, match=r"lists every chain: \d+ of length 2"):
        listed(TheorySpec(variables=60), 2)


def test_dilution_and_gap_are_sums_of_the_softmax(some):
    q43, o43, q44, o44 = (float(x) for x in some.scalars())
    for L, ell in itertools.product((2, 5), (1, 2)):
        scores = np.array([q43] + [o43] * (L - 1) + [q44] + [o44] * (ell - 1))
        p = np.exp(scores) / np.exp(scores).sum()
        assert float(limits.dilution(*some.scalars(), L, ell)) == pytest.approx(1 - p[0] - p[L])
        assert float(limits.gap(*some.scalars(), L, ell)) == pytest.approx(p[0] - p[L])


def test_mean_preactivation_is_that_of_random_chains():
    action = named("S4")
    clip = 10.0
    routing = (2.0, 0.0, 1.7, 0.0)
    v = limits.ideal_features(action, clip)
    rng = np.random.default_rng(0)
    n = 40_000
    L = 7
    y0 = rng.integers(0, 4, n)
    g = rng.integers(0, 24, (n, L))
    y = [y0]
    for k in range(L):
        y.append(action.table[g[:, k], y[-1]])
    j = y[L]
    r = y[L - 1]
    Z = np.exp(2.0) + np.exp(1.7) + 2 * (L - 1)
    score = np.exp(2.0) * v.g[j, r, g[:, L - 1]] + np.exp(1.7) * v.y[j, r, y[L - 1]]
    score = (
        score
        + sum(v.g[j, r, g[:, k]] for k in range(L - 1))
        + sum(v.y[j, r, y[k]] for k in range(L - 1))
    )
    found = np.asarray(score) / Z
    expected = limits.mean_preactivation(action, clip, routing, L, L)
    assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(n)


def test_the_critical_length_of_the_cyclic_task_by_hand():
    """C6, q_43 = q_44 = 3, C_B = 5: eps_c = 0.8 / (2 - 1/3) = 0.48, L* = 1 + (0.48 / 0.52) e^3."""
    assert limits.critical_length(named("C6"), 5.0, 3.0, 3.0) == pytest.approx(
        1 + 0.48 / 0.52 * np.exp(3.0)
    )
    log_d = np.log(1e6)
    length = limits.critical_length(named("C6"), 5.0, 3.0, 3.0)
    at = limits.mean_preactivation(named("C6"), 5 * log_d, (3.0, 0.0, 3.0, 0.0), length, length)
    assert at == pytest.approx(log_d)


def test_a_chain_of_ten_thousand_moves_is_followed_or_lost_as_the_critical_length_says():
    spec = TheorySpec(group="C6", vocabulary=1e6)
    numbers = feature_model.constants(spec)
    V = limits.ideal_features(spec.action, numbers.clip)
    reach = lambda q: running_sums.accuracies(
        jr.key(0), V, routing_model.begin(q, q), spec.action, numbers, (10_000,), 10
    )
    enough, short = (
        1 + np.log(10_000 / limits.critical_length(spec.action, 5.0, 0.0, 0.0)) * np.array([1, 0.8])
    ).tolist()
    assert float(reach(enough).rollout[0]) == 1.0
    assert float(reach(short).rollout[0]) == 0.0


def test_a_lane_of_a_sweep_is_the_single_run():
    ask = {"preset": "tiny", "pace": "path", "store": False, "progress": False}
    lanes = ps.sweep("state_tracking", "routing", vocabulary=[1e4, 1e6], **ask)
    alone = ps.run("state_tracking", "routing", vocabulary=1e6, **ask)
    assert np.allclose(lanes.q43.sel(vocabulary=1e6), alone.q43, rtol=1e-9)
    assert float(abs(lanes.q44.sel(vocabulary=1e4) - alone.q44).max()) > 1e-3
