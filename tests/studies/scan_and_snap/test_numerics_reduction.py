import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.integrate import solve_ivp

import phasescope as ps
from phasescope.studies.scan_and_snap import data, study, training
from phasescope.studies.scan_and_snap.reductions import class_symmetry, levels
from phasescope.studies.scan_and_snap.reductions.class_symmetry import profile
from phasescope.studies.scan_and_snap.spec import Spec
from phasescope.studies.scan_and_snap.training import updates


def step_symmetric(spec, steps):
    """The reduced state after some updates, by the arm's own step."""
    stage = training.symmetric(spec).stages[0]
    state = updates.begin(class_symmetry.zeros(spec.distinct, spec.common), spec)
    step = lambda t, s: stage.dynamics.step(s, t, jax.random.key(0))
    return jax.jit(lambda s: jax.lax.fori_loop(0, steps, step, s))(state).weights


@pytest.mark.parametrize("sizes", [(2, 1), (1, 2), (3, 2), (5, 2), (4, 3)])
@pytest.mark.parametrize(
    ("optimiser", "eta_Y", "eta_Z"), [("sgd", 1.0, 1.0), ("sgd", 10.0, 1.0), ("adam", 0.1, 0.1)]
)
def test_the_reduction_is_the_full_model_to_rounding(train_full, sizes, optimiser, eta_Y, eta_Z):
    spec = Spec(
        num_last=sizes[0],
        per_last=sizes[1],
        common=3,
        distinct=4,
        optimiser=optimiser,
        eta_Y=eta_Y,
        eta_Z=eta_Z,
    )
    mixture, C, D, K = data.syn(spec), spec.common, spec.distinct, spec.labels
    full = train_full(
        jnp.asarray(mixture.P),
        mixture.last,
        jnp.arange(K),
        int(spec.M),
        60,
        eta_Y,
        eta_Z,
        optimiser,
    )
    small = step_symmetric(spec, 60)
    first = slice(C, C + D)
    for ours, theirs in (
        (small.z_d, full.Z[0, first]), (small.z_c, full.Z[0, :C]), (small.A, full.Y[first, 0]),
        (small.B, full.Y[first, 1]), (small.O, full.Y[first, K]), (small.U, full.Y[:C, 0]), (small.V, full.Y[:C, -1]),
    ):  # fmt: skip
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    last = slice(C + (K - 1) * D, C + K * D)
    np.testing.assert_allclose(small.z_d, full.Z[sizes[0] - 1, last], atol=1e-12)


def random_state(spec, seed=0):
    keys = iter(jax.random.split(jax.random.key(seed), 7))
    return jax.tree.map(
        lambda x: jax.random.normal(next(keys), x.shape),
        class_symmetry.zeros(spec.distinct, spec.common),
    )


def dense(state, spec):
    """F, Y (all columns), and the labels' columns first, of the full model that a state stands for."""
    K, C, D, M = spec.labels, spec.common, spec.distinct, int(spec.M)
    f = class_symmetry.direction(state.z_d, state.z_c, profile(spec))
    F = np.zeros((C + K * D, K))
    Y = np.zeros((C + K * D, M))
    Y[:C, :K], Y[:C, K:] = np.asarray(state.U)[:, None], np.asarray(state.V)[:, None]
    for k in range(K):
        rows = slice(C + k * D, C + (k + 1) * D)
        F[:C, k], F[rows, k] = f.c, f.d
        Y[rows, :K], Y[rows, K:] = np.asarray(state.B)[:, None], np.asarray(state.O)[:, None]
        Y[rows, k] = state.A
    logits = Y.T @ F
    alpha = np.exp(logits - logits.max(0))
    R = np.eye(M)[:, :K] - alpha / alpha.sum(0)
    return F, Y, R.T


SMALL = Spec(num_last=3, per_last=2, common=2, distinct=3)


def test_decoupled_gradient_is_the_matrix_form():
    state = random_state(SMALL)
    F, _, R = dense(state, SMALL)
    wanted = F @ np.linalg.inv(F.T @ F) @ R / SMALL.labels
    found = jax.jit(class_symmetry.decoupled)(state, profile(SMALL))
    C, D, K = SMALL.common, SMALL.distinct, SMALL.labels
    for ours, theirs in (
        (found.A, wanted[C : C + D, 0]), (found.B, wanted[C : C + D, 1]), (found.O, wanted[C : C + D, K]),
        (found.U, wanted[:C, 0]), (found.V, wanted[:C, K]),
    ):  # fmt: skip
        np.testing.assert_allclose(ours, theirs, atol=1e-14)


def test_coefficients_are_least_squares_on_the_directions():
    state = random_state(SMALL, 1)
    F, Y, R = dense(state, SMALL)
    a = np.linalg.lstsq(F, Y @ R[0], rcond=None)[0]
    own, other = jax.jit(class_symmetry.coefficients)(state, profile(SMALL))
    np.testing.assert_allclose(own, a[0], rtol=1e-12)
    np.testing.assert_allclose(other, a[1], rtol=1e-12)


def test_lag_is_the_ratio_of_the_true_velocity_to_that_of_the_projected_pull():
    state = random_state(SMALL, 2)
    F, Y, R = dense(state, SMALL)
    C, f = SMALL.common, F[:, 0]
    g = Y @ R[0]
    shadow = F @ np.linalg.lstsq(F, g, rcond=None)[0]
    velocity = lambda g: (f * (g - f * (f @ g)))[:C].sum()
    np.testing.assert_allclose(
        jax.jit(class_symmetry.lag)(state, profile(SMALL)),
        velocity(g) / velocity(shadow),
        rtol=1e-11,
    )


def test_the_present_lag_is_the_ratio_to_the_velocity_under_a_decoder_without_memory():
    """Y = F S with the current F in the place of Y, at the residuals of Y: by matrices."""
    weights = random_state(SMALL, 4)
    state = levels.WithResiduals(weights, jnp.array(1.3), jnp.array(-0.4), jnp.array(-0.2))
    K, M, C = SMALL.labels, int(SMALL.M), SMALL.common
    F, Y, R = dense(weights, SMALL)
    S = np.full((K, M), -0.2)
    S[:, :K] = -0.4
    S[np.arange(K), np.arange(K)] = 1.3
    f = F[:, 0]
    velocity = lambda g: (f * (g - f * (f @ g)))[:C].sum()
    np.testing.assert_allclose(
        jax.jit(levels.present_lag)(state, profile(SMALL)),
        velocity(Y @ R[0]) / velocity(F @ S @ R[0]),
        rtol=1e-11,
    )


def test_training_with_residuals_is_training_and_the_sum_of_its_residuals():
    weights = random_state(SMALL, 5)
    state = levels.WithResiduals(weights, *jnp.zeros(3))
    moving = jax.jit(levels.with_residuals_velocity)(state, profile(SMALL), 2.0, 3.0)
    _, _, R = dense(weights, SMALL)
    ascent = jax.jit(class_symmetry.gradient)(weights, profile(SMALL))
    np.testing.assert_allclose(moving.weights.z_c, 3 * ascent.z_c, atol=1e-14)
    np.testing.assert_allclose(moving.weights.A, 2 * ascent.A, atol=1e-14)
    found = [moving.own, moving.other, moving.rest]
    np.testing.assert_allclose(found, 2 / SMALL.labels * R[0, [0, 1, SMALL.labels]], rtol=1e-12)


def test_theory_beta_is_its_matrix_form():
    K, M, rho = 5, 40.0, 0.2
    E = rho * (np.ones((K, K)) - np.eye(K))
    Ep = np.eye(K) - np.linalg.inv(np.eye(K) + E)
    q_1, q_0 = M / (M - 1), -M / (M - 1) ** 2
    wanted = q_1 * Ep[0, 1] - q_0 * (1 - Ep[1, 1] - sum(Ep[1, k] for k in range(2, K)))
    np.testing.assert_allclose(levels.beta(jnp.array(rho), K, M), wanted, rtol=1e-13)


def test_a_decoder_without_memory_is_its_matrix_form():
    """Y = F S with the current F: prediction, force and velocities by matrices."""
    spec, data_ = SMALL, profile(SMALL)
    base = random_state(spec, 3)
    state = levels.Memoryless(base.z_d, base.z_c, jnp.array(1.3), jnp.array(-0.4), jnp.array(-0.2))
    K, M, C = spec.labels, int(spec.M), spec.common
    F, _, _ = dense(base, spec)
    S = np.full((K, M), -0.2)
    S[:, :K] = -0.4
    S[np.arange(K), np.arange(K)] = 1.3
    Y = F @ S
    logits = Y.T @ F
    alpha = np.exp(logits) / np.exp(logits).sum(0)
    R = (np.eye(M)[:, :K] - alpha).T
    moving = jax.jit(levels.memoryless_velocity)(state, data_, 2.0, 3.0)
    np.testing.assert_allclose(
        [moving.own, moving.other, moving.rest], 2 / K * R[0, [0, 1, K]], rtol=1e-12
    )
    f, g = F[:, 0], Y @ R[0]
    rate = 3 / K * f * (g - f * (f @ g))
    np.testing.assert_allclose(moving.z_d, rate[C : C + spec.distinct], atol=1e-14)
    np.testing.assert_allclose(
        moving.z_c, 2 * rate[:C], atol=1e-14
    )  # q = 2 classes share a last token


def solved_by_scipy(velocity, start, t):
    """The end of a flow by LSODA, in log time."""
    flat, shape = ravel_pytree(start)
    rate = jax.jit(lambda s, y: ravel_pytree(velocity(shape(y)))[0] * jnp.exp(s))
    out = solve_ivp(
        lambda s, y: np.asarray(rate(s, y)),
        (0, np.log1p(t)),
        np.asarray(flat),
        "LSODA",
        rtol=1e-11,
        atol=1e-13,
    )
    return shape(jnp.array(out.y[:, -1]))


@pytest.mark.parametrize(
    "arm", ["symmetric", "decoupled", "theory", "memoryless", "with_residuals"]
)
def test_flows_agree_with_scipy(arm):
    spec = Spec(common=2, distinct=3, eta_Z=0.7, optimiser="flow", horizon=2000.0)
    p, rates = profile(spec), class_symmetry.by_table(1.0, 0.7)
    scale = lambda g: jax.tree.map(jnp.multiply, g, rates)
    velocity, start = {
        "symmetric": (lambda s: scale(class_symmetry.gradient(s, p)), class_symmetry.zeros(3, 2)),
        "decoupled": (lambda s: scale(class_symmetry.decoupled(s, p)), class_symmetry.zeros(3, 2)),
        "theory": (
            lambda s: levels.theory_velocity(s, p, 1.0, 0.7, 0.5)[0],
            levels.closed_zeros(3, 2),
        ),
        "memoryless": (
            lambda s: levels.memoryless_velocity(s, p, 1.0, 0.7),
            levels.memoryless_zeros(3, 2),
        ),
        "with_residuals": (
            lambda s: levels.with_residuals_velocity(s, p, 1.0, 0.7),
            levels.with_residuals_zeros(3, 2),
        ),
    }[arm]
    wanted = solved_by_scipy(velocity, start, 2000.0)
    numbers = {"common": 2, "distinct": 3, "eta_Z": 0.7, "horizon": 2000.0}
    if arm == "symmetric":
        numbers["optimiser"] = "flow"
    found = ps.run(study, arm, at=[2000.0], store=False, progress=False, **numbers)
    if arm == "with_residuals":
        lag = jax.jit(levels.present_lag)(wanted, p)
        np.testing.assert_allclose(found.lag_present[-1], lag, rtol=1e-6)
        wanted = wanted.weights
    np.testing.assert_allclose(found.z_dt[-1, 0], wanted.z_d, rtol=1e-7)
    np.testing.assert_allclose(found.z_ct[-1, 0], wanted.z_c, rtol=1e-7)


def test_nothing_overflows_at_any_size():
    huge = class_symmetry.Profile(jnp.zeros(2), jnp.zeros(1), 1e12, 1e300, 1.0)
    found = class_symmetry.gradient(class_symmetry.zeros(2, 1), huge)
    assert all(bool(jnp.isfinite(x).all()) for x in found)
    p = class_symmetry.predict(jnp.array(900.0), jnp.array(-900.0), jnp.array(0.0), huge)
    np.testing.assert_allclose(p.mu, np.exp(300 * np.log(10) - 900), rtol=1e-11)


def test_one_class_and_as_many_classes_as_outputs_are_within_range():
    alone = class_symmetry.predict(
        jnp.array(1.0),
        jnp.array(5.0),
        jnp.array(0.0),
        class_symmetry.Profile(*[jnp.zeros(1)] * 2, 1.0, 3.0, 1.0),
    )
    np.testing.assert_allclose(alone.mu, 2 / (2 + np.e), rtol=1e-14)
    only = class_symmetry.predict(
        jnp.array(1.0),
        jnp.array(0.0),
        jnp.array(9.0),
        class_symmetry.Profile(*[jnp.zeros(1)] * 2, 3.0, 3.0, 1.0),
    )
    np.testing.assert_allclose(only.mu, 2 / (2 + np.e), rtol=1e-14)
