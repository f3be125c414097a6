"""Closed forms of the kernels, the Boolean sum, and tables."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import phasescope as ps
from phasescope.engine.job import Job
from phasescope.studies.lazy_to_rich import study
from phasescope.studies.lazy_to_rich.kernels import analytic, quadrature, tabulated
from phasescope.studies.lazy_to_rich.spec import Spec

CLOSED = [analytic.mean_field, analytic.exponential, analytic.boolean_mean_field]


def enumerate_boolean(c, c_prime, N):
    """The mean over all sequences of signs."""
    tokens = np.array(list(itertools.product((1, -1), repeat=N + 2)), dtype=float).T
    keys, values, query = tokens[:N], tokens[1 : N + 1], tokens[-1]
    read = lambda c: (
        np.sum(np.exp(c * query * keys) * values, axis=0) / np.sum(np.exp(c * query * keys), axis=0)
    )
    return np.mean(read(c) * read(c_prime))


@pytest.mark.parametrize("N", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(("c", "c_prime"), [(0.0, 0.3), (0.3, 0.7), (1.5, 0.2), (-0.4, 0.9)])
def test_the_boolean_sum_is_the_mean_over_all_sequences(N, c, c_prime):
    assert analytic.boolean(c, c_prime, N) == pytest.approx(
        enumerate_boolean(c, c_prime, N), abs=1e-15
    )


def test_the_boolean_sum_tends_to_its_mean_field():
    gap = [
        N * analytic.boolean(0.2, 0.3, N) / (1 + np.tanh(0.2) * np.tanh(0.3)) - 1
        for N in (1000, 2000)
    ]
    assert abs(gap[0]) < 1e-4
    assert gap[0] / gap[1] == pytest.approx(2.0, rel=0.01)


def test_the_gaussian_kernel_tends_to_its_mean_field():
    field = analytic.mean_field(0.2401, 0.2401, 1)
    gap = [
        N * (N * quadrature.kernel(0.2401, 0.2401, N) / float(field.S) - 1) for N in (1000, 4000)
    ]
    assert gap == pytest.approx([-0.131, -0.131], abs=2e-3)


@pytest.mark.parametrize("form", CLOSED)
def test_slopes_are_derivatives(form):
    c, S, X = 0.13, lambda c: form(c, 0.2401, 38).S, lambda c: form(c, 0.2401, 38).X
    found = form(c, 0.2401, 38)
    assert found.dS == pytest.approx(float(jax.grad(S)(c)), rel=1e-13)
    assert found.dX == pytest.approx(float(jax.grad(X)(c)), rel=1e-13)


def test_slopes_behind_a_blurred_first_layer_are_derivatives():
    S, X = (
        (lambda c: analytic.mean_field(c, 0.24, 38, 0.4).S),
        (lambda c: analytic.mean_field(c, 0.24, 38, 0.4).X),
    )
    found = analytic.mean_field(0.2, 0.24, 38, 0.4)
    assert (found.dS, found.dX) == pytest.approx(
        (float(jax.grad(S)(0.2)), float(jax.grad(X)(0.2))), rel=1e-13
    )


@pytest.mark.parametrize("form", CLOSED)
def test_at_the_target_both_kernels_and_the_top_meet(form):
    found = form(0.2401, 0.2401, 38)
    assert pytest.approx(float(found.S), rel=1e-15) == found.X
    assert found.top == pytest.approx(float(found.S), rel=1e-15)


def test_the_exponential_form_agrees_with_sampling():
    """E[(sum e^{c z x_{s-1}} x_s / N)(the same at c')], at (.15, .2401): 1.0860 / N."""
    generator, N, samples = np.random.default_rng(3), 8, []
    for _ in range(10):
        x, z = generator.standard_normal((N + 1, 40_000)), generator.standard_normal(40_000)
        read = lambda c: np.mean(np.exp(c * z * x[:N]) * x[1:], axis=0)  # noqa: B023
        samples.append(read(0.15) * read(0.2401))
    samples = np.concatenate(samples)
    value = float(analytic.exponential(0.15, 0.2401, N).X)
    assert N * value == pytest.approx(1.0860, abs=5e-5)
    assert abs(samples.mean() - value) < 3.5 * samples.std() / np.sqrt(samples.size)


@pytest.mark.parametrize(
    ("tokens", "F"), [("gaussian", quadrature.kernel), ("boolean", analytic.boolean)]
)
def test_a_table_gives_the_kernels_between_its_nodes(tokens, F):
    table = tabulated.tabulate(0.49, 38, tokens)
    for c in (0.0, 1e-4, 0.07, 0.2401, 0.299):
        found = tabulated.evaluate(table, c)
        assert pytest.approx(F(c, c, 38), rel=1e-11) == found.S
        assert pytest.approx(F(c, 0.2401, 38), rel=1e-11) == found.X
    assert table.top == pytest.approx(F(0.2401, 0.2401, 38), rel=1e-13)


def test_a_table_gives_slopes():
    table, c, d = tabulated.tabulate(0.49, 38, "gaussian"), 0.11, 1e-3
    F = lambda c, c_prime: quadrature.kernel(c, c_prime, 38)
    five_points = lambda f: (f(c - 2 * d) - 8 * f(c - d) + 8 * f(c + d) - f(c + 2 * d)) / (12 * d)
    found = tabulated.evaluate(table, c)
    assert found.dS == pytest.approx(five_points(lambda c: F(c, c)), rel=1e-8)
    assert found.dX == pytest.approx(five_points(lambda c: F(c, 0.2401)), rel=1e-8)


def test_a_table_of_a_wide_target_is_accurate_too():
    table = tabulated.tabulate(0.8, 38, "gaussian")
    for c in (0.05, 0.5, 0.7):
        assert (
            pytest.approx(quadrature.kernel(c, 0.64, 38), rel=1e-9)
            == tabulated.evaluate(table, c).X
        )


def test_a_table_says_nothing_beyond_its_end():
    table = tabulated.tabulate(0.49, 38, "gaussian")
    assert np.isnan(tabulated.evaluate(table, 0.31).S)
    assert np.isnan(tabulated.evaluate(table, -0.01).X)


def test_targets_beyond_the_known_range_are_an_error_on_the_host_and_nan_in_a_program():
    with pytest.raises(ps.SpecError, match=r"w_star=1\.6"):
        tabulated.tabulate(1.6, 38, "boolean")
    assert np.isnan(tabulated.table_for(1.6, 38, "boolean").top)


def test_lanes_get_the_tables_of_their_own_targets():
    targets = (0.3, 0.49, 0.3)
    job = Job(study.arm("exact_flow"), Spec(tokens="boolean"), columns={"w_star": targets})
    found = job.tables()
    for i, w in enumerate(targets):
        np.testing.assert_array_equal(
            found.coefficients[..., i], tabulated.tabulate(w, job.spec.keys, "boolean").coefficients
        )


def test_curves_name_what_they_hold():
    found = tabulated.curves("exact", (0.0, 0.2401))
    assert float(38 * found.kernel_X[0]) == pytest.approx(1.0, abs=1e-4)
    assert float(found.kernel_S[1]) == pytest.approx(float(found.top), rel=1e-12)
    with pytest.raises(ps.SpecError, match="no kernel"):
        tabulated.curves("exponential", (0.1,), tokens="boolean")


def test_the_loss_vanishes_at_the_target_and_its_floor_is_a_minimum():
    assert analytic.loss(analytic.mean_field(0.2401, 0.2401, 38), 0.5, 0.5) == pytest.approx(
        0.0, abs=1e-17
    )
    u = np.exp(-0.9404)
    loss = lambda ch: analytic.loss(analytic.mean_field(ch[0], 0.2401, 38, u), ch[1], 0.5)
    best = jnp.array([0.2401 * (1 + u), 0.5])
    assert jax.grad(loss)(best) == pytest.approx(np.zeros(2), abs=1e-16)
    assert (np.linalg.eigvalsh(jax.hessian(loss)(best)) > 0).all()
    assert loss(best) == pytest.approx(float(analytic.floor(0.2401, 0.5, 38, u)), rel=1e-12)
