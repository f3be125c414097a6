import numpy as np
import pytest
import quadprog
from scipy.optimize import minimize

import phasescope as ps
from phasescope.studies.regular_language import closed_forms, data, margin
from phasescope.studies.regular_language.reductions import symmetry


def rows_of(state, pivots, lam):
    return margin.margin_rows(np.asarray(symmetry.attention(state, pivots, lam)), pivots)


def of_scores(state, pivots, lam):
    return margin.max_margin_of_scores(np.asarray(state.b), np.asarray(state.M), pivots, lam)


@pytest.mark.parametrize("steps", [100, 400, 1000])
@pytest.mark.parametrize(
    "pivots", [data.even_pairs_pivots(6), data.parity_pivots(4), data.parity_pivots(5)]
)
def test_the_direction_agrees_with_a_quadratic_programme(pivots, steps, train):
    rows = rows_of(train(pivots, steps), pivots, 2.0)
    found = margin.max_margin(rows)
    N = len(pivots)
    expected = quadprog.solve_qp(
        np.eye(N), np.zeros(N), np.ascontiguousarray(rows.T), np.ones(len(rows))
    )[0]
    assert found.reliable
    np.testing.assert_allclose(found.v, expected, rtol=1e-6, atol=1e-8 * found.norm)


def test_the_direction_agrees_with_a_general_minimiser(even_pairs, train):
    rows = rows_of(train(even_pairs, 1000), even_pairs, 2.0)
    result = minimize(
        lambda v: v @ v / 2,
        np.zeros(6),
        jac=lambda v: v,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: rows @ v - 1, "jac": lambda v: rows},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    np.testing.assert_allclose(margin.max_margin(rows).v, result.x, rtol=1e-5)


def test_a_problem_solved_by_hand():
    found = margin.max_margin(
        np.array([[2 / 3, 0.0], [0.5, -0.5]])
    )  # v_1 >= 3/2 and v_1 - v_2 >= 2
    np.testing.assert_allclose(found.v, [1.5, -0.5], atol=1e-12)
    np.testing.assert_allclose(found.norm, np.sqrt(5), rtol=1e-12)
    assert found.active == 2


def test_the_margin_norm_of_figure_2_is_151(even_pairs, train):
    np.testing.assert_allclose(
        margin.max_margin(rows_of(train(even_pairs, 100), even_pairs, 2.0)).norm, 151.22, atol=0.005
    )


@pytest.mark.parametrize(("lam", "norm"), [(2.0, 2299), (4.0, 9338), (8.0, 37925), (16.0, 153143)])
def test_the_margin_norm_of_parity_grows_like_lambda_squared(lam, norm, parity, train):
    assert round(margin.max_margin(rows_of(train(parity, 100, lam=lam), parity, lam)).norm) == norm


@pytest.mark.parametrize("lam", [2.0, 16.0, 32.0])
def test_sixteen_and_a_hundred_digits_agree_where_sixteen_suffice(lam, parity, train):
    state = train(parity, 100, lam=lam)
    found, exact = margin.max_margin(rows_of(state, parity, lam)), of_scores(state, parity, lam)
    assert found.reliable
    assert exact.reliable
    np.testing.assert_allclose(found.norm, exact.norm, rtol=1e-9)
    np.testing.assert_allclose(found.v, exact.v, rtol=1e-8, atol=1e-9 * exact.norm)
    assert found.active == exact.active


@pytest.mark.parametrize("lam", [1e3, 1e5, 1e8])
def test_a_norm_beyond_sixteen_digits_is_called_unreliable_and_found_from_the_scores(
    lam, parity, train
):
    state = train(parity, 100, lam=lam)
    exact = of_scores(state, parity, lam)
    assert not margin.max_margin(rows_of(state, parity, lam)).reliable
    assert exact.reliable
    np.testing.assert_allclose(
        exact.norm / lam**2, 604.6, rtol=1e-3
    )  # Theta(lam^2), as at moderate lam


def test_attention_that_does_not_separate_has_no_margin(even_pairs):
    state = symmetry.zeros(6)
    for found in (
        margin.max_margin(rows_of(state, even_pairs, 2.0)),
        of_scores(state, even_pairs, 2.0),
    ):
        assert found.norm == np.inf
        assert not found.reliable


@pytest.mark.parametrize(("max_length", "ratio"), [(6, 1.8e15), (16, 5e19)])
def test_the_window_of_theorem_4_4_is_empty_in_its_own_setting(max_length, ratio, train):
    pivots = data.even_pairs_pivots(max_length)
    setting = closed_forms.theorem_setting(max_length)
    state = train(pivots, setting.switch, lam=setting.lam, eta=setting.eta, switch=setting.switch)
    exact = of_scores(state, pivots, setting.lam)
    weak = closed_forms.weak_margin_norm(
        float(state.p[-1]), float(state.q[-1]), setting.lam, max_length
    )
    np.testing.assert_allclose(weak, exact.norm, rtol=1e-5)
    np.testing.assert_allclose(
        closed_forms.window_ratio(setting.eta, setting.horizon, exact.norm), ratio, rtol=0.05
    )


def test_lengths_without_weight_give_no_rows(parity):
    attention = np.asarray(symmetry.attention(symmetry.zeros(6), parity, 2.0))
    assert len(margin.margin_rows(attention, parity)) == 11
    assert len(margin.margin_rows(attention, parity, data.length_weights(6, first=4))) == 6


@pytest.mark.parametrize(
    ("arm", "field", "good", "near", "bad"),
    [
        ("symmetric", "eta", 0.1, 0.1000001, 1e300),
        ("exhaustive", "eta", 0.1, 0.1000001, 1e300),
        ("frozen", "lam", 2.0, 2.000001, 1e-308),
        # The longest to compile, and the same mask as for the three others.
        pytest.param("log_flow", "lam", 2.0, 2.000001, 1e-308, marks=pytest.mark.full),
    ],
)
def test_a_lane_that_leaves_the_finite_numbers_does_not_touch_its_neighbour(
    arm, field, good, near, bad
):
    def sweep(other):
        axis = {field: [good, other]}
        return ps.sweep("regular_language", arm, preset="tiny", store=False, **axis)

    ill, well = sweep(bad), sweep(near)
    kept = ill.sel({field: good})
    for name, values in well.sel({field: good}).data_vars.items():
        assert kept[name].values.tobytes() == values.values.tobytes(), name
    assert np.isnan(ill.sel({field: bad}).margin_norm).all()


def test_rows_that_are_no_numbers_have_no_margin():
    rows = np.array([[1.0, np.nan], [0.5, -1.0]])
    found = margin.max_margin(rows)
    assert np.isnan(found.v).all()
    assert not found.reliable


def test_scores_that_are_no_numbers_have_no_margin():
    found = margin.max_margin_of_scores(
        np.full((2, 2), np.inf), np.ones((2, 2)), np.array([1, 1]), 2.0
    )
    assert np.isnan(found.v).all()
