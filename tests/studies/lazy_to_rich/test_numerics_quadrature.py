"""The exact softmax kernel for Gaussian tokens against brute-force integration, finer grids and Monte Carlo."""

import itertools

import numpy as np
import pytest
from scipy.special import roots_hermitenorm

import phasescope as ps
from phasescope.studies.lazy_to_rich.kernels.quadrature import Grid, kernel


def output(c, keys, values, query):
    weights = np.exp(c * query * keys)
    return np.sum(weights * values, axis=0) / np.sum(weights, axis=0)


def tensor_rule(c, c_prime, N, nodes):
    """All N + 1 tokens and the query on one product grid."""
    x, w = roots_hermitenorm(nodes)
    w = w / w.sum()
    axes = np.meshgrid(*[x] * (N + 1), indexing="ij")
    weight = np.prod(np.meshgrid(*[w] * (N + 1), indexing="ij"), axis=0)
    tokens = np.stack(axes).reshape(N + 1, -1)
    given = [
        np.sum(
            weight.ravel()
            * output(c, tokens[:N], tokens[1:], z)
            * output(c_prime, tokens[:N], tokens[1:], z)
        )
        for z in x
    ]
    return float(w @ given)


@pytest.mark.parametrize(("N", "nodes", "tolerance"), [(2, 60, 1e-10), (3, 34, 1e-10)])
def test_two_and_three_keys_agree_with_a_product_rule_over_all_tokens(N, nodes, tolerance):
    assert kernel(0.2, 0.3, N) == pytest.approx(tensor_rule(0.2, 0.3, N, nodes), rel=tolerance)


@pytest.mark.parametrize("grid", ["query", "token", "feynman", "laplace"])
@pytest.mark.parametrize(
    ("c", "c_prime", "N", "tolerance"),
    [(0.2401, 0.2401, 38, 1e-11), (0.0, 0.2401, 38, 1e-11), (0.3, 0.2401, 38, 1e-11), (0.15, 0.2401, 1000, 1e-11),
     (0.5, 0.36, 38, 1e-11), (0.0, 0.2401, 3, 1e-9), (0.8, 0.6, 38, 1e-10), (1.0, 2.25, 38, 1e-9)],
)  # fmt: skip
def test_no_grid_matters(c, c_prime, N, tolerance, grid):
    assert kernel(c, c_prime, N, grid=Grid(**{grid: 1.5})) == pytest.approx(
        kernel(c, c_prime, N), rel=tolerance
    )


@pytest.mark.parametrize(
    ("c", "c_prime", "N", "dim"),
    [(0.2401, 0.2401, 38, 1), (0.1, 0.2401, 38, 1), (0.6, 0.3, 5, 1), (2.25, 2.25, 38, 1), (2.0, 0.5, 12, 1),
     (0.1, 0.2, 20, 3), (0.15, 0.1, 20, 5), (0.2, 0.2, 8, 2)],
)  # fmt: skip
def test_monte_carlo_agrees_within_its_error_bars(c, c_prime, N, dim):
    generator, samples = np.random.default_rng(7), []
    for _ in range(16):
        tokens = generator.standard_normal((N + 1, dim, 4000))
        query = generator.standard_normal((dim, 4000))
        scores = np.sum(tokens[:N] * query, axis=1)
        read = lambda c: np.sum(softmax(c * scores)[:, None] * tokens[1:], axis=0)  # noqa: B023
        samples.append(np.sum(read(c) * read(c_prime), axis=0))
    samples = np.concatenate(samples)
    error = samples.std() / np.sqrt(samples.size)
    assert abs(samples.mean() - kernel(c, c_prime, N, dim)) < 3.5 * error


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=0))
    return weights / weights.sum(axis=0)


def test_the_kernel_at_the_target_of_figure_1():
    assert 38 * kernel(0.2401, 0.2401, 38) == pytest.approx(1.05971, abs=5e-6)


def test_equal_attention_averages_the_values():
    """At c = 0 all weights are 1/N, so F(0, 0) = 1/N."""
    for N in (2, 3, 38, 1000):
        assert N * kernel(0.0, 0.0, N) == pytest.approx(1.0, rel=1e-11)


def test_the_kernel_is_symmetric():
    for c, c_prime in itertools.combinations((0.0, 0.1, 0.3, 0.9), 2):
        assert kernel(c, c_prime, 11) == kernel(c_prime, c, 11)


@pytest.mark.parametrize(
    ("c", "N", "words"), [(3.5, 38, "0 <= c <= 3"), (-0.1, 38, "0 <= c"), (0.2, 1, "2 keys")]
)
def test_outside_its_range_the_kernel_is_an_error(c, N, words):
    with pytest.raises(ps.SpecError, match=words):
        kernel(c, 0.2, N)
