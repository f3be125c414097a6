"""Closed forms of the lazy network against convex optimisation, another integrator and exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from phasescope.studies.co_occurrence.closed_forms import (
    first_phase,
    frozen_kernel,
    late_time,
    population_late_time,
    threshold,
)

LENGTHS = (3, 4, 5, 6, 8, 10, 20, 50, 100, 1000)


def hard_margin(n: int, L: int) -> np.ndarray:
    """The smallest values (G_1, G_2, G_3, one per irrelevant slot) with margin 1, by a general solver.

    Irrelevant words of a type share one value by symmetry; a slot counts once per word in the norm.
    """
    counts = n * np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    free = L - np.array([3, 2, 2, 1])
    weights = np.concatenate([np.ones(3), counts * free])
    special = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1], [0, 0, 1]], float)
    rows = np.hstack([special, np.diag(free)])
    labels = np.array([1.0, -1, -1, -1])
    found = minimize(
        lambda w: weights @ w**2, np.array([2.0, 2, -3, 0, 0, 0, 0]), jac=lambda w: 2 * weights * w, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: labels * (rows @ w) - 1, "jac": lambda w: labels[:, None] * rows},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize(("n", "L"), [(12, 5), (24, 5), (48, 4), (60, 5), (600, 5), (66, 20)])
def test_late_values_are_the_hard_margin_solution(n, L):
    G = hard_margin(n, L)
    limit = late_time(n, L)
    assert np.allclose(G[:3], [limit.G1, limit.G1, limit.G3], atol=1e-5)


@pytest.mark.parametrize("L", LENGTHS)
def test_one_target_output_stops_growing_exactly_at_the_threshold(L):
    assert abs(late_time(threshold(L), L).exponents[1]) < 1e-12
    assert (
        late_time(threshold(L) + 1, L).exponents[1]
        > 0
        > late_time(threshold(L) - 1, L).exponents[1]
    )


@pytest.mark.parametrize("L", LENGTHS)
def test_the_threshold_is_a_root_in_exact_arithmetic(L):
    n = Fraction(3 * (L + 1))
    s2 = n / (6 * (L - 2))
    s1 = (1 + s2) / (1 + Fraction(2 * (L - 3)) / n)
    s4 = 2 * s1 - 3 * s2
    assert -s1 + 2 * s2 + (1 + Fraction(6 * (L - 1)) / n) * s4 == 1
    assert (3 + Fraction(2 * (L - 3)) / n) * s1 - 4 * s2 - s4 == 1


def test_many_samples_tend_to_two_two_minus_three():
    limit = late_time(np.inf, 5)
    assert np.allclose([limit.s1, limit.s2, limit.s4], [7, 5, 0])
    assert np.allclose([limit.G1, limit.G3, limit.ratio, limit.loss], [2, -3, 1.5, 17])


@pytest.mark.parametrize("L", [3, 5, 20])
def test_scores_of_many_samples_are_the_stated_ones(L):
    k = late_time(np.inf, L).scores
    stated = [14 - 7 / L, 4 - 12 / L, -(6 + 12 / L), 4 - 12 / L, 9 - 17 / L]
    assert np.allclose([k[0, 1], k[0, 0], k[2, 0], k[0, 2], k[2, 2]], stated)


def test_sixty_samples_have_the_masses_of_the_linear_system():
    limit = late_time(60, 5)
    assert np.allclose(
        [limit.s1, limit.s2, limit.s4, limit.ratio, limit.loss],
        [3.4434, 2.3899, 0, 1.26866, 8.22327],
        atol=5e-5,
    )


@pytest.mark.parametrize(("n", "L"), [(60, 5), (48, 4)])
def test_the_lazy_network_follows_the_loss_of_its_samples(n, L):
    """The same flow sample by sample, with one value per word, by an implicit integrator."""
    counts, special = (n // 2, n // 6, n // 6, n // 6), ([0, 1, 2], [0, 2], [1, 2], [2])
    labels, rows, fresh = [], [], 3
    for count, words, y in zip(counts, special, (1, -1, -1, -1), strict=True):
        for _ in range(count):
            rows.append([*words, *range(fresh, fresh + L - len(words))])
            labels.append(y)
            fresh += L - len(words)
    X = np.zeros((n, fresh))
    np.add.at(X, (np.arange(n)[:, None], rows), 1.0)
    y = np.array(labels)
    tau = np.array([1.0, 5.0, 20.0])
    rate = lambda t, G: X.T @ (y / (1 + np.exp(y * (X @ G)))) / n
    G = solve_ivp(rate, (0, 20), np.zeros(fresh), "LSODA", tau, rtol=1e-10, atol=1e-12).y
    lazy = frozen_kernel(n, L, tau)
    assert np.allclose(G[[0, 1, 2]], [lazy.G1, lazy.G1, lazy.G3], atol=1e-8)
    assert np.allclose(np.logaddexp(0, -y[:, None] * (X @ G)).mean(axis=0), lazy.loss, atol=1e-8)


def test_landmarks_of_the_first_phase_for_many_samples():
    marks = first_phase(np.inf, 5)
    found = [marks[k] for k in ("half", "peak", "peak_output", "peak_loss", "end", "ratio", "loss")]
    assert np.allclose(
        found, [3.564722, 3.564722, 0.208041, 0.80257, 12.979411, 1.4903, 0.44058], atol=3e-5
    )


def test_landmarks_of_the_first_phase_for_sixty_samples():
    marks = first_phase(60, 5)
    assert np.allclose(
        [marks[k] for k in ("half", "peak_output", "end", "loss")],
        [3.8464, 0.1346, 6.9016, 0.4718],
        atol=5e-5,
    )


@pytest.mark.parametrize(("length", "dim"), [(5, 8), (5, 64), (3, 10), (20, 30)])
def test_the_late_time_of_the_population_is_the_widest_margin_that_scipy_finds(length, dim):
    """Values of the targets, of the common word and of D irrelevant ones, each of them in every sample as often on average."""
    D = dim - 3
    margins = lambda w: np.array(
        [
            2 * w[0] + w[1] + (length - 3) * w[2],
            -(w[0] + w[1] + (length - 2) * w[2]),
            -(w[1] + (length - 1) * w[2]),
        ]
    )
    size = lambda w: 2 * w[0] ** 2 + w[1] ** 2 + D * w[2] ** 2
    wide = {"type": "ineq", "fun": lambda w: margins(w) - 1}
    found = minimize(
        size, [2.0, -3.0, 0.0], constraints=[wide], options={"ftol": 1e-14, "maxiter": 1000}
    )
    limit = population_late_time(length, dim)
    np.testing.assert_allclose([limit.G1, limit.G3, limit.random], found.x, atol=1e-5)
    np.testing.assert_allclose(limit.loss, size(found.x), rtol=1e-8)


def test_a_population_of_many_words_is_that_of_many_samples():
    limit, many = population_late_time(5, 1e12), late_time(np.inf, 5)
    np.testing.assert_allclose([limit.ratio, limit.loss], [many.ratio, many.loss], rtol=1e-9)
