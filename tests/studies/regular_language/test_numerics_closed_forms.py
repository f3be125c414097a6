from functools import partial

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from jax.flatten_util import ravel_pytree

from phasescope.studies.regular_language import closed_forms, data, model

TASKS = {"even pairs 8": data.even_pairs_pivots(8), "parity 5": data.parity_pivots(5)}


@pytest.fixture(params=TASKS.values(), ids=TASKS.keys())
def pivots(request):
    return request.param


def test_after_one_step_only_the_first_token_score_has_moved(pivots, train):
    state = train(pivots, 1)
    np.testing.assert_allclose(state.v, [0.025] + [0.0] * 7, atol=1e-17)
    assert np.all(state.b == 0)
    assert np.all(state.M == 0)


def test_the_second_step_has_the_corrected_constant(pivots, train):
    eta = 1e-3
    expected = [
        -(eta**2) / 32 * sum(L**-2.0 for L in range(position, 9)) for position in range(2, 9)
    ]
    np.testing.assert_allclose(train(pivots, 2, eta=eta).v[1:], expected, rtol=1e-5)


@pytest.mark.parametrize("lam", [1.0, 4.0])
@pytest.mark.parametrize(("eta", "steps"), [(1e-3, 20), (1e-3, 4), (1e-4, 100)])
def test_early_scores_approach_their_closed_forms(pivots, lam, eta, steps, train):
    state = train(pivots, steps, eta=eta, lam=lam, switch=steps)
    clock = closed_forms.step_clock(eta, steps)
    np.testing.assert_allclose(state.v, closed_forms.early_token_scores(8, clock), rtol=0.01)
    np.testing.assert_allclose(state.b, closed_forms.early_pivot_scores(pivots, clock), rtol=0.01)
    np.testing.assert_allclose(state.M, closed_forms.early_other_scores(pivots, clock), rtol=0.03)


def test_the_error_of_the_closed_forms_vanishes_with_time(pivots, train):
    def errors(eta):
        state = train(pivots, 50, eta=eta, switch=50)
        clock = closed_forms.step_clock(eta, 50)
        return [
            abs(float(state.v[3]) / closed_forms.early_token_scores(8, clock)[3] - 1),
            abs(float(state.p[4]) / closed_forms.early_pivot_scores(pivots, clock)[0, 4] - 1),
            abs(float(state.M[5, 3]) / closed_forms.early_other_scores(pivots, clock)[5, 3] - 1),
        ]

    assert np.all(np.array(errors(1e-4)) < 0.15 * np.array(errors(1e-3)))


def test_position_two_leads_the_others_by_the_fourth_order(train):
    state = train(data.even_pairs_pivots(8), 30, eta=1e-3)
    clock = closed_forms.step_clock(1e-3, 30)
    expected = closed_forms.early_second_lead(8, clock)
    measured = np.asarray(state.M[:, 1:2] - state.M)
    at = np.isfinite(expected)
    assert at.sum() == 15
    np.testing.assert_allclose(measured[at], expected[at], rtol=0.03)


def test_many_small_steps_follow_the_powers_of_time():
    np.testing.assert_allclose(
        closed_forms.step_clock(1e-6, 10**5), closed_forms.flow_clock(0.1), rtol=1e-4
    )


def test_the_growth_rate_of_the_cot_saddle_is_the_known_one():
    rate = closed_forms.growth_rate(
        data.parity_pivots(4), data.length_weights(6, first=4), lam=2.0, k=0.5
    )
    np.testing.assert_allclose(rate, 0.0207314549, atol=1e-10)


@pytest.mark.parametrize(
    ("pivots", "first"), [(data.parity_pivots(4), 4), (data.even_pairs_pivots(5), 2)]
)
def test_the_growth_rate_is_minus_the_lowest_hessian_eigenvalue_of_the_full_model(pivots, first):
    alpha = data.length_weights(len(pivots), first=first)
    lam = 3.0
    flat, unravel = ravel_pytree(model.zeros(len(pivots)))
    batch = model.exhaustive(pivots, alpha)
    hessian = jax.hessian(lambda x: model.loss(unravel(x), batch, lam))(flat)
    rate = closed_forms.growth_rate(pivots, alpha, lam, 1 / lam)
    np.testing.assert_allclose(rate, -np.linalg.eigvalsh(hessian)[0], atol=1e-12)


def test_the_cot_loss_alone_has_no_gradient_at_zero(parity):
    batch = model.exhaustive(parity, data.length_weights(6, first=4))
    gradient = jax.grad(partial(model.loss, batch=batch, lam=2.0))(model.zeros(6))
    assert max(float(jnp.max(jnp.abs(g))) for g in jax.tree.leaves(gradient)) < 1e-16


def test_the_soft_mode_of_even_pairs_grows_like_the_square_root():
    pivots = data.even_pairs_pivots(20)
    alpha = data.length_weights(20, first=2)
    estimate = np.sqrt(sum(L**-2.0 for L in range(2, 21)) / 1e6) / 8
    np.testing.assert_allclose(
        closed_forms.growth_rate(pivots, alpha, 1e6, 1.0), estimate, rtol=0.02
    )


def test_the_theorem_setting_at_length_eight():
    setting = closed_forms.theorem_setting(8)
    assert setting.lam == 64
    np.testing.assert_allclose(setting.eta, 1 / 16)
    assert (setting.switch, setting.horizon) == (
        2,
        20,
    )  # 1 / (8/16) = 2 exactly; 32^(2/3) * 2 = 20.16


def test_the_horizon_of_the_paper_setting_ends_before_its_first_phase():
    np.testing.assert_allclose(closed_forms.horizon(2.0, 0.1, 6), 1.7, atol=0.05)


def test_the_norm_bound_is_negative_for_three_million_steps():
    first = 14 * 151.22**2 / 0.1
    assert round(first / 1e6, 1) == 3.2
    assert (
        closed_forms.norm_bound(first, 100, 0.1, 151.22)
        < 0
        < closed_forms.norm_bound(2 * first, 100, 0.1, 151.22)
    )
    assert closed_forms.norm_bound(50, 100, 0.1, 151.22) == -np.inf


def test_the_cosine_bound_is_one_at_six_times_the_margin_norm():
    assert closed_forms.cosine_bound(6 * 7.0, 7.0) == 1.0


def test_the_loss_bound_of_the_paper_setting_is_a_million_times_the_loss():
    np.testing.assert_allclose(
        closed_forms.loss_bound(1e4, 0.1, 6, 151.22, constant=1.0), 1.4e4, rtol=0.03
    )


def test_the_softmax_is_half_lipschitz():
    ratios = closed_forms.softmax_lipschitz_ratios(2000, keys=2, lam=3.0)
    assert 0.45 < np.max(ratios) <= 0.5


def test_the_remainder_of_the_sigmoid_is_at_most_a_48th_of_the_cube():
    x = np.concatenate([-np.logspace(-1, 2, 200), np.logspace(-1, 2, 200)])
    remainders = closed_forms.sigmoid_remainders(x)
    assert np.max(remainders) <= 1 / 48
    np.testing.assert_allclose(closed_forms.sigmoid_remainders(np.array([0.05])), 1 / 48, rtol=1e-3)
