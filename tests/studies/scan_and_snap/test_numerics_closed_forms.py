import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize_scalar
from scipy.special import wrightomega

from phasescope.studies.scan_and_snap import closed_forms as cf

K, M = 10, 1000


def test_omega_is_scipys():
    y = np.concatenate([np.linspace(-30, 30, 241), [-700.0, 1e3, 1e8, 1e300]])
    np.testing.assert_allclose(cf.omega(y), wrightomega(y), rtol=1e-14)


@pytest.mark.parametrize("M", [2.0, 34.0, 1e3, 1e9])
@pytest.mark.parametrize("eta", [0.1, 2.0])
def test_h_solves_its_equation_by_another_integrator(M, eta):
    s = np.geomspace(0.01, 1e4, 15)
    path = solve_ivp(
        lambda s, x: M * eta / (M - 1 + np.exp(x)),
        (0, s[-1]),
        [0.0],
        "LSODA",
        s,
        rtol=1e-11,
        atol=1e-13,
    )
    np.testing.assert_allclose(cf.Mh(s, M, eta), path.y[0], rtol=1e-8, atol=1e-10)


def test_h_satisfies_the_implicit_equation_to_rounding_from_the_first_instant_on():
    s = np.geomspace(1e-12, 1e12, 49)
    x = np.asarray(cf.Mh(s, float(M), 0.5))
    np.testing.assert_allclose(np.expm1(x) + (M - 1) * x, M * 0.5 * s, rtol=1e-13)


def test_nothing_overflows_at_any_vocabulary():
    sizes = np.array([2.0, 1e10, 1e100, 1e150])
    for curve in (
        cf.h(1e6, sizes, 1.0),
        cf.gamma(1e6, 10.0, sizes, 1.0),
        cf.Gamma(1e6, 10.0, sizes, 1.0, 1.0),
    ):
        assert bool(jnp.isfinite(curve).all())


def test_h_star_in_unit_steps_has_the_expected_digits():
    path = [float(M * cf.h_star_path(10, float(M), eta)[-1]) for eta in (0.5, 1.0, 2.0)]
    np.testing.assert_allclose(path, [4.9007, 7.9216, 9.4982], atol=5e-5)
    np.testing.assert_allclose(
        [float(cf.Mh(10.0, float(M), e)) for e in (0.5, 1.0, 2.0)],
        [4.8749, 7.7310, 9.2808],
        atol=5e-5,
    )
    np.testing.assert_allclose(cf.h_star(10, float(M), 2.0) * M, path[2], rtol=1e-15)
    assert np.isnan(cf.h_star(2e6, float(M), 2.0))


def test_Gamma_is_the_integral_of_gamma():
    wanted = (
        0.5
        * quad(
            lambda t: float(cf.gamma(t, K, M, 2.0)), 0, 500, limit=200, epsabs=1e-12, epsrel=1e-12
        )[0]
    )
    np.testing.assert_allclose(cf.Gamma(500.0, K, M, 2.0, 0.5), wanted, rtol=1e-11)


@pytest.mark.parametrize("size", [100.0, 1e3, 1e6])
def test_the_peak_of_gamma_is_where_a_search_finds_it(size):
    time, height = cf.gamma_peak(K, size, 0.5)
    found = minimize_scalar(
        lambda t: -float(cf.gamma(t, K, size, 0.5)),
        bounds=(0.1 * time, 10 * time),
        method="bounded",
        options={"xatol": 1e-9},
    )
    np.testing.assert_allclose(time, found.x, rtol=1e-6)
    np.testing.assert_allclose(height, -found.fun, rtol=1e-12)


def test_the_peak_of_gamma_comes_before_the_end_of_the_linear_regime():
    time, height = cf.gamma_peak(K, M, 0.5)
    np.testing.assert_allclose([time / cf.t_linear(K, M, 0.5), height], [0.816, 4.416], atol=5e-4)


def test_omega_1_has_the_expected_digits_and_solves_its_equation():
    sizes = np.array([1e2, 1e3, 1e4, 1e6])
    np.testing.assert_allclose(cf.omega_1(sizes), [0.4030, 0.3198, 0.2667, 0.2035], atol=5e-5)
    x = (1 + cf.omega_1(sizes)) * np.log(sizes)
    np.testing.assert_allclose(np.exp(x), (sizes - 1) * x, rtol=1e-12)


def test_figure_3_has_the_expected_digits():
    rates = np.array([0.5, 1, 2, 5, 10])
    np.testing.assert_allclose(cf.t_snap(K, M, rates), [364.7, 182.3, 91.2, 36.5, 18.2], atol=0.05)
    chi = lambda t, eta: np.exp(2 * cf.B_n(t, K, M, eta, 0.5))
    np.testing.assert_allclose(chi(1e3, rates), [149.5, 113.8, 85.8, 58.5, 43.6], atol=0.05)
    np.testing.assert_allclose(chi(100.0, rates[:3]), [68.9, 77.2, 65.6], atol=0.05)


def test_figure_9_has_the_expected_digits():
    rates = np.array([0.1, 0.25, 0.5, 1.0])
    at_snap = cf.B_n(cf.t_snap(K, M, 2 * rates), K, M, 2 * rates, rates)
    np.testing.assert_allclose(at_snap, 2.25599, atol=5e-6)
    np.testing.assert_allclose(
        cf.B_n(1e3, K, M, 2 * rates, rates), [2.2648, 2.3304, 2.3673, 2.3992], atol=5e-5
    )


def test_the_residual_reaches_epsilon_when_it_should():
    for epsilon, wanted in ((0.1, 1.81), (0.01, 1.10), (0.001, 1.012)):
        steps = cf.steps_to_residual(epsilon, K, M, 0.5)
        x = float(cf.Mh(steps / K, M, 0.5))
        residual = (M - 1) / (M - 1 + np.exp(x)) * np.sqrt(M / (M - 1))
        np.testing.assert_allclose(residual, epsilon, rtol=1e-9)
        np.testing.assert_allclose(epsilon * 0.5 * steps / K, wanted, atol=6e-3)
