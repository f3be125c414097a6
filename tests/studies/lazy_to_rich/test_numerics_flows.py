"""Flows against scipy, against the numbers established before, and against descent on samples."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phasescope as ps
from phasescope.studies.lazy_to_rich import theory
from phasescope.studies.lazy_to_rich.kernels import quadrature, tabulated
from phasescope.studies.lazy_to_rich.model import four_gram
from phasescope.studies.lazy_to_rich.model.definition import Held, Weights, start
from phasescope.studies.lazy_to_rich.phases import phase_times
from phasescope.studies.lazy_to_rich.spec import Spec

RUN = {"store": False, "progress": False}
DIRECT = {  # N F(c, c') written down once more, from the table of the paper's and our kernels
    "mean_field_flow": lambda c, d: (1 - 2 * c * d) ** -0.5,
    "paper_flow": lambda c, d: (1 - (c + d) ** 2) ** -0.5,
}


def by_scipy(F, kappa, times, N=38, c_star=0.2401, star=0.5, sigma=0.01):
    """The five scalars by LSODA, the kernels' slopes by central differences, the 4-gram by direct sums."""
    k, d = np.arange(N), 1e-4

    def field(t, y):
        p, g, w_k, w_q, h = y
        c = w_k * w_q
        M, M2 = np.exp(-p * k).sum(), np.exp(-2 * p * k).sum()
        m, m2 = (k * np.exp(-p * k)).sum(), (k * np.exp(-2 * p * k)).sum()
        slope = lambda f: (f(c - 2 * d) - 8 * f(c - d) + 8 * f(c + d) - f(c + 2 * d)) / (12 * d)
        push = (
            kappa
            * (h * star * slope(lambda c: F(c, c_star)) - 0.5 * h**2 * slope(lambda c: F(c, c)))
            / N
        )
        return [
            m * g / M**2 * (star - g * M2 / M + g * m2 / m), (star - g * M2 / M) / M,
            w_q * push, w_k * push, (star * F(c, c_star) - h * F(c, c)) / N,
        ]  # fmt: skip

    return solve_ivp(field, (0, times[-1]), [sigma] * 5, "LSODA", times, rtol=1e-11, atol=1e-14).y


@pytest.mark.parametrize(("arm", "kappa"), [("mean_field_flow", 1.0), ("paper_flow", 2.0)])
def test_a_flow_agrees_with_scipy(arm, kappa):
    times = np.array([1.0, 10.0, 100.0, 500.0, 1000.0, 1500.0])
    found = ps.run("lazy_to_rich", arm, at=times, horizon=1500.0, **RUN).sel(time=times)
    expected = by_scipy(DIRECT[arm], kappa, times)
    for name, row in zip(("p", "g", "w_k", "w_q", "h"), expected, strict=True):
        np.testing.assert_allclose(found[name], row, rtol=1e-7)


def test_heads_at_their_own_pace_take_the_path_of_one_system():
    """By one explicit solver of high order for all five scalars, and by LSODA on the same field."""
    spec, times = Spec(), np.array([1.0, 10.0, 100.0, 1000.0])
    table = jax.tree.map(jnp.asarray, tabulated.tabulate(spec.w_star, spec.keys, spec.tokens))
    field = lambda held: theory.velocity(held, spec, theory.softmax)
    whole = ps.flow(field, rtol=1e-11, atol=1e-15, where=lambda held: held.weights)
    ahead = jax.jit(lambda state, span: whole.advance(state, *span, jax.random.key(0)))
    state, one = ps.State(Held(start(spec), table), None, jnp.zeros(())), []
    for span in itertools.pairwise([0.0, *times]):
        state = ahead(state, span)
        one.append([float(x) for x in state.params.weights[:5]])
    rate = jax.jit(lambda y: jnp.stack(field(Held(Weights(*y), table))[:5]))
    other = solve_ivp(
        lambda t, y: np.asarray(rate(tuple(y))),
        (0, 1000),
        [0.01] * 5,
        "LSODA",
        times,
        rtol=1e-12,
        atol=1e-15,
    )
    found = ps.run("lazy_to_rich", "exact_flow", at=times, horizon=1000.0, **RUN).sel(time=times)
    ours = np.stack([found[name] for name in ("p", "g", "w_k", "w_q", "h")])
    np.testing.assert_allclose(ours, np.array(one).T, rtol=1e-9)
    np.testing.assert_allclose(ours, other.y, rtol=2e-9)


@pytest.fixture(scope="module")
def figure_1():
    return ps.run("lazy_to_rich", "exact_flow", **RUN)


def test_the_exact_flow_has_the_phase_times_of_figure_1(figure_1):
    found = phase_times(figure_1)
    expected = {
        "T_half_g": 6.87,
        "T_1_g": 9.87,
        "T_1_h": 401.0,
        "T_II": 891.0,
        "T_50": 2301.0,
        "T_III": 3181.0,
    }
    for name, value in expected.items():
        assert float(found[name]) == pytest.approx(value, abs=0.5 if value > 100 else 0.005)


def test_the_exact_flow_starts_and_stands_where_the_quadrature_says(figure_1):
    top, zero, cross = (
        quadrature.kernel(c, d, 38) for c, d in ((0.2401, 0.2401), (1e-4, 1e-4), (1e-4, 0.2401))
    )
    start = 0.125 * top + 0.5 * 1e-4 * zero - 0.005 * cross
    assert float(figure_1.loss_ih[0]) == pytest.approx(start, rel=1e-12)
    assert float(figure_1.loss_ih[0]) == pytest.approx(3.3556e-3, abs=5e-8)
    assert float(figure_1.loss_g4[0]) == pytest.approx(0.125 * 0.9988, rel=1e-3)


def test_rates_along_a_flow_are_derivatives(figure_1):
    late = figure_1.where((figure_1.time > 100) & (figure_1.time < 3000), drop=True)
    for rate, value in (("lyap_uv_rate", late.lyap_uv), ("lyap_vh_rate", late.lyap_vh)):
        np.testing.assert_allclose(late[rate][5:-5], value.differentiate("time")[5:-5], rtol=0.02)
    np.testing.assert_allclose(
        late.growth_rate[5:-5], np.log(late.w_kq).differentiate("time")[5:-5], rtol=0.02
    )


@pytest.fixture(scope="module")
def lanes():
    axes = {"length": [12, 40], "w_star": [0.3, 0.49], "kappa": [1.0, 2.0]}
    return ps.sweep("lazy_to_rich", "exact_flow", **axes, **RUN)


def test_kappa_only_changes_the_pace_of_the_weights(lanes):
    found = phase_times(lanes.sel(length=40, w_star=0.49, drop=True).assign_attrs(lanes.attrs))
    assert found.T_III.values == pytest.approx([3181.4, 1610.2], abs=0.1)


def test_lanes_may_differ_in_length_target_and_pace(lanes, figure_1):
    for length, w_star in ((12, 0.3), (40, 0.49)):
        one = ps.run("lazy_to_rich", "exact_flow", length=length, w_star=w_star, **RUN)
        lane = lanes.sel(length=length, w_star=w_star, kappa=1.0)
        for name in ("p", "g", "w_kq", "h"):
            np.testing.assert_allclose(lane[name], one[name], rtol=1e-8)


def test_the_flow_conserves_the_balance():
    found = ps.run("lazy_to_rich", "exact_flow", imbalance=2.0, horizon=3000.0, **RUN)
    assert float(found.balance[0]) == pytest.approx(3e-4, rel=1e-12)
    assert float(abs(found.balance - found.balance[0]).max()) < 1e-12


@pytest.mark.parametrize(("p_start", "slope"), [(0.0, 0.836), (None, 0.940)])
def test_stage_one_ends_below_one(p_start, slope):
    found = ps.run("lazy_to_rich", "stage_one", p_start=p_start, horizon=1e8, at=[1e4, 1e8], **RUN)
    assert float(found.first_slope.sel(time=1e4)) == pytest.approx(slope, abs=5e-4)
    share = float(four_gram.head_weights(p_start or (0.01 if p_start is None else 0.0), 38)[-1])
    assert np.exp(float(found.first_slope[-1])) / (0.01 * 0.5 * share * 1e8) == pytest.approx(
        1.0, abs=2e-4
    )


def test_the_joint_flow_has_the_established_values():
    times = [200.0, 300.0, 1000.0, 1200.0, 2000.0, 3000.0, 10_000.0]
    found = ps.run("lazy_to_rich", "joint_flow", horizon=1e4, at=times, **RUN).sel(time=times)
    assert found.first_slope.values[[0, 1, 2, 6]] == pytest.approx(
        [0.20, 2.141, 3.32, 4.59], abs=5e-3
    )
    assert found.w_kq.values[[1, 2, 3, 4, 5]] == pytest.approx(
        [0.0113, 0.0321, 0.0435, 0.144, 0.424], rel=5e-3
    )


def test_head_1_behind_a_frozen_first_layer_agrees_with_scipy():
    """The loss from its coefficients in numpy, the slopes by differences."""
    distance = np.subtract.outer(np.arange(38), np.arange(38))
    R = np.where(distance >= 0, np.exp(-0.9404 * np.maximum(distance, 0)), 0.0)
    R /= R.sum(axis=1, keepdims=True)

    def loss(p, g):
        pi = np.exp(-p * np.arange(38)[::-1])
        beta = pi @ R / pi.sum()
        return 0.125 - 0.5 * g * beta[-1] + 0.5 * g**2 * (beta**2).sum()

    def field(t, y, d=1e-3):
        slope = lambda f: (f(-2 * d) - 8 * f(-d) + 8 * f(d) - f(2 * d)) / (12 * d)
        return [-slope(lambda e: loss(y[0] + e, y[1])), -slope(lambda e: loss(y[0], y[1] + e))]

    found = ps.run("lazy_to_rich", "mean_field_flow", p_tilde=0.9404, at=[100.0, 4000.0], **RUN)
    expected = solve_ivp(
        field, (0, 4000), [0.01, 0.01], "LSODA", [100, 4000], rtol=1e-10, atol=1e-12
    ).y
    np.testing.assert_allclose(
        [found.p.sel(time=[100, 4000]), found.g.sel(time=[100, 4000])], expected, rtol=1e-6
    )
    assert float(found.loss_g4[-1]) == pytest.approx(loss(*expected[:, -1]), rel=1e-6)
    assert float(found.w_kq[-1]) == pytest.approx(0.369, abs=5e-4)
    np.testing.assert_allclose(found.prev_token_weight, 1 - np.exp(-0.9404), rtol=1e-14)


@pytest.mark.parametrize(
    ("arm", "changes", "words"),
    [
        ("paper_flow", {"w_star": 0.71}, "4 w_star"),
        ("mean_field_flow", {"w_star": 0.85}, "2 w_star"),
        ("exact_flow", {"w_star": 1.6}, "w_star"),
        ("exact_flow", {"sigma": 0.6}, "smaller weights"),
        ("exact_flow", {"p_tilde": 1.0}, "infinite p_tilde"),
        ("paper_flow", {"tokens": "boolean"}, "gaussian"),
        ("mean_field_flow", {"length": 4}, "length"),
        ("mean_field_flow", {"sigma": 0.0}, "sigma"),
        ("online_sgd", {"joint": True, "p_tilde": 1.0}, "joint"),
        ("online_sgd", {"index_range": "L-2", "p_tilde": 1.0}, "L-2"),
    ],
)
def test_bad_input_is_an_error_in_words(arm, changes, words):
    with pytest.raises(ps.SpecError, match=words):
        ps.run("lazy_to_rich", arm, **changes, **RUN)


def test_bad_lanes_are_an_error_too():
    with pytest.raises(ps.SpecError, match="4 w_star"):
        ps.sweep("lazy_to_rich", "paper_flow", w_star=[0.49, 0.72], **RUN)


@pytest.mark.parametrize(("kernel", "w_star"), [("exponential", 0.71), ("mean_field", 0.85)])
def test_a_closed_form_beyond_its_range_is_an_error(kernel, w_star):
    with pytest.raises(ps.SpecError, match="w_star"):
        tabulated.curves(kernel, (0.1,), w_star=w_star)


@pytest.fixture(scope="module")
def short():
    return ps.run("lazy_to_rich", "mean_field_flow", horizon=1000.0, **RUN)


def test_a_horizon_before_a_phase_gives_no_time(short):
    assert np.isnan(phase_times(short).T_III)


@pytest.mark.parametrize(
    "id",
    [
        "secC.3.2-P1",
        "eq15",
        "eq17-late",
        "secC.3.2-lyapunov",
        "ours-fig1-sharpness",
        "thm4-phase4-g4",
    ],
)
def test_a_horizon_before_a_phase_decides_nothing_about_it(short, id):
    """Not even that a claim fails, which is what some rows expect."""
    claim = next(claim for claim in ps.find("lazy_to_rich").claims if claim.id == id)
    assert claim(short).outcome is ps.Outcome.UNDECIDED


def test_an_infinite_slope_is_the_default():
    spec = ps.find("lazy_to_rich").specify(p_tilde=jnp.inf)
    assert spec == ps.find("lazy_to_rich").spec


def test_stage_one_records_the_part_of_the_loss_that_it_measures():
    run = ps.run("lazy_to_rich", "stage_one", preset="tiny", store=False, progress=False)
    keys = np.arange(4)  # of six tokens
    behind = np.tril(np.exp(-0.01 * np.maximum(keys[:, None] - keys, 0)))
    head_1 = np.exp(-0.01 * keys[::-1])
    read = (head_1 / head_1.sum()) @ (behind / behind.sum(1, keepdims=True))
    missed = 0.5 * np.eye(4)[-1] - 0.01 * read
    assert float(run.loss_g4[0]) == pytest.approx(0.5 * np.sum(missed**2), rel=1e-12)
    assert "loss" not in run, "the loss of the whole model, in all arms that know it"
